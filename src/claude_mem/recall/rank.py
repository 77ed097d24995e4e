"""Priors for the ranking, and the choice of which results are shown. Pure.

Every prior is a factor near 1: it decides between memories that match about equally well, and never prevents
a match from being found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

from msgspec import Struct

from claude_mem.model.clock import DAY_MS
from claude_mem.model.full_text import STOP_WORDS
from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.model.structs import replace

BEST_PER_SESSION = 3
COMPARABLE = 0.5  # of its score: what others need to come before a session's fourth
RECENT = 0.05  # how much more today's counts than what is long ago
RECENT_DAYS = 30.0
PINNED = 1.15
SUPERSEDED = 0.6
SAME_FILES = 1.1
SAME_BRANCH = 1.03
KIND = {"observation": 1.0, "summary": 1.0, "prompt": 1.0, "evidence": 0.97}
TYPE = {"decision": 1.03, "bugfix": 1.02}
SOURCE = {"work": 1.0, "external": 0.95, "user": 1.05}
SEEN_AGAIN, MOST_SEEN = 0.01, 3
FRESH_DAYS = 7.0
LASTING = {"decision": 0.4, "bugfix": 0.25, "discovery": 0.2}  # a change is told by the code itself
ANSWERS = 0.75  # of the score of the best raw text of its session
AHEAD = 0.0001  # so much of its own score beyond that: they stay in their order
ALIKE = 0.8  # of the words of two titles
FORK = 0.8  # of the best copy's score: what a newer copy needs to take its place


class WorkContext(Struct, frozen=True):
    """The current work, as far as it is known."""

    files: frozenset[str] = frozenset()
    branch: str | None = None


def prior(card: Card, now: int, work: WorkContext, penalty: float) -> float:
    """`penalty`: below 1 when the code has moved on since (see `staleness`)."""
    age_days = max(0, now - card.created_at) / DAY_MS
    factor = 1.0 + RECENT * math.exp(-age_days / RECENT_DAYS)
    factor *= KIND[card.ref.kind] * TYPE.get(card.type or "", 1.0) * penalty
    if card.ref.kind != "prompt":
        factor *= SOURCE["work" if card.source == "user" and card.author else card.source]
    factor *= 1.0 + SEEN_AGAIN * min(card.seen_again, MOST_SEEN)
    if card.pinned:
        factor *= PINNED
    if card.superseded_by is not None:
        factor *= SUPERSEDED
    if work.files and not work.files.isdisjoint(card.files):
        factor *= SAME_FILES
    if work.branch and card.branch == work.branch:
        factor *= SAME_BRANCH
    return factor


def currency(card: Card, now: int, work: WorkContext, penalty: float) -> float:
    """How much a memory matters when nothing is asked: what is recent, and beside it what holds for
    longer."""
    age_days = max(0, now - card.created_at) / DAY_MS
    lasting = LASTING.get(card.type or "", 0.1)
    recency = math.exp(-age_days / FRESH_DAYS)
    return (lasting + (1.0 - lasting) * recency) * prior(card, now, work, penalty)


def newest_copies(hits: Sequence[Hit]) -> list[Hit]:
    """What a resumed or forked session repeats is shown from the newest that ranks about as high, which
    knows what came after. The two change places."""
    copies: dict[tuple[object, ...], list[Hit]] = {}
    for hit in hits:
        if hit.card.ref.kind != "observation":
            copies.setdefault(_exactly(hit.card), []).append(hit)
    scores: dict[Ref, float] = {}
    for same in copies.values():
        if len(same) > 1:
            best = max(same, key=lambda hit: hit.score)
            as_high = (hit for hit in same if hit.score >= FORK * best.score)
            newest = max(as_high, key=lambda hit: hit.card.created_at, default=best)
            scores |= {best.card.ref: newest.score, newest.card.ref: best.score}
    return [replace(hit, score=scores[hit.card.ref]) if hit.card.ref in scores else hit for hit in hits]


def answers_first(hits: Sequence[Hit]) -> list[Hit]:
    """Of one session, what was understood comes before what it was understood from, if it answers nearly as
    well. Which session comes first is not changed by it."""
    best: dict[str, float] = {}
    for hit in hits:
        if hit.card.ref.kind in ("prompt", "evidence"):
            best[hit.card.session] = max(best.get(hit.card.session, 0.0), hit.score)
    found = []
    for hit in hits:
        raw = best.get(hit.card.session, 0.0)
        answers = hit.card.ref.kind in ("observation", "summary") and ANSWERS * raw <= hit.score <= raw
        found.append(replace(hit, score=raw + AHEAD * hit.score) if answers else hit)
    return found


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, best first; equal ones by time, newest first."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.card.created_at, str(hit.card.ref)))


def spread(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits, with what says the same said once, and what a session has beyond its three best behind
    what others have that is comparably good. Those put behind are given no more than those before them have:
    a list is in the order of its scores."""
    seen = _SeenContent()
    best = _different_bests(hits, seen)
    shown: list[Hit] = []
    surplus: list[Hit] = []
    of_session: Counter[str] = Counter()
    for hit in hits:
        is_best = hit.card.ref in best
        if not is_best and seen.has(hit.card):
            continue
        if of_session[hit.card.session] < BEST_PER_SESSION:
            of_session[hit.card.session] += 1
            shown.append(hit)
            if not is_best:
                seen.add(hit.card)
        else:
            surplus.append(hit)
    ordered = [(hit.score, hit) for hit in shown]
    ordered += [(COMPARABLE * hit.score, hit) for hit in surplus]
    ordered.sort(key=lambda each: -each[0])
    scores = accumulate((hit.score for _, hit in ordered), min)
    return [replace(hit, score=score) for (_, hit), score in zip(ordered, scores, strict=True)]


