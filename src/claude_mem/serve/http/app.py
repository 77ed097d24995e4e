"""The HTTP application: every route there is, one way in for requests, one way out for answers and errors."""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from claude_mem.model.errors import EventUnreadable, InvalidInput, NotFound, StoreError
from claude_mem.model.structs import replace
from claude_mem.serve.http import guard, openapi
from claude_mem.serve.http.router import LINES, Answer, Call, Endpoint, Routes, respond, routed_path
from claude_mem.serve.http.routes import memories, projects, sessions, settings, system, viewer
from claude_mem.serve.requests import Refusal, parse, read, read_query
from claude_mem.serve.services import Running
from claude_mem.store.values import ChangedMeanwhile

RETRY_AFTER_S = 5

_own = Routes()


@_own.get("/openapi.json", "This API, as OpenAPI 3.1.", Answer(200, "OpenAPI 3.1."))
def describe(call: Call) -> dict[str, Any]:
    return openapi.document(TABLE, call.services.version, call.running.port)


# One example of the newest document leaves the prefix out.
_WITHOUT_PREFIX = [
    replace(each, path=each.path.removeprefix("/api"))
    for each in sessions.routes.endpoints
    if each.path.startswith("/api/sessions/")
]

TABLE: tuple[Endpoint, ...] = (
    *sessions.routes.endpoints,
    *_WITHOUT_PREFIX,
    *memories.routes.endpoints,
    *projects.routes.endpoints,
    *viewer.routes.endpoints,
    *settings.routes.endpoints,
    *system.routes.endpoints,
    *_own.endpoints,
)


_FAILURES = (
    *(Refusal, EventUnreadable, InvalidInput, NotFound, ChangedMeanwhile, StoreError),
    *(HTTPException, Exception),
)


def build(running: Running) -> Starlette:
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in TABLE:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    app = Starlette(
        routes=[_route(path, methods, running) for path, methods in by_path.items()],
        exception_handlers=dict.fromkeys(_FAILURES, _failed),
    )
    app.add_middleware(_BySegments)
    app.router.redirect_slashes = False  # a redirect would be built from the Host header
    return app


class _BySegments:
    """Routes by what the caller sent, not by what it decodes to: there a slash of an id divides the path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if sent := scope.get("raw_path"):  # a server may leave it out
            scope = {**scope, "path": routed_path(sent)}
        await self._app(scope, receive, send)


def _route(path: str, methods: dict[str, Endpoint], running: Running) -> Route:
    """One route per path, so that a 405 can name all the methods there are."""

    async def serve(request: Request) -> Response:
        endpoint = methods["GET" if request.method == "HEAD" else request.method]
        if endpoint.socket_only and not request.scope.get(guard.TRUSTED):
            raise HTTPException(404)
        return await answer(endpoint, running, request)

    is_deep = any(endpoint.is_deep for endpoint in methods.values())
    return Route(path.replace("{id}", "{id:path}") if is_deep else path, serve, methods=list(methods))


async def answer(endpoint: Endpoint, running: Running, request: Request) -> Response:
    """Read the request into the structs its handler takes, and make a response of what it returns."""
    lines = await request.body() if endpoint.takes_lines and _media_type(request) == LINES else None
    given: dict[str, object] = {}
    body = await _body(request, endpoint) if endpoint.method == "POST" and lines is None else None
    if endpoint.body:
        given["body"] = read(endpoint.body, body) if body is not None else None
    if endpoint.query:
        given["query"] = read_query(endpoint.query, request.query_params)
    call = Call(running, request, lines, body)
    if iscoroutinefunction(endpoint.handler):
        return respond(await endpoint.handler(call, **given))
    return respond(await asyncio.to_thread(endpoint.handler, call, **given))


async def _body(request: Request, endpoint: Endpoint) -> dict[str, object]:
    raw = await request.body()
    media_type = _media_type(request)
    if raw and media_type != "application/json" and not media_type.endswith("+json"):
        also = f" or {LINES}" if endpoint.takes_lines else ""
        raise Refusal(415, "not_json", f"Content-Type must be application/json{also}.")
    return parse(raw)


def _media_type(request: Request) -> str:
    declared = request.headers.get("content-type")
    return (declared or "application/json").partition(";")[0].strip().lower()


async def _failed(_: Request, error: Exception) -> Response:
    refusal = _refusal(error)
    return JSONResponse(refusal.as_json(), status_code=refusal.status, headers=refusal.headers)


def _refusal(error: Exception) -> Refusal:
    refusal = Refusal(500, "internal", "Something went wrong; see the worker's log.")  # the guard logs it
    match error:
        case Refusal():
            refusal = error
        case InvalidInput():
            refusal = Refusal(400, "bad_field", str(error), field=error.field or None)
        case EventUnreadable():
            refusal = Refusal(400, "unreadable", str(error))
        case NotFound():
            refusal = Refusal(404, "not_found", str(error))
        case ChangedMeanwhile():
            refusal = Refusal(409, "changed_meanwhile", str(error))
        case StoreError():
            refusal = Refusal(503, "unavailable", str(error), headers={"Retry-After": str(RETRY_AFTER_S)})
        case HTTPException(status_code=405):
            allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
            refusal = Refusal(405, "bad_method", f"Allowed methods: {allowed}.", headers={"Allow": allowed})
        case HTTPException():
            message = "There is no such route; GET /openapi.json lists them all."
            refusal = Refusal(error.status_code, "no_route", message)
    return refusal
