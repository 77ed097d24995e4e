"""The store on one SQLite file: events in, leased batches out, memory kept."""

from claude_mem.store.sqlite.quarantine import Recovered, recover
from claude_mem.store.sqlite.restore import Restored, restore
from claude_mem.store.sqlite.store import SqliteStore

__all__ = ["Recovered", "Restored", "SqliteStore", "recover", "restore"]
