"""Scores the sessions that match a query, and their memories: by three measures of its words, and by vectors.
Pure.

    a session's score = its best memory + the best of what was said in it + all of it
                        + weight * its closest memory by vectors + what it did about a file that is named

Each term is measured in standard deviations over the sessions: a measure that distinguishes sessions counts
for more than one that is similar for all, whatever its scale. This needs no constant, and worked for every
project it was measured on (docs/recall-quality.md). "All of it" is BM25 of the whole session, in which a word
counts once for each memory that contains it. A memory's score is its session's score, scaled by how well it
matches compared with the best memory of that session.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import mul

from msgspec import Struct

from claude_mem.model.refs import idf, orders_at, session_at, sessions_at
from claude_mem.model.structs import replace
from claude_mem.store.values import TextMatches

SATURATION, BY_LENGTH = 5.0, 0.5
"""BM25 of a session as a whole: k1, and the power of its length, in place of b. A word counts more if more of
the session's memories contain it, and less if the session is long: one that is four times as long has about
twice as many different words. The length leaves out tool calls, which are many and have few words."""
ONLY_FILES = 3.0
"""The weight of a file if the query has nothing else: three times that of a measure."""
PHRASE = 0.3  # of a phrase's BM25, beside that of its words

LEADING = 600
"""How many of thousands of memories are sorted first: callers rarely need more."""


class WordScores(Struct, frozen=True):
    """The scores by words."""

    memories: dict[int, float]  # by memory
    prose: dict[int, float]  # by session: the best of what was said and understood in it
    session_scores: dict[int, float]  # by session, for the words that were scored in all of them
    strength: float  # the best memory's, in words that a single session has
    unknown: float  # the share of the words that no memory has
    shared: frozenset[str]  # the words that the best memory has
    covered: float  # how much of them, where a rare word weighs more


class Fused(Struct, frozen=True):
    words: Mapping[int, float]  # by memory, in standard deviations
    near: Mapping[int, float]
    files: Mapping[int, float]
    sessions: Mapping[int, float]
    own: Mapping[int, float]  # by memory: its words, vectors and files together
    best: Mapping[int, float]  # by session: the most that one of its memories has of its own

    def in_order(self, least: float = 0.0) -> list[int]:
        """The memories of the sessions that have at least so much, the best first."""
        sessions, own, best = self.sessions, self.own, self.best
        pairs: Iterable[tuple[int, int]] = zip(sessions_at(own), own, strict=True)
        if least > 0.0:
            leading = {session for session in best if sessions[session] >= least}
            pairs = ((session, key) for session, key in pairs if session in leading)
        scored = [
            (sessions[session] * own[key] / best[session] if session in best else 0.0, key)
            for session, key in pairs
        ]
        orders = orders_at([key for _, key in scored])
        ordered = sorted(
            ((score, at, key) for (score, key), at in zip(scored, orders, strict=True)), reverse=True
        )
        return [key for _, _, key in ordered]

    def score(self, key: int) -> float:
        session = session_at(key)
        return self.sessions[session] * self.own[key] / self.best[session] if session in self.best else 0.0

    def parts(self, key: int) -> dict[str, float]:
        return {
            "words": self.words.get(key, 0.0),
            "vectors": self.near.get(key, 0.0),
            "file": self.files.get(key, 0.0),
            "session": self.score(key) - self.own[key],
        }


def score_words(matches: TextMatches) -> WordScores:
    sizes = matches.sizes
    memories: dict[int, float] = {}
    prose: dict[int, float] = {}
    for each in matches.matched:
        counts = PHRASE if each.is_phrase else 1.0
        _add(memories, each.scores, counts)
        if each.rows is None and each.prose:  # its rarity in prose
            counts *= idf(len(each.prose), sizes.prose) / idf(len(each.scores), sizes.total)
        _add(prose, each.prose, counts)
    mean = max(1, sizes.prose) / max(1, len(sizes.sessions))
    unseen = idf(1, len(sizes.sessions))
    words = [each for each in matches.matched if not each.is_phrase]
    rarity: list[float] = []  # of each word, among the sessions
    counted: list[tuple[float, Counter[int]]] = []  # of those that were weighed everywhere
    for each in words:
        times = Counter(sessions_at(each.scores))
        weight = idf(len(times), len(sizes.sessions)) if times else unseen
        rarity.append(weight)
        if each.rows is None:
            counted.append((weight, times))
    # What each session's length adds to a word's count, beneath the line.
    lengths = {
        session: SATURATION * (sizes.sessions.get(session, mean) / mean) ** BY_LENGTH
        for session in set[int]().union(*(times for _, times in counted))
    }
    session_scores = dict.fromkeys(lengths, 0.0)
    for weight, times in counted:
        for session, n in times.items():
            session_scores[session] += weight * (n * (SATURATION + 1) / (n + lengths[session]))
    best = max(memories, key=memories.__getitem__, default=-1)
    of_best = [(each, weight) for each, weight in zip(words, rarity, strict=True) if best in each.scores]
    return WordScores(
        memories,
        _best(prose),
        session_scores,
        strength=memories.get(best, 0.0) / unseen,
        unknown=sum(not each.scores for each in words) / max(1, len(words)),
        shared=frozenset(each.word.rstrip("*") for each, _ in of_best),
        covered=sum(weight for _, weight in of_best) / (sum(rarity) or 1.0),
    )


def apart_from(matches: TextMatches, session: int) -> TextMatches:
    """The same scores without this session."""

    def of_others(scores: dict[int, float]) -> dict[int, float]:
        return {key: score for key, score in scores.items() if session_at(key) != session}

    matched = (
        replace(each, scores=of_others(each.scores), prose=of_others(each.prose)) for each in matches.matched
    )
    return TextMatches(matches.sizes, tuple(matched))


def fuse(
    word_scores: WordScores,
    cosines: Mapping[int, float],
    weight: float,
    files: Mapping[int, float],
    is_allowed: Callable[[int], bool] | None = None,
    *,
    file_weight: float = 1.0,
) -> Fused:
    """`is_asked`: whether a memory may be shown. What speaks for its session counts either way."""
    words, best_words = _scaled(word_scores.memories)
    near, best_near = _closeness(cosines, weight)
    named, best_named = _scaled(files, file_weight)
    prose, session_scores = (
        _times(leg, 1 / _deviation(leg)) for leg in (word_scores.prose, word_scores.session_scores)
    )
    sessions = _sum(best_words, prose, session_scores, best_near, best_named)
    if is_allowed is None:
        own = _sum(words, near, named)
        # Few sessions have more than their words, and only those can beat the best by words.
        best = _best({key: own[key] for key in (*near, *named)}, best_words)
        return Fused(words, near, named, sessions, own, best)
    words, near, named = (
        {key: score for key, score in leg.items() if is_allowed(key)} for leg in (words, near, named)
    )
    own = _sum(words, near, named)
    return Fused(words, near, named, sessions, own, _best(own))


def ranked(fused: Fused, per_session: int) -> Iterator[int]:
    """The memories, the best first, but of each session only its few best before all the rest. Of equals, in
    whichever project, the later session's first."""
    # A memory's score is at most its session's, whose best memory has the same score. So the leading memories
    # are in the leading sessions.
    most = sorted(map(fused.sessions.__getitem__, fused.best))
    least = most[-LEADING] if len(most) > LEADING else 0.0
    leading, _ = _parted(fused.in_order(least), per_session)
    yield from leading[:LEADING]
    yielded = set(leading[:LEADING])
    first, rest = _parted(fused.in_order(), per_session)
    yield from (key for key in (*first, *rest) if key not in yielded)


