"""`claude-mem on`."""

from __future__ import annotations

import argparse
import posix
import shlex
import time

from claude_mem import settings
from claude_mem.cli import off, pause, say
from claude_mem.cli.commands import OK, Commands, json_flag
from claude_mem.hook import notices, paths

NAMED = 3
SHORT = 8  # of an id


def add(commands: Commands) -> None:
    parser = commands.add(
        "on",
        more="A session that was paused by itself stays paused until it is named.",
        example="claude-mem on\nclaude-mem on --session 5694c0de-0000-4000-8000-000000000001",
        run=_run,
    )
    off.session_flag(parser)
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    session = pause.which(args.session)
    changed = pause.resume(settings.data_directory(), session)
    if args.json:
        say.data(off.standing(session, changed=changed))
    else:
        print(told(session, changed=changed, slash=args.slash))
    return OK


def told(session: str | None, *, changed: bool, slash: bool = False) -> str:
    """What holds after the pause of a session (None: of everything) was ended."""
    data_dir = settings.data_directory()
    now = pause.look(data_dir)
    if now.everything is not None:
        ended = "The session's own pause is over" if changed else "The session was not paused by itself"
        return f"{ended}, but everything is paused: nothing is recorded. {off.resume(None, slash=slash)}"
    what = "" if session is None else " the session"
    lines = [f"Recording{what} again." if changed else f"Recording{what}: it was not paused."]
    left = pause.still_open(data_dir, now.sessions)
    lines += [_left(one, since, slash=slash) for one, since in left[:NAMED]]
    if len(left) > NAMED:
        lines.append(f"... and {say.many(len(left) - NAMED, 'session')} more.")
    if paths.is_off(posix.environ):
        lines.append("CLAUDE_MEM_OFF is set here: an agent started from here still records nothing.")
    return "\n".join(lines)


def _left(session: str, since: float, *, slash: bool) -> str:
    short = session if len(session) <= SHORT else f"{session[:SHORT]}{say.ELLIPSIS}"
    how = "/mem on, typed in it" if slash else f"claude-mem on --session {shlex.quote(session)}"
    return (
        f"Session {short} (paused {notices.age(time.time() - since)} ago) stays paused; to resume it: {how}"
    )
