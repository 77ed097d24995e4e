"""Says of which directories and projects nothing is recorded. An answer holds for a moment: they are asked
for with every event."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from claude_mem.model.errors import InvalidInput
from claude_mem.model.events import Origin
from claude_mem.privacy import excluded_projects
from claude_mem.settings import Settings

HOLDS_S = 2.0
MOST_REMEMBERED = 256


def exclusion(settings: Settings) -> Callable[[str | None, str | None], bool]:
    """Of a working directory and of what a caller says its project is called; each may be missing."""
    globs, home = settings.excluded_projects, str(Path.home())
    known: dict[tuple[str, str], tuple[float, bool]] = {}

    def is_excluded(cwd: str | None, name: str | None) -> bool:
        if not globs:
            return False
        asked, now = (cwd or "", name or ""), time.monotonic()
        at, answer = known.get(asked, (-HOLDS_S, False))
        if now - at >= HOLDS_S:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            answer = excluded_projects.is_excluded(asked[0], globs, home, asked[1])
            known[asked] = now, answer
        return answer

    return is_excluded


def unless_excluded(
    settings: Settings, answer: Callable[[dict[str, object]], str]
) -> Callable[[dict[str, object]], str]:
    """What a hook is answered: nothing where nothing is recorded."""
    is_excluded = exclusion(settings)

    def ask(question: dict[str, object]) -> str:
        payload = question.get("payload")
        cwd = payload.get("cwd") if isinstance(payload, dict) else None
        return "" if isinstance(cwd, str) and is_excluded(cwd, None) else answer(question)

    return ask


def refusing_excluded(settings: Settings, origin_of: Callable[[str], Origin]) -> Callable[[str], Origin]:
    """Where something is to be kept: nowhere, where nothing is recorded. Raises BadQuestion."""
    is_excluded = exclusion(settings)

    def origin(cwd: str) -> Origin:
        if is_excluded(cwd, None):
            raise InvalidInput("cwd", f"Nothing is recorded there: {excluded_projects.KEY} names it.")
        return origin_of(cwd)

    return origin
