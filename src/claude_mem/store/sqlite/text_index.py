"""Keeps the full-text index in step with the rows: adds new ones, removes deleted ones.

The index follows the rows by a mark for each kind (ids only grow). Words are prepared while reading and
written in a short transaction, so that no hook waits behind them; whatever was changed or forgotten in
between is noticed by the generation, and read again.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from claude_mem.model.full_text import is_only_a_beginning, may_begin_others
from claude_mem.model.refs import (
    KINDS,
    MemoryKind,
    Ref,
    idf,
    keys_by_kind,
    kind_at,
    memory_key,
    session_at,
)
from claude_mem.model.structs import replace
from claude_mem.store.sqlite.connection import Part, execute, transaction
from claude_mem.store.sqlite.rows import Value
from claude_mem.store.sqlite.text_document import VERSION, TextDocument, document_of, names, split_path
from claude_mem.store.values import IndexSizes, TextMatch, TextQuery

if TYPE_CHECKING:
    from claude_mem.store.base import KeyFilter

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
        files = [(row["path"], row["how"]) for row in execute(db, "files_of", memory_key=made.memory_key)]
        key = made.memory_key
        words = {"title": made.title, "body": made.body, "tool": made.tool}
        execute(db, "remove_words", memory_key=key, names=names(kind_at(key), files), **words)
        execute(db, "remove_files", memory_key=key)
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
    words = {"title": made.title, "body": made.body, "names": made.names, "tool": made.tool}
    execute(db, "add_words", memory_key=made.memory_key, **words)
    for path, how in made.files:
        folder, base = split_path(path)
        execute(db, "add_file", base=base, memory_key=made.memory_key, path=path, folder=folder, how=how)


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
MOST_WALKED = 100_000
"""Matches of frequent words that are walked over, the rarest words first: a word that half of all memories
have tells little, and its matches grow with them."""
PROBE = 200
"""To look a single memory up in the index takes as long as to walk over so many matches."""
ENOUGH = 300
"""Of those that pass a filter, more than a search lists: then no more are looked for by frequent words."""
PHRASES_SHARE = 4
"""A fourth as many matches of phrases are weighed as of words: a telling one has few."""
MOST_KNOWN = 10_000
SIZES_HOLD = 0.02
"""A span is counted again when the index has grown by this part of it."""

Span = tuple[int, int]


class KnownSizes:
    """How many memories each session of a span has, counted now and then: how rare a word is does not change
    with a few memories more. Any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[Span, tuple[int, IndexSizes]] = {}

    def of(self, db: sqlite3.Connection, span: Span, everything: int) -> IndexSizes:
        """`everything`: how many there are in all."""
        counted_at, sizes = self._known.get(span, (0, None))
        if sizes is None or abs(everything - counted_at) > SIZES_HOLD * sizes.total:
            per_session = memory_key(0, 1, Ref(KINDS[0], 0))
            rows = execute(
                db, "sizes_of_span", first=span[0], last=span[1], per_session=per_session
            ).fetchall()
            sessions = {session_at(row["first"]): row["rows"] for row in rows}
            sizes = IndexSizes(sum(sessions.values()), sum(row["said"] for row in rows), sessions)
            self._known[span] = everything, sizes
        return sizes


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
    """Words that are known to be in more memories of a span than can be weighed, and in how many: those take
    longest to count, are in every other question, and do not become rare. Any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Span], int] = {}

    def rows(self, word: str, span: Span) -> int:
        """0: it is not known to be frequent."""
        return self._known.get((word, span), 0)

    def add(self, word: str, span: Span, rows: int) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known = {}  # so what was forgotten since is noticed some time
        self._known[word, span] = rows


class Matcher(Struct, frozen=True):
    """Looks words up in a span of the index."""

    db: sqlite3.Connection
    span: Span
    size: int  # memories of the span
    everything: int  # of the whole index, exactly: how SQLite has weighed is reckoned back from it
    frequent: Frequent
    key_filter: KeyFilter | None = None

    def match(self, wording: TextQuery) -> list[TextMatch]:
        most, key_filter = wording.most_rows, self.key_filter
        counted = sorted(self._counted(word, most) for word in wording.words)
        found, weighed = [], 0
        for rows, word in counted:
            weighed += rows
            if weighed > most:
                break
            found.append(self._weighed(word, rows) if rows else TextMatch(word, {}))
        if key_filter is not None and (few := key_filter.listed):
            found += self._among_few(counted[len(found) :], found, few)
        if rarer := [each for each in found if each.scores]:
            found += self._beside(counted[len(found) :], rarer)
        keys = set[int]().union(*(each.scores for each in found))
        if not (keys if key_filter is None else key_filter(keys)):
            found += self._newest([each for each in counted if each[0]])
        nowhere = {
            word.rstrip("*")
            for rows, word in counted
            if not rows or (word.endswith("*") and not is_only_a_beginning(word[:-1]))
        }
        # Of the others none can match, but SQLite would look for all their words, however frequent.
        possible = [phrase for phrase in wording.phrases if nowhere.isdisjoint(phrase.split()[:-1])]
        limit, weighed = most // PHRASES_SHARE, 0
        for rows, phrase in sorted((self._count(phrase, self.span, limit), phrase) for phrase in possible):
            weighed += rows
            if rows and weighed <= limit:
                found.append(replace(self._weighed(phrase, rows), is_phrase=True))
        return found

    def _counted(self, word: str, most: int) -> tuple[int, str]:
        """In how many memories; a word found nowhere may be the beginning of others."""
        if known := self.frequent.rows(word, self.span):
            return known, word
        rows = 0 if is_only_a_beginning(word) else self._count(word, self.span, self.everything)
        if rows > most:
            self.frequent.add(word, self.span, rows)
        if rows or not may_begin_others(word):
            return rows, word
        return self._count(f"{word}*", self.span, most), f"{word}*"

    def _count(self, word: str, span: Span, most: int) -> int:
        first, last = span
        counted = execute(
            self.db, "how_often", expression=_quoted(word), first=first, last=last, most=most + 1
        )
        return int(counted.fetchone()[0])

    def _weighed(self, word: str, rows: int) -> TextMatch:
        """BM25 in the span's own terms: SQLite asks how rare a word is in the whole index, where another
        project may speak of nothing else."""
        first, last = self.span
        is_whole = not word.endswith("*")
        is_all = self.span == EVERYWHERE
        everywhere = self._count(word, EVERYWHERE, COUNTED) if is_whole and not is_all else rows
        if everywhere > COUNTED or not is_whole:
            return self._flat(word, self._keys(_quoted(word)), rows)
        # As SQLite has it, the floor included.
        theirs = max(math.log((self.everything - everywhere + 0.5) / (everywhere + 0.5)), 1e-6)
        factor = idf(rows, self.size) / theirs
        found = execute(self.db, "weighed_matches", expression=_quoted(word), first=first, last=last)
        found.row_factory = None
        weighed = found.fetchall()
        scores = {key: factor * score for key, score, _ in weighed}
        return TextMatch(word, scores, {key: factor * said for key, _, said in weighed if said > 0})

    def _flat(self, word: str, keys: Iterable[int], rows: int) -> TextMatch:
        """Said once wherever it is said."""
        scores = dict.fromkeys(keys, idf(rows, self.size))
        by_kind = keys_by_kind(scores)
        events = by_kind.pop("evidence", set())
        if events:
            events &= set(self._keys(f"{{title body names}} : {_quoted(word)}"))
        return TextMatch(word, scores, dict.fromkeys(events.union(*by_kind.values()), idf(rows, self.size)))

    def _beside(self, counted: Sequence[tuple[int, str]], rarer: Sequence[TextMatch]) -> Iterator[TextMatch]:
        """What frequent words match of the memories that have a rarer one: nearly all of what they can change
        in the order of the best, for a fraction of the time that weighing all their matches takes."""
        have_one = " OR ".join(_quoted(each.word) for each in rarer)
        said = set[int]().union(*(each.said for each in rarer))
        walked = 0
        for rows, word in counted:
            walked += rows
            if walked > MOST_WALKED:
                break
            keys, score = self._keys(f"{_quoted(word)} AND ({have_one})"), idf(rows, self.size)
            scores = dict.fromkeys(keys, score)
            yield TextMatch(word, scores, dict.fromkeys(said.intersection(keys), score), rows=rows)

    def _among_few(
        self, counted: Sequence[tuple[int, str]], found: Sequence[TextMatch], few: Collection[int]
    ) -> Iterator[TextMatch]:
        """What frequent words match of the few memories that pass, until enough of them are found."""
        passed = set[int]().union(*(each.scores for each in found)).intersection(few)
        given: dict[str, Value] = {"memory_keys": json.dumps(list(few)), "first": min(few), "last": max(few)}
        walked = 0
        for rows, word in counted:
            is_probed = len(few) * PROBE < rows
            walked += len(few) * PROBE if is_probed else rows
            if len(passed) >= ENOUGH or walked > MOST_WALKED:
                break
            query = "probed_matches" if is_probed else "matches_among"
            keys = _first_column(execute(self.db, query, expression=_quoted(word), **given))
            passed.update(keys)
            score = idf(rows, self.size)
            yield TextMatch(word, dict.fromkeys(keys, score), dict.fromkeys(keys, score), rows=rows)

    def _keys(self, expression: str) -> list[int]:
        first, last = self.span
        return _first_column(execute(self.db, "matches", expression=expression, first=first, last=last))

    def _newest(self, counted: Sequence[tuple[int, str]]) -> list[TextMatch]:
        """Every word is everywhere: those that have all of them, else the rarest that any have; and of those
        the newest."""
        words, walked = [word for _, word in counted], 0
        tried = [(0, " ".join(words)), *counted] if len(words) > 1 else counted
        for rows, some in tried:
            walked += rows
            if walked > max(MOST_WALKED, counted[0][0]):
                break
            if newest := self._matching_keys(some, NEWEST, together=False):
                scores = dict.fromkeys(newest, 1.0)
                return [TextMatch(some, scores, scores)]
        return []

    def _matching_keys(self, words: str, limit: int, *, together: bool = True) -> list[int]:
        """The newest matches that pass. `together`: of the words as a phrase."""
        first, last = self.span
        expression = _quoted(words) if together else " AND ".join(map(_quoted, words.split()))
        everything = -1 if self.key_filter is not None else limit
        rows = execute(
            self.db, "newest_matches", expression=expression, first=first, last=last, limit=everything
        )
        rows.row_factory = None
        found: list[int] = []
        while len(found) < limit and (some := [key for (key,) in rows.fetchmany(AT_ONCE)]):
            found += some if self.key_filter is None else sorted(self.key_filter(some), reverse=True)
        return found[:limit]


def _first_column(found: sqlite3.Cursor) -> list[int]:
    found.row_factory = None
    return [key for (key,) in found.fetchall()]


def _quoted(words: str) -> str:
    """In quotation marks nothing is an operator of the index; the words hold letters and digits alone."""
    return f'"{words[:-1]}"*' if words.endswith("*") else f'"{words}"'
