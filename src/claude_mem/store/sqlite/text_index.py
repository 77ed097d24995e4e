"""The full-text index, on FTS5: updating it from the rows, counting and scoring.

A mark for each kind shows up to which id rows are indexed (ids only grow). Words are prepared while reading
and written in a short transaction, so that hooks do not wait for it. If rows were changed or deleted in
between, the generation number shows it, and they are read again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from claude_mem.model.refs import KINDS, MemoryKind, Ref, idf, kind_at
from claude_mem.store.relational.part import (
    Connection,
    Part,
    Row,
    derived,
    execute,
    last_id,
    transaction,
    tuples,
)
from claude_mem.store.relational.rows import Value
from claude_mem.store.relational.text_document import VERSION, TextDocument, document_of, names, split_path
from claude_mem.store.relational.text_matcher import Matcher, Span
from claude_mem.store.values import TextMatch

if TYPE_CHECKING:
    from claude_mem.store.sqlite.connection import SqliteConnection, Writer

STEP = 128
UNHURRIED = 8
"""The factor for rows per transaction if nothing is waiting, so that a large index is built sooner."""
MOST_TEXT = 1_000_000
"""Characters per transaction, which limits how long it blocks other writers."""


MERGED_PAGES = 64
"""Pages of the index merged per transaction, which takes a few milliseconds."""


class _Drafts(Struct, frozen=True):
    generation: int
    kind: MemoryKind
    after: int
    upto: int
    entries: list[TextDocument]


class TextIndex(Part):
    """One at a time: its owner is one loop of the worker, or a caller who has just added something."""

    _writer: Writer
    _is_tidy = False
    """Whether there is nothing to merge: the last try found nothing, and no rows were indexed since."""

    def prepare(self) -> None:
        """Starts over if the index was built by another version's rules."""
        with self._readers.read() as db:
            made_by = derived(db, "text_version")
            merges_pairs = execute(db, "merges_pairs").fetchone()[0]
        if made_by != VERSION or not merges_pairs:
            self._begin_anew(rebuilds=made_by != VERSION)

    @transaction
    def _begin_anew(self, db: Connection, *, rebuilds: bool) -> None:
        execute(db, "merge_pairs")
        if rebuilds:
            _clear(db)

    @transaction
    def rebuild(self, db: Connection) -> None:
        _clear(db)

    def step(self, *, hurried: bool = True) -> int:
        """Index some of what is new; how many rows that were. 0: it is in step."""
        with self._readers.read() as db:
            drafts = _draft(db, STEP if hurried else STEP * UNHURRIED)
        if drafts is None:
            return 0
        self._is_tidy = False
        self._write(drafts)
        return max(1, len(drafts.entries))

    def tidy(self) -> bool:
        """Each transaction that indexes rows adds a segment, and each word of a query is looked up in all of
        them. Two segments of about the same size are merged into one, so a large index has few of them, and
        each word is rewritten seldom."""
        if self._is_tidy:
            return False
        self._is_tidy = not self._writer.run(lambda db: merge_segments(db, MERGED_PAGES))
        return not self._is_tidy

    def catch_up(self) -> None:
        while self.step():
            pass

    @transaction
    def _write(self, db: Connection, drafts: _Drafts) -> None:
        if _generation(db) != drafts.generation or _mark(db, drafts.kind) != drafts.after:
            return  # something was forgotten or changed meanwhile, or another was faster: looked at again
        for made in drafts.entries:
            _add(db, made)
        execute(db, "set_derived", name=f"text_upto_{drafts.kind}", value=str(drafts.upto))


def merge_segments(db: SqliteConnection, pages: int) -> bool:
    """Whether there was anything to merge: a step that does nothing changes one row, its own. A negative
    number of pages begins to merge all segments into one, in which no deleted word is left."""
    before = db.total_changes
    execute(db, "merge_segments", pages=pages)
    return db.total_changes - before >= 2


def unindexed_count(db: Connection) -> int:
    """How many rows the index is behind (their ids may have gaps, so: at most)."""
    return sum(max(0, last_id(db, kind) - _mark(db, kind)) for kind in KINDS)


def take_out(db: Connection, refs: Sequence[Ref]) -> None:
    """Before rows are deleted or changed, in the same transaction: their words leave the index."""
    for made in _indexed(db, refs):
        # As indexed at that time, relative to a working directory that may have become known only later.
        files = [(row["path"], row["how"]) for row in execute(db, "files_of", memory_key=made.memory_key)]
        key = made.memory_key
        words = {"title": made.title, "body": made.body, "tool": made.tool}
        execute(db, "remove_words", memory_key=key, names=names(kind_at(key), files), **words)
        execute(db, "remove_files", memory_key=key)
    _next_generation(db)


def reindex(db: Connection, refs: Sequence[Ref]) -> None:
    """After rows were changed, in the same transaction."""
    for made in _indexed(db, refs):
        _add(db, made)


def _indexed(db: Connection, refs: Sequence[Ref]) -> Iterator[TextDocument]:
    """The documents of rows that are already indexed."""
    for ref in refs:
        if ref.id <= _mark(db, ref.kind):
            yield from _entries(db, ref.kind, _rows(db, ref.kind, ref.id - 1, ref.id, 1))


