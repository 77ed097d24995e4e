"""Routes for sessions, in both generations of the specified API: `/sessions/{id}/…` and `/api/sessions/…`;
and `report`, which stores an event reported over HTTP or `hook.sock`, in the format of a hook's payload."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from msgspec import structs
from starlette.responses import Response

from claude_mem.api import sessions as api
from claude_mem.api.sessions import ReportResult
from claude_mem.model.jobs import Session
from claude_mem.privacy.private_turns import is_wholly_private
from claude_mem.serve.http.router import UNKNOWN_SESSION, Answer, Call, Routes, respond
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


POLL_S = 0.02

routes = Routes()

_INITIALIZED = Answer(200, "The session is known.", api.Initialized)
_QUEUED = (
    Answer(202, "Committed.", api.ReportResult),
    Answer(200, "Accepted, but not stored (skip list, private turn).", api.ReportResult),
)


@routes.post(
    "/api/sessions/init", "A user's prompt begins a turn. The session is created if it is new.", _INITIALIZED
)
def init(call: Call, body: api.PromptReport) -> api.Initialized:
    return _init(call, body)


@routes.post("/api/sessions/observations", "A tool was used.", *_QUEUED)
def observe(call: Call, body: api.ToolUseReport) -> Response:
    return _queue(call, TOOL_USE, body)


@routes.post("/api/sessions/summarize", "A turn ended.", *_QUEUED)
def summarize(call: Call, body: api.TurnEndReport) -> Response:
    return _queue(call, STOP, body)


@routes.post("/api/sessions/complete", "A session ended.", *_QUEUED)
def complete(call: Call, body: api.SessionEndReport) -> Response:
    return _queue(call, END, body)


@routes.post(
    "/sessions/{id}/init",
    "A user's prompt begins a turn. A number is a sessionDbId; other ids are the agent's own.",
    _INITIALIZED,
    UNKNOWN_SESSION,
)
def init_by_id(call: Call, body: api.PromptById) -> api.Initialized:
    return _init(call, body)


@routes.post("/sessions/{id}/observations", "A tool was used.", *_QUEUED, UNKNOWN_SESSION)
def observe_by_id(call: Call, body: api.ToolUseById) -> Response:
    return _queue(call, TOOL_USE, body)


@routes.post("/sessions/{id}/summarize", "A turn ended.", *_QUEUED, UNKNOWN_SESSION)
def summarize_by_id(call: Call, body: api.TurnEndById) -> Response:
    return _queue(call, STOP, body)


@routes.get("/sessions/{id}/status", "The state of a session.", UNKNOWN_SESSION)
def status(call: Call) -> api.SessionState:
    session = _existing(call)
    return api.SessionState(
        session.id,
        session.claude_session_id,
        session.project,
        session.status,
        session.prompt_counter,
        session.pending,
        session.pending,
    )


@routes.add(
    "DELETE",
    "/sessions/{id}",
    "Mark a session failed and abort its running work. Its queued events stay queued until its next event "
    "reopens it.",
    UNKNOWN_SESSION,
)
async def abort(call: Call) -> api.SessionAborted:
    """Waits without a thread, until no thread works on it or the deadline passes."""
    session = await asyncio.to_thread(_existing, call)
    await asyncio.to_thread(call.services.store.sessions.fail, session.id)
    ended, pump = False, call.services.observing.pump
    with suppress(TimeoutError):
        async with asyncio.timeout(call.services.settings.delete_timeout_ms / 1000):
            while not (ended := pump.abort(session.id, 0)) and not call.running.stopping.is_set():
                await asyncio.sleep(POLL_S)
    return api.SessionAborted("failed", session.id, session.pending, ended)


def _init(call: Call, body: api.PromptReport | api.PromptById) -> api.Initialized:
    """A new prompt; without one, only the session is made known."""
    private = bool(body.prompt) and is_wholly_private(body.prompt or "")
    if body.prompt:
        outcome = _report(call, PROMPT, body)
    else:
        outcome = _report(call, START, body, prompt=None, source="api")
    id = outcome.session_db_id
    found = call.services.store.sessions.find(id) if id is not None else None
    return api.Initialized(
        "initialized",
        id,
        found.prompt_counter if found else None,
        private,
        private or outcome.status == "skipped",
        outcome.duplicate,
        outcome.queue_length,
    )


def _queue(call: Call, event: str, body: api.Report) -> Response:
    outcome = _report(call, event, body)
    return respond(outcome, 202 if outcome.status == "queued" else 200)


def _report(call: Call, event: str, body: api.Report, **more: object) -> ReportResult:
    """The session is named by the report or by the path. A number in the path is the database's own id and
    must exist; other text is the client's id, and new ones are made."""
    payload = structs.asdict(body)
    session = payload.pop("claude_session_id", call.id)
    if call.id and isinstance(_key(call), int):
        known = _existing(call)
        session, payload["cwd"] = known.claude_session_id, known.cwd
    return report(call.running, event, session, **payload | more)


def _existing(call: Call) -> Session:
    session = call.services.store.sessions.find(_key(call))
    if session is None:
        message = "No such session. POST /api/sessions/init creates one and returns its sessionDbId."
        raise Refusal(404, "unknown_session", message, field="id")
    return session


def _key(call: Call) -> int | str:
    is_number = call.id.isascii() and call.id.isdigit() and len(call.id) <= 18
    return int(call.id) if is_number else call.id
