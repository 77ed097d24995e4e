"""Stores events reported over HTTP, in the format of a hook's payload, and returns the outcome."""

from __future__ import annotations

import asyncio

from claude_mem.api.sessions import Outcome
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Running
from claude_mem.store.values import Accepted

PROMPT = "UserPromptSubmit"
TOOL_USE = "PostToolUse"
STOP = "Stop"
START = "SessionStart"
END = "SessionEnd"

LONGEST_ID = 1024


async def report(running: Running, event: str, session: object, **payload: object) -> Accepted:
    """Commit one event; durable on return. Raises Refusal, EventUnreadable, StoreUnavailable."""
    if not isinstance(session, str) or not session.strip():
        raise Refusal(400, "missing_field", "The session's id is missing.", field="session_id")
    if len(session) > LONGEST_ID:
        raise Refusal(
            400, "bad_field", f"The session's id is longer than {LONGEST_ID} characters.", field="session_id"
        )
    said = {name: value for name, value in payload.items() if value is not None}
    try:
        accepted = await asyncio.to_thread(running.services.receive, event, {"session_id": session, **said})
    except RecursionError:
        raise Refusal(400, "too_deep", "The event is nested too deeply to be stored.") from None
    running.events_seen = True
    running.notify_queued()
    return accepted


def outcome(accepted: Accepted) -> Outcome:
    """`skipped`: it was understood, and is not worth or not allowed to be stored."""
    skipped = not accepted.fresh and not accepted.duplicate
    return Outcome(
        "skipped" if skipped else "queued",
        accepted.session_ids[0] if accepted.session_ids else None,
        accepted.duplicate > 0,
    )
