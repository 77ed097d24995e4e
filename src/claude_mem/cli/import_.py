"""`claude-mem import`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from claude_mem.cli import loading, say
from claude_mem.cli.commands import Commands, UsageError, json_flag
from claude_mem.cli.sending import Sent, counted
from claude_mem.cli.ticker import Ticker
from claude_mem.model.errors import ClaudeMemError

MOST_LINES = 300
MOST_BYTES = 2 << 20  # of a batch that another line would still be added to
LONGEST_LINE = 8 << 20

Absorb = Callable[[bytes], dict[str, Any]]


def add(commands: Commands) -> None:
    parser = commands.add(
        "import",
        more=(
            "What is there already stays as it is: doing it again changes nothing, and after\n"
            "an interruption goes on. Without --own the file counts as a stranger's: secrets\n"
            "are redacted, everything is marked as read and not verified, and nothing of your\n"
            "own is added to or replaced."
        ),
        example=(
            "claude-mem import --own memory.jsonl\n"
            "claude-mem import --dry-run from-ada.jsonl\n"
            "zcat memory.jsonl.gz | claude-mem import --own -"
        ),
        run=_run,
    )
    parser.add_argument("file", metavar="FILE", help="one JSON object a line; - is standard input")
    parser.add_argument("--own", action="store_true", help="it is an export of yours: take it as it is")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be taken")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    sent = Sent("line")
    with ExitStack() as stack:
        source = _source(args.file, stack)
        absorb = stack.enter_context(_rehearsing(args.own)) if args.dry_run else _sending(args.own)
        ticker = stack.enter_context(Ticker("Looking ..." if args.dry_run else "Importing ..."))
        try:
            for first, batch in _batches(source, sent):
                sent.add(first, absorb(batch))
                ticker.show(f"{sent.records:,} lines")
        except KeyboardInterrupt:
            ticker.wipe()
            if not args.dry_run:
                kept = counted(sent.taken) or "nothing new"
                say.talk(f"Interrupted. Taken so far: {kept}. Run it again to go on.")
            raise
    return _say(args, sent)


def _source(name: str, stack: ExitStack) -> IO[bytes]:
    if name == "-":
        return sys.stdin.buffer
    path = Path(name).expanduser()
    if path.is_dir():
        raise UsageError(f"{path} is a folder.")
    return stack.enter_context(path.open("rb"))


def _sending(own: bool) -> Absorb:
    from claude_mem.cli.ask import recall

    def absorb(batch: bytes) -> dict[str, Any]:
        try:
            return recall("POST", "/api/import", {"own": "1" if own else None}, batch)
        except UsageError as error:  # it is the file that is wrong, not what was typed
            raise ClaudeMemError(str(error)) from None

    return absorb


@contextmanager
def _rehearsing(own: bool) -> Iterator[Absorb]:
    from claude_mem.cli.ask import recall
    from claude_mem.wiring.rehearsal import rehearsing

    recall("GET", "/health")  # whoever starts it sees to it that the database is there, and of this version
    with say.patiently("Copying the database, to try it on the copy ..."), ExitStack() as stack:
        absorb = stack.enter_context(rehearsing(loading.load(), own=own))
        left = stack.pop_all()
    with left:
        yield absorb


def _batches(source: IO[bytes], sent: Sent) -> Iterator[tuple[int, bytes]]:
    """The number of its first line, and lines; of an endless file no more is held than one batch."""
    first, lines, size = 1, list[bytes](), 0
    while line := source.readline(LONGEST_LINE + 1):
        sent.records += 1
        if len(line) > LONGEST_LINE:
            sent.refuse(sent.records, f"It is longer than {say.size(LONGEST_LINE)}.")
            while line and not line.endswith(b"\n"):
                line = source.readline(LONGEST_LINE)
            line = b"\n"  # its place, so that the numbers of the others hold
        lines.append(line)
        size += len(line)
        if len(lines) == MOST_LINES or size > MOST_BYTES:
            yield first, b"".join(lines)
            first, lines, size = sent.records + 1, [], 0
    if lines:
        yield first, b"".join(lines)


def _say(args: argparse.Namespace, sent: Sent) -> int:
    if args.json:
        say.data({"dry_run": args.dry_run, "own": args.own, "lines": sent.records, **sent.shown()})
        return sent.code
    if not sent.records:
        raise ClaudeMemError("There is nothing in it.")
    print(f"{'Would import' if args.dry_run else 'Imported'}: {counted(sent.taken) or 'nothing new'}.")
    if known := counted(sent.known):
        print(f"Known already: {known}.")
    sent.say_refused()
    return sent.code