def _different_bests(hits: Sequence[Hit], seen_content: _SeenContent) -> set[Ref]:
    """Of each session its best memory, which stays though a session before it has the same among its lesser
    ones; not if it is that session's best, too."""
    seen: set[str] = set()
    best: set[Ref] = set()
    for hit in hits:
        if hit.card.session not in seen and not seen_content.has(hit.card):
            best.add(hit.card.ref)
            seen_content.add(hit.card)
        seen.add(hit.card.session)
    return best


class _SeenContent:
    """The memories that were listed already. Titles are looked up by their words: comparing each with each
    takes longer than the rest of a search."""

    def __init__(self) -> None:
        self._exactly: set[tuple[object, ...]] = set()
        self._titles: list[frozenset[str]] = []
        self._by_word: dict[int, dict[str, list[int]]] = {}  # of each project

    def has(self, card: Card) -> bool:
        if card.ref.kind != "observation":
            # A repeated request or action is a separate one; only a resumed or forked session repeats it
            # exactly.
            return _exactly(card) in self._exactly
        words = _words(card.title)
        of_project = self._by_word.get(card.project_id, {})
        shared = Counter(chain.from_iterable(of_project.get(word, ()) for word in words))
        least = ALIKE * len(words)  # of as many words or more
        return any(
            both >= least and both >= ALIKE * (len(words) + len(self._titles[at]) - both)
            for at, both in shared.items()
        )

    def add(self, card: Card) -> None:
        if card.ref.kind != "observation":
            self._exactly.add(_exactly(card))
            return
        words = _words(card.title)
        of_project = self._by_word.setdefault(card.project_id, {})
        for word in words:
            of_project.setdefault(word, []).append(len(self._titles))
        self._titles.append(words)


def _exactly(card: Card) -> tuple[object, ...]:
    return card.ref.kind, card.project_id, card.title, card.text


def _words(title: str) -> frozenset[str]:
    return frozenset(title.lower().split()) - STOP_WORDS
