"""Decides how much is told: the most important lines, as many as the budget holds, each of them whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from claude_mem.model.refs import Ref
from claude_mem.recall.tokens import estimate

CLIENT_LIMIT = 10_000
"""Characters of one hook's output that a client takes whole; with one more it shows a file's name instead."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What is told, of which memories, and what it costs. Empty text: there is nothing to tell."""

    text: str = ""
    refs: tuple[Ref, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    characters: int
    tokens: int

    def holds(self, text: str) -> bool:
        return length(text) <= self.characters and estimate(text) <= self.tokens


def length(text: str) -> int:
    """As the client counts, in UTF-16: an emoji is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def as_many_as_fit(most: int, render: Callable[[int], Rendered], budget: Budget) -> Rendered:
    """The first n of `most` lines, for the greatest n the budget holds; nothing if it holds not even one."""
    if not most:
        return Rendered()
    whole = render(most)
    if budget.holds(whole.text):
        return whole
    fit = bisect_left(range(1, most), True, key=lambda count: not budget.holds(render(count).text))
    return render(fit) if fit else Rendered()


def rendered(text: str, refs: tuple[Ref, ...]) -> Rendered:
    return Rendered(text, tuple(dict.fromkeys(refs)), estimate(text))
