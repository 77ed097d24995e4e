"""Nothing is answered and nothing saved where nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable

from claude_mem.model.errors import InvalidInput
from claude_mem.model.events import Origin
from claude_mem.privacy import excluded_projects
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.settings import Settings


def unless_excluded(
    settings: Settings, answer: Callable[[dict[str, object]], str]
) -> Callable[[dict[str, object]], str]:
    """What a hook is answered: nothing where nothing is recorded."""
    is_excluded = ExcludedProjects(settings.excluded_projects).holds

    def ask(question: dict[str, object]) -> str:
        payload = question.get("payload")
        cwd = payload.get("cwd") if isinstance(payload, dict) else None
        return "" if isinstance(cwd, str) and is_excluded(cwd, None) else answer(question)

    return ask


def refusing_excluded(settings: Settings, origin_of: Callable[[str], Origin]) -> Callable[[str], Origin]:
    """Where something is to be kept: nowhere, where nothing is recorded. Raises BadQuestion."""
    is_excluded = ExcludedProjects(settings.excluded_projects).holds

    def origin(cwd: str) -> Origin:
        if is_excluded(cwd, None):
            raise InvalidInput("cwd", f"{excluded_projects.KEY} excludes this directory.")
        return origin_of(cwd)

    return origin
