"""What is worth remembering: observations and summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ObservationType = Literal["bugfix", "feature", "refactor", "change", "discovery", "decision"]


@dataclass(frozen=True, slots=True)
class Observation:
    type: ObservationType
    title: str | None = None
    subtitle: str | None = None
    narrative: str | None = None
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    request: str | None = None
    investigated: str | None = None
    learned: str | None = None
    completed: str | None = None
    next_steps: str | None = None
    files_read: tuple[str, ...] = ()
    files_edited: tuple[str, ...] = ()
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """All that one batch of events left behind; empty when nothing was worth keeping."""

    observations: tuple[Observation, ...] = ()
    summaries: tuple[Summary, ...] = ()
