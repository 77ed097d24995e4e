"""What happened before anybody listened: an event of long ago, as a transcript tells it."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "past-"
"""With which the ids of such events begin: a session with any other was captured live."""


@dataclass(frozen=True, slots=True)
class Told:
    """One event in the words of a hook, with the time it really happened. Not scrubbed yet."""

    id: str  # the same whenever the same transcript is read: `past-` and what names its line
    at: int  # epoch milliseconds
    event: str  # the hook's name: UserPromptSubmit, PostToolUse, …
    payload: dict[str, object]
    branch: str | None = None  # of that time: what is checked out now says nothing about it
