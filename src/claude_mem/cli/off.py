"""`claude-mem off`."""

from __future__ import annotations

import argparse
import shlex

from claude_mem import settings
from claude_mem.cli import pause, say
from claude_mem.cli.commands import OK, Commands, json_flag, slash_flag


def add(commands: Commands) -> None:
    parser = commands.add(
        "off",
        more=(
            "What is remembered stays, and can be searched. Sessions that run notice at once,\n"
            "and so does the start of every new one: it says so in a line."
        ),
        example="claude-mem off\nclaude-mem off --session 5694c0de-0000-4000-8000-000000000001",
        run=_run,
    )
    session_flag(parser)
    json_flag(parser)


def session_flag(parser: argparse.ArgumentParser) -> None:
    slash_flag(parser)
    parser.add_argument(
        "--session",
        nargs="?",
        const="",
        metavar="ID",
        help=f"only this session; without an ID the one it runs in ({pause.SESSION_VARIABLE})",
    )


def _run(args: argparse.Namespace) -> int:
    session = pause.which(args.session)
    changed = pause.pause(settings.data_directory(), session)
    if args.json:
        say.data(standing(session, changed=changed))
    else:
        print(told(session, changed=changed, slash=args.slash))
    return OK


def told(session: str | None, *, changed: bool, slash: bool = False) -> str:
    """What holds after a session (None: everything) was paused."""
    already = "" if changed else " already"
    if session is None:
        paused = f"Paused{already}: nothing is recorded and no session is told anything."
        return f"{paused} {resume(None, slash=slash)}"
    return (
        f"Paused{already}, for one session: nothing more of it is recorded, and it is told nothing.\n"
        f"{resume(session, slash=slash)}"
    )


def resume(session: str | None, *, slash: bool) -> str:
    """What to type; in /mem, what to type there."""
    if slash:
        return f"Resume: /mem on{' all' if session is None else ''}"
    return f"Resume: claude-mem on{'' if session is None else f' --session {shlex.quote(session)}'}"


def standing(session: str | None, *, changed: bool) -> dict[str, object]:
    """What is paused now, as data."""
    now = pause.look(settings.data_directory())
    return {
        "changed": changed,
        "session": session,
        "recording": now.since(session) is None,
        "paused_since": None if now.everything is None else pause.when(now.everything),
        "paused_sessions": {one: pause.when(since) for one, since in now.sessions},
    }
