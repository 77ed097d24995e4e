"""Stores events reported over HTTP, in the format of a hook's payload, and returns the outcome."""

from __future__ import annotations

from claude_mem.api.sessions import ReportResult
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Running
from claude_mem.serve.worker_log import REQUEST

PROMPT = "UserPromptSubmit"
TOOL_USE = "PostToolUse"
STOP = "Stop"
START = "SessionStart"
END = "SessionEnd"

LONGEST_ID = 1024


def report(
    running: Running, event: str, session: object, *, client: str | None = None, **payload: object
) -> ReportResult:
    """Commit one event; durable on return. `client`: the program it happened in, None: Claude Code. Raises
    Refusal, EventUnreadable, StoreUnavailable."""
    if not isinstance(session, str) or not session.strip():
        raise Refusal(400, "missing_field", "The session's id is missing.", field="session_id")
    if len(session) > LONGEST_ID:
        message = f"The session's id is longer than {LONGEST_ID} characters."
        raise Refusal(400, "bad_field", message, field="session_id")
    given = {name: value for name, value in payload.items() if value is not None}
    try:
        named = {"client": client} if client else {}
        accepted = running.services.intake.receive(
            event, {"session_id": session, **given}, request=REQUEST.get(), **named
        )
    except RecursionError:
        raise Refusal(400, "too_deep", "The event is nested too deeply to be stored.") from None
    running.events_seen = True
    running.notify_queued()
    is_stored = accepted.fresh or accepted.duplicate
    found = running.services.store.sessions.find(accepted.session_ids[0] if accepted.session_ids else session)
    return ReportResult(
        "queued" if is_stored else "skipped",
        accepted.session_ids[0] if accepted.session_ids else None,
        accepted.duplicate > 0,
        found.pending if found else 0,
    )
