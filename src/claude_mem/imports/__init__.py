"""Reads memory from elsewhere as records in our export format: other tools, git, notes, JSON Lines."""
