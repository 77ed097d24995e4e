"""The search, the same for HTTP, MCP, the command line and hooks.

    __call__ > Memories.match    by words; `fuse.score_words` scores them
             > _closeness        by vectors
             > _files            by the files that the query names
             > fuse.fuse         one score for each memory
             > _hits             read the rows, apply priors and staleness, leave out copies

`memory_reader` converts a request to a query and filters, and the results to a response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import nlargest
from itertools import islice

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.model.full_text import query_words
from claude_mem.model.refs import (
    NEAREST,
    Card,
    Filters,
    Hit,
    kind_at,
    orders_at,
    ref_at,
    session_at,
)
from claude_mem.model.structs import replace
from claude_mem.recall import fuse, query_paths, rank
from claude_mem.recall.filter_resolver import fits
from claude_mem.recall.rank import WorkContext
from claude_mem.recall.staleness import penalty, with_newer
from claude_mem.store.base import KeyFilter, Memories
from claude_mem.store.values import TextQuery
from claude_mem.vectors.backend import VectorsStarting, VectorsUnavailable
from claude_mem.vectors.indexer import Similarity

CHUNK, FURTHER = 120, 40
"""How many memories are read at once, and how many more if some of them do not count."""
RANKED_PER_SESSION = 5
"""How many memories of a session are examined before the remaining ones of all sessions."""
MOST_LOOKED_AT = 3_000
"""The maximum number of memories whose rows are read for one search."""
MOST_SPREAD = 200
HURRIED_ROWS = 3_000
"""How many matches are scored while a caller waits: those of the rarest words."""
HURRIED_CHUNK = 40

SAME_MEANING = 0.6
"""What the nearest memory's cosine times the model's weight must come to if no word of the query was found. A
static model, of half the weight, hardly has it: it finds something near to any letters."""

MOST_OF_A_FILE = 500
MOST_BESIDE = 2_000
MOST_PATHS = 3

CheckStaleness = Callable[[Card], tuple[str, ...]]
"""The marks of a memory whose code has changed since, in the words of `staleness`."""


class SearchResults(Struct, frozen=True):
    hits: list[Hit]
    legs: tuple[str, ...]
    note: str | None = None  # why a leg is missing
    strength: float = 0.0  # the best memory's BM25, in words that a single session has
    unknown: float = 0.0  # the share of the query's words that no memory has
    shared: frozenset[str] = frozenset()  # those that the memory with the best words has
    covered: float = 0.0  # how much of them, where a rare word weighs more


class Search(Struct, frozen=True):
    memories: Memories
    clock: Clock
    near: Similarity | None
    check_staleness: CheckStaleness

    def __call__(
        self,
        query: str,
        filters: Filters,
        most: int,
        work: WorkContext | None = None,
        *,
        hurried: bool = False,
        without_session: int | None = None,
    ) -> SearchResults:
        """The best `most` memories, the best first. `hurried`: somebody waits, so nothing is loaded for it.
        `without_session`: a session whose memories are left out. Memories marked
        wrong are found only if the filters ask for exactly those."""
        filters = replace(filters, wrong=False) if filters.wrong is None else filters
        words, phrases = query_words(query)
        text_query = (
            TextQuery(words, phrases, HURRIED_ROWS, is_hurried=True) if hurried else TextQuery(words, phrases)
        )
        # For a waiting caller, only the rarest words are filtered in advance; other results are filtered as
        # they appear.
        key_filter = None if hurried else self.memories.key_filter(filters)
        matches = self.memories.match(text_query, filters.project_id, key_filter)
        if without_session is not None:
            matches = fuse.apart_from(matches, without_session)
        word_scores = fuse.score_words(matches)
        by_words = _passed(word_scores.memories, key_filter)
        cosines, legs, note = self._closeness(query, filters.project_id, by_words, hurried, key_filter)
        if without_session is not None:
            cosines = {key: cosine for key, cosine in cosines.items() if session_at(key) != without_session}
        files = self._files(query, filters, key_filter)
        by_files = _passed(files, key_filter)
        allowed = None if key_filter is None else by_words.keys() | by_files.keys() | key_filter(cosines)
        kinds = filters.kinds
        weight = self.near.weight if self.near else 0.0
        if not by_words and not by_files and max(cosines.values(), default=0.0) * weight < SAME_MEANING:
            return SearchResults([], legs, note, unknown=1.0)
        fused = fuse.fuse(
            word_scores,
            cosines,
            weight,
            files,
            allowed.__contains__
            if allowed is not None
            else (lambda key: kind_at(key) in kinds)
            if kinds
            else None,
            file_weight=fuse.ONLY_FILES if query_paths.is_only_paths(query) else 1.0,
        )
        keys = fuse.ranked(fused, RANKED_PER_SESSION)
        chunks = _chunks(keys, HURRIED_CHUNK if hurried else CHUNK)
        unchecked = filters if key_filter is None else None
        enough = most, min(most, len(by_words) + len(by_files))
        hits = self._hits(chunks, fused, unchecked, work or WorkContext(), enough)
        if hits and not by_words and not by_files:
            note = NEAREST
        shared, covered = word_scores.shared, word_scores.covered
        return SearchResults(hits, legs, note, word_scores.strength, word_scores.unknown, shared, covered)

    def _closeness(
        self,
        query: str,
        project_id: int | None,
        words: Mapping[int, float],
        hurried: bool,
        key_filter: KeyFilter | None,
    ) -> tuple[dict[int, float], tuple[str, ...], str | None]:
        if self.near is None or not query.strip() or (hurried and not self.near.is_ready()):
            return {}, ("text",), None
        # Of equals the later session's, so that every store compares the same.
        leading = [
            key for _, _, key in nlargest(CHUNK, zip(words.values(), orders_at(words), words, strict=True))
        ]
        try:
            found = self.near.cosines(query, project_id, leading, nearest=not hurried, key_filter=key_filter)
        except VectorsStarting:
            return {}, ("text",), None
        except VectorsUnavailable as why:
            return {}, ("text",), str(why)
        return found, ("text", "vectors"), None

    def _files(self, query: str, filters: Filters, key_filter: KeyFilter | None) -> dict[int, float]:
        """Scores sessions by the files in the query; all of a session's work counts, even memories that are
        filtered out."""
        found: dict[int, float] = {}
        for path in query_paths.paths_in(query)[:MOST_PATHS]:
            touched: dict[str, list[int]] = {"modified": [], "read": [], "named": []}
            for key, how in self._touched(path, filters, key_filter).items():
                touched[how].append(key)
            beside = [
                self._beside(folder, filters, key_filter) for folder in query_paths.parent_folders(path)
            ]
            lifts = query_paths.lifts(touched["modified"], touched["read"], touched["named"], beside)
            for key, lift in lifts.items():
                found[key] = found.get(key, 0.0) + lift
        return found

    def _touched(self, path: str, filters: Filters, key_filter: KeyFilter | None) -> dict[int, str]:
        """Where more is known of a file than is looked at, what passes is looked for on its own."""
        found = dict(self.memories.keys_of_file(path, Filters(filters.project_id), MOST_OF_A_FILE))
        if key_filter is not None and len(found) >= MOST_OF_A_FILE:
            found |= self.memories.keys_of_file(path, filters, MOST_OF_A_FILE)
        return found

    def _beside(self, folder: str, filters: Filters, key_filter: KeyFilter | None) -> list[tuple[int, str]]:
        found = self.memories.in_folder(folder, filters.project_id, limit=MOST_BESIDE)
        if key_filter is not None and len(found) >= MOST_BESIDE:
            found += self.memories.in_folder(folder, filters.project_id, key_filter, limit=MOST_BESIDE)
        return found

    def _hits(
        self,
        chunks: Iterator[list[int]],
        fused: fuse.Fused,
        filters: Filters | None,
        work: WorkContext,
        enough: tuple[int, int],
    ) -> list[Hit]:
        """Looks on for those that say what was asked, though as many were found by meaning alone. `filters`:
        what is still to be left out; `enough`: how many in all, and of those that say it."""
        now, (most, least_matching) = self.clock(), enough
        hits: list[Hit] = []
        matching = looked_at = 0
        while (len(hits) < most or matching < least_matching) and looked_at < MOST_LOOKED_AT:
            chunk = next(chunks, None)
            if chunk is None:
                break
            looked_at += len(chunk)
            keys = {ref_at(key): key for key in chunk}
            for card in self.memories.cards(list(keys)):
                if filters is None or fits(card, filters):
                    key = keys[card.ref]
                    marks = self.check_staleness(card)
                    prior = rank.prior(card, now, work, penalty(marks))
                    parts = fused.parts(key)
                    matching += key in fused.words or key in fused.files
                    hits.append(Hit(card, sum(parts.values()) * prior, parts | {"prior": prior}, marks))
        ordered = with_newer(rank.ordered(rank.answers_first(rank.newest_copies(hits))))
        return (rank.spread(ordered[:MOST_SPREAD]) + ordered[MOST_SPREAD:])[:most]


def _chunks(keys: Iterator[int], first: int) -> Iterator[list[int]]:
    yield list(islice(keys, first))
    while some := list(islice(keys, FURTHER)):
        yield some


def _passed(scores: Mapping[int, float], key_filter: KeyFilter | None) -> Mapping[int, float]:
    if key_filter is None:
        return scores
    passed = key_filter(scores)
    return {key: score for key, score in scores.items() if key in passed}
