"""Finds and removes what must not be recorded, for hooks, the worker and imports."""
