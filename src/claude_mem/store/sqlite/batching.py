"""What an observer is told around a batch's events: whose they are, what was asked, what is recorded."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Lease
from claude_mem.model.memory import Batch
from claude_mem.store.sqlite.queries import execute

RECORDED = 30


def batch(db: sqlite3.Connection, held: Lease) -> Batch:
    first, last = held.jobs[0], held.jobs[-1]
    source = execute(db, "provenance", id=last.id).fetchone()
    asked = execute(
        db, "request_of", session_id=held.session_id, prompt_number=first.prompt_number
    ).fetchone()
    titles = execute(db, "recorded_titles", session_id=held.session_id, limit=RECORDED).fetchall()
    return Batch(
        project=first.event.project or "",
        session=first.event.session,
        events=tuple(job.event for job in held.jobs),
        request=asked and asked["prompt"],
        recorded=tuple(row["title"] for row in reversed(titles)),
        branch=source and source["branch"],
        offline=bool(source and source["offline"]),
    )
