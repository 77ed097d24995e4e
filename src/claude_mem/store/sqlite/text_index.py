"""Keeps the full-text index in step with the rows: adds new ones, removes deleted ones.

The index follows the rows by a mark for each kind (ids only grow). Words are prepared while reading and
written in a short transaction, so that no hook waits behind them; whatever was changed or forgotten in
between is noticed by the generation, and read again.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from claude_mem.model.full_text import beginning, is_only_a_beginning
from claude_mem.model.refs import KINDS, MemoryKind, Ref, idf
from claude_mem.store.sqlite.connection import Part, execute, transaction
from claude_mem.store.sqlite.text_document import VERSION, TextDocument, document_of, names, placed
from claude_mem.store.values import TextMatch, TextQuery

if TYPE_CHECKING:
    from claude_mem.store.sqlite.memory_filters import MemoryFilter

STEP = 128


class _Drafts(Struct, frozen=True):
    generation: int
    kind: MemoryKind
    after: int
    upto: int
    entries: list[TextDocument]


class TextIndex(Part):
    """One at a time: its owner is one loop of the worker, or a caller who has just added something."""

    def prepare(self) -> None:
        """Begin anew if the index was made by another version's rules."""
        with self._readers.read() as db:
            made_by = derived(db, "text_version")
        if made_by != VERSION:
            self.rebuild()

    @transaction
    def rebuild(self, db: sqlite3.Connection) -> None:
        execute(db, "clear_words")
        execute(db, "clear_files")
        for kind in KINDS:
            execute(db, "set_derived", name=f"text_upto_{kind}", value="0")
        execute(db, "set_derived", name="text_version", value=VERSION)
        _next_generation(db)

    def step(self) -> int:
        """Index some of what is new; how many rows that were. 0: it is in step."""
        with self._readers.read() as db:
            drafts = _draft(db)
        if drafts is None:
            return 0
        self._write(drafts)
        return max(1, len(drafts.entries))

    def catch_up(self) -> None:
        while self.step():
            pass

    @transaction
    def _write(self, db: sqlite3.Connection, drafts: _Drafts) -> None:
        if _generation(db) != drafts.generation or _mark(db, drafts.kind) != drafts.after:
            return  # something was forgotten or changed meanwhile, or another was faster: looked at again
        for made in drafts.entries:
            _add(db, made)
        execute(db, "set_derived", name=f"text_upto_{drafts.kind}", value=str(drafts.upto))


def unindexed_count(db: sqlite3.Connection) -> int:
    """How many rows the index is behind (their ids may have gaps, so: at most)."""
    return sum(max(0, last_id(db, kind) - _mark(db, kind)) for kind in KINDS)


def take_out(db: sqlite3.Connection, refs: Sequence[Ref]) -> None:
    """Before rows are deleted or changed, in the same transaction: their words leave the index."""
    for made in _indexed(db, refs):
        # As they were told then: seen from a working directory that may have become known only later.
        files = [(row["path"], row["how"]) for row in execute(db, "files_of", spot=made.memory_key)]
        key = made.memory_key
        execute(db, "remove_words", spot=key, title=made.title, body=made.body, names=names(files))
        execute(db, "remove_files", spot=key)
    _next_generation(db)


def put_back(db: sqlite3.Connection, refs: Sequence[Ref]) -> None:
    """After rows were changed, in the same transaction."""
    for made in _indexed(db, refs):
        _add(db, made)


def _indexed(db: sqlite3.Connection, refs: Sequence[Ref]) -> Iterator[TextDocument]:
    """The documents of those that the index has come to."""
    for ref in refs:
        if ref.id <= _mark(db, ref.kind):
            yield from _entries(ref.kind, _rows(db, ref.kind, ref.id - 1, ref.id, 1))


def _draft(db: sqlite3.Connection) -> _Drafts | None:
    # Observations before evidence: what was understood is worth more than what it was understood from.
    for kind in KINDS:
        after, last = _mark(db, kind), last_id(db, kind)
        if after < last:
            rows = _rows(db, kind, after, last, STEP)
            upto = rows[-1]["id"] if len(rows) == STEP else last
            return _Drafts(_generation(db), kind, after, upto, list(_entries(kind, rows)))
    return None


