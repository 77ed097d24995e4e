"""Whether a name was only exchanged for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from claude_mem.observe.offline.file_change import FileChange

FEW = 3  # names that came and went; with more of them it was no mere exchange


def renames(changes: Iterable[FileChange]) -> list[tuple[str, str, int]]:
    """(before, after, how often) of a name that was only exchanged for another."""
    into: Counter[str] = Counter()
    out: Counter[str] = Counter()
    for change in changes:
        into.update(change.words_in)
        out.update(change.words_out)
    report = {word: count - out[word] for word, count in into.items() if count > out[word]}
    lost = {word: count - into[word] for word, count in out.items() if count > into[word]}
    if len(report) > FEW or len(lost) > FEW:
        return []
    return [(old, new, n) for old, n in lost.items() for new, m in report.items() if n == m and n > 1]


def is_renamed(changes: Iterable[FileChange], name: str) -> bool:
    return any(new == name.removesuffix("()").rpartition(".")[2] for _, new, _ in renames(changes))
