"""Reads what happened before anybody listened: the client's own transcripts, as the events of its hooks."""
