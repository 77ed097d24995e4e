"""How well each memory answers a query: its own words, its session's, and the vectors' opinion. Pure.

    score = its words + COVERAGE * what of the query its session covers + weight * how close its session comes

Words are weighed by BM25 and divided by the query's weight (the idf of all its words), so that a score means
about the same whatever was asked. A session covers a word more, the more of its memories have it, but never
twice over: summing up hits would let the longest session win.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nlargest

from msgspec import Struct, field

from claude_mem.model.refs import MemoryKind, idf, kind_at, session_at
from claude_mem.model.structs import replace
from claude_mem.store.values import TextMatches

COVERAGE = 1.0
SATURATION = 2.0  # memories of a session a word must be in for half of its coverage
PHRASE = 0.3  # of a phrase's BM25, beside that of its words

LEADING = 600
"""So many are put in order first: whoever asks seldom looks at more, and thousands were found."""


class Fused(Struct, frozen=True):
    words: dict[int, float]  # by spot
    coverage: dict[int, float]  # by session
    closeness: Mapping[int, float] = field(default_factory=dict)  # by session, weighted
    extra: Mapping[int, float] = field(default_factory=dict)  # by spot: what else speaks for it

    def score(self, spot: int) -> float:
        session = session_at(spot)
        return (
            self.words.get(spot, 0.0)
            + COVERAGE * self.coverage.get(session, 0.0)
            + self.closeness.get(session, 0.0)
            + self.extra.get(spot, 0.0)
        )

    def parts(self, spot: int) -> dict[str, float]:
        session = session_at(spot)
        return {
            "words": self.words.get(spot, 0.0),
            "coverage": COVERAGE * self.coverage.get(session, 0.0),
            "vectors": self.closeness.get(session, 0.0),
            "file": self.extra.get(spot, 0.0),
        }


def weigh(matches: TextMatches, share: float = 1.0) -> Fused:
    """What the words say. `share`: how much of it counts, beside what else speaks for a memory."""
    singles = [each for each in matches.matched if not each.is_phrase]
    rarity = [idf(len(each.scores) if each.rows is None else each.rows, matches.total) for each in singles]
    mass = (sum(rarity) or 1.0) / share
    words: dict[int, float] = {}
    for each in matches.matched:
        counts = (PHRASE if each.is_phrase else 1.0) / mass
        for spot, score in each.scores.items():
            words[spot] = words.get(spot, 0.0) + counts * score
    coverage: dict[int, float] = {}
    for each, rare in zip(singles, rarity, strict=True):
        for session, times in Counter(map(session_at, each.scores)).items():
            coverage[session] = coverage.get(session, 0.0) + rare / mass * times / (times + SATURATION)
    return Fused(words, coverage)


def fuse(weighed: Fused, cosines: Mapping[int, float], weight: float, extra: dict[int, float]) -> Fused:
    """With what the vectors say, and what else speaks for a memory."""
    return replace(weighed, closeness=_closeness(cosines, weight), extra=extra)


def ranked(
    fused: Fused,
    near: Mapping[int, float],
    per_session: int,
    kinds: Collection[MemoryKind] = (),
    only: Collection[int] | None = None,
) -> Iterator[int]:
    """The spots of these kinds (none: of all), and `only` these, the best first, but of each session only its
    few best before all the rest."""
    scored = _scored(fused, near)
    if only is not None:
        scored = [(score, place) for score, place in scored if place in only]
    leading, _ = _parted(nlargest(LEADING, scored), per_session, kinds)
    yield from leading
    first, rest = _parted(sorted(scored, reverse=True), per_session, kinds)
    yield from first[len(leading) :]
    yield from rest


def _scored(fused: Fused, near: Mapping[int, float]) -> list[tuple[float, int]]:
    """As `Fused.score` has it; of equals the later spot is the larger."""
    words, extra = fused.words, fused.extra
    of_session = {session: COVERAGE * covered for session, covered in fused.coverage.items()}
    for session, closeness in fused.closeness.items():
        of_session[session] = of_session.get(session, 0.0) + closeness
    scored = [(score + of_session.get(session_at(place), 0.0), place) for place, score in words.items()]
    if extra:
        scored = [(score + extra.get(place, 0.0), place) for score, place in scored]
    others = (near.keys() | extra.keys()) - words.keys()
    scored += [(of_session.get(session_at(place), 0.0) + extra.get(place, 0.0), place) for place in others]
    return scored


def _parted(
    best: Iterable[tuple[float, int]], per_session: int, kinds: Collection[MemoryKind]
) -> tuple[list[int], list[int]]:
    seen: Counter[int] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for _, place in best:
        if kinds and kind_at(place) not in kinds:
            continue  # what nobody asked for takes no one's place
        session = session_at(place)
        seen[session] += 1
        (first if seen[session] <= per_session else rest).append(place)
    return first, rest


def _closeness(cosines: Mapping[int, float], weight: float) -> dict[int, float]:
    """By session: how far its closest memory stands out, in standard deviations."""
    best: dict[int, float] = {}
    for spot, cosine in cosines.items():
        session = session_at(spot)
        best[session] = max(best.get(session, -1.0), cosine)
    if not best:
        return {}
    mean = sum(best.values()) / len(best)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in best.values()) / len(best)) or 1.0
    return {session: weight * (value - mean) / deviation for session, value in best.items()}
