"""Scores memories for a path in a query: those that changed that file, named or read it, or
worked in its folder. Pure.

If no session is known to have touched the file, sessions that worked in its folder are the best guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from claude_mem.model.refs import Card, plain_path, session_at
from claude_mem.model.text import lazy_pattern

CHANGED, NAMED, READ, SAME_FOLDER = 3.0, 1.5, 1.0, 0.25
FOLDERS_UP = 3

_WORDS = r"[\w.@~+\-\[\]()$:]*[/\\][\w.@~+\-\[\]()$/\\]+|[\w@+\-.]*\w\.[A-Za-z]\w{0,8}|\.[A-Za-z][\w.\-]+"
_PATH = lazy_pattern(f"(?:{_WORDS})")


def paths_in(query: str) -> list[str]:
    """The paths that a query names; `@` marks a file."""
    return [word.removeprefix("@") for word in query.replace('"', " ").split() if _PATH.fullmatch(word)]


def is_only_paths(query: str) -> bool:
    return bool(paths_in(query)) and len(paths_in(query)) == len(query.split())


def parent_folders(path: str) -> list[str]:
    """The folder of a file, and those above it."""
    parts = [part for part in re.split(r"[/\\]+", path) if part]
    return ["/".join(parts[:-up]) for up in range(1, FOLDERS_UP + 1) if parts[:-up]]


def lifts(
    changed: Sequence[int],
    read: Sequence[int],
    named: Sequence[int],
    beside: Sequence[Iterable[tuple[int, str]]],
) -> dict[int, float]:
    """By memory key: what its session did about the file. `beside`: keys and paths of files in its folder,
    and in those above it."""
    total: dict[int, float] = {}
    for keys, most, half in ((changed, CHANGED, 1), (named, NAMED, 2), (read, READ, 2)):
        _add(total, Counter(map(session_at, keys)), most, half)
    direct = dict(total)
    near: dict[int, None] = {}
    seen: set[tuple[int, str]] = set()
    for up, files in enumerate(beside):
        unseen: set[tuple[int, str]] = set()
        for key, path in files:
            if (session_at(key), path) not in seen:
                unseen.add((session_at(key), path))
                near.setdefault(key)
        seen |= unseen
        _add(total, Counter(session for session, _ in unseen), SAME_FOLDER * 0.5**up, 3)
    found = {key: total[session_at(key)] for key in (*changed, *read, *named)}
    return found | {key: total[session_at(key)] for key in near if session_at(key) not in direct}


def _add(total: dict[int, float], counts: Mapping[int, int], most: float, half: int) -> None:
    for session, times in counts.items():
        total[session] = total.get(session, 0.0) + most * times / (times + half)


def is_about(card: Card, path: str, short: str) -> bool:
    """Whether a memory is of this very file. `short`: its path as seen from the project."""
    return any(file == path or _is_same_file(file, short) for file in card.files)


def path_inside(path: str, *roots: str) -> str:
    """A path relative to the working directory, if it is inside it."""
    for root in roots:
        if root and path.startswith(f"{root.rstrip('/')}/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path


def _is_same_file(stored: str, short: str) -> bool:
    """The same file, not one of the same name elsewhere. Remembered from another worktree it has a longer
    path; a name without a folder is too little to recognize it by."""
    path, stored_path = plain_path(short), plain_path(stored)
    return path == stored_path or (
        "/" in path and stored.startswith("/") and stored_path.endswith(f"/{path}")
    )
