"""A session's state machine: which state follows when an event arrives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from claude_mem.model.event import Kind


class Status(StrEnum):
    INITIALIZED = "initialized"
    ACTIVE = "active"
    SUMMARIZING = "summarizing"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


OPEN = (Status.INITIALIZED, Status.ACTIVE, Status.SUMMARIZING)
"""States of a session somebody may still be working in; silence ends them (see INTERRUPTED_AFTER_MS)."""

INTERRUPTED_AFTER_MS = 24 * 60 * 60 * 1000
"""A session without a word for this long was interrupted: Stop and SessionEnd do not run on a kill."""


def follow(status: Status | None, kind: Kind) -> Status:
    """The state after `kind` arrived in `status` (None: the session is new to us)."""
    match kind:
        case Kind.SESSION_END:
            return Status.COMPLETED
        case Kind.PROMPT:
            return Status.ACTIVE
        case Kind.SESSION_START:
            # A resumed session is open again; one that is merely reported twice stays where it was.
            return status if status in OPEN else Status.INITIALIZED
    if status in (Status.COMPLETED, Status.FAILED):
        return status  # a late delivery does not reopen what was closed
    return Status.SUMMARIZING if kind is Kind.STOP else Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Session:
    """A session as the store holds it."""

    id: int  # the database's own id: `sessionDbId` in the API
    claude_session_id: str
    project: str
    status: Status
    prompt_counter: int
    first_user_prompt: str | None
    created_at_epoch: int
    updated_at_epoch: int
    completed_at_epoch: int | None = None
    client: str = "claude-code"
    cwd: str | None = None
    branch: str | None = None
    title: str | None = None
    subtitle: str | None = None
    pending: int = 0  # events of this session that are not settled yet
