"""`claude-mem off` and `on`."""

from __future__ import annotations

import argparse
import os
import posix
import shlex
import time
from contextlib import suppress
from pathlib import Path

from claude_mem import settings
from claude_mem.agents import short_id
from claude_mem.cli import output
from claude_mem.cli.client import quoted
from claude_mem.cli.commands import Commands, UsageError, slash_flag
from claude_mem.hook import notices, paths
from claude_mem.model.jobs import OPEN_STATUSES
from claude_mem.serve import control
from claude_mem.serve.data_dir import pause_recording, pause_state, resume_recording

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""The client sets this for all programs that it runs."""
WITHIN_S = 1.0
NAMED = 3
A_SESSION = "5694c0de-0000-4000-8000-000000000001"


def add(commands: Commands) -> None:
    off = (
        "Existing memory stays and can be searched. Running sessions are paused at once;\n"
        "new ones say that they are not recorded."
    )
    on = "A session that was paused individually stays paused until you resume it with\n--session."
    session = f"only this session; without an ID, the current one ({SESSION_VARIABLE})"
    for name, more in (("off", off), ("on", on)):
        example = f"claude-mem {name}\nclaude-mem {name} --session {A_SESSION}"
        parser = commands.add(name, more=more, example=example, run=_run)
        parser.set_defaults(pauses=name == "off")
        slash_flag(parser)
        parser.argument("--session", "ID", session, nargs="?", const="")


def _run(args: argparse.Namespace) -> int:
    session = args.session  # None: everything; empty: the session we run in
    if session == "":
        session = os.environ.get(SESSION_VARIABLE, "")
        if not session:
            raise UsageError(f"Specify a session: --session ID. ({SESSION_VARIABLE} is not set.)")
    data_dir = settings.data_directory()
    if args.session:
        session = _whole_id(data_dir, session)
    changed = (pause_recording if args.pauses else resume_recording)(data_dir, session)
    if changed:
        # Tells the worker to check now, so that an open viewer shows the change. Hooks check the switch
        # themselves. The request contains no new state: if it arrived late, it could undo a later change.
        with suppress(OSError):
            control.request(data_dir, "GET", "/api/status", deadline_s=WITHIN_S)
    now = pause_state(data_dir)
    data = {
        "changed": changed,
        "session": session,
        "recording": now.since(session) is None,
        "paused_since": None if now.everything is None else date_of(now.everything),
        "paused_sessions": {one: date_of(since) for one, since in now.sessions},
    }
    text = "" if args.json else (paused_text if args.pauses else resumed_text)(session, changed, args.slash)
    return output.result(args, data, text)


def _whole_id(data_dir: Path, given: str) -> str:
    """The full id of a session. Hooks look for a switch with the full id, so a partial id would pause
    nothing. If the worker does not know the id or is not running, it is used unchanged."""
    try:
        path = f"/api/sessions?limit=1&session={quoted(given)}"
        code, answer = control.request(data_dir, "GET", path, deadline_s=WITHIN_S)
    except OSError:
        return given
    error = answer.get("error")
    if isinstance(error, dict) and error.get("code") == "ambiguous_session":
        raise UsageError(str(error["message"]))
    found = answer.get("items")
    if code == 200 and isinstance(found, list) and found:
        return str(found[0]["id"])
    output.message(f"No session {given!r} is known yet. If this is only part of its id, it is not affected.")
    return given


def paused_text(session: str | None, changed: bool, slash: bool = False) -> str:
    already, how = "" if changed else " already", how_to_resume(session, slash)
    if session is None:
        return f"Paused{already}: nothing is recorded and nothing is injected. {how}"
    paused = "from now on, it is not recorded and nothing is injected into it."
    return f"Paused{already} for one session: {paused}\n{how}"


def how_to_resume(session: str | None, slash: bool) -> str:
    """In /mem, what to type there."""
    if slash:
        return f"Resume: /mem on{' all' if session is None else ''}"
    return f"Resume: claude-mem on{'' if session is None else f' --session {shlex.quote(session)}'}"


def resumed_text(session: str | None, changed: bool, slash: bool = False) -> str:
    data_dir = settings.data_directory()
    now = pause_state(data_dir)
    if now.everything is not None:
        ended = "is no longer" if changed else "was not"
        but = "but everything is paused: nothing is recorded."
        return f"The session {ended} paused individually, {but} {how_to_resume(None, slash)}"
    what = "" if session is None else " the session"
    lines = [f"Recording{what} again." if changed else f"Already recording{what}: it was not paused."]
    left = still_open(data_dir, now.sessions)
    for one, since in left[:NAMED]:
        how = "/mem on, typed in it" if slash else f"claude-mem on --session {shlex.quote(one)}"
        ago = notices.age(time.time() - since)
        lines.append(f"Session {short_id(one)} (paused {ago} ago) stays paused; to resume it: {how}")
    if len(left) > NAMED:
        lines.append(f"... and {output.plural(len(left) - NAMED, 'session')} more.")
    if paths.is_off(posix.environ):
        lines.append("CLAUDE_MEM_OFF is set in this shell: an agent started from it still records nothing.")
    return "\n".join(lines)


def still_open(data_dir: Path, sessions: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """Without those that the worker knows to have ended. If it is not running, all of them."""
    found: list[tuple[str, float]] = []
    for index, (session, since) in enumerate(sessions):
        path = f"/sessions/{quoted(session)}/status"
        try:
            code, answer = control.request(data_dir, "GET", path, deadline_s=WITHIN_S)
        except OSError:
            return [*found, *sessions[index:]]
        if code != 200 or answer.get("status") in OPEN_STATUSES:
            found.append((session, since))
    return found


def date_of(since: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
