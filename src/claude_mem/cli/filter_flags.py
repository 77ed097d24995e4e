"""The filter flags, the same for every command that searches."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_mem.api.filters import FilterInfo
    from claude_mem.cli.commands import Parser


MOST = 100
ALIASES = {"client": ("--agent",)}
METAVARS = {"file": "PATH", "session": "ID", "since": "WHEN", "until": "WHEN"}


def project(parser: Parser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="P", help="only this project: its name or key")
    where.add_argument("--here", action="store_true", help="only this directory's project")


def flags(parser: Parser) -> None:
    """Adds a flag for every filter that `api.filters` declares."""
    project(parser)
    for each in _filters().values():
        _add(parser, each)


def period(parser: Parser) -> None:
    for name in ("since", "until"):
        _add(parser, _filters()[name])


def people(parser: Parser) -> None:
    for name in ("client", "author"):
        _add(parser, _filters()[name])


def _filters() -> dict[str, FilterInfo]:
    from claude_mem.api.filters import filter_infos

    return {each.name: each for each in filter_infos() if each.name != "project"}


def _add(parser: Parser, each: FilterInfo) -> None:
    flag, about = f"--{each.name}", each.help[0].lower() + each.help[1:].rstrip(".")
    metavar = METAVARS.get(each.name, each.name.upper())
    match each.kind:
        case "text":
            parser.add_argument(
                flag, *ALIASES.get(each.name, ()), dest=each.name, metavar=metavar, help=about
            )
        case "list":
            choices = f": {', '.join(each.choices)}" if each.choices else ""
            about = f"{about}{choices}; may be repeated"
            parser.argument(flag, metavar, about, action="append", choices=each.choices or None)
        case "flag":
            parser.flag(flag, about, default=None)
        case "switch":
            about = f"{about.partition(';')[0]}; or exclude them"
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=about)


def limit(parser: Parser, usual: int) -> None:
    parser.argument("--limit", "N", f"at most N (default: {usual})", type=up_to(MOST), default=usual)


def paging(parser: Parser, usual: int) -> None:
    limit(parser, usual)
    parser.argument("--offset", "N", "skip the first N", type=up_to(100_000, least=0))


def query(args: argparse.Namespace) -> dict[str, object]:
    """The filters given, as parameters of the HTTP API."""
    given = {name: getattr(args, name, None) for name in (*_filters(), "limit", "offset")}
    words = {name: str(value).lower() for name, value in given.items() if isinstance(value, bool)}
    return where(args) | given | words


def where(args: argparse.Namespace) -> dict[str, object]:
    return {"project": args.project, "cwd": here() if args.here else None}


def here() -> str:
    return str(Path.cwd())


def up_to(most: int, *, least: int = 1) -> Callable[[str], int]:
    """A whole number within bounds, for argparse."""

    def number(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not least <= int(text[:20]) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return number
