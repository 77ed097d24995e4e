"""`claude-mem join` and `leave`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.client import SLOW_S, approve_environment, request
from claude_mem.cli.commands import Commands, UsageError
from claude_mem.serve import control

MOST_KEY = 1_000


def add(commands: Commands) -> None:
    parser = commands.add(
        "join",
        more=(
            "You need a key, which an admin of the team creates with `claude-mem team key add`\n"
            "or `claude-mem server key add`. The command asks for it, or reads it from stdin\n"
            "or a file. It is not an argument, because other users of this machine can see\n"
            "arguments. Nothing is shared until you run `claude-mem share`."
        ),
        example=(
            "claude-mem join https://memory.example\n"
            "claude-mem join https://memory.example --key-file key.txt"
        ),
        run=_run_join,
    )
    parser.add_argument("url", metavar="URL", help="the server's address")
    parser.add_argument("--key-file", metavar="F", help="a file that contains the key")
    moved = "the server that you joined has this address now: with the same key, nothing is lost"
    parser.add_argument("--moved", action="store_true", help=moved)
    parser.add_argument("--ca", metavar="F", help="a CA certificate to trust, if the server's is private")
    insecure = "allow plain HTTP to another machine, although others can read the key"
    parser.add_argument("--insecure-http", action="store_true", help=insecure)
    parser = commands.add(
        "leave",
        more=(
            "What you shared is deleted from the server and from other members' machines. It\n"
            "stays on this machine, and cannot be shared with that team again. Other members'\n"
            "memories are deleted from this machine unless you pass --keep-copies."
        ),
        example="claude-mem leave",
        run=_run_leave,
    )
    parser.add_argument(
        "--keep-copies", action="store_true", help="keep other members' memories on this machine"
    )
    without = "leave even if the server cannot be reached; what you shared stays on it"
    parser.add_argument("--without-server", action="store_true", help=without)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _run_join(args: argparse.Namespace) -> int:
    body = {
        "url": args.url,
        "key": "" if args.moved else _key(args.key_file),
        "moved": args.moved,
        "ca": str(Path(args.ca).absolute()) if args.ca else "",
        "insecure_http": args.insecure_http,
    }
    data_dir = settings.data_directory()
    if approve_environment(data_dir):  # such as the proxy that leads there
        control.stop(data_dir)
    joined = request("POST", "/api/sharing/join", body=body)
    if args.moved:
        text = f"The team's server is at {joined['url']} now. Nothing else has changed."
        return output.result(joined, text, as_json=args.json)
    text = (
        f"Joined {joined['url']} as {joined['member']}, on {joined['machine']}.\n"
        "Nothing is shared yet. To share this directory's project: claude-mem share --here"
    )
    return output.result(joined, text, as_json=args.json)


def _key(file: str | None) -> str:
    if file is not None:
        with Path(file).open(encoding="utf-8", errors="replace") as opened:
            key = opened.read(MOST_KEY)
    elif sys.stdin.isatty():
        from getpass import getpass

        key = getpass("Key: ")
    else:
        key = sys.stdin.read(MOST_KEY)
    if not key.strip():
        raise UsageError("No key. Pass it on stdin or in a file: --key-file F")
    return key.strip()


def _run_leave(args: argparse.Namespace) -> int:
    question = "Leave the team, and delete what you shared from its server?"
    if code := output.confirm(question, "leave deletes what you shared", yes=args.yes):
        return code
    with output.waiting("Leaving ..."):
        body = {"keep_copies": args.keep_copies, "without_server": args.without_server}
        left = request("POST", "/api/sharing/leave", body=body, within_s=SLOW_S)
    return output.result(left, _left(left), as_json=args.json)


def _left(left: dict[str, Any]) -> str:
    lines = ["Left the team. What you shared was deleted from the server."]
    if not left["told_server"]:
        unreached = "the server could not be reached, or your key is no longer valid"
        lines = [f"Left the team. What you shared is still on the server: {unreached}."]
    if left["deleted_sessions"]:
        deleted = output.plural(left["deleted_sessions"], "session")
        lines.append(f"Deleted {deleted} of other members from this machine.")
    if left["kept_sessions"]:
        kept = output.plural(left["kept_sessions"], "session")
        lines.append(f"Kept {kept} of other members on this machine.")
    return "\n".join(lines)
