"""One spool file's content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spooled:
    """An event as the hook left it: its name, its scrubbed payload, and who and when."""

    name: str  # of the file
    size: int
    id: str
    at: int
    event: str
    payload: dict[str, object]
    by: str | None = None  # the version of the hook that scrubbed it
