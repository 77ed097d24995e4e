"""Full-text matching at a limited cost: rare words first, and no more matches scored than there is time for.

Counting matches costs a thirtieth of scoring them, so every word is counted first. Frequent words add little
to BM25 and would take nearly all of its time; they are left out as soon as the rarer words reach the limit.
With a filter, they are searched for among the memories that pass, within the same limit, because few of those
may contain them.

This module only decides; each store implements counting, scoring and listing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from claude_mem.model.full_text import is_only_a_beginning, may_begin_others
from claude_mem.model.refs import idf, kind_at, session_at
from claude_mem.model.structs import replace
from claude_mem.store.relational.part import Connection, execute
from claude_mem.store.values import IndexSizes, TextMatch, TextQuery

if TYPE_CHECKING:
    from claude_mem.store.relational.memory_filters import KeyFilter

EVERYWHERE = (0, 2**63 - 1)
UP_TO_COUNTED = (0, 0)
"""The span of the whole index, in which a word is counted no further than `COUNTED`."""
NEWEST = 2_000
AT_ONCE = 5_000
COUNTED = 10_000
"""SQLite scores a word by its frequency in the whole index, and scans all its occurrences for that. A word in
more memories than this is not distinctive, and counts as one occurrence per memory in a span. So does a
prefix, because SQLite merges all its words again for each query."""
MOST_WALKED = 100_000
"""How many matches of frequent words are scanned, rarest words first: a word in half of all memories says
little, and its matches grow with the number of memories."""
PROBE = 200
"""Looking up a single memory in the index takes as long as scanning this many matches."""
ENOUGH = 300
"""If this many pass a filter, which is more than a search lists, frequent words are not searched further."""
PHRASES_SHARE = 4
"""The limit for scoring matches of phrases is this fraction of that of words, because a distinctive phrase
has few."""
MOST_KNOWN = 10_000
CACHED_FROM = 200
"""The count of a word in at least this many memories takes noticeable time, and is cached."""
SIZES_HOLD, HURRIED_HOLD = 0.02, 0.2
"""A span and its words are counted again when the index has grown by this part of it; the second while
somebody waits, for that takes a quarter of a millisecond for a thousand memories."""

Span = tuple[int, int]


class Frequent:
    """The counts of frequent words in a span, which take longest to count and occur in many queries. Any
    thread may call it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Span], int] = {}
        self._counted_at: dict[Span, int] = {}

    def renew(self, span: Span, everything: int, most: float) -> None:
        """Before a search: drop what was counted in a span when the index had that many fewer or more
        memories than `everything` now."""
        if abs(everything - self._counted_at.setdefault(span, everything)) > most:
            self._counted_at[span] = everything
            some = list(self._known.items())
            self._known = {known: rows for known, rows in some if known[1] != span}

    def rows(self, word: str, span: Span) -> int:
        """The count of a frequent word; 0: it is not known to be frequent."""
        return self._known.get((word, span), 0)

    def add(self, word: str, span: Span, rows: int) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known = {}  # so what was forgotten since is noticed some time
        self._known[word, span] = rows


class IndexCounts:
    """The cached counts of an index: how frequent its words are, and how many memories a span and each of its
    sessions have. How rare a word is does not change with a few memories more. Any thread may ask."""

    def __init__(self) -> None:
        self.frequent = Frequent()
        self._sizes: dict[Span, tuple[int, IndexSizes]] = {}

    def of(self, db: Connection, span: Span, everything: int, *, hurried: bool) -> IndexSizes:
        """The sizes of a span; what was counted of its words is as old as they are, at most.
        `everything`: how many memories there are in all."""
        hold = HURRIED_HOLD if hurried else SIZES_HOLD
        counted_at, sizes = self._sizes.get(span, (0, None))
        if sizes is None or abs(everything - counted_at) > hold * sizes.total:
            rows = execute(db, "sizes_of_span", first=span[0], last=span[1]).fetchall()
            prose_counts = {session_at(row["first"]): row["said"] for row in rows}
            sessions = {session: max(1, count) for session, count in prose_counts.items()}
            sizes = IndexSizes(sum(row["rows"] for row in rows), sum(prose_counts.values()), sessions)
            self._sizes[span] = everything, sizes
        self.frequent.renew(span, everything, hold * sizes.total)
        self.frequent.renew(UP_TO_COUNTED, everything, hold * everything)
        return sizes


