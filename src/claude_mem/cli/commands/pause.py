"""`claude-mem off` and `on`."""

from __future__ import annotations

import argparse
import os
import posix
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.commands import OK, Commands, UsageError, json_flag, slash_flag
from claude_mem.hook import notices, paths
from claude_mem.model.jobs import OPEN_STATUSES
from claude_mem.serve import control, pause_switches

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Set by the client for whatever it runs."""
WITHIN_S = 1.0
NAMED = 3
SHORT = 8  # of an id
A_SESSION = "5694c0de-0000-4000-8000-000000000001"


def add(commands: Commands) -> None:
    off = (
        "Existing memory stays and can be searched. Running sessions are paused at once;\n"
        "new ones say in a line that they are not recorded."
    )
    on = "A session that was paused individually stays paused until you resume it with\n--session."
    session = f"only this session; without an ID, the current one ({SESSION_VARIABLE})"
    for name, more, run in (("off", off, _off), ("on", on, _on)):
        example = f"claude-mem {name}\nclaude-mem {name} --session {A_SESSION}"
        parser = commands.add(name, more=more, example=example, run=run)
        slash_flag(parser)
        parser.add_argument("--session", nargs="?", const="", metavar="ID", help=session)
        json_flag(parser)


def _off(args: argparse.Namespace) -> int:
    session = _session_named(args.session)
    changed = pause_switches.pause(settings.data_directory(), session)
    return _report(args, session, paused_text, changed=changed)


def _on(args: argparse.Namespace) -> int:
    session = _session_named(args.session)
    changed = pause_switches.resume(settings.data_directory(), session)
    return _report(args, session, resumed_text, changed=changed)


def _report(args: argparse.Namespace, session: str | None, text: Callable[..., str], *, changed: bool) -> int:
    data_dir = settings.data_directory()
    if changed:
        # The worker looks now, so that whoever has the viewer open sees it. It holds without: hooks look too.
        # Nothing is asked of it but a look: were it late, it could undo what was switched since.
        with suppress(OSError):
            control.request(data_dir, "GET", "/api/status", deadline_s=WITHIN_S)
    if not args.json:
        print(text(session, changed=changed, slash=args.slash))
        return OK
    now = pause_switches.look(data_dir)
    output.print_json(
        {
            "changed": changed,
            "session": session,
            "recording": now.since(session) is None,
            "paused_since": None if now.everything is None else date_of(now.everything),
            "paused_sessions": {one: date_of(since) for one, since in now.sessions},
        }
    )
    return OK


def _session_named(named: str | None) -> str | None:
    """The session that `--session` names: None for none, empty for the one we run in. Raises UsageError."""
    if named is None:
        return None
    session = named or os.environ.get(SESSION_VARIABLE, "")
    if not session:
        raise UsageError(f"Specify a session: --session ID. ({SESSION_VARIABLE} is not set.)")
    return session


def paused_text(session: str | None, *, changed: bool, slash: bool = False) -> str:
    """What holds after a session (None: everything) was paused."""
    already = "" if changed else " already"
    if session is None:
        paused = f"Paused{already}: nothing is recorded and nothing is injected."
        return f"{paused} {how_to_resume(None, slash=slash)}"
    return (
        f"Paused{already} for one session: nothing more of it is recorded, and nothing is injected into it.\n"
        f"{how_to_resume(session, slash=slash)}"
    )


def how_to_resume(session: str | None, *, slash: bool) -> str:
    """What to type; in /mem, what to type there."""
    if slash:
        return f"Resume: /mem on{' all' if session is None else ''}"
    return f"Resume: claude-mem on{'' if session is None else f' --session {shlex.quote(session)}'}"


def resumed_text(session: str | None, *, changed: bool, slash: bool = False) -> str:
    """What holds after the pause of a session (None: of everything) was ended."""
    data_dir = settings.data_directory()
    now = pause_switches.look(data_dir)
    if now.everything is not None:
        ended = "is no longer" if changed else "was not"
        but = "but everything is paused: nothing is recorded."
        return f"The session {ended} paused individually, {but} {how_to_resume(None, slash=slash)}"
    what = "" if session is None else " the session"
    lines = [f"Recording{what} again." if changed else f"Recording{what}: it was not paused."]
    left = still_open(data_dir, now.sessions)
    lines += [_left(one, since, slash=slash) for one, since in left[:NAMED]]
    if len(left) > NAMED:
        lines.append(f"... and {output.plural(len(left) - NAMED, 'session')} more.")
    if paths.is_off(posix.environ):
        lines.append("CLAUDE_MEM_OFF is set in this shell: an agent started from it still records nothing.")
    return "\n".join(lines)


def _left(session: str, since: float, *, slash: bool) -> str:
    short = session if len(session) <= SHORT else f"{session[:SHORT]}{output.ELLIPSIS}"
    how = "/mem on, typed in it" if slash else f"claude-mem on --session {shlex.quote(session)}"
    return (
        f"Session {short} (paused {notices.age(time.time() - since)} ago) stays paused; to resume it: {how}"
    )


def still_open(data_dir: Path, sessions: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """Without those of which the worker knows that they have ended. One that is not running is not asked."""
    found: list[tuple[str, float]] = []
    for index, (session, since) in enumerate(sessions):
        path = f"/sessions/{quote(session, safe='', errors='replace')}/status"
        try:
            code, told = control.request(data_dir, "GET", path, deadline_s=WITHIN_S)
        except OSError:
            return [*found, *sessions[index:]]
        if code != 200 or told.get("status") in OPEN_STATUSES:
            found.append((session, since))
    return found


def date_of(since: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
