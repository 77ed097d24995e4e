"""How well each memory answers a query: its own words, its session's, and the vectors' opinion. Pure.

    score = its words + COVERAGE * what of the query its session covers + weight * how close its session comes

Words are weighed by BM25 and divided by the query's weight (the idf of all its words), so that a score means
about the same whatever was asked. A session covers a word more, the more of its memories have it, but never
twice over: summing up hits would let the longest session win.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from claude_mem.model.recall import idf, session_at
from claude_mem.ports.library import Matches

COVERAGE = 1.0
SATURATION = 2.0  # memories of a session a word must be in for half of its coverage
PHRASE = 0.3  # of a phrase's BM25, beside that of its words


@dataclass(frozen=True, slots=True)
class Fused:
    words: dict[int, float]  # by spot
    coverage: dict[int, float]  # by session
    closeness: dict[int, float]  # by session, weighted
    extra: dict[int, float]  # by spot: what else speaks for it

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


def fuse(
    matches: Matches, cosines: Mapping[int, float], weight: float, extra: dict[int, float], share: float = 1.0
) -> Fused:
    """`share`: of all that words and vectors say, beside `extra`."""
    singles = [each for each in matches.matched if not each.is_phrase]
    rarity = [idf(len(each.scores), matches.total) for each in singles]
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
    return Fused(words, coverage, _closeness(cosines, weight * share), extra)


def ranked(fused: Fused, near: Mapping[int, float], per_session: int) -> Iterator[int]:
    """The spots, the best first, but of each session only its few best before all the rest."""
    places = fused.words.keys() | near.keys() | fused.extra.keys()
    best = sorted(places, key=lambda place: (-fused.score(place), -place))
    seen: Counter[int] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for place in best:
        session = session_at(place)
        seen[session] += 1
        (first if seen[session] <= per_session else rest).append(place)
    return chain(first, rest)


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