def _draft(db: Connection, most: int) -> _Drafts | None:
    # Observations before evidence: what was understood is worth more than what it was understood from.
    for kind in KINDS:
        after, last = _mark(db, kind), last_id(db, kind)
        if after < last:
            rows = _rows(db, kind, after, last, most)
            upto = rows[-1]["id"] if len(rows) == most else last
            entries: list[TextDocument] = []
            text = 0
            for row in rows:
                for made in _entries(db, kind, [row]):
                    entries.append(made)
                    text += len(made.title) + len(made.body) + len(made.tool)
                if text >= MOST_TEXT:
                    upto = row["id"]
                    break
            return _Drafts(_generation(db), kind, after, upto, entries)
    return None


def _entries(db: Connection, kind: MemoryKind, rows: Sequence[Row]) -> Iterator[TextDocument]:
    for row in rows:
        with suppress(OverflowError):  # the indexes have no place for it; it is kept all the same
            yield document_of(kind, row, db.key)


def _add(db: Connection, made: TextDocument) -> None:
    words = {"title": made.title, "body": made.body, "names": made.names, "tool": made.tool}
    execute(db, "add_words", memory_key=made.memory_key, **words)
    for path, how in made.files:
        folder, base = split_path(path)
        execute(db, "add_file", base=base, memory_key=made.memory_key, path=path, folder=folder, how=how)


def _rows(db: Connection, kind: MemoryKind, after: int, upto: int, limit: int) -> list[Row]:
    return execute(db, f"unindexed_{kind}", after=after, upto=upto, limit=limit).fetchall()


def _mark(db: Connection, kind: MemoryKind) -> int:
    return int(derived(db, f"text_upto_{kind}") or 0)


def _generation(db: Connection) -> int:
    return int(derived(db, "text_generation") or 0)


def _clear(db: Connection) -> None:
    execute(db, "clear_words")
    execute(db, "clear_files")
    for kind in KINDS:
        execute(db, "set_derived", name=f"text_upto_{kind}", value="0")
    execute(db, "set_derived", name="text_version", value=VERSION)
    _next_generation(db)


def _next_generation(db: Connection) -> None:
    execute(db, "set_derived", name="text_generation", value=str(_generation(db) + 1))


def size_of_all(db: Connection) -> int:
    """As the index itself has it: the first number of its record of averages."""
    row = execute(db, "averages").fetchone()
    size = 0
    for byte in row["block"] if row else b"":
        size = size << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return size


SATURATED = 2.2
"""The limit of SQLite's bm25 for many occurrences, relative to the word's rarity: its k1 plus one."""


class Fts5Matcher(Matcher):
    def count(self, words: str, span: Span, most: int) -> int:
        first, last = span
        given: dict[str, Value] = {"expression": _quoted(words), "first": first, "last": last}
        if most >= self.everything:
            return int(execute(self.db, "how_often", **given).fetchone()[0])
        return int(execute(self.db, "how_often_at_most", **given, most=most + 1).fetchone()[0])

    def score(self, words: str, everywhere: int) -> TextMatch:
        first, last = self.span
        # SQLite uses the rarity in the whole index; this computes it the same way, including its minimum.
        rarity = max(math.log((self.everything - everywhere + 0.5) / (everywhere + 0.5)), 1e-6)
        found = tuples(self.db, "weighed_matches", expression=_quoted(words), first=first, last=last)
        return self._match(words, rarity, found)

    def score_few(self, words: str, most: int) -> TextMatch | None:
        first, last = self.span
        given: dict[str, Value] = {"expression": _quoted(words), "first": first, "last": last}
        found = tuples(self.db, "weighed_at_most", **given, most=most + 1)
        if len(found) > most:
            return None
        rarity = found[0][3] / SATURATED if found else 1.0
        return self._match(words, rarity, [(key, score, prose) for key, score, prose, _ in found])

    def _match(self, words: str, rarity: float, found: list[tuple[int, float, float]]) -> TextMatch:
        """`rarity`: what SQLite has multiplied the scores by."""
        factor = idf(len(found), self.size) / rarity
        scores = {key: factor * score for key, score, _ in found}
        return TextMatch(words, scores, {key: factor * prose for key, _, prose in found if prose > 0})

    def matches(self, words: str, *, prose: bool = False) -> list[int]:
        return self._matches(f"{{title body names}} : {_quoted(words)}" if prose else _quoted(words))

    def matches_with(self, words: str, rarer: Sequence[str]) -> list[int]:
        return self._matches(f"{_quoted(words)} AND ({' OR '.join(map(_quoted, rarer))})")

    def newest(self, expressions: Sequence[str], limit: int | None) -> Iterator[int]:
        first, last = self.span
        expression = " AND ".join(map(_quoted, expressions))
        most = -1 if limit is None else limit
        rows = execute(self.db, "newest_matches", expression=expression, first=first, last=last, limit=most)
        return (row[0] for row in rows)

    def matches_among(self, words: str, memory_keys: Collection[int], *, is_probed: bool) -> list[int]:
        query = "probed_matches" if is_probed else "matches_among"
        given: dict[str, Value] = {"memory_keys": json.dumps(list(memory_keys))}
        given |= {"first": min(memory_keys), "last": max(memory_keys)}
        return [key for (key,) in tuples(self.db, query, expression=_quoted(words), **given)]

    def _matches(self, expression: str) -> list[int]:
        first, last = self.span
        found = tuples(self.db, "matches", expression=expression, first=first, last=last)
        return [key for (key,) in found]


matcher = Fts5Matcher


def _quoted(words: str) -> str:
    """In quotation marks nothing is an operator of the index; the words hold letters and digits alone."""
    return f'"{words[:-1]}"*' if words.endswith("*") else f'"{words}"'
