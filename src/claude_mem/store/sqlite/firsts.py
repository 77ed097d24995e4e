"""Decides whose an observation is that several sessions made: whose it was first, whoever told it first.

The past is told newest first, and what was learned then is told after it was learned again. So what is there
already may have to go to a session that is told later.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from claude_mem.model.refs import Ref
from claude_mem.store.sqlite import embedding, indexing
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value


def seen_again(
    db: sqlite3.Connection, id: int, seen: Mapping[str, Value], made: Mapping[str, Value], at: int
) -> None:
    """`seen`: when and where it was this time; `made`: all of it, as it would have been added."""
    known = execute(db, "first_seen", id=id).fetchone()
    if at >= known["created_at_epoch"] or known["session_id"] == seen["session_id"] or known["stays"]:
        execute(db, "add_sighting", observation_id=id, **seen)
        return
    ref = Ref("observation", id)
    execute(db, "add_sighting", observation_id=id, **{name: known[name] for name in seen})
    indexing.take_out(db, [ref])
    execute(db, "give_observation", **made, id=id)
    embedding.follow(db, ref, known["project_id"], known["session_id"])
    indexing.put_back(db, [ref])
