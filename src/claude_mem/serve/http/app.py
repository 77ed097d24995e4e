"""The HTTP application: all routes, with one path for requests and one for responses and errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from claude_mem.model.errors import (
    AmbiguousProject,
    AmbiguousSession,
    EventUnreadable,
    InvalidInput,
    NotFound,
    StoreError,
)
from claude_mem.model.structs import replace
from claude_mem.serve.http import guard
from claude_mem.serve.http.router import LINES, Answer, Call, Endpoint, ReadingCall, Router, Routes, respond
from claude_mem.serve.http.routes import (
    memory_routes,
    project_routes,
    session_routes,
    settings_routes,
    sharing_routes,
    system_routes,
    viewer_routes,
)
from claude_mem.serve.requests import Refusal, parse, read, read_query
from claude_mem.serve.services import Running, log
from claude_mem.serve.worker_log import name_of
from claude_mem.store.values import ChangedMeanwhile

RETRY_AFTER_S = 5

_extra_routes = Routes()


@_extra_routes.get("/openapi.json", "This API, as OpenAPI 3.1.", Answer(200, "OpenAPI 3.1."))
def describe(call: Call) -> dict[str, Any]:
    from claude_mem.serve.http import openapi

    return openapi.document(TABLE, call.services.version, call.running.port)


# One example of the newest document leaves the prefix out.
_WITHOUT_PREFIX = [
    replace(each, path=each.path.removeprefix("/api"))
    for each in session_routes.routes
    if each.path.startswith("/api/sessions/")
]

TABLE: tuple[Endpoint, ...] = (
    *session_routes.routes,
    *_WITHOUT_PREFIX,
    *memory_routes.routes,
    *project_routes.routes,
    *viewer_routes.routes,
    *settings_routes.routes,
    *sharing_routes.routes,
    *system_routes.routes,
    *_extra_routes,
)


def worker_app(running: Running) -> App:
    return App(TABLE, partial(Call, running=running, memory=running.services.recall.memory))


class App:
    """Answers the requests of a route table. `call_of` makes what its handlers take; `refusal_of`, what an
    error is answered with. What is no refusal is raised on: the guard writes it down and answers 500."""

    def __init__(
        self,
        table: tuple[Endpoint, ...],
        call_of: Callable[..., ReadingCall],
        refusal_of: Callable[[Exception], Refusal] | None = None,
    ) -> None:
        self._router, self._call_of = Router(table), call_of
        self._refusal_of = refusal_of or refusal_of_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(Request(scope, receive))
        except Exception as error:
            refusal = self._refusal_of(error)
            if refusal.status >= 500:
                log.warning("refused: status=%d error=%s", refusal.status, name_of(error))
            response = JSONResponse(refusal.as_json(), refusal.status, refusal.headers)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        """Converts the request to the structs that its handler takes, and the result to a response."""
        sent = request.scope.get("raw_path") or request.scope["path"].encode()  # a server may leave it out
        methods, id = self._router.find(sent.decode("ascii", "replace"))
        trusted = request.scope.get(guard.TRUSTED)
        methods = {name: each for name, each in methods.items() if trusted or not each.socket_only}
        if not methods:
            raise Refusal(404, "no_route", "No such route. GET /openapi.json lists all routes.")
        endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            allowed = ", ".join(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))
            raise Refusal(405, "bad_method", f"Allowed methods: {allowed}.", headers={"Allow": allowed})
        request.scope[guard.ROUTE] = endpoint.path
        lines = await request.body() if endpoint.takes_lines and _media_type(request) == LINES else None
        body = await _body(request, endpoint) if endpoint.method == "POST" and lines is None else None
        given: dict[str, object] = {}
        if endpoint.body:
            given["body"] = read(endpoint.body, body) if body is not None else None
        if endpoint.query:
            given["query"] = read_query(endpoint.query, request.query_params)
        call = self._call_of(request=request, id=id, lines=lines, json=body)
        if iscoroutinefunction(endpoint.handler):
            return respond(await endpoint.handler(call, **given))
        return respond(await asyncio.to_thread(endpoint.handler, call, **given))


async def _body(request: Request, endpoint: Endpoint) -> dict[str, object]:
    raw = await request.body()
    media_type = _media_type(request)
    is_json = media_type == "application/json" or media_type.endswith("+json")
    # The type that `fetch` uses for a string. Browsers send such requests from a page to any site.
    is_json = is_json or (media_type == "text/plain" and bool(request.scope.get(guard.BY_PROGRAM)))
    if raw and not is_json:
        also = f" or {LINES}" if endpoint.takes_lines else ""
        text = "text/plain is accepted with the token or over the socket."
        raise Refusal(415, "not_json", f"Content-Type must be application/json{also}; {text}")
    return parse(raw)


def _media_type(request: Request) -> str:
    declared = request.headers.get("content-type")
    return (declared or "application/json").partition(";")[0].strip().lower()


_AMBIGUOUS: dict[type[Exception], str] = {
    AmbiguousProject: "ambiguous_project",
    AmbiguousSession: "ambiguous_session",
}


def refusal_of_error(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case InvalidInput():
            several = error.projects if isinstance(error, AmbiguousProject) else ()
            code = _AMBIGUOUS.get(type(error), "bad_field")
            return Refusal(400, code, str(error), field=error.field or None, projects=several)
        case EventUnreadable():
            return Refusal(400, "unreadable", str(error))
        case NotFound():
            return Refusal(404, "not_found", str(error))
        case ChangedMeanwhile():
            return Refusal(409, "changed_meanwhile", str(error))
        case StoreError():
            return Refusal(503, "unavailable", str(error), headers={"Retry-After": str(RETRY_AFTER_S)})
        case _:
            raise error
