"""The store: the only code that knows SQL. `Store` has a part for each concern.

A second database is a second folder beside `sqlite`, with the same file names; it passes the same contract
suites.
"""

from claude_mem.store.sqlite.arrivals import Inbox
from claude_mem.store.sqlite.forget import Deletion
from claude_mem.store.sqlite.injections import Injections
from claude_mem.store.sqlite.memories import Memories
from claude_mem.store.sqlite.memory_filters import MemoryFilter
from claude_mem.store.sqlite.projects import Projects
from claude_mem.store.sqlite.queue import Queue
from claude_mem.store.sqlite.sessions import Sessions
from claude_mem.store.sqlite.statistics import Statistics
from claude_mem.store.sqlite.store import Store
from claude_mem.store.sqlite.transfer import Transfer
from claude_mem.store.sqlite.vector_index import EmbeddingProgress, VectorTable

__all__ = [
    "Deletion",
    "EmbeddingProgress",
    "Inbox",
    "Injections",
    "Memories",
    "MemoryFilter",
    "Projects",
    "Queue",
    "Sessions",
    "Statistics",
    "Store",
    "Transfer",
    "VectorTable",
]
