"""Decides which part of an over-long string is kept: its head and its tail."""

from __future__ import annotations


def trim(text: str, cap: int) -> str:
    """Keep text within cap characters: two thirds from the front, one third from the back."""
    if len(text) <= cap:
        return text
    # Sized with the largest count it could show, so that the real one never overruns the cap.
    room = cap - len(_marker(len(text)))
    if room <= 0:
        return text[: max(cap, 0)]
    tail = room // 3
    head = room - tail
    return text[:head] + _marker(len(text) - room) + text[len(text) - tail :]


def _marker(elided: int) -> str:
    return f"\n[… {elided} characters elided …]\n"
