"""Takes in what happened before anybody listened, and says what is known of it."""

from __future__ import annotations

import asyncio
import json

from starlette.responses import JSONResponse, Response

from claude_mem.ports.past import Listener, NotFromTheStart
from claude_mem.serve import fields as f
from claude_mem.serve.endpoint import Answer, Call, Endpoint, Field
from claude_mem.serve.refusal import Refusal

MOST_LINES = 5_000
MOST_SESSIONS = 1_000

_EVENT = (
    Field(
        "id", "string", "The event's name, the same whenever it is told; begins with past-.", "past-7-Stop"
    ),
    Field("at", "any", "When it happened, in epoch milliseconds.", 1760000000000),
    Field("event", "string", "The hook's name.", "Stop"),
    Field("branch", "string", "The branch of that time.", "main"),
    Field(
        "payload",
        "object",
        "What the hook would have been given.",
        {"session_id": "claude-session-123", "cwd": "/home/ada/shop", "last_assistant_message": "Done."},
    ),
)
_OFFLINE = Field("offline", "boolean", "No model is asked about these sessions (true).", True)
_STORY = Field("story", "string", "A name for lines that come in several parts.", "a1b2")
_PART = Field(
    "part", "string", "Which part of the story this is.", "first", choices=("first", "more", "last")
)
_SESSIONS = Field(
    "sessions", "array", "Sessions' ids.", ["claude-session-123"], required=True, items="string"
)
_SINCE = Field("since", "string", "Epoch milliseconds from which on spending counts.", "1760000000000")

_TAKEN = Answer(
    200,
    "Committed.",
    (
        Field("fresh", "integer", "How many events are new.", 1),
        Field("duplicate", "integer", "How many were known.", 0),
        Field("live", "integer", "How many are of sessions captured live, or forgotten: left alone.", 0),
        Field("dropped", "integer", "How many are private, or of tools that are skipped.", 0),
        Field("unreadable", "integer", "How many lines are no event.", 0),
    ),
)
_KNOWN = Answer(
    200,
    "By session; null: not known.",
    (
        Field(
            "sessions",
            "object",
            "state (live, past, forgotten or unseen), events, seal.",
            {"claude-session-123": None},
        ),
    ),
)
_PROGRESS = Answer(
    200,
    "How far observing is.",
    (
        Field("waiting", "integer", "Events of the past still to be observed.", 0),
        Field("tokens", "integer", "What sessions of the past have cost since then.", 0),
        Field("usd", "number", "The same in dollars, as far as it is known.", 0.0),
        Field("paused", "string", "Why nothing is observed at the moment.", None),
    ),
)


async def take(call: Call) -> Response:
    raw = call.lines if call.lines is not None else json.dumps(call.body).encode()
    if raw.count(b"\n") > MOST_LINES:
        raise Refusal(400, "too_many", f"At most {MOST_LINES:,} lines at a time; send them in parts.")
    story, part = call.query["story"], call.query["part"]
    if (story is None) != (part is None):
        raise Refusal(400, "missing_field", "story and part come together.", field="part")
    listener = _listener(call)
    try:
        taken = await asyncio.to_thread(
            listener.take,
            raw,
            offline=call.query["offline"] is not False,
            story=None if story is None else str(story),
            part=None if part is None else str(part),
        )
    except NotFromTheStart:
        raise Refusal(409, "not_from_the_start", "Its first part was not told here. Begin again.") from None
    call.running.tell_news()
    return JSONResponse(taken)


async def known(call: Call) -> Response:
    sessions = call.body["sessions"]
    assert isinstance(sessions, list)
    if len(sessions) > MOST_SESSIONS:
        message = f"sessions holds more than {MOST_SESSIONS:,}; ask in parts."
        raise Refusal(400, "bad_field", message, field="sessions")
    found = await asyncio.to_thread(_listener(call).known, sessions)
    return JSONResponse(
        {
            "sessions": {
                session: {"state": found[session].state, "events": found[session].events}
                | {"seal": found[session].seal}
                if session in found
                else None
                for session in sessions
            }
        }
    )


async def progress(call: Call) -> Response:
    since = str(call.query["since"] or "0")
    if not since.isascii() or not since.isdecimal() or len(since) > 15:
        raise Refusal(400, "bad_field", "since is not a time in epoch milliseconds.", field="since")
    found = await asyncio.to_thread(_listener(call).progress, int(since))
    paused = call.running.parts.observing().get("paused")
    return JSONResponse(
        {"waiting": found.waiting, "tokens": found.tokens, "usd": found.usd, "paused": paused}
    )


def _listener(call: Call) -> Listener:
    listener = call.running.parts.past
    if listener is None:
        raise Refusal(503, "unavailable", "This worker only captures.")
    return listener


_ANSWERS = (f.BAD, f.UNAVAILABLE)
_AGAIN = Answer(409, "The first part was told to another worker: begin again.", (f.ERROR,))

ROWS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/api/backfill",
        take,
        "Take in events of the past, as transcripts tell them.",
        (_TAKEN, _AGAIN, *_ANSWERS),
        body=_EVENT,
        query=(_OFFLINE, _STORY, _PART),
        takes_lines=True,
    ),
    Endpoint(
        "GET",
        "/api/backfill",
        progress,
        "How much of the past is still to be observed, and what it cost.",
        (_PROGRESS, *_ANSWERS),
        query=(_SINCE,),
    ),
    Endpoint(
        "POST",
        "/api/backfill/known",
        known,
        "Which of these sessions are known, and from where.",
        (_KNOWN, *_ANSWERS),
        body=(_SESSIONS,),
    ),
)
