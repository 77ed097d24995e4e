"""What else speaks for or against a memory, and which of those found are shown. Pure.

Everything here is a factor near 1: a prior tips the balance between memories that answer about equally
well, and never keeps one that answers from being found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from claude_mem.model.recall import Card, Hit
from claude_mem.model.wording import STOP_WORDS

DAY_MS = 24 * 60 * 60 * 1000
PER_SESSION = 3
OPENING = 0.3  # a session's first request says what all of it is about
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
ALIKE = 0.8  # of the words of two titles


@dataclass(frozen=True, slots=True)
class Work:
    """What is being done just now, as far as it is known."""

    files: frozenset[str] = frozenset()
    branch: str | None = None


def prior(card: Card, now: int, work: Work, truth: float) -> float:
    """`truth`: below 1 when the code has moved on since (see `truth`)."""
    age_days = max(0, now - card.created_at) / DAY_MS
    factor = 1.0 + RECENT * math.exp(-age_days / RECENT_DAYS)
    factor *= KIND[card.ref.kind] * TYPE.get(card.type or "", 1.0) * truth
    if card.ref.kind != "prompt":
        factor *= SOURCE[card.source]
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


def currency(card: Card, now: int, work: Work, truth: float) -> float:
    """How much a memory matters when nothing is asked: what is recent, and beside it what holds for
    longer."""
    age_days = max(0, now - card.created_at) / DAY_MS
    lasting = LASTING.get(card.type or "", 0.1)
    fresh = math.exp(-age_days / FRESH_DAYS)
    return (lasting + (1.0 - lasting) * fresh) * prior(card, now, work, truth)


def opening(card: Card, words: float) -> float:
    """What the words of a session's first request count beyond those of others."""
    return OPENING * words if card.ref.kind == "prompt" and card.prompt_number == 1 else 0.0


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """The best first; of equals the newest."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.card.created_at, str(hit.card.ref)))


def spread(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits, with no session before all others' three best, and what says the same said once. Those
    put behind are given no more than those before them have: a list is in the order of its scores."""
    shown: list[Hit] = []
    later: list[Hit] = []
    of_session: Counter[str] = Counter()
    for hit in hits:
        if any(_says_the_same(hit.card, other.card) for other in shown):
            continue
        if of_session[hit.card.session] < PER_SESSION:
            of_session[hit.card.session] += 1
            shown.append(hit)
        else:
            later.append(hit)
    least = min((hit.score for hit in shown), default=0.0)
    return shown + [replace(hit, score=min(hit.score, least)) for hit in later]


def _says_the_same(one: Card, other: Card) -> bool:
    if one.ref.kind != other.ref.kind or one.project_id != other.project_id:
        return False
    if one.ref.kind != "observation":
        # What was asked or done twice is two things; only a resumed or forked session repeats it exactly.
        return one.text == other.text and one.title == other.title
    ours, theirs = _words(one.title), _words(other.title)
    return len(ours & theirs) >= ALIKE * len(ours | theirs) and bool(ours)


def _words(title: str) -> frozenset[str]:
    return frozenset(title.lower().split()) - STOP_WORDS
