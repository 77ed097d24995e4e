"""What there is to import: transcripts, by what is known of them, and commits."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from claude_mem.cli import output
from claude_mem.cli.backfill import sender
from claude_mem.cli.client import Sent, encoded, posted, send, stream_lines
from claude_mem.cli.commands import UsageError
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem.agents.claude_code.transcript_files import Found, Transcript
    from claude_mem.imports.estimate import Asked, Estimate
    from claude_mem.imports.git_history import SessionOf
    from claude_mem.imports.import_report import ImportReport, Project
    from claude_mem.model.records import Record
    from claude_mem.settings import Settings


class Scan(Struct, frozen=True):
    """What was found, by what is to become of it. The newest first."""

    folder: Path
    now: int
    found: Found
    fresh: list[Transcript]  # to be told
    live: list[Transcript]  # captured as they happened
    done: list[Transcript]  # told before, and unchanged since
    barred: list[Transcript]  # forgotten, or not to be seen

    @property
    def size(self) -> int:
        return sum(each.size for each in self.fresh)


def scan(args: argparse.Namespace) -> Scan:
    from claude_mem.agents.claude_code import transcript_files

    folder = _folder(args.folder)
    now = time.time_ns() // 1_000_000
    there = transcript_files.find(folder, project=_project(args.project), since=since_when(args.since, now))
    known = sender.known_sessions([each.session for each in there.transcripts]) if there.transcripts else {}
    by_state: dict[str, list[Transcript]] = {"fresh": [], "live": [], "done": [], "barred": []}
    for each in there.transcripts:
        about = known.get(each.session) or {"state": None, "seal": None}
        if about["state"] == "live":
            state = "live"
        elif about["state"] in ("forgotten", "unseen"):
            state = "barred"
        else:
            state = "done" if about["seal"] == sender.seal(each, now) else "fresh"
        by_state[state].append(each)
    by_state["fresh"] = transcript_files.roots_first(by_state["fresh"])
    return Scan(folder, now, there, **by_state)


def estimates(transcripts: Sequence[Transcript], chosen: Settings) -> tuple[Estimate, ...]:
    """Offline, and whoever may be asked."""
    from claude_mem.imports import estimate

    return estimate.estimate(estimate.total(map(estimate.work, transcripts)), _priced_models(chosen))


def _priced_models(chosen: Settings) -> list[Asked]:
    """The user's choice; where that is nobody, what the cheapest known one would cost."""
    from claude_mem import wiring
    from claude_mem.imports.estimate import Asked
    from claude_mem.models import registry

    provider = wiring.choice(chosen).provider
    named = [(provider, chosen.model)] if provider != "offline" else []
    found: list[Asked] = []
    for who, model in [*named, ("anthropic", None)]:
        priced = model or registry.BY_NAME[who].usual_model or registry.CHEAP_CLAUDE
        if who not in (each.provider for each in found):
            found.append(Asked(who, model or priced, partial(_price, priced)))
    return found


def _price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    from claude_mem.models import price

    return price.cost(model, input=tokens_in, output=tokens_out)


def _folder(given: str | None) -> Path:
    from claude_mem.agents.claude_code import transcript_files

    folder = Path(given).expanduser() if given else transcript_files.projects_folder(os.environ)
    if folder.exists():
        return folder
    if given:
        raise UsageError(f"{folder} does not exist.")
    raise ClaudeMemError(f"No transcripts found: {folder} does not exist. Use --from DIR.")


def _project(given: str | None) -> str | None:
    """A directory as the client writes it, or a name."""
    if given and (given.startswith((".", "~")) or "/" in given):
        return os.path.abspath(os.path.expanduser(given))  # noqa: PTH100, PTH111 - links are kept as they are
    return given


def since_when(given: str | None, now: int) -> int | None:
    if given is None:
        return None
    from claude_mem.recall import dates

    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    try:
        return dates.interval(given, now, zone)[0]
    except ValueError as error:
        raise UsageError(str(error)) from None


class Commits(Struct, frozen=True):
    repo: Path
    project: Project
    since: int | None
    chosen: Settings
    report: ImportReport
    is_excluded: bool = False

    def found(self) -> str:
        if self.is_excluded:
            return f"Commits of {self.repo}: none, because the project is excluded."
        kept = self.report.read["observation"]
        left = sum(self.report.skipped.values())
        out = f", {left:,} skipped (merges, version bumps and the like)" if left else ""
        return f"Commits of {self.repo}: {kept:,} to import{out}."

    def as_data(self) -> dict[str, Any]:
        return {
            "repository": str(self.repo),
            "excluded": self.is_excluded,
            "commits": self.report.read["observation"],
            "passed_over": {f"{why}": count for (_, why), count in self.report.skipped.items()},
        }

    def send(self) -> Sent:
        """When all that transcripts tell is settled: events that still wait do not say who made what."""
        from claude_mem.imports.import_report import ImportReport

        if self.is_excluded:
            output.message(self.found())
            return Sent()
        lines = encoded(self.records(ImportReport(), makers(self.project.key)))
        with output.Progress("Importing commits ...") as progress:
            return send(lines, Sent(), posted(own=True), progress)

    def records(self, report: ImportReport, session_of: SessionOf | None = None) -> Iterator[Record]:
        """Raises ClaudeMemError."""
        from claude_mem import git
        from claude_mem.imports import git_history
        from claude_mem.privacy.scrub import scrub_text

        try:
            yield from git_history.read(
                Path(self.project.root),
                self.project,
                clean=partial(
                    scrub_text, extra_rules=self.chosen.secret_patterns, extra_globs=self.chosen.exclude_paths
                ),
                report=report,
                session_of=session_of,
                since=self.since,
            )
        except git.Unanswered as error:
            raise ClaudeMemError(str(error)) from None


def scan_commits(given: str, since: str | None, chosen: Settings, now: int) -> Commits:
    from claude_mem import git
    from claude_mem.imports.import_report import ImportReport, Project
    from claude_mem.privacy.excluded_projects import ExcludedProjects

    repo = Path(given).expanduser().resolve()
    place = git.resolve(repo)
    project = Project(place.key, place.name, place.root, place.remote)
    is_excluded = ExcludedProjects(chosen.excluded_projects).holds(str(repo), place.name)
    found = Commits(repo, project, since_when(since, now), chosen, ImportReport(), is_excluded)
    if not is_excluded:
        for _ in found.records(found.report):
            pass
    return found


def makers(project: str) -> SessionOf:
    """The session that made a commit of a project, which is named by its key."""
    from claude_mem.imports.git_history import finder

    try:
        return finder(map(json.loads, stream_lines("/api/export", {"project": project})))
    except UsageError:  # there is no such project yet
        return lambda *_: None
