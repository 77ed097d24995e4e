"""A route: a function, the structs in its signature, and its responses. The route table is a list of
routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args, get_type_hints
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from claude_mem.api.fields import Error
from claude_mem.api.team import Scope
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.serve.services import Recall, Running, Services

LINES = "application/x-ndjson"

Method = Literal["GET", "POST", "DELETE"]
Access = Scope | Literal["open"]
"""open: no key is needed."""


class Answer(Struct, frozen=True):
    status: int
    about: str
    shape: Any = None  # what it holds; None: any object
    media_type: str | None = "application/json"  # None: there is nothing in it


class ReadingCall(Struct, frozen=True, kw_only=True):
    """One request, as a handler that only reads memory sees it: a worker's, or a team server's."""

    memory: MemoryReader
    request: Request
    id: str = ""  # the value of `{id}` in the path
    lines: bytes | None = None  # a body of one JSON object a line, where the endpoint takes such
    json: dict[str, object] | None = None  # or the body's object, unchanged


class Call(ReadingCall, frozen=True, kw_only=True):
    """One request to a worker."""

    running: Running

    @property
    def services(self) -> Services:
        return self.running.services

    @property
    def recall(self) -> Recall:
        return self.running.services.recall


Handler = Callable[..., Any]
"""Takes the call and, by these names, a `body` and a `query`: structs of `api`. Returns a struct, a dict or a
response. A plain function may block and runs in a thread; a coroutine runs on the event loop."""
H = TypeVar("H", bound=Handler)


class Endpoint(Struct, frozen=True):
    method: Method
    path: str
    handler: Handler
    summary: str
    answers: tuple[Answer, ...]
    body: type[Struct] | None = None
    query: type[Struct] | None = None
    id: tuple[str, str] | None = None  # what `{id}` in the path is, and an example; None: a session
    socket_only: bool = False  # over TCP it does not exist, token or not
    takes_lines: bool = False  # instead of one JSON object, also many: one a line
    is_open: bool = False  # no key is needed: it authenticates by itself
    is_deep: bool = False  # `{id}` may have slashes in it
    scope: Access | None = None  # what a key of a team must allow; None: a team server does not have it


class Routes(list[Endpoint]):
    """Collects endpoints: `@routes.get("/path", "What it does.")` above each handler. A struct that it
    returns is status 200, unless that is described; what every route may answer (`COMMON`) is not named."""

    def get(self, path: str, summary: str, *answers: Answer, **options: Any) -> Callable[[H], H]:
        return self.add("GET", path, summary, *answers, **options)

    def post(self, path: str, summary: str, *answers: Answer, **options: Any) -> Callable[[H], H]:
        return self.add("POST", path, summary, *answers, **options)

    def add(
        self, method: Method, path: str, summary: str, *answers: Answer, **options: Any
    ) -> Callable[[H], H]:
        def decorate(handler: H) -> H:
            hints = get_type_hints(handler)
            body, query, returned = (_struct(hints.get(name)) for name in ("body", "query", "return"))
            described = answers
            if returned and all(each.status != 200 for each in answers):
                described = (ok(returned), *answers)
            self.append(Endpoint(method, path, handler, summary, described, body, query, **options))
            return handler

        return decorate


def ok(shape: type[Struct]) -> Answer:
    return Answer(200, "OK.", shape)


def _struct(hint: Any) -> type[Struct] | None:
    shapes = (each for each in (hint, *get_args(hint)) if isinstance(each, type))
    return next((each for each in shapes if issubclass(each, Struct)), None)


class Router:
    """Finds the endpoints of a path."""

    def __init__(self, table: tuple[Endpoint, ...]) -> None:
        self._by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in table:
            self._by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        self._with_id = [
            (*path.partition("{id}")[::2], methods)
            for path, methods in self._by_path.items()
            if "{id}" in path
        ]

    def find(self, path: str) -> tuple[dict[str, Endpoint], str]:
        """By method, with the value of `{id}`. `path` is as the caller sent it: a slash within a segment
        is encoded, and stays so until the id is known."""
        segments = map(unquote, path.split("/"))
        path = "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
        if found := self._by_path.get(path):
            return found, ""
        for start, end, methods in self._with_id:
            id = path.removeprefix(start).removesuffix(end)
            is_deep = any(each.is_deep for each in methods.values())
            if id and path == start + id + end and (is_deep or "/" not in id):
                return methods, id.replace("%2F", "/").replace("%25", "%")
        return {}, ""


def respond(found: object, status: int = 200) -> Response:
    """Converts a handler's result to a response."""
    if isinstance(found, Response):
        return found
    return Response(msgspec.json.encode(found), status, media_type="application/json")


BAD = Answer(400, "The request is invalid. `field` names the field that caused it.", Error)
NOT_FOUND = Answer(404, "No such memory, session or project.", Error)
UNKNOWN_SESSION = Answer(404, "No such session.", Error)
UNAVAILABLE = Answer(503, "The database is unavailable. Try again after Retry-After seconds.", Error)
BOUNDS = (
    Answer(405, "The method is not allowed for this path; see Allow.", Error),
    Answer(408, "The body did not arrive in time.", Error),
    Answer(413, "The body is larger than 10 MiB.", Error),
)
COMMON = (
    BAD,
    UNAVAILABLE,
    Answer(401, "The token is missing or wrong (TCP only).", Error),
    Answer(403, "The request comes from another site (TCP only).", Error),
    *BOUNDS,
    Answer(
        415,
        "Content-Type is neither application/json nor, with the token or over the socket, text/plain.",
        Error,
    ),
    Answer(421, "The Host header is not this worker's (TCP only).", Error),
)
"""What every route may answer."""