def _parted(keys: Sequence[int], per_session: int) -> tuple[list[int], list[int]]:
    seen: dict[int, int] = {}
    first: list[int] = []
    rest: list[int] = []
    for session, key in zip(sessions_at(keys), keys, strict=True):
        seen[session] = count = seen.get(session, 0) + 1
        (first if count <= per_session else rest).append(key)
    return first, rest


def _best(scores: Mapping[int, float], above: Mapping[int, float] | None = None) -> dict[int, float]:
    """The score of each session's best memory. `above`: only if it is higher than this."""
    best: dict[int, float] = dict(above or {})
    known = best.get
    for session, score in zip(sessions_at(scores), scores.values(), strict=True):
        if score > known(session, 0.0):
            best[session] = score
    return best


def _sum(*legs: Mapping[int, float]) -> dict[int, float]:
    total = dict(legs[0])
    for leg in legs[1:]:
        _add(total, leg)
    return total


def _add(total: dict[int, float], scores: Mapping[int, float], counts: float = 1.0) -> None:
    known = total.get
    for key, score in scores.items():
        total[key] = known(key, 0.0) + counts * score


def _scaled(scores: Mapping[int, float], weight: float = 1.0) -> tuple[dict[int, float], dict[int, float]]:
    """By memory and by session, in standard deviations of what the best of each session has."""
    best = _best(scores)
    factor = weight / _deviation(best)
    return _times(scores, factor), _times(best, factor)


def _times(scores: Mapping[int, float], factor: float) -> dict[int, float]:
    return {key: factor * score for key, score in scores.items()}


def _deviation(of_sessions: Mapping[int, float]) -> float:
    """Of those that have anything of it and of one that has nothing: so a single one, or several that are
    alike, are still told from the rest."""
    values = [*of_sessions.values(), 0.0]
    mean = sum(values) / len(values)
    apart = [value - mean for value in values]
    return math.sqrt(sum(map(mul, apart, apart)) / len(values)) or 1.0


def _closeness(cosines: Mapping[int, float], weight: float) -> tuple[dict[int, float], dict[int, float]]:
    """By memory and by session: how much closer it is than the farthest of those that were compared."""
    farthest = min(cosines.values(), default=0.0)
    return _scaled({key: cosine - farthest for key, cosine in cosines.items()}, weight)
