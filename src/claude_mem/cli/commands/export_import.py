"""`claude-mem export` and `import`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import stat
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from claude_mem.cli import client, filter_flags, import_sender, output
from claude_mem.cli.client import request, stream_lines
from claude_mem.cli.commands import OK, Commands, UsageError
from claude_mem.cli.import_sender import Absorb, SendReport
from claude_mem.cli.output import ProgressLine
from claude_mem.files import atomic_file
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError

WITHOUT_EVIDENCE = ["observation", "summary", "prompt"]
FILES = (".jsonl", ".json", ".md")


def add(commands: Commands) -> None:
    parser = commands.add("export", run=_run_export)
    parser.argument("query", "QUERY", "only the results of this search", nargs="*")
    filter_flags.project(parser)
    parser.argument("--session", "ID", "only this session")
    filter_flags.period(parser)
    parser.flag("--markdown", "write a readable journal, by day and session")
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write; - is stdout (the default)")
    parser.flag("--force", "replace FILE if it exists")
    parser = commands.add("import", run=_run_import)
    parser.argument("file", "FILE", "one JSON object per line; - is stdin")
    parser.flag("--own", "trust the file: it is your own export")
    parser.flag("--dry-run", "show what would be imported, and stop")


def _run_export(args: argparse.Namespace) -> int:
    """Writes one JSON object per line, which `import` can restore; or, with --markdown, a journal for people.
    Without a QUERY, it exports whole sessions with all their events; with one, only matching memories. Only
    you can read the file (0600).

    Example:
      claude-mem export -o memory.jsonl
      claude-mem export --here --markdown -o JOURNAL.md
      claude-mem export login --since 'last week' | gzip > login.jsonl.gz
    """
    from claude_mem import settings

    if args.output is None:
        _refuse_files(args.query)
    if args.output in (None, "-"):
        if args.json:
            raise UsageError("--json requires -o FILE.")
        _write(args, sys.stdout.buffer)
        return OK
    path = Path(args.output)
    with output_file(path, settings.data_directory(), force=args.force) as file:
        counts = _write(args, file)
        size = file.tell()
    path = path.expanduser().absolute()
    form = "markdown" if args.markdown else "jsonl"
    data = {"path": str(path), "bytes": size, "format": form, "records": dict(counts)}
    if not args.json:
        output.message(f"{path}, {output.size(size)}, readable only by you.")
    text = f"Exported {import_sender.kind_counts(counts) or 'nothing (no results)'}."
    return output.result(args, data, text)


def _refuse_files(query: list[str]) -> None:
    """Rejects an argument that looks like a file name: the user did not mean to print all of memory."""
    for named in (word for word in query if " " not in word):  # not a sentence that names one
        if named.endswith(FILES) or ("/" in named and Path(named).expanduser().parent.is_dir()):
            words = [*(word for word in query if word != named), "-o", named]
            raise UsageError(
                f"{named!r} looks like a file. Did you mean: claude-mem export {shlex.join(words)}? "
                "To search for it, add: -o -"
            )


def _write(args: argparse.Namespace, file: IO[bytes]) -> Counter[str]:
    counts: Counter[str] = Counter()
    with ProgressLine("Exporting ...") as ticker:
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


def _lines(args: argparse.Namespace, counts: Counter[str], ticker: ProgressLine) -> Iterator[bytes]:
    query: dict[str, Any] = filter_flags.query(args) | {"q": " ".join(args.query)}
    if args.markdown:
        query["kind"] = WITHOUT_EVIDENCE
    for line in stream_lines("/api/export", query):
        # A record begins with its kind, so that the rest need not be parsed.
        counts[line[len(b'{"kind":"') : 64].partition(b'"')[0].decode(errors="replace")] += 1
        ticker.show(f"{counts.total():,} records")
        yield line
    del counts["claude-mem"]  # the header describes the file, and is not a memory


LONGEST_LINE = 8 << 20


def _run_import(args: argparse.Namespace) -> int:
    """Existing memory stays as it is: importing again changes nothing, and continues after an interruption.
    Without --own the file is untrusted: secrets are redacted, everything is marked as read but not verified,
    and none of your own memory is extended or replaced.

    Example:
      claude-mem import --own memory.jsonl
      claude-mem import --dry-run from-ada.jsonl
      zcat memory.jsonl.gz | claude-mem import --own -
    """
    sent = SendReport("line")
    with ExitStack() as stack:
        path = Path(args.file).expanduser()
        if args.file != "-" and path.is_dir():
            raise UsageError(f"{path} is a folder. Specify a file.")
        source = sys.stdin.buffer if args.file == "-" else stack.enter_context(path.open("rb"))
        lines = _lines_of(source, sent)
        if args.dry_run:
            absorb = stack.enter_context(_trial(args.own))
            import_sender.send(lines, sent, absorb, "Checking ...", interrupted=False)
        else:
            import_sender.send(lines, sent, import_sender.posted(own=args.own), "Importing ...")
    if args.json:
        output.print_json({"dry_run": args.dry_run, "own": args.own, "lines": sent.records, **sent.as_data()})
        return sent.code
    if not sent.records:
        raise ClaudeMemError("The file is empty.")
    sent.print_taken("Would import" if args.dry_run else "Imported")
    return sent.code


@contextmanager
def _trial(own: bool) -> Iterator[Absorb]:
    from claude_mem.wiring.database import trial_import

    request("GET", "/health")  # whoever starts it sees to it that the database is there, and of this version
    with output.waiting("Copying the database for a dry run ..."), ExitStack() as stack:
        absorb = stack.enter_context(trial_import(client.load_settings(), own=own))
        left = stack.pop_all()
    with left:
        yield absorb


def _lines_of(source: IO[bytes], sent: SendReport) -> Iterator[bytes]:
    """A line that is too long is refused; an empty one in its place keeps the numbers of the others."""
    number = 0
    while line := source.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            sent.refuse(number, f"The line is longer than {output.size(LONGEST_LINE)}.")
            while line and not line.endswith(b"\n"):
                line = source.readline(LONGEST_LINE)
            line = b"\n"
        yield line


@contextmanager
def output_file(path: Path, data_dir: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """To be written to; in its place once the block ends without an error. Forgetting can name it then."""
    path = path.expanduser().absolute()
    _check(path, force)
    try:
        with atomic_file(path, durable=True, overwrite=force) as file:
            yield file
            _note(data_dir, path)  # before it is there: one that is noted and missing does no harm
    except FileExistsError:
        raise UsageError(f"{path} already exists. Use --force to replace it.") from None


def _check(path: Path, force: bool) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(f"The folder {path.parent} does not exist.") from None
        return
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is not a regular file. Choose another name.")
    if not force:
        raise UsageError(f"{path} already exists. Use --force to replace it.")


def _note(data_dir: Path, path: Path) -> None:
    """Records the export in `exports.jsonl`, as one JSON object per line."""
    line = json.dumps({"path": os.fsdecode(path), "at": int(time.time() * 1000)}) + "\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(data_dir / paths.EXPORTS, flags, 0o600), "ab") as file:  # noqa: PTH123 - a descriptor
        file.write(line.encode(errors="replace"))
        file.flush()
        os.fsync(file.fileno())
