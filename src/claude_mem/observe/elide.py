"""Decides which part of a long text is shown: head and tail, and between them how much is not."""

from __future__ import annotations

LONGEST_MARK = len("\n[…9999999999 chars…]\n")


def elide(text: str, cap: int, *, tail: float = 0.3) -> str:
    """At most cap characters (a mark alone, if there is no room for more)."""
    if len(text) <= cap:
        return text
    room = cap - LONGEST_MARK
    if room <= 0:
        mark = _mark(len(text))
        return mark if len(mark) <= cap else ""
    end = int(room * tail)
    start = room - end
    return f"{text[:start]}\n{_mark(len(text) - room)}\n{text[len(text) - end :] if end else ''}".rstrip("\n")


def line(text: str, cap: int) -> str:
    """One line of at most cap characters."""
    flat = " ".join(text[: 4 * cap].split())
    return flat if len(flat) <= cap else flat[: cap - 1] + "…"


def _mark(count: int) -> str:
    return f"[…{count} chars…]"
