"""What is asked of the store so that the house is kept: projects, and the room all of it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project, as somebody sees it who tidies up."""

    id: int
    key: str
    name: str
    root: str
    remote: str | None = None
    named: bool = False  # somebody gave it its name
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds
    last_commit: str | None = None  # on which its last session stood
    characters: int = 0  # what was said and done in it
    merged: tuple[str, ...] = ()  # the keys of those that were merged into it


@dataclass(frozen=True, slots=True)
class Room:
    """What the database takes, in bytes."""

    size: int  # the file
    free: int  # in it, unused
    log: int  # beside it
    shrinks: bool  # what is unused can be given back in small steps


class Projects(Protocol):
    """Every change is durable on return; any thread may call it. Raises StoreError."""

    def all(self, *, weighed: bool = True) -> list[ProjectSummary]:
        """The one last worked in first. `weighed`: with how much each has, for which all is read."""
        ...

    def rename(self, project_id: int, name: str, *, by_hand: bool = True) -> None:
        """All that is kept of it goes by the new name."""
        ...

    def merge(self, gone: int, into: int) -> int:
        """All of one becomes the other's, in the indexes as well, and so does what comes in under its keys
        from now on. How many sessions that were. Killed on the way, it is finished by `finish_merging`."""
        ...

    def finish_merging(self) -> int: ...

    def place(self, project_id: int, root: str) -> None:
        """Its directory lies elsewhere now."""
        ...
