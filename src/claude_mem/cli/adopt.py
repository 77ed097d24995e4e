"""`claude-mem adopt`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem import settings
from claude_mem.cli import consent, say, sending
from claude_mem.cli.command import OK, Commands, json_flag
from claude_mem.cli.sending import Sent, counted
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings

if TYPE_CHECKING:
    from claude_mem.backfill.gained import Gained, Project
    from claude_mem.wiring.adopting import Adoptable

TABLES = {
    "sdk_sessions": "session",
    "observations": "observation",
    "session_summaries": "summary",
    "user_prompts": "prompt",
}
REASONS_SHOWN = 5
PROJECTS_AT_ONCE = 50


def add(commands: Commands) -> None:
    parser = commands.add(
        "adopt",
        "take over the memory of the TypeScript claude-mem",
        more=(
            "Without a PATH, its database where it usually is. It is only read, and left where\n"
            "it was. Secrets are redacted on the way. Doing it again takes what is new since."
        ),
        example="claude-mem adopt --dry-run\nclaude-mem adopt ~/old/claude-mem.db --yes",
        run=_run,
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="its database, or the folder of it"
    )
    parser.add_argument("--dry-run", action="store_true", help="only read it, and say what is there")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.wiring.adopting import adopting

    chosen = settings.load()
    path = _found(args.path, chosen)
    with ExitStack() as stack:
        with say.patiently("Reading its database ..."):
            there = stack.enter_context(adopting(chosen, path))
        if there is None:
            raise ClaudeMemError(f"{path} is no database of the TypeScript claude-mem.")
        return _adopt(args, path, there)


def _adopt(args: argparse.Namespace, path: Path, there: Adoptable) -> int:
    from claude_mem.backfill.gained import Gained

    rows = there.counts()
    gained, sent = Gained(), Sent()
    records = there.records(_projects(starting=not args.dry_run), gained)
    if args.dry_run:
        for _ in records:
            pass
        return _say(path, rows, gained, None, as_data=args.json)
    found = counted({kind: rows.get(table, 0) for table, kind in TABLES.items()})
    if not found:
        return _say(path, rows, gained, sent, as_data=args.json)
    code = consent.refused(f"Adopt {found} from {path}?", "adopt adds to your memory", yes=args.yes)
    if code is not None:
        return code
    try:
        sending.send(records, sent, own=True, expected=sum(rows.get(table, 0) for table in TABLES))
    except KeyboardInterrupt:
        say.talk(f"\nInterrupted. Kept so far: {counted(sent.taken) or 'nothing'}. Run it again to go on.")
        raise
    return _say(path, rows, gained, sent, as_data=args.json)


def _found(given: Path | None, chosen: Settings) -> Path:
    from claude_mem.capture import places
    from claude_mem.wiring.adopting import adoptable

    if given is not None:
        path = given.expanduser()
        path = path / places.DATABASE if path.is_dir() else path
        if not path.exists():
            raise ClaudeMemError(f"{path} does not exist.")
        return path
    found = adoptable(chosen)
    if found is None:
        raise ClaudeMemError("No database of the TypeScript claude-mem was found. Say where it is: PATH.")
    return found


def _projects(*, starting: bool) -> Callable[[str, Sequence[str]], Project]:
    """It knows only names. Of ours the one of that name, if there is only one; else what the directory is in
    which its files lay; else one with nothing but that name."""
    from claude_mem.backfill.gained import Project, named
    from claude_mem.wiring.adopting import project_under

    ours: dict[str, list[Project]] = {}
    for each in _known_projects(starting=starting):
        if not str(each["key"]).startswith("name:"):
            project = Project(each["key"], each["name"], each["root"] or "")
            ours.setdefault(project.name, []).append(project)

    def project_of(name: str, paths: Sequence[str]) -> Project:
        known = ours.get(name, [])
        if len(known) == 1:
            return known[0]
        return project_under(name, list(paths)) or named(name)

    return project_of


def _known_projects(*, starting: bool) -> list[dict[str, Any]]:
    """`starting`: also if the worker must be started for it; else an empty list will do."""
    from claude_mem.cli.ask import ask, recall

    found: list[dict[str, Any]] = []
    while True:
        query = {"limit": PROJECTS_AT_ONCE, "offset": len(found)}
        try:
            if starting:
                page = recall("GET", "/api/projects", query)
            else:
                page = ask("GET", f"/api/projects?limit={PROJECTS_AT_ONCE}&offset={len(found)}")
        except ClaudeMemError:
            if starting:
                raise
            return []
        found += page["items"]
        if not page["hasMore"]:
            return found


def _say(path: Path, rows: dict[str, int], gained: Gained, sent: Sent | None, *, as_data: bool) -> int:
    """`sent`: None in a dry run."""
    left = sum(count for table, count in rows.items() if table not in TABLES)
    if as_data:
        say.data(
            {
                "path": str(path),
                "dry_run": sent is None,
                "read": dict(gained.read),
                **(sent.shown() if sent is not None else {}),
                "passed_over": _listed(gained.passed_over, "kind", "why"),
                "retyped": _listed(gained.retyped, "theirs", "ours"),
                "projects": gained.projects,
                "left": left,
            }
        )
        return OK
    if sent is None:
        print(f"{counted(gained.read) or 'Nothing'} would be adopted from {path}.")
    else:
        print(f"Adopted: {counted(sent.taken) or 'nothing new'}.")
        if known := counted(sent.known):
            print(f"Known already: {known}.")
        for why, count in sent.refused.most_common(REASONS_SHOWN):
            print(f"Refused {count:,}: {why}")
    for (kind, why), count in gained.passed_over.most_common(REASONS_SHOWN):
        print(f"Passed over {counted({kind: count})}: {why}.")
    for (theirs, ours), count in gained.retyped.most_common(REASONS_SHOWN):
        print(f"Of type {theirs}, here {ours}: {count:,}. The type is kept as a concept.")
    if left:
        say.talk(f"{say.many(left, 'raw tool use')} left where they are: they are evidence, not memory.")
    nameless = [name for name, key in gained.projects.items() if key.startswith("name:")]
    if nameless:
        names = ", ".join(nameless[:REASONS_SHOWN]) + (", …" if len(nameless) > REASONS_SHOWN else "")
        say.talk(f"Known by name only, so recalled when asked for and not by directory: {names}.")
    say.talk(f"{path} was only read.")
    return OK


def _listed(counts: Counter[tuple[str, str]], *names: str) -> list[dict[str, object]]:
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in counts.most_common()]
