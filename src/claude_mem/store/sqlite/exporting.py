"""What goes out of the database as records: in an order that two databases with the same memory share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from claude_mem.model import portable
from claude_mem.model.portable import FIELDS, FLAG, LIST, Record
from claude_mem.ports.portable import Chosen
from claude_mem.store.sqlite.queries import execute

KINDS = (
    ("project", "export_projects"),
    ("session", "export_sessions"),
    ("prompt", "export_prompts"),
    ("event", "export_events"),
    ("observation", "export_observations"),
    ("sighting", "export_sightings"),
    ("summary", "export_summaries"),
)


def records(db: sqlite3.Connection, chosen: Chosen, now: int) -> Iterator[Record]:
    yield {"kind": portable.FORMAT, "version": portable.VERSION, "made_at": now}
    sessions = json.dumps(_sessions(db, chosen))
    for kind, query in KINDS:
        narrowed: dict[str, str | None] = {"sessions": sessions}
        if kind not in ("project", "session"):
            narrowed["some"] = _some(chosen, kind)
        for row in execute(db, query, **narrowed):
            yield _record(kind, row)


def _sessions(db: sqlite3.Connection, chosen: Chosen) -> list[int]:
    if chosen.refs:
        some = {f"{kind}s": _some(chosen, kind) for kind in ("observation", "prompt")}
        found = execute(db, "sessions_of_memories", **some, summaries=_some(chosen, "summary"))
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


def _record(kind: str, row: sqlite3.Row) -> Record:
    """Only what says something: null, empty and false are left out."""
    found = dict(row)
    if "older_at" in found and found["older_at"] is not None:
        refers = "supersedes" if kind == "observation" else "observation"
        found[refers] = portable.name_of(found["older_session"], found["older_at"], found["older_key"])
    made: dict[str, object] = {"kind": kind}
    for field, shape in FIELDS[kind].items():
        value = found.get(field)
        if shape == LIST and value is not None:
            value = json.loads(value)
        elif shape == FLAG:
            value = bool(value)
        if value not in (None, [], False):
            made[field] = value
    return made
