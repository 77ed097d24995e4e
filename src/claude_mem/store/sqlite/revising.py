"""Corrects observations because a person says so: the rows and what is found by their words, in one
transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from claude_mem.model.memory import Observation, content_key
from claude_mem.model.refs import Ref
from claude_mem.ports.correcting import ChangedMeanwhile, Revision, Value
from claude_mem.store.sqlite import embedding, indexing
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import array, text
from claude_mem.store.sqlite.writer import Writer

_ARRAYS = ("facts", "concepts", "files_read", "files_modified")
_WORDS = ("title", "subtitle", "narrative", "facts", "concepts")
"""What it is found by."""


class SqliteRevising:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def revise(self, revisions: Sequence[Revision], expected: Sequence[Revision] = ()) -> list[Revision]:
        return self._writer.run(lambda db: _revise(db, revisions, expected))


def _revise(
    db: sqlite3.Connection, revisions: Sequence[Revision], expected: Sequence[Revision]
) -> list[Revision]:
    for each in expected:
        row = _row(db, each.id)
        if row is None or any(row[name] != _fit(value) for name, value in each.values.items()):
            raise ChangedMeanwhile(f"Observation {each.id} was changed again since, or is forgotten.")
    before = []
    for revision in revisions:
        row = _row(db, revision.id)
        if row is not None:
            before.append(Revision(revision.id, {name: row[name] for name in revision.values}))
            _write(db, row, row | {name: _fit(value) for name, value in revision.values.items()})
    return before


def _row(db: sqlite3.Connection, id: int) -> dict[str, Any] | None:
    found = execute(db, "observation_to_revise", id=id).fetchone()
    if found is None:
        return None
    row = {name: found[name] for name in found.keys()}  # noqa: SIM118 - a Row is no dict
    return row | {name: tuple(json.loads(row[name])) for name in _ARRAYS}


def _write(db: sqlite3.Connection, old: dict[str, Any], new: dict[str, Any]) -> None:
    ref = Ref("observation", old["id"])
    reworded = any(old[name] != new[name] for name in _WORDS)
    if reworded:
        indexing.take_out(db, [ref])
        # Also when an edit is taken back: whoever forgets it must know that it said something else.
        new["edited_at_epoch"] = new["edited_at_epoch"] or old["edited_at_epoch"]
    # An edited one goes by its new content: taken out by an export and in again, it is still the same one.
    key = content_key(_said(new)) if reworded else old["content_key"]
    values = {name: array(value) if name in _ARRAYS else value for name, value in new.items()}
    execute(db, "revise_observation", **{name: values[name] for name in _SET}, content_key=key)
    if reworded:
        indexing.put_back(db, [ref])
        embedding.make_again(db, ref)


_SET = (
    "id",
    "type",
    "title",
    "subtitle",
    "narrative",
    "facts",
    "concepts",
    "pinned",
    "wrong",
    "superseded_by",
    "edited_at_epoch",
)


def _said(row: dict[str, Any]) -> Observation:
    return Observation(
        type=row["type"],
        title=row["title"],
        narrative=row["narrative"],
        facts=row["facts"],
        files_modified=row["files_modified"],
    )


def _fit(value: Value) -> Value:
    if isinstance(value, str):
        return text(value)
    return tuple(map(text, value)) if isinstance(value, tuple) else value
