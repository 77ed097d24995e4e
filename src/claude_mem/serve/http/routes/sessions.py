"""Both generations of the documents' session API: `/sessions/{id}/…` and `/api/sessions/…`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
from msgspec import Struct
from starlette.responses import Response

from claude_mem.api import sessions as api
from claude_mem.model.jobs import Session
from claude_mem.queue.intake import is_wholly_private
from claude_mem.serve import event_reports
from claude_mem.serve.http.router import UNKNOWN_SESSION, Answer, Call, Routes, respond
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Running

POLL_S = 0.02

routes = Routes()

_INITIALIZED = Answer(200, "The session is known.", api.Initialized)
_QUEUED = (
    Answer(202, "Committed.", api.Outcome),
    Answer(200, "Accepted, but not stored (skip list, private turn).", api.Outcome),
)


@routes.post(
    "/api/sessions/init", "A user's prompt begins a turn. The session is created if it is new.", _INITIALIZED
)
async def init(call: Call, body: api.PromptReport) -> Struct:
    return await _init(call, body.claude_session_id, body.prompt, project=body.project, cwd=body.cwd)


@routes.post("/api/sessions/observations", "A tool was used.", *_QUEUED)
async def observe(call: Call, body: api.ToolUseReport) -> Response:
    return await _queue(call, event_reports.TOOL_USE, body.claude_session_id, body)


@routes.post("/api/sessions/summarize", "A turn ended.", *_QUEUED)
async def summarize(call: Call, body: api.TurnEndReport) -> Response:
    return await _queue(call, event_reports.STOP, body.claude_session_id, body)


@routes.post("/api/sessions/complete", "A session ended.", *_QUEUED)
async def complete(call: Call, body: api.SessionEndReport) -> Response:
    return await _queue(call, event_reports.END, body.claude_session_id, body)


@routes.post(
    "/sessions/{id}/init",
    "A user's prompt begins a turn. A number is a sessionDbId; other ids are the agent's own.",
    _INITIALIZED,
    UNKNOWN_SESSION,
)
async def init_by_id(call: Call, body: api.PromptById) -> Struct:
    session, cwd = await _addressed(call)
    return await _init(
        call, session, body.prompt, project=body.project, prompt_number=body.prompt_number, cwd=cwd
    )


@routes.post("/sessions/{id}/observations", "A tool was used.", *_QUEUED, UNKNOWN_SESSION)
async def observe_by_id(call: Call, body: api.ToolUseById) -> Response:
    session, cwd = await _addressed(call)
    return await _queue(call, event_reports.TOOL_USE, session, body, cwd)


@routes.post("/sessions/{id}/summarize", "A turn ended.", *_QUEUED, UNKNOWN_SESSION)
async def summarize_by_id(call: Call, body: api.TurnEndById) -> Response:
    session, cwd = await _addressed(call)
    return await _queue(call, event_reports.STOP, session, body, cwd)


@routes.get("/sessions/{id}/status", "The state of a session.", api.SessionState, UNKNOWN_SESSION)
async def status(call: Call) -> Struct:
    session = await _existing(call)
    return api.SessionState(
        session.id,
        session.claude_session_id,
        session.project,
        session.status,
        session.prompt_counter,
        session.pending,
        session.pending,
    )


@routes.delete(
    "/sessions/{id}",
    "Mark a session failed and abort its running work. Its queued events stay queued.",
    api.SessionAborted,
    UNKNOWN_SESSION,
)
async def abort(call: Call) -> Struct:
    session = await _existing(call)
    await asyncio.to_thread(call.services.store.sessions.fail, session.id)
    ended = await _let_go(call.running, session.id)
    return api.SessionAborted("failed", session.id, session.pending, ended)


async def _let_go(running: Running, session_id: int) -> bool:
    """Wait, without a thread, until nobody works on a session; False: the time for it is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(running.services.settings.delete_timeout_ms / 1000):
            while not running.services.abort(session_id):
                if running.stopping.is_set():
                    return False
                await asyncio.sleep(POLL_S)
            return True
    return False


async def _init(call: Call, session: str, prompt: str | None, **known: object) -> Struct:
    """A new prompt; without one, only the session is made known."""
    private = False
    if prompt:
        private = await asyncio.to_thread(is_wholly_private, prompt)
        accepted = await event_reports.report(
            call.running, event_reports.PROMPT, session, prompt=prompt, **known
        )
    else:
        accepted = await event_reports.report(
            call.running, event_reports.START, session, source="api", **known
        )
    found = await _find(call, accepted.session_ids[0]) if accepted.session_ids else None
    outcome = event_reports.outcome(accepted)
    return api.Initialized(
        "initialized",
        outcome.session_db_id,
        found.prompt_counter if found else None,
        private,
        private or outcome.status == "skipped",
        outcome.duplicate,
    )


async def _queue(call: Call, event: str, session: str, body: Struct, cwd: str | None = None) -> Response:
    payload = {"cwd": cwd} | msgspec.structs.asdict(body)
    payload.pop("claude_session_id", None)
    outcome = event_reports.outcome(await event_reports.report(call.running, event, session, **payload))
    return respond(outcome, 202 if outcome.status == "queued" else 200)


async def _addressed(call: Call) -> tuple[str, str | None]:
    """The client's id of the session in the path, and the directory it works in, if that is known.

    A number is the database's own id and must exist; other text is the client's id, and new ones are made.
    """
    key = _key(call)
    if isinstance(key, str):
        return key, None
    session = await _existing(call)
    return session.claude_session_id, session.cwd


async def _existing(call: Call) -> Session:
    session = await _find(call, _key(call))
    if session is None:
        raise Refusal(
            404,
            "unknown_session",
            "There is no such session. POST /api/sessions/init creates one and returns its sessionDbId.",
            field="id",
        )
    return session


async def _find(call: Call, key: int | str) -> Session | None:
    return await asyncio.to_thread(call.services.store.sessions.find, key)


def _key(call: Call) -> int | str:
    text = call.id
    is_number = text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if is_number else text
