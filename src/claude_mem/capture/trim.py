"""Decides which part of an over-long string is kept: its head and its tail."""

from __future__ import annotations


def trim(text: str, cap: int) -> str:
    """Keep text within cap characters: two thirds from the front, one third from the back."""
    return text if len(text) <= cap else join(text, text, len(text), cap)


def join(head: str, tail: str, length: int, cap: int) -> str:
    """The start of head, a mark of what is missing from a text of that length, and the end of tail."""
    # Sized with the largest count it could show, so that the real one never overruns the cap.
    room = cap - len(_marker(length))
    if room <= 0:
        return head[: max(cap, 0)]
    behind = room // 3
    return head[: room - behind] + _marker(length - room) + tail[max(len(tail) - behind, 0) :]


def _marker(elided: int) -> str:
    return f"\n[… {elided} characters elided …]\n"
