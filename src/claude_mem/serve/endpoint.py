"""What one row of the route table says: a request's fields, its answers, and who handles it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from claude_mem.serve import message
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running

FieldType = Literal["string", "integer", "number", "boolean", "object", "array", "any"]

LARGEST = 2**31 - 1
LINES = "application/x-ndjson"

_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request's body or query, or of an answer."""

    name: str
    type: FieldType
    about: str
    example: object = None
    required: bool = False
    also: tuple[str, ...] = ()  # other names the documents use for it
    least: int = 0
    most: int | None = None
    choices: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()  # of an object, or of an array's items
    items: FieldType = "object"  # what an array holds


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    about: str
    fields: tuple[Field, ...] = ()
    media_type: str | None = "application/json"  # None: there is nothing in it


@dataclass(frozen=True, slots=True)
class Call:
    """One request, parsed: what a handler sees."""

    running: Running
    request: Request
    body: dict[str, object]
    query: dict[str, object]
    lines: bytes | None = None  # a body of one JSON object a line, where the endpoint takes such

    @property
    def id(self) -> str:
        """What stands for `{id}` in the path."""
        return str(self.request.path_params["id"]).replace("%2F", "/").replace("%25", "%")

    async def named(self) -> frozenset[str]:
        """The fields the body has, also those that are null."""
        return frozenset(message.parse(await self.request.body()))


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: Handler
    summary: str
    answers: tuple[Answer, ...]
    body: tuple[Field, ...] = ()
    query: tuple[Field, ...] = ()
    socket_only: bool = False  # over TCP it does not exist, token or not
    id: Field | None = None  # what `{id}` in the path is; None: a session
    takes_lines: bool = False  # instead of one JSON object, also many: one a line
    is_open: bool = False  # no key is asked for: it asks itself who is there
    is_deep: bool = False  # `{id}` may have slashes in it


def routed_path(raw: bytes) -> str:
    """The path that routes are matched with: decoded, but for slashes within a segment, so that an id with a
    slash is still one segment. `Call.id` decodes these."""
    segments = map(unquote, raw.decode("ascii", "replace").split("/"))
    return "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)


def pick(fields: Sequence[Field], found: Mapping[str, object]) -> dict[str, object]:
    """The fields' values by their first names; what is missing is None. Raises Refusal naming the field."""
    picked: dict[str, object] = {}
    for field in fields:
        names = (field.name, *field.also)
        given = [_checked(field, found[name]) for name in names if found.get(name) is not None]
        said = [value for value in given if not (isinstance(value, str) and not value.strip())]
        if field.required and not said:
            raise Refusal(400, "missing_field", f"{field.name} is missing.", field=field.name)
        picked[field.name] = next(iter(said or given), None)
    return picked


def pick_query(fields: Sequence[Field], found: Mapping[str, str]) -> dict[str, object]:
    """As `pick`, for text from a query string. A list has commas, or its name comes again."""
    values: dict[str, object] = {}
    for field in fields:
        for name in (field.name, *field.also):
            if name in found:
                texts = found.getlist(name) if isinstance(found, QueryParams) else [found[name]]
                values[name] = _read(field.type, texts)
    return pick(fields, values)


def _read(type: FieldType, texts: Sequence[str]) -> object:
    """What the text means; left as it is where it means nothing, to be refused."""
    text = texts[-1]
    match type:
        case "integer" if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        case "boolean" if text.lower() in _YES + _NO:
            return text.lower() in _YES
        case "array":
            return [item.strip() for text in texts for item in text.split(",") if item.strip()]
        case _:
            return text


def _checked(field: Field, value: object) -> object:
    if field.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON, 1.0 is an integer too
    match field.type:
        case "string":
            fits = isinstance(value, str)
        case "integer":
            fits = isinstance(value, int) and not isinstance(value, bool)
        case "boolean":
            fits = isinstance(value, bool)
        case "array":
            fits = isinstance(value, list)
        case _:
            fits = True
    if not fits:
        article = "an" if field.type in ("integer", "array") else "a"
        raise Refusal(400, "bad_field", f"{field.name} is not {article} {field.type}.", field=field.name)
    if isinstance(value, list):
        for item in value:
            _checked(replace(field, type=field.items, items="any"), item)
        return value
    if field.choices and value not in field.choices:
        allowed = ", ".join(field.choices)
        raise Refusal(400, "bad_field", f"{field.name} is none of {allowed}.", field=field.name)
    most = LARGEST if field.most is None else field.most
    if isinstance(value, int) and field.type == "integer" and not field.least <= value <= most:
        allowed = f"from {field.least} to {most}"
        raise Refusal(400, "bad_field", f"{field.name} is not {allowed}.", field=field.name)
    return value