def _entries(kind: MemoryKind, rows: Sequence[sqlite3.Row]) -> Iterator[TextDocument]:
    for row in rows:
        with suppress(OverflowError):  # the indexes have no place for it; it is kept all the same
            yield document_of(kind, row)


def _add(db: sqlite3.Connection, made: TextDocument) -> None:
    execute(db, "add_words", spot=made.memory_key, title=made.title, body=made.body, names=made.names)
    for path, how in made.files:
        folder, base = placed(path)
        execute(db, "add_file", base=base, spot=made.memory_key, path=path, folder=folder, how=how)


def _rows(db: sqlite3.Connection, kind: MemoryKind, after: int, upto: int, limit: int) -> list[sqlite3.Row]:
    return execute(db, f"unindexed_{kind}", after=after, upto=upto, limit=limit).fetchall()


def last_id(db: sqlite3.Connection, kind: MemoryKind) -> int:
    (last,) = execute(db, f"last_{kind}").fetchone()
    return int(last)


def _mark(db: sqlite3.Connection, kind: MemoryKind) -> int:
    return int(derived(db, f"text_upto_{kind}") or 0)


def _generation(db: sqlite3.Connection) -> int:
    return int(derived(db, "text_generation") or 0)


def _next_generation(db: sqlite3.Connection) -> None:
    execute(db, "set_derived", name="text_generation", value=str(_generation(db) + 1))


def derived(db: sqlite3.Connection, name: str) -> str | None:
    row = execute(db, "derived", name=name).fetchone()
    return None if row is None else str(row["value"])


# Full-text matching at a bounded cost: rare words first, and no more matches weighed than there is time for.
#
# Counting matches costs a thirtieth of weighing them, so every word is counted first. Frequent words add
# little to BM25 and would take nearly all of its time; they are left out as soon as the rarer ones fill the
# bound. Under a filter they are looked for among those that pass, within the same bound: few of those may
# have them.


EVERYWHERE = (0, 2**63 - 1)
NEWEST = 2_000
AT_ONCE = 5_000
COUNTED = 10_000
"""SQLite weighs a word by how often it is anywhere, and walks over all of that to know it. One that more
memories have says little, and in a span it is taken to be said once where it is said. So is the beginning of
words: SQLite puts all of theirs together anew for each question."""
PHRASES_SHARE = 4
"""A fourth as many matches of phrases are weighed as of words: a telling one has few."""
MOST_KNOWN = 10_000

Span = tuple[int, int]


class Sizes(Struct, frozen=True):
    """How many memories there are."""

    span: int
    all: int  # exactly: how SQLite has weighed is reckoned back from it


def size_of_all(db: sqlite3.Connection) -> int:
    """As the index itself has it: the first number of its record of averages."""
    row = execute(db, "averages").fetchone()
    size = 0
    for byte in row["block"] if row else b"":
        size = size << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return size


class Frequent:
    """Words that are known to be in more memories of a span than can be weighed: those take longest to
    count, are in every other question, and do not become rare. Any thread may ask."""

    def __init__(self) -> None:
        self._known: set[tuple[str, Span, int]] = set()

    def has(self, word: str, span: Span, most: int) -> bool:
        return (word, span, most) in self._known

    def add(self, word: str, span: Span, most: int) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known = set()  # so what was forgotten since is noticed some time
        self._known.add((word, span, most))


def match(
    db: sqlite3.Connection,
    wording: TextQuery,
    within: Span | None,
    sizes: Sizes,
    frequent: Frequent | None = None,
    passing: MemoryFilter | None = None,
) -> list[TextMatch]:
    span, most = within or EVERYWHERE, wording.most_rows
    frequent = frequent or Frequent()
    counted = sorted(_counted(db, word, span, most, frequent) for word in wording.words)
    found, weighed = [], 0
    for rows, word in counted:
        weighed += rows
        if weighed > most:
            break
        found.append(TextMatch(word, _weighed(db, word, span, rows, sizes) if rows else {}))
    if passing is not None:
        found += _left_out(db, [word for _, word in counted[len(found) :]], span, most, sizes, passing)
    if not any(each.scores if passing is None else passing(each.scores) for each in found):
        found += _newest(db, [word for rows, word in counted if rows], span, passing)
    nowhere = {
        word.strip('"*')
        for rows, word in counted
        if not rows or (word.endswith("*") and not is_only_a_beginning(word[:-1]))
    }
    # Of the others none can match, but SQLite would look for all their words, however frequent.
    possible = [phrase for phrase in wording.phrases if nowhere.isdisjoint(phrase.strip('"').split()[:-1])]
    few, weighed = most // PHRASES_SHARE, 0
    for rows, phrase in sorted((_count(db, phrase, span, few), phrase) for phrase in possible):
        weighed += rows
        if rows and weighed <= few:
            found.append(TextMatch(phrase, _weighed(db, phrase, span, rows, sizes), is_phrase=True))
        elif rows and passing is not None:
            passed = _among(db, phrase, span, few, passing)
            found.append(TextMatch(phrase, dict.fromkeys(passed, idf(rows, sizes.span)), is_phrase=True))
    return found


