"""`claude-mem off`."""

from __future__ import annotations

import argparse

from claude_mem import settings
from claude_mem.cli import pause, say
from claude_mem.cli.command import OK, Commands, json_flag


def add(commands: Commands) -> None:
    parser = commands.add(
        "off",
        "pause: record nothing and tell sessions nothing, until `claude-mem on`",
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
        print(told(session, changed=changed))
    return OK


def told(session: str | None, *, changed: bool) -> str:
    """What holds after a session (None: everything) was paused."""
    already = "" if changed else " already"
    if session is None:
        return f"Paused{already}: nothing is recorded and no session is told anything. Resume: claude-mem on"
    return (
        f"Paused{already}, for one session: nothing more of it is recorded, and it is told nothing.\n"
        f"Resume: claude-mem on --session {session}"
    )


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
