"""What is selected to be forgotten here, found again in a copy of the database.

A copy may have been made before, or by another life of the database: after a restore numbers are given out
again. So a memory is the same only if its session and its time are; and what was selected by words is
looked for once more, for a copy may still hold what was let go of here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from claude_mem.model.refs import Ref
from claude_mem.ports.keeping import Doomed, Trace, Wanted
from claude_mem.store.sqlite import selecting
from claude_mem.store.sqlite.queries import execute


def traces(db: sqlite3.Connection, refs: Sequence[Ref]) -> list[Trace]:
    found = []
    for kind, table in selecting.TABLES.items():
        ids = json.dumps([ref.id for ref in refs if ref.kind == kind])
        for row in execute(db, f"traces_of_{table}", ids=ids):
            found.append(Trace(Ref(kind, row["id"]), row["session"], row["at"]))
    return found


def doomed(db: sqlite3.Connection, wanted: Wanted) -> Doomed:
    """In the copy that `db` has open."""
    there = set(traces(db, [trace.ref for trace in wanted.traces]))
    refs = {trace.ref for trace in wanted.traces if trace in there}
    sessions = [one for one in wanted.sessions if _has(db, one)]
    selection = wanted.selection
    if wanted.project_key is not None:
        row = execute(db, "project_by_key", given=wanted.project_key).fetchone()
        selection = replace(selection, project_id=-1 if row is None else row["id"])
    if not selection.refs:
        selected = selecting.doomed(db, selection)
        refs.update(selected.refs)
        sessions += selected.sessions
    return Doomed(refs=tuple(sorted(refs)), sessions=tuple(dict.fromkeys(sessions)))


def _has(db: sqlite3.Connection, session: str) -> bool:
    return execute(db, "session_to_forget", session=session).fetchone() is not None
