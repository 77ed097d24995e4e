"""`claude-mem slash`, which Claude Code's command `/mem` runs; its output is shown to the model.

The input is read from stdin, where no shell has interpreted it. The command always exits 0 and reports
failures as text, because Claude Code would report a failed command as an error of `/mem` itself.
"""

from __future__ import annotations

import argparse
import os
import posix
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path
from textwrap import indent
from typing import Any

from claude_mem.cli import filter_flags, output, status
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, Commands, run
from claude_mem.cli.commands.on_off import SESSION_VARIABLE
from claude_mem.cli.output import clean
from claude_mem.cli.status import QuickStatus
from claude_mem.hook import notices, pause
from claude_mem.model.errors import ClaudeMemError

RESULTS = 5
MOST_BYTES = 400_000

HELP = """\
/mem                      show the status of memory
/mem search WORDS         search memory
/mem show ID              show a memory in full
/mem remember TEXT        save TEXT for this project
/mem forget ID            show what would be deleted
/mem forget ID yes        delete it permanently
/mem off, /mem on         pause and resume this session
/mem off all, /mem on all pause and resume everything
In a terminal: claude-mem --help"""


def add(commands: Commands) -> None:
    commands.add(
        "slash",
        more=f"Reads what was typed after /mem from stdin. Always exits 0.\n\n{indent(HELP, '  ')}",
        example="echo 'search why does login fail' | claude-mem slash",
        run=_run,
        json=False,
    )


def _run(args: argparse.Namespace) -> int:
    del args
    typed = sys.stdin.buffer.read(MOST_BYTES).decode(errors="replace")
    verb, rest = [*typed.split(None, 1), "", ""][:2]
    os.environ.setdefault("COLUMNS", "100")  # the client says nothing of its terminal's width
    with redirect_stderr(sys.stdout):
        answer(verb.lower(), rest.strip())
    return OK


def answer(verb: str, rest: str) -> None:
    match verb:
        case "" | "status":
            try:
                print("\n".join(slash_lines(os.environ.get(SESSION_VARIABLE, ""))))
            except ClaudeMemError as error:  # the worker has gone since, or is of another version
                print(error)
        case "search" if rest:
            run(["search", "--slash", "--limit", str(RESULTS), "--", rest])
        case "show" if rest:
            run(["show", "--", *rest.split()])
        case "remember" if rest:
            run(["remember", "--", rest])
        case "forget" if rest:
            _forget(rest.split())
        case "off" | "on":
            _switch(verb, rest.lower())
        case "help":
            print(HELP)
        case "search" | "show" | "remember" | "forget":
            print(f"Specify what to {verb}.\n\n{HELP}")
        case _:
            print(f"Unknown command: /mem {verb}.\n\n{HELP}")


def _forget(words: list[str]) -> None:
    *ids, last = words
    if ids and last.lower() in ("yes", "--yes"):
        run(["forget", "--yes", "--", *ids])
        return
    run(["forget", "--dry-run", "--", *words])
    print(f"Nothing was deleted. To delete it permanently: /mem forget {' '.join(words)} yes")


def _switch(verb: str, rest: str) -> None:
    if rest not in ("", "all"):
        print(f"Use /mem {verb} for this session, or /mem {verb} all.")
    elif rest == "all" or not os.environ.get(SESSION_VARIABLE):
        run([verb, "--slash"])
    else:
        run([verb, "--slash", "--session"])


SLASH_S = 2.0
OFF_VARIABLE = "CLAUDE_MEM_OFF"


def slash_lines(session: str) -> list[str]:
    try:
        directory = Path.cwd()
    except OSError:
        directory = None  # somebody removed it
    seen = status.quick_look(posix.environ, session)
    return [recording(seen, time.time()), _project_summary(seen, directory), observing(seen)]


def recording(seen: QuickStatus, now: float) -> str:
    if seen.paused == OFF_VARIABLE:
        return f"Paused: {OFF_VARIABLE} is set, so this session is not recorded."
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


def observing(seen: QuickStatus) -> str:
    parts = [f"Observer: {seen.observer or _configured_observer()}"]
    if seen.usd is not None:
        parts.append(f"${seen.usd:,.2f} and {output.plural(seen.tokens or 0, 'token')} today")
    parts += ["today's budget is used up"] if seen.spent_up else []
    parts.append(f"{output.plural(seen.queued, 'event')} waiting" if seen.queued else "queue empty")
    parts += [f"{output.plural(seen.parked, 'event')} failed (claude-mem queue)"] if seen.parked else []
    return " · ".join(parts)


def _project_summary(seen: QuickStatus, directory: Path | None) -> str:
    if seen.worker == status.BUSY:
        return "The worker is not answering right now."
    if seen.worker == status.ASLEEP:
        return "The worker is not running; the next hook starts it."
    project = _project(directory) if directory else None
    if project is None:
        return "No memories of this project yet."
    memories = output.plural(project["observations"], "memory")
    sessions = output.plural(project["sessions"], "session")
    return f"This project, {clean(str(project['name']))}: {memories} from {sessions}."


def _project(directory: Path) -> dict[str, Any] | None:
    """By the directory's key; if that was given to another project, by a session there."""
    from claude_mem.git import resolve

    projects = _items("/api/projects", limit=filter_flags.MOST)
    key = resolve(directory).key
    if found := next((each for each in projects if each["key"] == key), None):
        return found
    sessions = _items("/api/sessions", cwd=str(directory), limit=1)
    return next((each for each in projects for one in sessions if each["name"] == one["project"]), None)


def _items(path: str, **query: object) -> list[dict[str, Any]]:
    return list(request("GET", path, query, within_s=SLASH_S)["items"])


def _configured_observer() -> str:
    """The observer by the settings: the worker is not running."""
    from claude_mem import settings
    from claude_mem.wiring import observer_setup

    try:
        return observer_setup.choice(settings.load()).provider
    except ClaudeMemError as error:
        return f"none: {error}"
