"""Embedding models and vector backends. All optional: without them, search uses full text only."""
