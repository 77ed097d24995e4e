"""The store on PostgreSQL, for several machines or a team."""

from claude_mem.store.postgres import survey, upkeep
from claude_mem.store.postgres.store import PostgresStore

__all__ = ["PostgresStore", "survey", "upkeep"]
