"""The route table: every HTTP route the worker has, said once.

Starlette's routes, `/openapi.json`, the docs' check and the security tests' matrix are all made of it.
"""

from __future__ import annotations

from dataclasses import replace

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response

from claude_mem.serve import (
    dispatch,
    figures,
    house,
    mcp,
    openapi,
    pages,
    past,
    processing,
    queue,
    recall_table,
    sessions,
    viewer_table,
)
from claude_mem.serve import fields as f
from claude_mem.serve.endpoint import Answer, Call, Endpoint, Field
from claude_mem.serve.running import Running


def build(running: Running) -> Starlette:
    return dispatch.build(TABLE, running)


async def describe(call: Call) -> Response:
    return JSONResponse(openapi.document(TABLE, call.running.parts.version, call.running.port))


async def shut_down(call: Call) -> Response:
    call.running.stop()
    return JSONResponse({"status": "stopping", "pid": call.running.pid}, status_code=202)


_WRITES = (f.BAD, f.UNAVAILABLE)

_FIRST_GENERATION = (
    Endpoint(
        "POST",
        "/sessions/{id}/init",
        sessions.init_by_id,
        "A user's prompt begins a turn. A number is a sessionDbId; other ids are the agent's own.",
        (f.INITIALIZED, f.UNKNOWN, *_WRITES),
        body=(f.PROJECT, f.USER_PROMPT, f.GIVEN_NUMBER),
    ),
    Endpoint(
        "POST",
        "/sessions/{id}/observations",
        sessions.observe_by_id,
        "A tool was used.",
        (*f.QUEUED, f.UNKNOWN, *_WRITES),
        body=(*f.TOOL_USE, f.PROMPT_NUMBER),
    ),
    Endpoint(
        "POST",
        "/sessions/{id}/summarize",
        sessions.summarize_by_id,
        "A turn ended.",
        (*f.QUEUED, f.UNKNOWN, *_WRITES),
        body=(f.PROMPT_NUMBER, *f.LAST_WORDS),
    ),
    Endpoint(
        "GET",
        "/sessions/{id}/status",
        sessions.status,
        "How a session stands.",
        (
            Answer(
                200,
                "The session.",
                (
                    f.DB_ID,
                    replace(f.SESSION, required=False),
                    Field("sdkSessionId", "string", "Always null: the observer keeps no session."),
                    f.PROJECT,
                    Field(
                        "status",
                        "string",
                        "initialized, active, summarizing, completed, failed or interrupted.",
                        "active",
                    ),
                    Field("promptCounter", "integer", "How many prompts it has had.", 2),
                    f.PENDING,
                    Field("queueLength", "integer", "The same as pendingMessages.", 3),
                ),
            ),
            f.UNKNOWN,
        ),
    ),
    Endpoint(
        "DELETE",
        "/sessions/{id}",
        sessions.abort,
        "Mark a session failed and let go of its work. Its queued events stay queued.",
        (
            Answer(
                200,
                "Marked.",
                (
                    Field("status", "string", "failed", "failed"),
                    f.DB_ID,
                    f.PENDING,
                    Field("stopped", "boolean", "Nobody works on it any more.", True),
                ),
            ),
            f.UNKNOWN,
            f.UNAVAILABLE,
        ),
    ),
)

_SECOND_GENERATION = (
    Endpoint(
        "POST",
        "/api/sessions/init",
        sessions.init,
        "A user's prompt begins a turn. The session is made if it is new.",
        (f.INITIALIZED, *_WRITES),
        body=(f.SESSION, f.PROJECT, f.PROMPT, f.CWD),
    ),
    Endpoint(
        "POST",
        "/api/sessions/observations",
        sessions.observe,
        "A tool was used.",
        (*f.QUEUED, *_WRITES),
        body=(f.SESSION, *f.TOOL_USE, f.CWD),
    ),
    Endpoint(
        "POST",
        "/api/sessions/summarize",
        sessions.summarize,
        "A turn ended.",
        (*f.QUEUED, *_WRITES),
        body=(f.SESSION, *f.LAST_WORDS, f.CWD),
    ),
    Endpoint(
        "POST",
        "/api/sessions/complete",
        sessions.complete,
        "A session ended.",
        (*f.QUEUED, *_WRITES),
        body=(f.SESSION, f.REASON),
    ),
)

