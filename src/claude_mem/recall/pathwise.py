"""How much a path in a query speaks for each memory: who changed that file, who named or read it, and who worked
beside it. Pure.

A file that no session is known to have touched is not a dead end: whoever worked in its folder is the best guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from claude_mem.model.recall import session_at
from claude_mem.model.wording import phrase

CHANGED, NAMED, READ, SAME_FOLDER = 3.0, 1.5, 1.0, 0.25
FOLDERS_UP = 3

_PATH = re.compile(
    r"^(?:[\w.@~+\-\[\]()$:]*[/\\][\w.@~+\-\[\]()$/\\]+|[\w@+\-.]*\w\.[A-Za-z]\w{0,8}|\.[A-Za-z][\w.\-]+)$"
)


@dataclass(frozen=True, slots=True)
class Beside:
    """Where to look for those who worked beside a file: expressions of the full-text index."""

    named: str  # the path itself, anywhere
    folders: tuple[str, ...]  # the folder of the file, and those above it


def paths(query: str) -> list[str]:
    return [word for word in query.replace('"', " ").split() if _PATH.match(word)]


def is_only_paths(query: str) -> bool:
    return bool(paths(query)) and len(paths(query)) == len(query.split())


def beside(path: str) -> Beside:
    parts = [part for part in re.split(r"[/\\]+", path) if part]
    folders = [parts[:-up] for up in range(1, FOLDERS_UP + 1) if parts[:-up]]
    return Beside(phrase(" ".join(parts)), tuple(phrase(" ".join(each)) for each in folders))


def lifts(
    changed: Sequence[int], read: Sequence[int], named: Iterable[int], folders: Sequence[Iterable[int]]
) -> dict[int, float]:
    """By spot: what its session did about the file; less for one that only tells of the folder."""
    touched = {*changed, *read}
    mentions = [spot for spot in named if spot not in touched]
    writes, reads, names = (Counter(map(session_at, spots)) for spots in (changed, read, mentions))
    total: dict[int, float] = {}
    for counts, most, half in ((writes, CHANGED, 1), (names, NAMED, 2), (reads, READ, 2)):
        _add(total, counts, most, half)
    direct = dict(total)
    near: set[int] = set()
    for up, spots in enumerate(folders):
        fresh = set(spots) - near - touched
        near |= fresh
        _add(total, Counter(map(session_at, fresh)), SAME_FOLDER * 0.5**up, 3)
    found = {spot: total[session_at(spot)] for spot in (*touched, *mentions)}
    for spot in near:
        if session_at(spot) not in direct:
            found[spot] = total[session_at(spot)]
    return found


def _add(total: dict[int, float], counts: Mapping[int, int], most: float, half: int) -> None:
    for session, times in counts.items():
        total[session] = total.get(session, 0.0) + most * times / (times + half)
