"""A dump of a database without its own ids, so that databases with the same memories are equal.

Left out is what says how the content came to be there and not what it is: ids given in order of arrival (a
reference is told by what it refers to), counters and the queue's bookkeeping (attempts, leases, when
something was settled), what asking cost, what sessions were told, and the indexes, made of the rest.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_OBSERVATION = "SELECT title || created_at_epoch || ifnull(content_key, '') FROM observations WHERE id = ?"
NAMES = {
    "project_id": "SELECT key FROM projects WHERE id = ?",
    "session_id": "SELECT claude_session_id FROM sdk_sessions WHERE id = ?",
    "observation_id": _OBSERVATION,
    "supersedes": _OBSERVATION,
    "superseded_by": _OBSERVATION,
}
"""By column: what the row is called that it refers to."""

LEFT_OUT = frozenset(
    ("id", "attempts", "not_before_epoch", "lease_number", "settled_at_epoch", "held_until_epoch", "reason")
)
TABLES = (
    "projects",
    "sdk_sessions",
    "user_prompts",
    "pending_messages",
    "observations",
    "observation_sightings",
    "session_summaries",
)


def dump(path: Path) -> dict[str, list[dict[str, Any]]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return {table: _rows(db, table) for table in TABLES}


def _rows(db: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    rows = [_told(db, row) for row in db.execute(f"SELECT * FROM {table}")]
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def _told(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    told = {}
    for column in row.keys():  # noqa: SIM118 - a Row is no dict
        if column in NAMES and row[column] is not None:
            (told[column],) = db.execute(NAMES[column], (row[column],)).fetchone()
        elif column not in LEFT_OUT:
            told[column] = row[column]
    return told