_OTHERS = (
    Endpoint("GET", "/health", figures.health, "How the worker is.", (Answer(200, "Alive.", f.HEALTH),)),
    Endpoint(
        "POST",
        "/api/processing",
        processing.put,
        "Set or clear activity.flag, which status lines watch.",
        (Answer(200, "Written.", (Field("status", "string", "ok", "ok"), f.IS_PROCESSING)), *_WRITES),
        body=(f.IS_PROCESSING, f.PROJECT),
    ),
    Endpoint(
        "GET",
        "/api/processing",
        processing.get,
        "Read activity.flag.",
        (
            Answer(
                200,
                "As last set.",
                (
                    f.IS_PROCESSING,
                    f.PROJECT,
                    Field("timestamp", "integer", "When it was set, in epoch milliseconds.", 1760000000000),
                ),
            ),
        ),
    ),
    Endpoint(
        "GET",
        "/api/queue",
        figures.queue,
        "The queue's figures, what was dropped, and a page of jobs with their reasons.",
        (Answer(200, "The queue.", f.QUEUE_PAGE), f.BAD, f.UNAVAILABLE),
        query=f.PAGING,
    ),
    Endpoint(
        "POST",
        "/api/queue/retry",
        queue.retry,
        "Try parked jobs again from their first attempt, and end a pause: the model is asked again at once.",
        (
            Answer(
                200,
                "They are ready.",
                (
                    Field("status", "string", "ok", "ok"),
                    Field("resumed", "integer", "How many were parked.", 2),
                ),
            ),
            *_WRITES,
        ),
        body=(f.IDS,),
    ),
    Endpoint(
        "POST",
        "/api/queue/drop",
        queue.drop,
        "Give parked jobs up for good: done with, unobserved. Their events stay as evidence.",
        (
            Answer(
                200,
                "They are done with.",
                (
                    Field("status", "string", "ok", "ok"),
                    Field("dropped", "integer", "How many were parked.", 2),
                ),
            ),
            *_WRITES,
        ),
        body=(replace(f.IDS, about="An array of jobs' ids.", required=True),),
    ),
    Endpoint(
        "GET",
        "/metrics",
        figures.scrape,
        "The same figures for Prometheus.",
        (Answer(200, "Prometheus' text format.", media_type="text/plain"), f.UNAVAILABLE),
    ),
    Endpoint(
        "POST",
        "/mcp",
        mcp.post,
        "One message of the Model Context Protocol (streamable HTTP, stateless, answers in JSON).",
        (
            Answer(200, "Answered.", mcp.ANSWER),
            Answer(202, "Understood; nothing to answer.", media_type=None),
            Answer(400, "Not understood.", mcp.ANSWER),
        ),
        body=mcp.FIELDS,
    ),
    Endpoint("GET", "/openapi.json", describe, "This API, as OpenAPI 3.1.", (Answer(200, "OpenAPI 3.1."),)),
    Endpoint(
        "POST",
        "/api/admin/shutdown",
        shut_down,
        "Stop the worker between jobs.",
        (
            Answer(
                202,
                "It stops.",
                (
                    Field("status", "string", "stopping", "stopping"),
                    Field("pid", "integer", "The worker's process.", 4242),
                ),
            ),
        ),
        socket_only=True,
    ),
)

# One example of the newest document leaves the prefix out.
_WITHOUT_PREFIX = tuple(replace(row, path=row.path.removeprefix("/api")) for row in _SECOND_GENERATION)

TABLE: tuple[Endpoint, ...] = (
    *_SECOND_GENERATION,
    *_WITHOUT_PREFIX,
    *_FIRST_GENERATION,
    *recall_table.ROWS,
    *past.ROWS,
    *pages.ROWS,
    *viewer_table.ROWS,
    *house.ROWS,
    *_OTHERS,
)
