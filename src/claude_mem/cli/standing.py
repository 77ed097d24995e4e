"""How memory stands, in three lines for `/mem`: whether it records, what it holds here, who remembers."""

from __future__ import annotations

import posix
import time
from pathlib import Path
from typing import Any

from claude_mem.cli import glance, narrow, say
from claude_mem.cli.columns import clean
from claude_mem.cli.glance import Glance
from claude_mem.hook import notices, pause
from claude_mem.model.errors import ClaudeMemError

WITHIN_S = 2.0
ENVIRONMENT = "CLAUDE_MEM_OFF"


def lines(session: str) -> list[str]:
    try:
        here = Path.cwd()
    except OSError:
        here = None  # somebody removed it
    seen = glance.look(posix.environ, session)
    return [recording(seen, time.time()), _remembered(seen, here), observing(seen)]


def recording(seen: Glance, now: float) -> str:
    if seen.paused == ENVIRONMENT:
        return f"Paused: {ENVIRONMENT} is set, so nothing of this session is recorded."
    if seen.paused:
        which, what, how = ("This session", "nothing of it", "/mem on")
        if seen.paused == pause.ALL:
            which, what, how = ("Everything", "nothing", "/mem on all")
        since = f" for {notices.age(now - seen.since)}" if seen.since is not None else ""
        return f"Paused. {which} has been paused{since}: {what} is recorded. Resume: {how}"
    if seen.problem:
        return f"Not recording: {seen.problem}. In a terminal: claude-mem doctor"
    if seen.hindered:
        reason = " ".join(seen.hindered.split())
        return f"Recording, but not remembering: {reason} In a terminal: claude-mem doctor"
    return "Recording. More: /mem help"


def observing(seen: Glance) -> str:
    said = [f"Observer: {seen.observer or _chosen()}"]
    if seen.usd is not None:
        said.append(f"${seen.usd:,.2f} and {say.many(seen.tokens or 0, 'token')} today")
    said += ["today's budget is spent"] if seen.spent_up else []
    said.append(f"{say.many(seen.queued, 'event')} waiting" if seen.queued else "nothing waits")
    said += [f"{say.many(seen.parked, 'event')} given up (claude-mem queue)"] if seen.parked else []
    return " · ".join(said)


def _remembered(seen: Glance, here: Path | None) -> str:
    if seen.worker == glance.BUSY:
        return "The worker does not answer just now."
    if seen.worker == glance.ASLEEP:
        return "The worker is not running; the next hook starts it."
    project = _project(here) if here else None
    if project is None:
        return "Nothing is remembered of this project yet."
    counts = say.many(project["observations"], "memory", "memories"), say.many(project["sessions"], "session")
    return f"This project, {clean(str(project['name']))}: {counts[0]} of {counts[1]}."


def _project(here: Path) -> dict[str, Any] | None:
    """That of a directory: by its key, or, where that was given to another one, by its name in a session."""
    from claude_mem.git import resolve

    projects = _items("/api/projects", limit=narrow.MOST)
    key = resolve(here).key
    if found := next((each for each in projects if each["key"] == key), None):
        return found
    sessions = _items("/api/sessions", cwd=str(here), limit=1)
    return next((each for each in projects for one in sessions if each["name"] == one["project"]), None)


def _items(path: str, **query: object) -> list[dict[str, Any]]:
    from claude_mem.cli.ask import recall

    return list(recall("GET", path, query, within_s=WITHIN_S)["items"])


def _chosen() -> str:
    """Who would be asked, were the worker awake."""
    from claude_mem import settings, wiring

    try:
        return wiring.choice(settings.load()).provider
    except ClaudeMemError as error:
        return f"none, for: {error}"
