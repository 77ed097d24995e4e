"""Makes Starlette's application of the route table: one way in for bodies, one way out for errors."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from claude_mem.model.errors import EventUnreadable, StoreError
from claude_mem.ports.correcting import ChangedMeanwhile
from claude_mem.ports.desk import BadQuestion, NotThere
from claude_mem.serve import guard, message
from claude_mem.serve.endpoint import LINES, Call, Endpoint, pick, pick_query, routed_path
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running

RETRY_AFTER_S = 5


def build(table: Sequence[Endpoint], running: Running) -> Starlette:
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in table:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    app = Starlette(
        routes=[_route(path, methods, running) for path, methods in by_path.items()],
        exception_handlers={
            Refusal: _refused,
            EventUnreadable: _unreadable,
            BadQuestion: _bad_question,
            NotThere: _not_there,
            ChangedMeanwhile: _changed_meanwhile,
            StoreError: _unavailable,
            HTTPException: _not_routed,
            Exception: _broken,
        },
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
        lines = await request.body() if endpoint.takes_lines and _media_type(request) == LINES else None
        body = await _body(request, endpoint) if endpoint.method == "POST" and lines is None else {}
        query = pick_query(endpoint.query, request.query_params) if endpoint.query else {}
        return await endpoint.handler(Call(running, request, body, query, lines))

    is_deep = any(endpoint.is_deep for endpoint in methods.values())
    return Route(path.replace("{id}", "{id:path}") if is_deep else path, serve, methods=list(methods))


async def _body(request: Request, endpoint: Endpoint) -> dict[str, object]:
    raw = await request.body()
    media_type = _media_type(request)
    if raw and media_type != "application/json" and not media_type.endswith("+json"):
        also = f" or {LINES}" if endpoint.takes_lines else ""
        raise Refusal(415, "not_json", f"Content-Type must be application/json{also}.")
    return pick(endpoint.body, message.parse(raw))


def _media_type(request: Request) -> str:
    declared = request.headers.get("content-type")
    return (declared or "application/json").partition(";")[0].strip().lower()


def _respond(refusal: Refusal) -> Response:
    return JSONResponse(refusal.as_json(), status_code=refusal.status, headers=refusal.headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _respond(error)


async def _unreadable(_: Request, error: Exception) -> Response:
    return _respond(Refusal(400, "unreadable", str(error)))


async def _bad_question(_: Request, error: Exception) -> Response:
    assert isinstance(error, BadQuestion)
    return _respond(Refusal(400, "bad_field", str(error), field=error.field or None))


async def _not_there(_: Request, error: Exception) -> Response:
    return _respond(Refusal(404, "not_found", str(error)))


async def _changed_meanwhile(_: Request, error: Exception) -> Response:
    return _respond(Refusal(409, "changed_meanwhile", str(error)))


async def _unavailable(_: Request, error: Exception) -> Response:
    return _respond(Refusal(503, "unavailable", str(error), headers={"Retry-After": str(RETRY_AFTER_S)}))


async def _not_routed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        return _respond(Refusal(405, "bad_method", f"Allowed here: {allowed}.", headers={"Allow": allowed}))
    message = "There is no such route; GET /openapi.json lists them all."
    return _respond(Refusal(error.status_code, "no_route", message))


async def _broken(_: Request, __: Exception) -> Response:
    """Answers only; the guard outside writes it down."""
    return _respond(Refusal(500, "internal", "Something went wrong; see the worker's log."))
