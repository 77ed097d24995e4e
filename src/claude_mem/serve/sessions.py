"""Answers both generations of the documents' session API: `/sessions/{id}/…` and `/api/sessions/…`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import JSONResponse, Response

from claude_mem.model.jobs import Session
from claude_mem.ports.store import Accepted
from claude_mem.serve import report
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running

POLL_S = 0.02


async def init_by_id(call: Call) -> Response:
    session, known = await _addressed(call)
    return await _init(
        call, session, prompt=call.body["userPrompt"], prompt_number=call.body["promptNumber"], **known
    )


async def observe_by_id(call: Call) -> Response:
    session, known = await _addressed(call)
    return await _queue(call, report.TOOL_USE, session, **_tool_use(call), **known)


async def summarize_by_id(call: Call) -> Response:
    session, known = await _addressed(call)
    return await _queue(call, report.STOP, session, **_last_words(call), **known)


async def status(call: Call) -> Response:
    session = await _existing(call)
    return JSONResponse(
        {
            "sessionDbId": session.id,
            "claudeSessionId": session.claude_session_id,
            "sdkSessionId": None,  # the observer keeps no session of its own
            "project": session.project,
            "status": session.status,
            "promptCounter": session.prompt_counter,
            "pendingMessages": session.pending,
            "queueLength": session.pending,
        }
    )


async def abort(call: Call) -> Response:
    """Its work is let go of, its events stay."""
    session = await _existing(call)
    parts = call.running.parts
    await asyncio.to_thread(parts.store.fail, session.id)
    ended = await _let_go(call.running, session.id)
    return JSONResponse(
        {
            "status": "failed",
            "sessionDbId": session.id,
            "pendingMessages": session.pending,
            "stopped": ended,
        }
    )


async def _let_go(running: Running, session_id: int) -> bool:
    """Wait, without a thread, until nobody works on a session; False: the time for it is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(running.parts.settings.delete_timeout_ms / 1000):
            while not running.parts.abort(session_id):
                if running.stopping.is_set():
                    return False
                await asyncio.sleep(POLL_S)
            return True
    return False


async def init(call: Call) -> Response:
    return await _init(call, call.body["claudeSessionId"], prompt=call.body["prompt"], cwd=call.body["cwd"])


async def observe(call: Call) -> Response:
    return await _queue(
        call, report.TOOL_USE, call.body["claudeSessionId"], cwd=call.body["cwd"], **_tool_use(call)
    )


async def summarize(call: Call) -> Response:
    return await _queue(
        call, report.STOP, call.body["claudeSessionId"], cwd=call.body["cwd"], **_last_words(call)
    )


async def complete(call: Call) -> Response:
    return await _queue(call, report.END, call.body["claudeSessionId"], reason=call.body["reason"])


async def _init(call: Call, session: object, *, prompt: object, **known: object) -> Response:
    """A new prompt; without one, only the session is made known."""
    parts = call.running.parts
    known["project"] = call.body["project"]
    private = False
    if isinstance(prompt, str) and prompt:
        private = await asyncio.to_thread(parts.is_private, prompt)
        accepted = await report.report(call.running, report.PROMPT, session, prompt=prompt, **known)
    else:
        accepted = await report.report(call.running, report.START, session, source="api", **known)
    found = await _find(call, accepted.session_ids[0]) if accepted.session_ids else None
    return JSONResponse(
        report.outcome(accepted)
        | {
            "status": "initialized",
            "promptNumber": found.prompt_counter if found else None,
            "private": private,
            "skipped": private or not (accepted.fresh or accepted.duplicate),
        }
    )


async def _queue(call: Call, event: str, session: object, **payload: object) -> Response:
    accepted: Accepted = await report.report(call.running, event, session, **payload)
    outcome = report.outcome(accepted)
    return JSONResponse(outcome, status_code=202 if outcome["status"] == "queued" else 200)


def _tool_use(call: Call) -> dict[str, object]:
    names = ("tool_name", "tool_input", "tool_response", "tool_use_id", "prompt_number")
    return {name: call.body[name] for name in names if name in call.body}


def _last_words(call: Call) -> dict[str, object]:
    names = ("last_user_message", "last_assistant_message", "prompt_number")
    return {name: call.body[name] for name in names if name in call.body}


async def _addressed(call: Call) -> tuple[str, dict[str, object]]:
    """The client's id of the session in the path, and what is known of where it works.

    A number is the database's own id and must exist; other text is the client's id, and new ones are made.
    """
    key = _key(call)
    if isinstance(key, str):
        return key, {}
    session = await _existing(call)
    return session.claude_session_id, {"cwd": session.cwd}


async def _existing(call: Call) -> Session:
    key = _key(call)
    session = await _find(call, key)
    if session is None:
        raise Refusal(
            404,
            "unknown_session",
            "There is no such session. POST /api/sessions/init makes one and returns its sessionDbId.",
            field="id",
        )
    return session


async def _find(call: Call, key: int | str) -> Session | None:
    return await asyncio.to_thread(call.running.parts.store.find, key)


def _key(call: Call) -> int | str:
    text = call.id
    is_number = text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if is_number else text
