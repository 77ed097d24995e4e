"""What goes out of the database as records: in an order that two databases with the same memory share.

Nothing is sorted that was not stored in that order: a sort would hold all of it in memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from claude_mem.model import records as model_records
from claude_mem.model.records import FIELDS, FLAG, LIST, Record
from claude_mem.ports.portable import Chosen
from claude_mem.store.sqlite.queries import execute

AT_ONCE = 200


def records(db: sqlite3.Connection, chosen: Chosen, now: int) -> Iterator[Record]:
    yield {"kind": model_records.FORMAT, "version": model_records.VERSION, "made_at": now}
    sessions = _sessions(db, chosen)
    whole = not chosen.refs
    among = json.dumps(sessions)
    for kind in ("project", "session"):
        yield from _each(kind, execute(db, f"export_{kind}s", sessions=among))
    prompts = _some(chosen, "prompt")
    for session in sessions:
        yield from _each("prompt", execute(db, "export_prompts", session=session, some=prompts))
    if whole and chosen.evidence:
        for session in sessions:
            yield from _events(db, session)
    some = _some(chosen, "observation")
    yield from _each("observation", execute(db, "export_observations", sessions=among, some=some))
    if whole:
        for session in sessions:
            yield from _each("sighting", execute(db, "export_sightings", session=session))
    some = _some(chosen, "summary")
    yield from _each("summary", execute(db, "export_summaries", sessions=among, some=some))


def _sessions(db: sqlite3.Connection, chosen: Chosen) -> list[int]:
    """The oldest first."""
    if chosen.refs:
        found = execute(
            db,
            "sessions_of_memories",
            observations=_some(chosen, "observation"),
            summaries=_some(chosen, "summary"),
            prompts=_some(chosen, "prompt"),
        )
    else:
        found = execute(
            db,
            "chosen_sessions",
            project_id=chosen.project_id,
            session=chosen.session,
            since=chosen.since,
            until=chosen.until,
        )
    return [row["id"] for row in found]


def _some(chosen: Chosen, kind: str) -> str | None:
    """The chosen ones of a kind, as a JSON array; None: all of them."""
    return json.dumps([ref.id for ref in chosen.refs if ref.kind == kind]) if chosen.refs else None


def _events(db: sqlite3.Connection, session: int) -> Iterator[Record]:
    ids = [row["id"] for row in execute(db, "settled_events", session=session)]
    for start in range(0, len(ids), AT_ONCE):
        some = json.dumps(ids[start : start + AT_ONCE])
        yield from _each("event", execute(db, "export_events", ids=some))


def _each(kind: str, rows: sqlite3.Cursor) -> Iterator[Record]:
    for row in rows:
        yield _record(kind, row)


def _record(kind: str, row: sqlite3.Row) -> Record:
    """Only what says something: null, empty lists and false are left out."""
    found = dict(row)
    if found.get("older_at") is not None:
        refers = "supersedes" if kind == "observation" else "observation"
        found[refers] = model_records.name_of(found["older_session"], found["older_at"], found["older_key"])
    made: dict[str, object] = {"kind": kind}
    for field, shape in FIELDS[kind].items():
        value = found.get(field)
        if shape == LIST and value is not None:
            value = json.loads(value) or None
        elif shape == FLAG:
            value = True if value else None
        if value is not None:
            made[field] = value
    return made