class Matcher(ABC):
    """Looks words up in a span of the index. `words` of the abstract methods are a word, the beginning of one
    (`auth*`) or a phrase."""

    def __init__(
        self,
        db: Connection,
        span: Span,
        size: int,
        everything: int,
        frequent: Frequent,
        key_filter: KeyFilter | None = None,
    ) -> None:
        """`size`: how many memories the span has; `everything`: how many the whole index has."""
        self.db, self.span, self.size, self.everything = db, span, size, everything
        self.frequent, self.key_filter = frequent, key_filter

    @abstractmethod
    def count(self, words: str, span: Span, most: int) -> int:
        """In how many memories of a span, counted up to one more than `most`."""

    @abstractmethod
    def score(self, words: str, everywhere: int) -> TextMatch:
        """Scores all matches in the span, with words in titles counting most, and again without tool input
        and output. A word's rarity is that in the span, because another project may use it all the time."""

    @abstractmethod
    def score_few(self, words: str, most: int) -> TextMatch | None:
        """The same for words that were not counted; None: more than `most` match."""

    @abstractmethod
    def matches(self, words: str, *, prose: bool = False) -> list[int]:
        """All matches in the span. `prose`: not in a tool's words."""

    @abstractmethod
    def matches_with(self, words: str, rarer: Sequence[str]) -> list[int]:
        """The matches that also contain one of the rarer words."""

    @abstractmethod
    def matches_among(self, words: str, memory_keys: Collection[int], *, is_probed: bool) -> list[int]:
        """Those that are among some memories. `is_probed`: so few that each is looked up by itself."""

    @abstractmethod
    def newest(self, expressions: Sequence[str], limit: int | None) -> Iterable[int]:
        """The newest memories that contain all of these words."""

    def match(self, wording: TextQuery) -> list[TextMatch]:
        most, key_filter = wording.most_rows, self.key_filter
        counted = sorted(self._counted(word, most) for word in wording.words)
        found, scored_rows = [], 0
        for rows, word in counted:
            scored_rows += rows
            if scored_rows > most:
                break
            found.append(self._scored(word, rows) if rows else TextMatch(word, {}))
        if key_filter is not None and (few := key_filter.listed):
            found += self._among_few(counted[len(found) :], found, few)
        if rarer := [each for each in found if each.scores]:
            found += self._beside(counted[len(found) :], rarer)
        if not self._passes(found):
            found += self._newest([each for each in counted if each[0]])
        nowhere = {
            word.rstrip("*")
            for rows, word in counted
            if not rows or (word.endswith("*") and not is_only_a_beginning(word[:-1]))
        }
        # The others cannot match, but SQLite would search for all their words, however frequent.
        possible = [phrase for phrase in wording.phrases if nowhere.isdisjoint(phrase.split()[:-1])]
        limit, scored_rows = most // PHRASES_SHARE, 0
        words = {word: rows for rows, word in counted}
        for each in sorted(self._phrases(possible, words, limit), key=lambda each: len(each.scores)):
            scored_rows += len(each.scores)
            if scored_rows <= limit:
                found.append(each)
        return found

    def _passes(self, found: Sequence[TextMatch]) -> bool:
        """Whether any of it does."""
        if self.key_filter is None:
            return any(each.scores for each in found)
        return bool(self.key_filter(set[int]().union(*(each.scores for each in found))))

    def _counted(self, word: str, most: int) -> tuple[int, str]:
        """In how many memories; a word found nowhere may be the beginning of others."""
        if known := self.frequent.rows(word, self.span):
            return known, word
        rows = 0 if is_only_a_beginning(word) else self.count(word, self.span, self.everything)
        if rows >= CACHED_FROM:
            self.frequent.add(word, self.span, rows)
        if rows or not may_begin_others(word):
            return rows, word
        return self.count(f"{word}*", self.span, most), f"{word}*"

    def _scored(self, word: str, rows: int) -> TextMatch:
        everywhere = COUNTED + 1 if word.endswith("*") else self._everywhere(word, rows)
        if everywhere > COUNTED:
            return self._flat(word, self.matches(word), rows)
        return self.score(word, everywhere)

    def _phrases(self, phrases: Iterable[str], words: Mapping[str, int], limit: int) -> Iterator[TextMatch]:
        """Those that some memories have, and no more than `limit`. `words`: how many have each word."""
        for phrase in phrases:
            if self.frequent.rows(phrase, self.span) > limit:
                continue
            found: TextMatch | None = None
            # SQLite scans its words to find it, and again to compute how rare it is.
            if min(self._everywhere(word, words.get(word.lower(), 0)) for word in phrase.split()) <= COUNTED:
                found = self.score_few(phrase, limit)
            elif (rows := self.count(phrase, self.span, limit)) <= limit:
                found = self._flat(phrase, self.matches(phrase), rows)
            if found is None:
                self.frequent.add(phrase, self.span, limit + 1)
            elif found.scores:
                yield replace(found, is_phrase=True)

    def _everywhere(self, word: str, rows: int) -> int:
        """In how many memories of all, counted up to one more than `COUNTED`; `rows`: of the span."""
        if self.span == EVERYWHERE or rows > COUNTED or not rows:
            return rows
        known = self.frequent.rows(word, UP_TO_COUNTED)
        if not known:
            known = self.count(word, EVERYWHERE, COUNTED)
            if known >= CACHED_FROM:
                self.frequent.add(word, UP_TO_COUNTED, known)
        return known

    def _flat(self, word: str, keys: Iterable[int], rows: int) -> TextMatch:
        """The weight if the word counts as one occurrence in each memory."""
        scores = dict.fromkeys(keys, idf(rows, self.size))
        events = {key for key in scores if kind_at(key) == "evidence"}
        if not events:
            return TextMatch(word, scores, scores)
        prose = scores.keys() - (events - set(self.matches(word, prose=True)))
        return TextMatch(word, scores, dict.fromkeys(prose, idf(rows, self.size)))

    def _beside(self, counted: Sequence[tuple[int, str]], rarer: Sequence[TextMatch]) -> Iterator[TextMatch]:
        """The matches of frequent words in memories that also contain a rarer word. This has nearly the same
        effect on the best results, for a fraction of the time that scoring all their matches takes."""
        prose = set[int]().union(*(each.prose for each in rarer))
        walked = 0
        for rows, word in counted:
            walked += rows
            if walked > MOST_WALKED:
                break
            keys, score = self.matches_with(word, [each.word for each in rarer]), idf(rows, self.size)
            scores = dict.fromkeys(keys, score)
            yield TextMatch(word, scores, dict.fromkeys(prose.intersection(keys), score), rows=rows)

    def _among_few(
        self, counted: Sequence[tuple[int, str]], found: Sequence[TextMatch], few: Collection[int]
    ) -> Iterator[TextMatch]:
        """What frequent words match of the few memories that pass, until enough of them are found."""
        passed = set[int]().union(*(each.scores for each in found)).intersection(few)
        walked = 0
        for rows, word in counted:
            is_probed = len(few) * PROBE < rows
            walked += len(few) * PROBE if is_probed else rows
            if len(passed) >= ENOUGH or walked > MOST_WALKED:
                break
            keys, score = self.matches_among(word, few, is_probed=is_probed), idf(rows, self.size)
            passed.update(keys)
            yield TextMatch(word, dict.fromkeys(keys, score), dict.fromkeys(keys, score), rows=rows)

    def _newest(self, counted: Sequence[tuple[int, str]]) -> list[TextMatch]:
        """For queries with only frequent words: the newest memories that contain all of them, or otherwise
        the rarest words that any contain."""
        words, walked = [word for _, word in counted], 0
        tried = [(0, " ".join(words)), *counted] if len(words) > 1 else counted
        for rows, some in tried:
            walked += rows
            if walked > max(MOST_WALKED, counted[0][0]):
                break
            if newest := self._matching_keys(some, NEWEST):
                scores = dict.fromkeys(newest, 1.0)
                return [TextMatch(some, scores, scores)]
        return []

    def _matching_keys(self, words: str, limit: int) -> list[int]:
        """The newest that have all of these words, and pass."""
        rows = iter(self.newest(words.split(), None if self.key_filter is not None else limit))
        found: list[int] = []
        while len(found) < limit and (some := list(islice(rows, AT_ONCE))):
            found += some if self.key_filter is None else sorted(self.key_filter(some), reverse=True)
        return found[:limit]
