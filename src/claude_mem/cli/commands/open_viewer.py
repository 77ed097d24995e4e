"""`claude-mem open` and `token`."""

from __future__ import annotations

import argparse
import os
import sys

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, Commands, UsageError
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError


def add(commands: Commands) -> None:
    parser = commands.add(
        "open",
        more=(
            "The link works once, within a minute; the browser then stays signed in for a\n"
            "month. Starts the worker if it is not running. Without a display, or with\n"
            "--print, it prints the link instead."
        ),
        example="claude-mem open\nclaude-mem open 123\nclaude-mem open --print\nclaude-mem open --sign-out",
        run=_run_open,
    )
    parser.add_argument(
        "what", nargs="?", metavar="ID", help="the memory to show, an id from `search` (12, s3, p4)"
    )
    parser.add_argument(
        "--print", action="store_true", dest="only_print", help="print the link instead of opening it"
    )
    parser.add_argument("--sign-out", action="store_true", help="sign out all browsers")
    commands.add(
        "token",
        more="The worker creates it at its first start. It gives access to all your memory.",
        example=(
            'curl -H "Authorization: Bearer $(claude-mem token)" \\\n     http://127.0.0.1:37777/api/queue'
        ),
        run=_run_token,
    )


def _run_open(args: argparse.Namespace) -> int:
    from claude_mem.cli.install import is_connected
    from claude_mem.model.refs import Ref

    if args.sign_out:
        answer = request("POST", "/api/signout", body={"everywhere": True})
        text = f"Signed out {output.plural(answer['browsers'], 'browser')}."
        return output.result(answer, text, as_json=args.json)
    ref = Ref.parse(args.what) if args.what else None
    if args.what and ref is None:
        raise UsageError(f"Invalid memory id {args.what!r}; expected something like 12 or s3.")
    answer = request("POST", "/api/signin", body={})
    link = f"{answer['link']}#/observation/{ref}" if ref else answer["link"]
    if args.json:
        output.print_json(answer | {"link": link})
        return OK
    if args.only_print or not _opened(link):
        print(link)
    else:
        output.message(f"The viewer is open in your browser: http://127.0.0.1:{answer['port']}/")
    if not is_connected(settings.Settings(settings.data_directory())):
        output.message("No coding agent is connected, so nothing new is recorded. Run: claude-mem install")
    return OK


def _opened(link: str) -> bool:
    """Only in a window: a text browser would take over the terminal, and runs no scripts."""
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


def _run_token(args: argparse.Namespace) -> int:
    from claude_mem.serve.data_dir import read_token

    token = read_token(settings.data_directory() / paths.TOKEN)
    if token is None:
        raise ClaudeMemError("There is no token yet; the worker creates it. Run: claude-mem worker start")
    return output.result({"token": token}, token, as_json=args.json)
