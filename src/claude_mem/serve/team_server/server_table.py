"""All routes of a team server, each with the scope that a key needs."""

from __future__ import annotations

from functools import partial
from typing import Any

from claude_mem.api.fields import Error
from claude_mem.model.errors import StoreError, StoreForbidden
from claude_mem.model.structs import replace
from claude_mem.recall.answers import Json
from claude_mem.serve import mcp
from claude_mem.serve.http.app import RETRY_AFTER_S, App, refusal_of_error
from claude_mem.serve.http.router import BAD, BOUNDS, UNAVAILABLE, Access, Answer, Endpoint, Routes
from claude_mem.serve.http.routes import memory_routes, project_routes
from claude_mem.serve.requests import Refusal
from claude_mem.serve.team_server import member_stream, member_tools, team_routes
from claude_mem.serve.team_server.server_state import ServerState, log
from claude_mem.serve.team_server.team_routes import TeamCall
from claude_mem.serve.worker_log import name_of

READING = (
    "GET /api/search",
    "GET /api/timeline",
    "GET /api/file",
    "GET /api/observations",
    "GET /api/summaries",
    "GET /api/prompts",
    "GET /api/sessions",
    "GET /api/session/{id}",
    "GET /api/observation/{id}",
    "POST /api/observations/batch",
    "GET /api/projects",
    "GET /api/project",
    "GET /api/facets",
)
"""The worker's routes that a server has too. They only read, as the member to whom the key belongs."""

COMMON = (
    BAD,
    UNAVAILABLE,
    Answer(401, "The key is missing, wrong, expired or revoked.", Error),
    Answer(403, "The key or its member is not allowed to do that.", Error),
    *BOUNDS,
    Answer(415, "The route does not accept this Content-Type.", Error),
    Answer(421, "The Host header is not this server's.", Error),
    Answer(429, "Too many requests. Try again after Retry-After seconds.", Error),
)
"""What every route may answer."""

_extra_routes = Routes()


@_extra_routes.get(
    "/api/stats", "Statistics of what the caller may see.", Answer(200, "Figures."), scope="read"
)
def stats(call: TeamCall) -> Json:
    return call.services.store.statistics.figures()


mcp.add_route(_extra_routes, member_tools.server_of, scope="read")


@_extra_routes.get("/openapi.json", "This API, as OpenAPI 3.1.", Answer(200, "OpenAPI 3.1."), scope="read")
def describe(call: TeamCall) -> dict[str, Any]:
    return document(call.services.version, str(call.request.base_url).rstrip("/"))


def _reading() -> list[Endpoint]:
    by_name = {f"{each.method} {each.path}": each for each in (*memory_routes.routes, *project_routes.routes)}
    scope: Access = "read"
    return [replace(by_name[name], scope=scope) for name in READING]


TABLE: tuple[Endpoint, ...] = (*team_routes.routes, *_reading(), *member_stream.routes, *_extra_routes)


def document(version: str, url: str) -> dict[str, Any]:
    from claude_mem.serve.http import openapi

    return openapi.described(
        TABLE,
        version,
        url=url,
        about="The memory that a team shares. Requests need a key: `claude-mem server key add` creates one.",
        security={"key": {"type": "http", "scheme": "bearer"}},
        common=COMMON,
    )


def server_app(serving: ServerState) -> App:
    assert all(endpoint.scope for endpoint in TABLE), "a route without a scope"
    call_of = partial(TeamCall, serving=serving, memory=serving.services.memory)
    return App(TABLE, call_of, _refusal_of)


def _refusal_of(error: Exception) -> Refusal:
    """The response to an error. Details of the database, such as its address, are only logged."""
    match error:
        case StoreForbidden():
            return Refusal(403, "forbidden", "You are not allowed to do that.")
        case StoreError():
            log.warning("the database: %s", name_of(error))
            message = "The database is unavailable. Try again after Retry-After seconds."
            return Refusal(503, "unavailable", message, headers={"Retry-After": str(RETRY_AFTER_S)})
        case _:
            return refusal_of_error(error)