def _counted(db: sqlite3.Connection, word: str, span: Span, most: int, frequent: Frequent) -> tuple[int, str]:
    """In how many memories; a word found nowhere may be the beginning of others."""
    if frequent.has(word, span, most):
        return most + 1, word
    rows = 0 if is_only_a_beginning(word) else _count(db, word, span, most)
    if rows > most:
        frequent.add(word, span, most)
    begins = None if rows else beginning(word)
    return (_count(db, begins, span, most), begins) if begins else (rows, word)


def _count(db: sqlite3.Connection, expression: str, span: Span, most: int) -> int:
    first, last = span
    counted = execute(db, "how_often", expression=expression, first=first, last=last, most=most + 1)
    return int(counted.fetchone()[0])


def _weighed(
    db: sqlite3.Connection, expression: str, span: Span, rows: int, sizes: Sizes
) -> dict[int, float]:
    """BM25 in the span's own terms: SQLite asks how rare a word is in the whole index, where another
    project may speak of nothing else."""
    first, last = span
    is_whole = not expression.endswith("*")
    everywhere = _count(db, expression, EVERYWHERE, COUNTED) if is_whole and span != EVERYWHERE else rows
    if everywhere > COUNTED or not is_whole:
        found = execute(db, "matches", expression=expression, first=first, last=last).fetchall()
        return dict.fromkeys((row[0] for row in found), idf(rows, sizes.span))
    found = execute(db, "weighed_matches", expression=expression, first=first, last=last).fetchall()
    if span == EVERYWHERE:
        return dict(found)
    # As SQLite has it, the floor included.
    theirs = max(math.log((sizes.all - everywhere + 0.5) / (everywhere + 0.5)), 1e-6)
    factor = idf(rows, sizes.span) / theirs
    return {memory_key: score * factor for memory_key, score in found}


def _left_out(
    db: sqlite3.Connection, words: list[str], span: Span, most: int, sizes: Sizes, passing: MemoryFilter
) -> list[TextMatch]:
    """What frequent words match of those that pass: again the rarest first, and no more than the bound."""
    matched = sorted(
        (len(memory_keys := _among(db, word, span, most + 1, passing)), word, memory_keys) for word in words
    )
    found, weighed = [], 0
    for count, word, memory_keys in matched:
        weighed += count
        if weighed > most:
            break
        rows = _count(db, word, span, sizes.all)
        found.append(TextMatch(word, dict.fromkeys(memory_keys, idf(rows, sizes.span)), rows=rows))
    return found


def _newest(
    db: sqlite3.Connection, words: list[str], span: Span, passing: MemoryFilter | None
) -> list[TextMatch]:
    """Every word is everywhere: those that have all of them, else the rarest; and of those the newest."""
    for expression in (" AND ".join(words), *words[:1]):
        if expression and (newest := _among(db, expression, span, NEWEST, passing)):
            return [TextMatch(expression, dict.fromkeys(newest, 1.0))]
    return []


def _among(
    db: sqlite3.Connection, expression: str, span: Span, limit: int, passing: MemoryFilter | None
) -> list[int]:
    """The newest matches that pass."""
    first, last = span
    everything = -1 if passing is not None else limit
    rows = execute(db, "newest_matches", expression=expression, first=first, last=last, limit=everything)
    found: list[int] = []
    while len(found) < limit and (some := [row[0] for row in islice(rows, AT_ONCE)]):
        found += some if passing is None else sorted(passing(some), reverse=True)
    return found[:limit]
