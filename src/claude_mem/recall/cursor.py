"""How the place in a list is written by which its next page is asked for: opaque to callers, checked here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claude_mem.model.refs import Card, Ref
from claude_mem.ports.desk import BadQuestion
from claude_mem.ports.library import Place

_WRITTEN = re.compile(r"(\d{1,15})-([spe]?\d{1,12})", re.ASCII)


def of(card: Card) -> str:
    return f"{max(0, card.created_at)}-{card.ref}"


def following(cards: Sequence[Card], limit: int) -> str | None:
    """Where the next page begins, if there is more than this one holds."""
    return of(cards[limit - 1]) if len(cards) > limit else None


def of_session(row: Mapping[str, Any]) -> str:
    return f"{max(0, row['updated_at_epoch'])}-{row['id']}"


def parse(text: str) -> Place | None:
    """None: from the beginning. Raises BadQuestion."""
    if not text:
        return None
    found = _WRITTEN.fullmatch(text)
    ref = Ref.parse(found[2]) if found else None
    if found is None or ref is None:
        raise BadQuestion("cursor", "That is no `next` of a page.")
    return Place(int(found[1]), ref)


def parse_session(text: str) -> tuple[int, int] | None:
    place = parse(text)
    return (place.at, place.ref.id) if place else None
