"""Groups search results for display: by session, observations and summaries before prompts, and raw tool
events folded into the memory made from them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from claude_mem.model.refs import Card, Hit, MemoryKind
from claude_mem.model.structs import replace

JUST_NOW_MS = 10 * 60 * 1000
SAME = 0.8
"""The share of the query's words in a prompt that is the question itself; at most half of its words are
others."""
LISTED_PER_SESSION = 3
"""Results shown per session, unless a search is limited to a session or to kinds."""
ORDER: dict[MemoryKind, int] = {"observation": 0, "summary": 0, "prompt": 1, "evidence": 2}
_WORD = re.compile(r"\w+")


class SessionHits(Struct):
    """The hits of one session, in display order."""

    session: str
    hits: list[Hit]
    events: int = 0  # raw events that were folded
    more: int = 0  # further matches, not shown


class Fold(Struct, frozen=True):
    """How to shorten a session's results: the best few, with raw events folded into them."""

    understood: Callable[[str], Sequence[Card]]
    """A session's observations, summaries and prompts."""
    marks: Callable[[Card], tuple[str, ...]]
    """A memory's marks: warnings such as that its code has changed."""
    most: int = LISTED_PER_SESSION


def by_session(hits: Iterable[Hit], fold: Fold | None) -> Iterator[SessionHits]:
    """Sessions in the order of their best hits. Without a fold, raw events are ordinary hits."""
    found: dict[str, list[Hit]] = {}
    for hit in hits:
        found.setdefault(hit.card.session, []).append(hit)
    for session, of_session in found.items():
        if fold is None:
            yield SessionHits(session, _ordered(of_session))
        else:
            yield _folded(session, of_session, fold)


def _folded(session: str, hits: Sequence[Hit], fold: Fold) -> SessionHits:
    shown = {hit.card.ref: hit for hit in hits if hit.card.ref.kind != "evidence"}
    events = [hit for hit in hits if hit.card.ref.kind == "evidence"]
    known = fold.understood(session) if events else ()
    folded = 0
    for hit in events:
        card = led_to(hit.card, known)
        if card is None:
            shown[hit.card.ref] = hit  # it was not observed yet
            continue
        folded += 1
        if card.ref not in shown:
            shown[card.ref] = replace(hit, card=card, marks=fold.marks(card))
    ordered = _without_title(_ordered(shown.values()))
    # Memories that the user saved share a session without belonging together: show all of them.
    kept = [hit for at, hit in enumerate(ordered) if at < fold.most or hit.card.source == "user"]
    return SessionHits(session, kept, folded, len(ordered) - len(kept))


def _without_title(hits: list[Hit]) -> list[Hit]:
    """Leaves out the first prompt, which is shown as the session's title."""
    if not hits or ORDER[hits[0].card.ref.kind]:
        return hits
    return [hit for hit in hits if hit.card.ref.kind != "prompt" or hit.card.prompt_number != 1]


def _ordered(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (ORDER[hit.card.ref.kind], -hit.score))


def led_to(event: Card, known: Sequence[Card]) -> Card | None:
    """The memory that an event led to: of its turn, the observation with most files in common, else the
    summary, else the prompt; if its turn has none of them, the session's last summary."""
    turn = [card for card in known if card.prompt_number == event.prompt_number]
    for kind in ("observation", "summary", "prompt"):
        of_kind = [card for card in turn if card.ref.kind == kind]
        if of_kind:
            return max(of_kind, key=lambda card: (len({*card.files} & {*event.files}), -card.ref.id))
    summaries = [card for card in known if card.ref.kind == "summary"]
    return max(summaries, key=lambda card: card.created_at, default=None)


def without_question(hits: Iterable[Hit], query: str, now: int) -> list[Hit]:
    """Leaves out the recent prompt that the query itself comes from: an agent may search for its own
    prompt."""
    query_words = _words(query)

    def is_question(card: Card) -> bool:
        is_only_asked = card.ref.kind == "prompt" or (card.ref.kind == "summary" and not card.text.strip())
        if not is_only_asked or not 0 <= now - card.created_at < JUST_NOW_MS:
            return False
        words = _words(card.text or card.title)
        shared = len(query_words & words)
        return shared >= SAME * len(query_words) and 2 * shared >= len(words)

    return [hit for hit in hits if not is_question(hit.card)]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
