"""Asks the worker what is known already, before another program's memory is added to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from claude_mem.cli.commands import UsageError
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.memory import Observation, content_key

if TYPE_CHECKING:
    from claude_mem.imports.git_history import SessionOf
    from claude_mem.imports.report import Project

AT_ONCE = 50


def projects(*, starting: bool) -> Callable[[str, Sequence[str]], Project]:
    """Others know a project only by its name. Of ours the one of that name, if there is only one; else what
    the directory is in which its files lay; else one with nothing but that name."""
    from claude_mem.imports.report import Project, named
    from claude_mem.wiring.adopting import project_under

    ours: dict[str, list[Project]] = {}
    for each in _projects(starting=starting):
        if not str(each["key"]).startswith("name:"):
            project = Project(each["key"], each["name"], each["root"] or "")
            ours.setdefault(project.name, []).append(project)

    def project_of(name: str, paths: Sequence[str]) -> Project:
        candidates = ours.get(name, [])
        if len(candidates) == 1:
            return candidates[0]
        return project_under(name, paths) or named(name)

    return project_of


def contents(*, starting: bool) -> Callable[[str], Collection[str]]:
    """The content keys of what a session holds, by its id."""

    def of(session: str) -> Collection[str]:
        try:
            answer = _asked("/api/export", {"session": session}, starting=starting) or {}
        except UsageError:  # there is no such session yet
            return frozenset()
        said = [json.loads(line) for line in str(answer.get("text", "")).splitlines() if line]
        return {key for each in said if each["kind"] == "observation" and (key := _key(each))}

    return of


def makers(project: str) -> SessionOf:
    """The session that made a commit of a project, which is named by its key."""
    from claude_mem.cli.ask import recalled_lines
    from claude_mem.imports.git_history import finder

    try:
        return finder(map(json.loads, recalled_lines("/api/export", {"project": project})))
    except UsageError:  # there is no such project yet
        return lambda *_: None


def _key(record: dict[str, Any]) -> str | None:
    return content_key(
        Observation(
            record["type"],
            title=record.get("title"),
            narrative=record.get("narrative"),
            facts=tuple(record.get("facts", ())),
        )
    )


def _projects(*, starting: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := _asked("/api/projects", {"limit": AT_ONCE, "offset": len(found)}, starting=starting):
        found += page["items"]
        if not page["hasMore"]:
            break
    return found


def _asked(path: str, query: dict[str, object], *, starting: bool) -> dict[str, Any] | None:
    """`starting`: the worker is started if it must be. Else nothing is changed, and None: nobody answers."""
    from claude_mem.cli.ask import recall
    from claude_mem.serve import control
    from claude_mem.settings import data_directory

    if not starting and control.status(data_directory()).state != "running":
        return None
    try:
        return recall("GET", path, query)
    except ClaudeMemError:
        if starting:
            raise
        return None
