"""The commits of a repository, on their way to become observations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem.cli.backfill.looking import since_when
from claude_mem.cli.sending import Sent, send
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem.backfill.gained import Gained
    from claude_mem.model.portable import Record
    from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class History:
    repo: Path
    records: tuple[Record, ...]
    gained: Gained

    def found(self) -> str:
        kept = self.gained.read["observation"]
        left = sum(self.gained.passed_over.values())
        out = f", {left:,} left out (merges, version numbers and the like)" if left else ""
        return f"Commits of {self.repo}: {kept:,} to remember{out}."

    def as_data(self) -> dict[str, Any]:
        return {
            "repository": str(self.repo),
            "commits": self.gained.read["observation"],
            "passed_over": {f"{why}": count for (_, why), count in self.gained.passed_over.items()},
        }

    def send(self) -> Sent:
        return send(self.records, Sent(), own=True)


def look(given: str, since: str | None, chosen: Settings, now: int) -> History:
    from claude_mem.backfill import commits, git
    from claude_mem.backfill.gained import Gained, Project
    from claude_mem.queue import origin
    from claude_mem.wiring.cleaning import cleaned

    repo = Path(given).expanduser().resolve()
    place = origin.resolve(repo)
    gained = Gained()
    try:
        records = tuple(
            commits.read(
                Path(place.root),
                Project(place.key, place.name, place.root, place.remote),
                clean=lambda text: cleaned(text, chosen),
                gained=gained,
                since=since_when(since, now),
            )
        )
    except git.Unanswered as error:
        raise ClaudeMemError(str(error)) from None
    return History(repo, records, gained)
