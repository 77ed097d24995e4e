"""Finds what can be imported: transcripts, grouped by what is already known, and commits."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem import git
from claude_mem.agents import catalog
from claude_mem.agents.catalog import FoundTranscripts, Transcript
from claude_mem.cli import import_sender, output
from claude_mem.cli.client import stream_lines
from claude_mem.cli.commands import UsageError
from claude_mem.cli.import_sender import SendReport, encoded, posted, send
from claude_mem.imports import git_history
from claude_mem.imports.git_history import SessionOf
from claude_mem.imports.import_report import SourceReport
from claude_mem.imports.sources import cleaner
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import Origin, enclosing_directories, repository_of
from claude_mem.model.records import Record
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.providers import registry
from claude_mem.providers.price import Estimate, estimate
from claude_mem.recall import filter_resolver
from claude_mem.settings import Settings
from claude_mem.wiring import observer_setup


class Scan(Struct, frozen=True):
    """The transcripts found, by what is done with them. The newest first."""

    folder: Path
    now: int
    found: FoundTranscripts
    fresh: list[Transcript]  # to be sent
    live: list[Transcript]  # captured as they happened
    done: list[Transcript]  # sent before, and unchanged since
    barred: list[Transcript]  # deleted, or of a pause

    @property
    def size(self) -> int:
        return sum(each.size for each in self.fresh)

    def as_data(self) -> dict[str, Any]:
        transcripts = self.found.transcripts
        return {
            "folder": str(self.folder),
            "sessions": len(transcripts),
            "new": len(self.fresh),
            "bytes": self.size,
            "live": len(self.live),
            "known": len(self.done),
            "barred": len(self.barred),
            "first_at": min((each.first_at for each in transcripts), default=None),
            "last_at": max((each.last_at for each in transcripts), default=None),
        }


def scan_transcripts(args: argparse.Namespace) -> Scan:
    reader = catalog.transcripts(args.agent)
    folder = Path(args.folder).expanduser() if args.folder else reader.projects_folder()
    if not folder.exists():
        if args.folder:
            raise UsageError(f"{folder} does not exist.")
        raise ClaudeMemError(f"No transcripts found: {folder} does not exist. Use --from DIR.")
    project = args.project
    if project and (project.startswith((".", "~")) or "/" in project):  # a directory, or else a name
        project = os.path.abspath(os.path.expanduser(project))  # noqa: PTH100, PTH111 - links stay as they are
    now = time.time_ns() // 1_000_000
    found = reader.find(folder, project=project, since=since_when(args.since, now))
    known = import_sender.known_sessions([each.session for each in found.transcripts])
    by_state: dict[str, list[Transcript]] = {"fresh": [], "live": [], "done": [], "barred": []}
    for each in found.transcripts:
        about = known.get(each.session) or {"state": None, "seal": None}
        is_done = about["seal"] == import_sender.transcript_seal(each, now)
        states = {"live": "live", "forgotten": "barred", "unseen": "barred"}
        by_state[states.get(about["state"], "done" if is_done else "fresh")].append(each)
    by_state["fresh"] = roots_first(by_state["fresh"])
    return Scan(folder, now, found, **by_state)


def roots_first(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """In their order, but one that began in a directory comes before all that began below it: if the
    directory is gone, its project is known by then, and theirs is the same."""
    first: dict[str, Transcript] = {}
    for each in transcripts:
        first.setdefault(repository_of(each.cwd or ""), each)
    ordered: dict[Path, Transcript] = {}
    for each in transcripts:
        for above in reversed(enclosing_directories(repository_of(each.cwd or ""))):
            if above in first:
                ordered.setdefault(first[above].path, first[above])
        ordered.setdefault(each.path, each)
    return list(ordered.values())


def estimates(seen: Scan, agent: str, settings: Settings) -> list[Estimate]:
    """Offline, the user's model, and for comparison the cheapest one known."""
    models = {}
    if (provider := observer_setup.choice(settings).provider) != "offline":
        models[provider] = settings.model or registry.BY_NAME[provider].usual_model or registry.CHEAP_CLAUDE
    models.setdefault("anthropic", registry.BY_NAME["anthropic"].usual_model or registry.CHEAP_CLAUDE)
    return estimate(map(catalog.transcripts(agent).count, seen.fresh), list(models.items()))


def since_when(given: str | None, now: int) -> int | None:
    if given is None:
        return None
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    try:
        return filter_resolver.interval(given, now, zone)[0]
    except ValueError as error:
        raise UsageError(str(error)) from None


class Commits(Struct, frozen=True):
    repo: Path
    project: Origin
    since: int | None
    settings: Settings
    report: SourceReport
    is_excluded: bool = False

    def as_text(self) -> str:
        if self.is_excluded:
            return f"Commits of {self.repo}: none, because the project is excluded."
        skipped = sum(self.report.skipped.values())
        but = f", {skipped:,} skipped (merges, version bumps and the like)" if skipped else ""
        return f"Commits of {self.repo}: {self.report.read['observation']:,} to import{but}."

    def as_data(self) -> dict[str, Any]:
        return {
            "repository": str(self.repo),
            "excluded": self.is_excluded,
            "commits": self.report.read["observation"],
            "passed_over": {why: count for (_, why), count in self.report.skipped.items()},
        }

    def send(self) -> SendReport:
        """After the transcripts: events that still wait do not say which session made a commit."""
        if self.is_excluded:
            output.message(self.as_text())
            return SendReport()
        lines = encoded(self.records(SourceReport(), session_finder(self.project.key)))
        return send(lines, SendReport(), posted(own=True), "Importing commits ...", interrupted=False)

    def records(self, report: SourceReport, session_of: SessionOf | None = None) -> Iterator[Record]:
        try:
            yield from git_history.read(
                Path(self.project.root),
                self.project,
                clean=cleaner(self.settings),
                report=report,
                session_of=session_of,
                since=self.since,
            )
        except git.Unanswered as error:
            raise ClaudeMemError(str(error)) from None


def scan_commits(given: str, since: str | None, settings: Settings, now: int) -> Commits:
    repo = Path(given).expanduser().resolve()
    project = git.resolve(repo)
    is_excluded = ExcludedProjects(settings.excluded_projects).holds(str(repo), project.name)
    found = Commits(repo, project, since_when(since, now), settings, SourceReport(), is_excluded)
    if not is_excluded:
        for _ in found.records(found.report):
            pass
    return found


def session_finder(project: str) -> SessionOf:
    """The session that made a commit of a project, which is named by its key."""
    try:
        return git_history.finder(map(json.loads, stream_lines("/api/export", {"project": project})))
    except UsageError:  # there is no such project yet
        return lambda *_: None
