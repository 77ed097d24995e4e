"""`claude-mem adopt`: the memory of other programs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from claude_mem.cli import adopted, consent, known, loading, say, sending
from claude_mem.cli.commands import Commands, UsageError, json_flag
from claude_mem.cli.sending import Sent, counted
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.records import Record
from claude_mem.settings import Settings

if TYPE_CHECKING:
    from claude_mem.imports.report import ImportReport

LINES = (".jsonl", ".ndjson")
TABLES = {
    "sdk_sessions": "session",
    "observations": "observation",
    "session_summaries": "summary",
    "user_prompts": "prompt",
}


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    records: Iterable[Record]
    gained: ImportReport
    found: dict[str, int]  # by kind, about
    own: bool = True  # else a stranger's
    left: int = 0  # raw tool uses


def add(commands: Commands) -> None:
    parser = commands.add(
        "adopt",
        more=(
            "Without a PATH, the database of the TypeScript claude-mem where it usually is.\n"
            "What is adopted is only read, and left where it was; secrets are redacted on the\n"
            "way. Doing it again takes what is new since."
        ),
        example=(
            "claude-mem adopt --dry-run\nclaude-mem adopt ~/old/claude-mem.db --yes\nclaude-mem adopt --notes"
        ),
        run=_run,
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a database, its folder, or .jsonl"
    )
    parser.add_argument("--notes", action="store_true", help="the notes of Claude Code's agent: MEMORY.md")
    parser.add_argument("--dry-run", action="store_true", help="only read it, and say what is there")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    chosen = loading.load()
    path = args.path.expanduser() if args.path else None
    if path is not None and not path.exists():
        raise ClaudeMemError(f"{path} does not exist.")
    with ExitStack() as stack:
        with say.patiently("Reading ..."):
            if args.notes:
                source = _notes(path, chosen, dry_run=args.dry_run)
            elif path is not None and path.suffix in LINES:
                source = _lines(path, chosen, dry_run=args.dry_run)
            else:
                source = _database(path, chosen, stack, dry_run=args.dry_run)
        return _adopt(source, args)


def _adopt(source: Source, args: argparse.Namespace) -> int:
    if args.dry_run:
        for _ in source.records:
            pass
        return adopted.tell(source.path, source.gained, None, source.left, as_data=args.json)
    sent = Sent()
    if found := counted(source.found):
        question = f"Adopt {found} from {source.path}?"
        code = consent.refused(question, "adopt adds to your memory", yes=args.yes)
        if code is not None:
            return code
        try:
            sending.send(source.records, sent, own=source.own, expected=sum(source.found.values()))
        except KeyboardInterrupt:
            so_far = counted(sent.taken) or "nothing"
            say.talk(f"\nInterrupted. Kept so far: {so_far}. Run it again to go on.")
            raise
    return adopted.tell(source.path, source.gained, sent, source.left, as_data=args.json)


def _database(given: Path | None, chosen: Settings, stack: ExitStack, *, dry_run: bool) -> Source:
    from claude_mem.hook import paths
    from claude_mem.imports.report import ImportReport
    from claude_mem.wiring.adopting import adoptable, adopting

    path = given / paths.DATABASE if given and given.is_dir() else given or adoptable(chosen)
    if path is None:
        raise ClaudeMemError("No database of the TypeScript claude-mem was found. Say where it is: PATH.")
    there = stack.enter_context(adopting(chosen, path))
    if there is None:
        raise ClaudeMemError(f"{path} is no database of the TypeScript claude-mem.")
    rows, gained = there.counts(), ImportReport()
    return Source(
        path,
        there.records(known.projects(starting=not dry_run), gained),
        gained,
        found={kind: rows.get(table, 0) for table, kind in TABLES.items()},
        left=sum(count for table, count in rows.items() if table not in TABLES),
    )


def _notes(given: Path | None, chosen: Settings, *, dry_run: bool) -> Source:
    from claude_mem.agents.claude_code import transcript_files
    from claude_mem.imports.report import ImportReport
    from claude_mem.wiring.adopting import noted

    path, gained = given or transcript_files.projects_folder(os.environ), ImportReport()
    records = list(noted(chosen, path, known.contents(starting=not dry_run), gained))
    return Source(path, records, gained, found={"observation": gained.read["observation"]})


def _lines(path: Path, chosen: Settings, *, dry_run: bool) -> Source:
    from claude_mem.imports.report import ImportReport
    from claude_mem.wiring.adopting import lines_of

    if path.is_dir():
        raise UsageError(f"{path} is a directory.")
    project_of = known.projects(starting=not dry_run)
    counting, gained = ImportReport(), ImportReport()
    for _ in lines_of(chosen, path, project_of, counting):
        pass
    records = lines_of(chosen, path, project_of, gained)
    return Source(path, records, gained, {"observation": counting.read["observation"]}, own=False)
