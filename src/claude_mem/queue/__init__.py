"""Moves events from spool files to leased batches: exactly once, in order."""
