"""The flags that narrow a question, the same for every command that asks one."""

from __future__ import annotations

import argparse
from pathlib import Path

from claude_mem.model.refs import KINDS

MOST = 100


def project(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="P", help="only of this project: its name or key")
    where.add_argument("--here", action="store_true", help="only of this directory's project")


def flags(parser: argparse.ArgumentParser) -> None:
    project(parser)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only of this kind; may come again")
    parser.add_argument("--type", action="append", metavar="T", help="only of this type: bugfix, decision, …")
    parser.add_argument("--concept", action="append", metavar="C", help="only with this concept: gotcha, …")
    parser.add_argument("--file", metavar="F", help="a path, the end of one, src/, or src/*.py")
    parser.add_argument("--branch", metavar="B", help="only from work on this branch")
    parser.add_argument("--session", metavar="ID", help="only of this session")
    parser.add_argument("--client", metavar="NAME", help="only from this coding agent")
    period(parser)
    parser.add_argument(
        "--superseded", action=argparse.BooleanOptionalAction, help="only what was replaced; or none of it"
    )


def period(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", metavar="WHEN", help="yesterday, 'last week', 2026-01-31, v2, …")
    parser.add_argument("--until", metavar="WHEN", help="in the same words")


def paging(parser: argparse.ArgumentParser, limit: int) -> None:
    parser.add_argument("--limit", type=up_to(MOST), default=limit, metavar="N", help=f"at most ({limit})")
    parser.add_argument("--offset", type=up_to(100_000, least=0), metavar="N", help="pass over the first N")


def query(args: argparse.Namespace) -> dict[str, object]:
    """What was said, in the words of the HTTP API."""
    names = ("kind", "type", "concept", "file", "branch", "session", "client", "since", "until")
    said = {name: getattr(args, name, None) for name in (*names, "limit", "offset")}
    superseded = getattr(args, "superseded", None)
    return where(args) | said | {"superseded": str(superseded).lower() if superseded is not None else None}


def where(args: argparse.Namespace) -> dict[str, object]:
    return {"project": args.project, "cwd": here() if args.here else None}


def here() -> str:
    return str(Path.cwd())


class up_to:  # noqa: N801 - read as a function, where a type is asked for
    """A whole number within bounds, for argparse."""

    def __init__(self, most: int, *, least: int = 1) -> None:
        self._least, self._most = least, most

    def __call__(self, text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not self._least <= int(text[:12]) <= self._most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {self._least} to {self._most}"
            )
        return int(text)
