"""Describes the route table as an OpenAPI 3.1 document; all schemas come from the structs of `api`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from claude_mem.api.fields import Error
from claude_mem.serve.http.router import COMMON, LINES, Answer, Endpoint
from claude_mem.serve.requests import fields

Json = dict[str, Any]

_SESSION = ("A sessionDbId, or the agent's own id of the session.", "7")


def document(table: Sequence[Endpoint], version: str, port: int | None) -> Json:
    """The document for all routes of a worker that are available over TCP."""
    cookie = {"type": "apiKey", "in": "cookie", "name": f"claude_mem_{port or 37777}"}
    return described(
        [endpoint for endpoint in table if not endpoint.socket_only],
        version,
        url=f"http://127.0.0.1:{port or 37777}",
        about="A coding agent's memory. `claude-mem token` prints the required token.",
        security={"token": {"type": "http", "scheme": "bearer"}, "cookie": cookie},
    )


def described(
    table: Sequence[Endpoint],
    version: str,
    *,
    url: str,
    about: str,
    security: Json,
    common: Sequence[Answer] = COMMON,
) -> Json:
    """`common`: what every route may answer."""
    schemas = _Schemas(table)
    paths: dict[str, Json] = {}
    for endpoint in table:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, common)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "claude-mem",
            "version": version,
            "description": about,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": url}],
        "security": [{name: []} for name in security],
        "paths": paths,
        "components": {"securitySchemes": security, "schemas": schemas.components},
    }


class _Schemas:
    """The schema of every struct the table uses. Requests also list their fields' aliases."""

    def __init__(self, table: Iterable[Endpoint]) -> None:
        shapes: dict[Any, None] = {Error: None}
        for endpoint in table:
            for shape in (endpoint.body, endpoint.query, *(answer.shape for answer in endpoint.answers)):
                if shape is not None:
                    shapes[shape] = None
        found, self.components = msgspec.json.schema_components(
            list(shapes), ref_template="#/components/schemas/{name}"
        )
        self._by_shape = dict(zip(shapes, found, strict=True))
        for body in {endpoint.body for endpoint in table if endpoint.body}:
            _add_aliases(self.resolved(body), body)

    def of(self, shape: Any) -> Json:
        found: Json = self._by_shape[shape]
        return found

    def resolved(self, shape: type[Struct]) -> Json:
        name = str(self._by_shape[shape]["$ref"]).rpartition("/")[2]
        found: Json = self.components[name]
        return found


def _add_aliases(schema: Json, shape: type[Struct]) -> None:
    required: list[str] = schema["required"]
    groups = []
    for field in fields(shape):
        for alias in field.aliases:
            schema["properties"].setdefault(alias, schema["properties"][field.name])
        if field.required and field.aliases:
            required.remove(field.name)
            groups.append({"anyOf": [{"required": [name]} for name in field.names]})
    if groups:
        schema["allOf"] = groups


def _operation(endpoint: Endpoint, schemas: _Schemas, common: Sequence[Answer]) -> Json:
    words = re.findall(r"[a-z]+", endpoint.path)
    operation: Json = {
        "operationId": "_".join([endpoint.method.lower(), *words]),
        "summary": endpoint.summary,
        "responses": _responses((*endpoint.answers, *common), schemas),
    }
    if endpoint.is_open or endpoint.scope == "open":
        operation["security"] = []
    parameters = [_id(*endpoint.id or _SESSION)] if "{id}" in endpoint.path else []
    if endpoint.query:
        parameters += _parameters(schemas.resolved(endpoint.query))
    if parameters:
        operation["parameters"] = parameters
    if endpoint.method == "POST":
        operation["requestBody"] = _request_body(endpoint, schemas)
    return operation


def _parameters(schema: Json) -> list[Json]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema["required"],
            "description": found.get("description", ""),
            "schema": {key: value for key, value in found.items() if key != "description"},
        }
        for name, found in schema["properties"].items()
    ]


def _request_body(endpoint: Endpoint, schemas: _Schemas) -> Json:
    shape = endpoint.body
    content: Json = {"application/json": {"schema": schemas.of(shape) if shape else {"type": "object"}}}
    if endpoint.takes_lines:
        content[LINES] = {"schema": {"type": "string", "description": "One JSON object per line."}}
    required = shape is not None and any(field.required for field in fields(shape))
    return {"required": required, "content": content}


def _id(about: str, example: str) -> Json:
    return {
        "name": "id",
        "in": "path",
        "required": True,
        "description": about,
        "schema": {"type": "string", "minLength": 1, "maxLength": 1024},
        "example": example,
    }


def _responses(answers: Iterable[Answer], schemas: _Schemas) -> Json:
    """The responses by status, with all media types; the first description of a status is used."""
    found: Json = {}
    for answer in answers:
        response = found.setdefault(str(answer.status), {"description": answer.about})
        if answer.media_type is None:
            continue
        schema: Json = {"type": "string"}
        if answer.shape is not None:
            schema = schemas.of(answer.shape)
        elif answer.media_type == "application/json":
            schema = {"type": "object"}
        response.setdefault("content", {}).setdefault(answer.media_type, {"schema": schema})
    return found
