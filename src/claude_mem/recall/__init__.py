"""Finds, ranks and renders memories: `search` finds, `inject` decides what a session is shown, `render`
writes it."""
