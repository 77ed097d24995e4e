"""`claude-mem on`."""

from __future__ import annotations

import argparse
import posix

from claude_mem import settings
from claude_mem.capture import places
from claude_mem.cli import off, pause, say
from claude_mem.cli.command import OK, Commands, json_flag

NAMED = 3


def add(commands: Commands) -> None:
    parser = commands.add(
        "on",
        "end a pause: record and recall again",
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
        print(told(session, changed=changed))
    return OK


def told(session: str | None, *, changed: bool) -> str:
    """What holds after the pause of a session (None: of everything) was ended."""
    now = pause.look(settings.data_directory())
    if now.everything is not None:
        ended = "The session's own pause is over" if changed else "The session was not paused by itself"
        return f"{ended}, but everything is paused: nothing is recorded. Resume: claude-mem on"
    what = "" if session is None else " the session"
    lines = [f"Recording{what} again." if changed else f"Recording{what}: it was not paused."]
    lines += [f"Still paused, by itself: claude-mem on --session {one}" for one, _ in now.sessions[:NAMED]]
    if len(now.sessions) > NAMED:
        lines.append(f"... and {say.many(len(now.sessions) - NAMED, 'session')} more.")
    if places.is_off(posix.environ):
        lines.append("CLAUDE_MEM_OFF is set here: an agent started from here still records nothing.")
    return "\n".join(lines)
