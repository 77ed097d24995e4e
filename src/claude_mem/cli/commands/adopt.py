"""`claude-mem adopt`: import the memory of other programs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from claude_mem.agents.claude_code import transcript_files
from claude_mem.cli import client, import_sender, output
from claude_mem.cli.client import pages, request
from claude_mem.cli.commands import OK, Commands, UsageError, change_flags
from claude_mem.cli.import_sender import SendReport, kind_counts
from claude_mem.hook import paths
from claude_mem.imports import sources
from claude_mem.imports.import_report import SourceReport, project_named
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import Origin
from claude_mem.model.records import Record, content_key_of
from claude_mem.settings import Settings

SHOWN = 5
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
    report: SourceReport
    found: dict[str, int]  # by kind, about
    own: bool = True  # else untrusted
    left: int = 0  # raw tool uses


def add(commands: Commands) -> None:
    parser = commands.add("adopt", run=_run)
    parser.argument("path", "PATH", "a database, its folder, or a .jsonl file", nargs="?", type=Path)
    parser.flag("--notes", "import the notes that Claude Code's agent keeps (MEMORY.md)")
    change_flags(parser, "be imported")


def _run(args: argparse.Namespace) -> int:
    """Without a PATH, it imports the database of the TypeScript claude-mem from its default location. The
    source is never changed; secrets are redacted. Run it again to import what is new.

    Example:
      claude-mem adopt --dry-run
      claude-mem adopt ~/old/claude-mem.db --yes
      claude-mem adopt --notes
    """
    settings = client.load_settings()
    path = args.path.expanduser() if args.path else None
    if path is not None and not path.exists():
        raise ClaudeMemError(f"{path} does not exist.")
    starting = not args.dry_run
    with ExitStack() as stack:
        with output.waiting("Reading ..."):
            if args.notes:
                source = _notes(path, settings, starting=starting)
            elif path is not None and path.suffix in LINES:
                source = _lines(path, settings, starting=starting)
            else:
                source = _database(path, settings, stack, starting=starting)
        return _adopt(source, args)


def _adopt(source: Source, args: argparse.Namespace) -> int:
    if args.dry_run:
        for _ in source.records:
            pass
        return _report(args, source, None)
    sent = SendReport()
    if found := kind_counts(source.found):
        question = f"Import {found} from {source.path}?"
        if code := output.confirm(question, "adopt adds to your memory", yes=args.yes):
            return code
        lines, absorb = import_sender.encoded(source.records), import_sender.posted(own=source.own)
        import_sender.send(lines, sent, absorb, "Importing ...", sum(source.found.values()))
    return _report(args, source, sent)


def _report(args: argparse.Namespace, source: Source, sent: SendReport | None) -> int:
    """`sent`: None in a dry run."""
    path, report = source.path, source.report
    code = OK if sent is None else sent.code
    if args.json:
        output.print_json(
            {
                "path": str(path),
                "dry_run": sent is None,
                "read": dict(report.read),
                **(sent.as_data() if sent is not None else {}),
                "passed_over": _listed(report.skipped, "kind", "why"),
                "retyped": _listed(report.remapped, "theirs", "ours"),
                "projects": report.projects,
                "left": source.left,
            }
        )
        return code
    if sent is None:
        print(f"{kind_counts(report.read) or 'Nothing'} would be imported from {path}.")
    else:
        sent.print_taken("Imported")
    for (kind, why), count in report.skipped.most_common(SHOWN):
        print(f"Skipped {kind_counts({kind: count})}: {why}.")
    for (original, mapped), count in report.remapped.most_common(SHOWN):
        print(f"Type {original} became {mapped}: {count:,}. The original type is saved as a concept.")
    if source.left:
        uses = output.plural(source.left, "raw tool use")
        output.message(f"{uses} not imported: only memories are imported, not raw events.")
    nameless = [name for name, key in report.projects.items() if key.startswith("name:")]
    if nameless:
        names = ", ".join(nameless[:SHOWN]) + (", …" if len(nameless) > SHOWN else "")
        output.message(
            f"These projects are known by name only. Search finds them, but they are not injected: {names}."
        )
    output.message(f"{path} was not changed.")
    return code


def _listed(counts: Counter[tuple[str, str]], *names: str) -> list[dict[str, object]]:
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in counts.most_common()]


def _database(given: Path | None, settings: Settings, stack: ExitStack, *, starting: bool) -> Source:
    path = given / paths.DATABASE if given and given.is_dir() else given or sources.adoptable(settings)
    if path is None:
        raise ClaudeMemError("No TypeScript claude-mem database found. Specify its PATH.")
    foreign = stack.enter_context(sources.adopting(path))
    if foreign is None:
        raise ClaudeMemError(f"{path} is not a database of the TypeScript claude-mem.")
    rows, report = sources.rows_in(foreign), SourceReport()
    found = {kind: rows.get(table, 0) for table, kind in TABLES.items()}
    left = sum(count for table, count in rows.items() if table not in TABLES)
    records = sources.adopted(settings, foreign, _project_finder(starting), report)
    return Source(path, records, report, found, left=left)


def _notes(given: Path | None, settings: Settings, *, starting: bool) -> Source:
    def known(session: str) -> Collection[str]:
        """The content keys of the memories in a session."""
        with _unless(starting), suppress(UsageError):  # there is no such session yet
            text = str(request("GET", "/api/export", {"session": session}, starts=starting).get("text", ""))
            records = [json.loads(line) for line in text.splitlines() if line]
            return {
                key for each in records if each["kind"] == "observation" and (key := content_key_of(each))
            }
        return frozenset()

    path, report = given or transcript_files.projects_folder(), SourceReport()
    records = list(sources.notes_in(settings, path, known, report))
    return Source(path, records, report, {"observation": report.read["observation"]})


def _lines(path: Path, settings: Settings, *, starting: bool) -> Source:
    if path.is_dir():
        raise UsageError(f"{path} is a directory.")
    project_of = _project_finder(starting)
    counting, report = SourceReport(), SourceReport()
    for _ in sources.lines_of(settings, path, project_of, counting):
        pass
    records = sources.lines_of(settings, path, project_of, report)
    return Source(path, records, report, {"observation": counting.read["observation"]}, own=False)


def _project_finder(starting: bool) -> Callable[[str, Sequence[str]], Origin]:
    """Finds the project for a name, because other tools only know names: our project with that name, if there
    is only one; otherwise the project of the directory that contained its files; otherwise one with only that
    name."""
    by_name: dict[str, list[Origin]] = {}
    with _unless(starting):
        for each in pages("/api/projects", {}, starts=starting):
            if not str(each["key"]).startswith("name:"):
                project = Origin(each["key"], each["name"], each["root"] or "")
                by_name.setdefault(project.name, []).append(project)

    def project_of(name: str, paths: Sequence[str]) -> Origin:
        candidates = by_name.get(name, [])
        if len(candidates) == 1:
            return candidates[0]
        return sources.project_under(name, paths) or project_named(name)

    return project_of


@contextmanager
def _unless(starting: bool) -> Iterator[None]:
    """A context that ignores the worker's errors if it may not be started."""
    try:
        yield
    except ClaudeMemError:
        if starting:
            raise
