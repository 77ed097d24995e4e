"""Writes docs/http-reference.md and docs/team-server-reference.md: every route of the worker and of a team's
server, from their route tables and the structs of `api`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, inspect

from claude_mem.api.fields import Error
from claude_mem.api.filters import FilterRequest
from claude_mem.api.memories import Memory
from claude_mem.serve.http.app import TABLE
from claude_mem.serve.http.router import Endpoint
from claude_mem.serve.requests import Field, fields
from claude_mem.serve.team_server.server_table import READING
from claude_mem.serve.team_server.server_table import TABLE as SERVER_TABLE

HEAD = """\
# HTTP reference

All routes and their fields. For authentication and general rules, see [the HTTP API](http-api.md).
`GET /openapi.json` describes the same for programs.

## A memory

Every memory in every response has these fields. Responses that contain it in full add others (`subtitle`,
`narrative`, `facts`, `concepts`, `request`, `learned`, …) and `injected`: the last 20 times it was injected
into a session, or null if this was not looked up (in lists, and for more than 20 ids).
"""

FILTERS = """\
## Filters

Separate list items with commas (`kind=observation,summary`), or repeat the parameter. For an invalid date or
an unknown project, the response is 400 and names the field.
"""


def page(made: str) -> str:
    lines = [
        made,
        HEAD,
        *_table(fields(Memory)),
        "",
        FILTERS,
        *_table(fields(FilterRequest)),
        "",
        "## Routes",
        "",
    ]
    for endpoint in TABLE:
        lines += _section(endpoint)
    return "\n".join(lines).rstrip() + "\n"


SERVER_HEAD = """\
# Reference of the team's server

Every route of [the server](team-server.md). All routes except `GET /health` need a key with the given
scope, in the header `Authorization: Bearer …`. `GET /openapi.json` describes the same for programs.

| Status | Means |
|---|---|
| 401 | the key is missing, wrong, expired or revoked |
| 403 | the key lacks the scope (`no_scope`), or its member is not allowed to do that |
| 413 | the body is larger than 10 MiB |
| 421 | the Host header is not this server's |
| 429 | too many requests with this key; try again after `Retry-After` seconds |
| 503 | the database is unavailable; try again after `Retry-After` seconds |

## The same as the worker's

These routes take and return the same as [the worker's](http-reference.md#routes), limited to what the key's
member may see:

"""


def server_page(made: str) -> str:
    lines = [made, SERVER_HEAD.rstrip(), "", *(f"- `{name}` (scope `read`)" for name in READING), ""]
    lines += ["## The server's own", ""]
    for endpoint in SERVER_TABLE:
        if f"{endpoint.method} {endpoint.path}" not in READING:
            heading, empty, summary, *rest = _section(endpoint)
            access = "No key is needed." if endpoint.scope == "open" else f"Scope: `{endpoint.scope}`."
            lines += [heading, empty, f"{summary} {access}", *rest]
    return "\n".join(lines).rstrip() + "\n"


def _section(endpoint: Endpoint) -> Iterator[str]:
    yield from (f"### `{endpoint.method} {endpoint.path}`", "", endpoint.summary, "")
    if endpoint.socket_only:
        yield from ("Over `worker.sock` only.", "")
    for where, shape in (("query", endpoint.query), ("body", endpoint.body)):
        if shape is None or not (declared := fields(shape)):
            continue
        if issubclass(shape, FilterRequest):
            declared = tuple(each for each in declared if each not in fields(FilterRequest))
            yield (
                f"In the {where}: the [filters](#filters), and:"
                if declared
                else f"In the {where}: the [filters](#filters)."
            )
        else:
            yield f"In the {where}:"
        yield ""
        if declared:
            yield from (*_table(declared), "")
    for answer in endpoint.answers:
        if answer.shape is not Error:
            held = ", ".join(f"`{name}`" for name in _names(answer.shape))
            about = "" if answer.about == "OK." else f" {answer.about}"
            yield from (f"{answer.status}:{about}" + (f" {held}" if held else ""), "")


def _names(shape: type[Struct] | None) -> list[str]:
    return [each.encode_name for each in msgspec.structs.fields(shape)] if shape else []


def _table(declared: Iterable[Field]) -> list[str]:
    return ["| Field | Type | |", "|---|---|---|", *(_row(each) for each in declared)]


def _row(field: Field) -> str:
    also = f" (also {', '.join(f'`{name}`' for name in field.aliases)})" if field.aliases else ""
    required = ", required" if field.required else ""
    about = field.about.replace("|", r"\|")
    return f"| `{field.name}`{also} | {_type(field.type)}{required} | {about} |"


_NAMES: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.AnyType: "any",
}


def _type(found: inspect.Type) -> str:
    text = _NAMES.get(type(found), "object")
    match found:
        case inspect.IntType(ge=int(least), le=int(most)) if most < 2**31 - 1:
            text = f"integer, {least} to {most}"
        case inspect.LiteralType(values=values):
            text = r" \| ".join(str(value) for value in values)
        case inspect.EnumType(cls=cls):
            text = r" \| ".join(str(each.value) for each in cls)
        case (
            inspect.ListType(item_type=inspect.StrType()) | inspect.VarTupleType(item_type=inspect.StrType())
        ):
            text = "list of strings"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            text = f"list of {_type(item)}"
        case inspect.UnionType(types=types):
            text = " or ".join(_type(each) for each in types)
    return text
