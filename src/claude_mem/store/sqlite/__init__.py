"""The store on one SQLite file: takes in events, leases batches, stores memory."""

from claude_mem.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
