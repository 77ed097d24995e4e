"""`claude-mem config`: shows settings, and changes settings.json.

The viewer changes most settings too. Those that name a program, an address or a key are changed here alone:
the worker takes them only over its socket, which nobody else can open.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, Commands, UsageError, help_of, unknown

NAME = 30


def add(commands: Commands) -> None:
    parser = commands.add(
        "config",
        example=(
            "claude-mem config list\n"
            "claude-mem config get CLAUDE_MEM_PROVIDER\n"
            "claude-mem config set CLAUDE_MEM_LANGUAGE German\n"
            "claude-mem config set CLAUDE_MEM_API_KEY < key.txt\n"
            "claude-mem config unset CLAUDE_MEM_BASE_URL"
        ),
        run=lambda _: help_of(parser),
        json=False,
    )
    verbs = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    verbs.add(
        "list",
        "list all settings, with their values and where they are set",
        example="claude-mem config list",
        run=_list,
    )
    reading = verbs.add(
        "get", "print the value of a setting", example="claude-mem config get CLAUDE_MEM_PROVIDER", run=_get
    )
    reading.add_argument("key", metavar="KEY", help="the setting's name")
    change = verbs.add(
        "set",
        "change a setting in settings.json",
        more=(
            "Without VALUE, reads it from stdin. Use that for secrets: other users can see\n"
            "the arguments of commands."
        ),
        example="claude-mem config set CLAUDE_MEM_BASE_URL http://127.0.0.1:11434/v1",
        run=_set,
    )
    change.add_argument("key", metavar="KEY", help="the setting's name")
    change.add_argument("value", metavar="VALUE", nargs="?", help="text, or JSON for a list or an object")
    unset = verbs.add(
        "unset",
        "remove a setting from settings.json, so that its default applies",
        example="claude-mem config unset CLAUDE_MEM_BASE_URL",
        run=lambda args: _change(args, None),
    )
    unset.add_argument("key", metavar="KEY", help="the setting's name")


def _list(args: argparse.Namespace) -> int:
    found = request("GET", "/api/settings")
    if args.json:
        output.print_json(output.page(found, "settings"))
        return OK
    for each in found["settings"]:
        print(_line(each))
    output.message(f"Stored in {found['file']}. Environment variables override the file.")
    return OK


def _get(args: argparse.Namespace) -> int:
    rows = {each["key"]: each for each in request("GET", "/api/settings")["settings"]}
    if args.key not in rows:
        raise unknown("setting", args.key, rows, "claude-mem config list")
    return output.result(rows[args.key], output.clean(_shown(rows[args.key])), as_json=args.json)


def _line(setting: dict[str, Any]) -> str:
    return output.clean(f"{setting['key']:<{NAME}} {setting['origin']:<11} {_shown(setting)}".rstrip())


def _shown(setting: dict[str, Any]) -> str:
    return "(hidden)" if setting["kind"] == "secret" and setting["set"] else _written(setting["value"])


def _written(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _set(args: argparse.Namespace) -> int:
    value = args.value if args.value is not None else _read(args.key)
    if not value.strip():
        raise UsageError(f"The value is empty. To remove it: claude-mem config unset {args.key}")
    return _change(args, _meaning(value))


def _read(key: str) -> str:
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"{key}: ")
    return sys.stdin.read().rstrip("\n")


def _meaning(value: str) -> object:
    if value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            raise UsageError("The value looks like JSON, but is not valid JSON.") from None
    return value


def _change(args: argparse.Namespace, value: object) -> int:
    answer = request("POST", "/api/settings", body={"changes": {args.key: value}})
    saved = "removed" if value is None else "saved"
    then = "It takes effect when the worker restarts: claude-mem worker restart" if answer["restart"] else ""
    if answer["shadowed"]:
        then = "An environment variable overrides it."
    return output.result(answer, f"{args.key} {saved}. {then}".rstrip(), as_json=args.json)
