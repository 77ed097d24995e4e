"""Keeps the full-text index in step with the rows: what is new is added, what goes is taken out.

The index follows the rows by a mark for each kind (ids only grow). Words are prepared while reading and
written in a short transaction, so that no hook waits behind them; whatever was changed or forgotten in
between is noticed by the generation, and read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from claude_mem.model.refs import KINDS, MemoryKind, Ref
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.wordbook import VERSION, Entry, entry, names, placed
from claude_mem.store.sqlite.writer import Writer

STEP = 128


@dataclass(frozen=True, slots=True)
class _Drafts:
    generation: int
    kind: MemoryKind
    after: int
    upto: int
    entries: list[Entry]


class Indexing:
    """One at a time: its owner is one loop of the worker, or a caller who has just added something."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer

    def prepare(self) -> None:
        """Begin anew if the index was made by another version's rules."""
        with self._readers.read() as db:
            made_by = _derived(db, "text_version")
        if made_by != VERSION:
            self.rebuild()

    def rebuild(self) -> None:
        self._writer.run(_clear)

    def step(self) -> int:
        """Index some of what is new; how many rows that were. 0: it is in step."""
        with self._readers.read() as db:
            drafts = _draft(db)
        if drafts is None:
            return 0
        self._writer.run(lambda db: _write(db, drafts))
        return max(1, len(drafts.entries))

    def catch_up(self) -> None:
        while self.step():
            pass


def waiting(db: sqlite3.Connection) -> int:
    """How many rows the index is behind (their ids may have gaps, so: at most)."""
    return sum(max(0, _last(db, kind) - _mark(db, kind)) for kind in KINDS)


def take_out(db: sqlite3.Connection, refs: Sequence[Ref]) -> None:
    """Before rows are deleted or changed, in the same transaction: their words leave the index."""
    for ref in refs:
        if ref.id <= _mark(db, ref.kind):
            for made in _entries(ref.kind, _rows(db, ref.kind, ref.id - 1, ref.id, 1)):
                _remove(db, made)
    _next_generation(db)


def put_back(db: sqlite3.Connection, refs: Sequence[Ref]) -> None:
    """After rows were changed, in the same transaction."""
    for ref in refs:
        if ref.id <= _mark(db, ref.kind):
            for made in _entries(ref.kind, _rows(db, ref.kind, ref.id - 1, ref.id, 1)):
                _add(db, made)


def _draft(db: sqlite3.Connection) -> _Drafts | None:
    # Observations before evidence: what was understood is worth more than what it was understood from.
    for kind in KINDS:
        after, last = _mark(db, kind), _last(db, kind)
        if after < last:
            rows = _rows(db, kind, after, last, STEP)
            upto = rows[-1]["id"] if len(rows) == STEP else last
            return _Drafts(_generation(db), kind, after, upto, list(_entries(kind, rows)))
    return None


def _entries(kind: MemoryKind, rows: Sequence[sqlite3.Row]) -> Iterator[Entry]:
    for row in rows:
        with suppress(OverflowError):  # the indexes have no place for it; it is kept all the same
            yield entry(kind, row)


def _write(db: sqlite3.Connection, drafts: _Drafts) -> None:
    if _generation(db) != drafts.generation or _mark(db, drafts.kind) != drafts.after:
        return  # something was forgotten or changed meanwhile, or another was faster: looked at again
    for made in drafts.entries:
        _add(db, made)
    execute(db, "set_derived", name=f"text_upto_{drafts.kind}", value=str(drafts.upto))


def _add(db: sqlite3.Connection, made: Entry) -> None:
    execute(db, "add_words", spot=made.spot, title=made.title, body=made.body, names=made.names)
    for path, how in made.files:
        folder, base = placed(path)
        execute(db, "add_file", base=base, spot=made.spot, path=path, folder=folder, how=how)


def _remove(db: sqlite3.Connection, made: Entry) -> None:
    # As they were told then: seen from a working directory that may have become known only later.
    files = [(row["path"], row["how"]) for row in execute(db, "files_of", spot=made.spot)]
    execute(db, "remove_words", spot=made.spot, title=made.title, body=made.body, names=names(files))
    execute(db, "remove_files", spot=made.spot)


def _clear(db: sqlite3.Connection) -> None:
    execute(db, "clear_words")
    execute(db, "clear_files")
    for kind in KINDS:
        execute(db, "set_derived", name=f"text_upto_{kind}", value="0")
    execute(db, "set_derived", name="text_version", value=VERSION)
    _next_generation(db)


def _rows(db: sqlite3.Connection, kind: MemoryKind, after: int, upto: int, limit: int) -> list[sqlite3.Row]:
    return execute(db, f"unindexed_{kind}", after=after, upto=upto, limit=limit).fetchall()


def _last(db: sqlite3.Connection, kind: MemoryKind) -> int:
    (last,) = execute(db, f"last_{kind}").fetchone()
    return int(last)


def _mark(db: sqlite3.Connection, kind: MemoryKind) -> int:
    return int(_derived(db, f"text_upto_{kind}") or 0)


def _generation(db: sqlite3.Connection) -> int:
    return int(_derived(db, "text_generation") or 0)


def _next_generation(db: sqlite3.Connection) -> None:
    execute(db, "set_derived", name="text_generation", value=str(_generation(db) + 1))


def _derived(db: sqlite3.Connection, name: str) -> str | None:
    row = execute(db, "derived", name=name).fetchone()
    return None if row is None else str(row["value"])
