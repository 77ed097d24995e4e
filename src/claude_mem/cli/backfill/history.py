"""The commits of a repository, on their way to become observations of the sessions that made them.

They are counted before anybody is asked, and made when the transcripts are told and settled: only then is it
known who made which. Where a commit was taken in, it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem.cli import say
from claude_mem.cli.backfill.looking import since_when
from claude_mem.cli.sending import Sent, send
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem.imports.git_history import SessionOf
    from claude_mem.imports.report import ImportReport, Project
    from claude_mem.model.records import Record
    from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class History:
    repo: Path
    project: Project
    since: int | None
    chosen: Settings
    gained: ImportReport
    is_excluded: bool = False

    def found(self) -> str:
        if self.is_excluded:
            return f"Commits of {self.repo}: none, nothing is recorded of that project."
        kept = self.gained.read["observation"]
        left = sum(self.gained.passed_over.values())
        out = f", {left:,} left out (merges, version numbers and the like)" if left else ""
        return f"Commits of {self.repo}: {kept:,} to remember{out}."

    def as_data(self) -> dict[str, Any]:
        return {
            "repository": str(self.repo),
            "excluded": self.is_excluded,
            "commits": self.gained.read["observation"],
            "passed_over": {f"{why}": count for (_, why), count in self.gained.passed_over.items()},
        }

    def send(self) -> Sent:
        """When all that transcripts tell is settled: events that still wait do not say who made what."""
        from claude_mem.cli import known
        from claude_mem.imports.report import ImportReport

        if self.is_excluded:
            say.talk(self.found())
            return Sent()
        return send(self.records(ImportReport(), known.makers(self.project.key)), Sent(), own=True)

    def records(self, gained: ImportReport, session_of: SessionOf | None = None) -> Iterator[Record]:
        """Raises ClaudeMemError."""
        from claude_mem import git
        from claude_mem.imports import git_history
        from claude_mem.wiring.cleaning import cleaned

        try:
            yield from git_history.read(
                Path(self.project.root),
                self.project,
                clean=lambda text: cleaned(text, self.chosen),
                gained=gained,
                session_of=session_of,
                since=self.since,
            )
        except git.Unanswered as error:
            raise ClaudeMemError(str(error)) from None


def look(given: str, since: str | None, chosen: Settings, now: int) -> History:
    from claude_mem import git
    from claude_mem.imports.report import ImportReport, Project
    from claude_mem.wiring.exclusion import exclusion

    repo = Path(given).expanduser().resolve()
    place = git.resolve(repo)
    project = Project(place.key, place.name, place.root, place.remote)
    is_excluded = exclusion(chosen)(str(repo), place.name)
    found = History(repo, project, since_when(since, now), chosen, ImportReport(), is_excluded)
    if not is_excluded:
        for _ in found.records(found.gained):
            pass
    return found
