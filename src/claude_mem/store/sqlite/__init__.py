"""The store on one SQLite file: takes in events, leases batches, stores memory."""

from claude_mem.store.sqlite.recovery import Recovered, Restored, recover, restore
from claude_mem.store.sqlite.store import Store

__all__ = ["Recovered", "Restored", "Store", "recover", "restore"]
