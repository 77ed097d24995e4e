"""`claude-mem adopt`: import the memory of other programs."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from claude_mem.cli import client, output
from claude_mem.cli.client import Sent, kind_counts, request
from claude_mem.cli.commands import OK, Commands, UsageError, json_flag
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import Record
from claude_mem.settings import Settings

if TYPE_CHECKING:
    from claude_mem.imports.import_report import ImportReport, Project


SHOWN = 5


def report(path: Path, gained: ImportReport, sent: Sent | None, left: int, *, as_data: bool) -> int:
    """`sent`: None in a dry run."""
    code = OK if sent is None else sent.code
    if as_data:
        output.print_json(
            {
                "path": str(path),
                "dry_run": sent is None,
                "read": dict(gained.read),
                **(sent.as_data() if sent is not None else {}),
                "passed_over": _listed(gained.skipped, "kind", "why"),
                "retyped": _listed(gained.remapped, "theirs", "ours"),
                "projects": gained.projects,
                "left": left,
            }
        )
        return code
    if sent is None:
        print(f"{kind_counts(gained.read) or 'Nothing'} would be imported from {path}.")
    else:
        print(f"Imported: {kind_counts(sent.taken) or 'nothing new'}.")
        if known := kind_counts(sent.known):
            print(f"Already known: {known}.")
        sent.print_refused()
    for (kind, why), count in gained.skipped.most_common(SHOWN):
        print(f"Skipped {kind_counts({kind: count})}: {why}.")
    for (theirs, ours), count in gained.remapped.most_common(SHOWN):
        print(f"Type {theirs} became {ours}: {count:,}. The original type is kept as a concept.")
    if left:
        output.message(f"{output.plural(left, 'raw tool use')} not imported: they are evidence, not memory.")
    nameless = [name for name, key in gained.projects.items() if key.startswith("name:")]
    if nameless:
        names = ", ".join(nameless[:SHOWN]) + (", …" if len(nameless) > SHOWN else "")
        output.message(f"Known by name only, so found by search but not injected into sessions: {names}.")
    output.message(f"{path} was not changed.")
    return code


def _listed(counts: Counter[tuple[str, str]], *names: str) -> list[dict[str, object]]:
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in counts.most_common()]


AT_ONCE = 50


def project_finder(*, starting: bool) -> Callable[[str, Sequence[str]], Project]:
    """Others know a project only by its name. Of ours the one of that name, if there is only one; else what
    the directory is in which its files lay; else one with nothing but that name."""
    from claude_mem.imports.import_report import Project, project_named
    from claude_mem.imports.sources import project_under

    ours: dict[str, list[Project]] = {}
    for each in _projects(starting=starting):
        if not str(each["key"]).startswith("name:"):
            project = Project(each["key"], each["name"], each["root"] or "")
            ours.setdefault(project.name, []).append(project)

    def project_of(name: str, paths: Sequence[str]) -> Project:
        candidates = ours.get(name, [])
        if len(candidates) == 1:
            return candidates[0]
        return project_under(name, paths) or project_named(name)

    return project_of


def known_contents(*, starting: bool) -> Callable[[str], Collection[str]]:
    """The content keys of what a session holds, by its id."""

    def of(session: str) -> Collection[str]:
        try:
            answer = _ask_if_running("/api/export", {"session": session}, starting=starting) or {}
        except UsageError:  # there is no such session yet
            return frozenset()
        said = [json.loads(line) for line in str(answer.get("text", "")).splitlines() if line]
        return {key for each in said if each["kind"] == "observation" and (key := _key(each))}

    return of


def _key(record: dict[str, Any]) -> str | None:
    return content_key(
        Observation(
            record["type"],
            title=record.get("title"),
            narrative=record.get("narrative"),
            facts=tuple(record.get("facts", ())),
        )
    )


def _projects(*, starting: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := _ask_if_running(
        "/api/projects", {"limit": AT_ONCE, "offset": len(found)}, starting=starting
    ):
        found += page["items"]
        if not page["hasMore"]:
            break
    return found


def _ask_if_running(path: str, query: dict[str, object], *, starting: bool) -> dict[str, Any] | None:
    """`starting`: the worker is started if it must be. Else nothing is changed, and None: nobody answers."""
    from claude_mem.serve import control
    from claude_mem.settings import data_directory

    if not starting and control.status(data_directory()).state != "running":
        return None
    try:
        return request("GET", path, query)
    except ClaudeMemError:
        if starting:
            raise
        return None


LINES = (".jsonl", ".ndjson")
TABLES = {
    "sdk_sessions": "session",
    "observations": "observation",
    "session_summaries": "summary",
    "user_prompts": "prompt",
}


class Source(Struct, frozen=True):
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
            "Without a PATH it uses the database of the TypeScript claude-mem in its usual\n"
            "place. The source is read and never changed; secrets are redacted. Running it\n"
            "again imports what is new since."
        ),
        example=(
            "claude-mem adopt --dry-run\nclaude-mem adopt ~/old/claude-mem.db --yes\nclaude-mem adopt --notes"
        ),
        run=_run,
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a database, its folder, or a .jsonl file"
    )
    parser.add_argument(
        "--notes", action="store_true", help="import the notes of Claude Code's agent (MEMORY.md)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be imported, and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    chosen = client.load_settings()
    path = args.path.expanduser() if args.path else None
    if path is not None and not path.exists():
        raise ClaudeMemError(f"{path} does not exist.")
    with ExitStack() as stack:
        with output.waiting("Reading ..."):
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
        return report(source.path, source.gained, None, source.left, as_data=args.json)
    sent = Sent()
    if found := kind_counts(source.found):
        question = f"Import {found} from {source.path}?"
        code = output.confirm(question, "adopt adds to your memory", yes=args.yes)
        if code is not None:
            return code
        try:
            with output.Progress("Importing ...") as progress:
                lines = client.encoded(source.records)
                absorb = client.posted(own=source.own)
                client.send(lines, sent, absorb, progress, expected=sum(source.found.values()))
        except KeyboardInterrupt:
            so_far = kind_counts(sent.taken) or "nothing"
            output.message(f"\nInterrupted. Imported so far: {so_far}. Run it again to continue.")
            raise
    return report(source.path, source.gained, sent, source.left, as_data=args.json)


def _database(given: Path | None, chosen: Settings, stack: ExitStack, *, dry_run: bool) -> Source:
    from claude_mem.hook import paths
    from claude_mem.imports.import_report import ImportReport
    from claude_mem.imports.sources import adoptable, adopting

    path = given / paths.DATABASE if given and given.is_dir() else given or adoptable(chosen)
    if path is None:
        raise ClaudeMemError("No database of the TypeScript claude-mem was found. Pass its PATH.")
    there = stack.enter_context(adopting(chosen, path))
    if there is None:
        raise ClaudeMemError(f"{path} is not a database of the TypeScript claude-mem.")
    rows, gained = there.counts(), ImportReport()
    return Source(
        path,
        there.records(project_finder(starting=not dry_run), gained),
        gained,
        found={kind: rows.get(table, 0) for table, kind in TABLES.items()},
        left=sum(count for table, count in rows.items() if table not in TABLES),
    )


def _notes(given: Path | None, chosen: Settings, *, dry_run: bool) -> Source:
    from claude_mem.agents.claude_code import transcript_files
    from claude_mem.imports.import_report import ImportReport
    from claude_mem.imports.sources import notes_in

    path, gained = given or transcript_files.projects_folder(os.environ), ImportReport()
    records = list(notes_in(chosen, path, known_contents(starting=not dry_run), gained))
    return Source(path, records, gained, found={"observation": gained.read["observation"]})


def _lines(path: Path, chosen: Settings, *, dry_run: bool) -> Source:
    from claude_mem.imports.import_report import ImportReport
    from claude_mem.imports.sources import lines_of

    if path.is_dir():
        raise UsageError(f"{path} is a directory.")
    project_of = project_finder(starting=not dry_run)
    counting, gained = ImportReport(), ImportReport()
    for _ in lines_of(chosen, path, project_of, counting):
        pass
    records = lines_of(chosen, path, project_of, gained)
    return Source(path, records, gained, {"observation": counting.read["observation"]}, own=False)
