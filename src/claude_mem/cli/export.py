"""`claude-mem export`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from claude_mem.cli import narrow, say, sending
from claude_mem.cli.commands import OK, Commands, UsageError, json_flag
from claude_mem.cli.ticker import Ticker

UNDERSTOOD = ["observation", "summary", "prompt"]
FILES = (".jsonl", ".json", ".md")


def add(commands: Commands) -> None:
    parser = commands.add(
        "export",
        more=(
            "One JSON object a line, from which `import` makes the same memory again; or,\n"
            "with --markdown, a journal to read. Without a QUERY whole sessions with all that\n"
            "was done in them, with one only the memories it finds. The file is yours alone\n"
            "(0600)."
        ),
        example=(
            "claude-mem export -o memory.jsonl\n"
            "claude-mem export --here --markdown -o JOURNAL.md\n"
            "claude-mem export login --since 'last week' | gzip > login.jsonl.gz"
        ),
        run=_run,
    )
    parser.add_argument("query", nargs="*", metavar="QUERY", help="only what is found for these words")
    narrow.project(parser)
    parser.add_argument("--session", metavar="ID", help="only of this session")
    narrow.period(parser)
    parser.add_argument("--markdown", action="store_true", help="a journal for people, by day and session")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to; - is standard output, and the default"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem import settings
    from claude_mem.cli.outfile import written

    if args.output is None:
        _refuse_files(args.query)
    if args.output in (None, "-"):
        if args.json:
            raise UsageError("--json reports about a file; say which: -o FILE.")
        _write(args, sys.stdout.buffer)
        return OK
    path = Path(args.output)
    with written(path, settings.data_directory(), force=args.force) as file:
        counts = _write(args, file)
        size = file.tell()
    path = path.expanduser().absolute()
    if args.json:
        form = "markdown" if args.markdown else "jsonl"
        say.data({"path": str(path), "bytes": size, "format": form, "records": dict(counts)})
    else:
        print(f"Exported {sending.counted(counts) or 'nothing: there is nothing like that'}.")
        say.talk(f"{path}, {say.size(size)}, readable by you alone.")
    return OK


def _refuse_files(query: list[str]) -> None:
    """Nobody who types a file's name wants all of memory on the screen."""
    named = next((word for word in query if _is_file(word)), None)
    if named is None:
        return
    words = [*(word for word in query if word != named), "-o", named]
    raise UsageError(
        f"{named!r} looks like a file; did you mean: claude-mem export {shlex.join(words)}? "
        "If it is what to look for, add: -o -"
    )


def _is_file(word: str) -> bool:
    if " " in word:  # a sentence that names one
        return False
    return word.endswith(FILES) or ("/" in word and Path(word).expanduser().parent.is_dir())


def _write(args: argparse.Namespace, file: IO[bytes]) -> Counter[str]:
    counts: Counter[str] = Counter()
    with Ticker("Exporting ...") as ticker:
        lines = _lines(args, counts, ticker)
        if args.markdown:
            from claude_mem.recall.journal import journal

            zone = datetime.now().astimezone().tzinfo or UTC
            for line in journal((json.loads(line) for line in lines), zone):
                file.write(f"{line}\n".encode(errors="replace"))
        else:
            for raw in lines:
                file.write(raw)
        file.flush()
    return counts


def _lines(args: argparse.Namespace, counts: Counter[str], ticker: Ticker) -> Iterator[bytes]:
    from claude_mem.cli.ask import recalled_lines

    query: dict[str, Any] = narrow.query(args) | {"q": " ".join(args.query)}
    if args.markdown:
        query["kind"] = UNDERSTOOD
    for line in recalled_lines("/api/export", query):
        counts[_kind(line)] += 1
        ticker.show(f"{counts.total():,} records")
        yield line
    del counts["claude-mem"]  # the head says what the file is, and is no memory


def _kind(line: bytes) -> str:
    """Which kind a record is of: said first, so that nobody has to read the rest of it."""
    return line[len(b'{"kind":"') : 64].partition(b'"')[0].decode(errors="replace")
