"""`claude-mem open`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from claude_mem.cli import say
from claude_mem.cli.commands import OK, Commands, UsageError, json_flag


def add(commands: Commands) -> None:
    parser = commands.add(
        "open",
        more=(
            "The link works once, for a minute; the browser then stays signed in for a\n"
            "month. The worker is started if none runs. Without a screen, or with --print,\n"
            "the link is printed instead."
        ),
        example="claude-mem open\nclaude-mem open 123\nclaude-mem open --print\nclaude-mem open --sign-out",
        run=_run,
    )
    parser.add_argument(
        "what", nargs="?", metavar="ID", help="a memory to show, as `search` has it (12, s3, p4)"
    )
    parser.add_argument(
        "--print", action="store_true", dest="only_print", help="print the link, open nothing"
    )
    parser.add_argument("--sign-out", action="store_true", help="sign every browser out, open nothing")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem import settings
    from claude_mem.cli.ask import recall
    from claude_mem.cli.doctor import connecting

    if args.sign_out:
        return _signed_out(recall("POST", "/api/signout", body={"everywhere": True}), as_json=args.json)
    place = _place(args.what)
    answer = recall("POST", "/api/signin", body={})
    link = f"{answer['link']}{place}"
    if args.json:
        say.data(answer | {"link": link})
    elif args.only_print or not _opened(link):
        print(link)
    else:
        say.talk(f"The viewer is at http://127.0.0.1:{answer['port']}/, in your browser.")
    if not args.json and not connecting.is_connected(settings.Settings(settings.data_directory())):
        say.talk("Claude Code is not connected, so nothing new is recorded: claude-mem install")
    return OK


def _signed_out(answer: dict[str, Any], *, as_json: bool) -> int:
    count = answer["browsers"]
    if as_json:
        say.data(answer)
    else:
        say.talk(f"{count} browser{'s were' if count != 1 else ' was'} signed in; now none is.")
    return OK


def _place(what: str | None) -> str:
    """Where in the viewer; it stays in the browser, which takes it along when it is sent on."""
    from claude_mem.model.refs import Ref

    if what is None:
        return ""
    ref = Ref.parse(what)
    if ref is None:
        raise UsageError(f"{what!r} is no memory's name, such as 12 or s3.")
    return f"#/observation/{ref}"


def _opened(link: str) -> bool:
    """Only in a window: a browser of the terminal would take the terminal, and knows no scripts."""
    import webbrowser

    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    )
    if not has_screen:
        return False
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False
