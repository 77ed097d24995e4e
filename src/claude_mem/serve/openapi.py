"""Describes the route table as an OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_mem.serve import fields
from claude_mem.serve.endpoint import LINES, Answer, Endpoint, Field

Json = dict[str, object]

_SESSION = Field("id", "string", "A sessionDbId, or the agent's own id of the session.", "7")


def document(table: Sequence[Endpoint], version: str, port: int | None) -> Json:
    """All routes that exist over TCP."""
    paths: dict[str, Json] = {}
    for endpoint in table:
        if not endpoint.socket_only:
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "claude-mem",
            "version": version,
            "description": "A coding agent's memory. `claude-mem token` prints the token this port asks for.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": f"http://127.0.0.1:{port or 37777}"}],
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": f"claude_mem_{port or 37777}"},
            },
            "schemas": {"Error": _object((fields.ERROR,))},
        },
    }


def _operation(endpoint: Endpoint) -> Json:
    words = re.findall(r"[a-z]+", endpoint.path)
    operation: Json = {
        "operationId": "_".join([endpoint.method.lower(), *words]),
        "summary": endpoint.summary,
        "responses": _responses((*endpoint.answers, *fields.COMMON)),
    }
    if endpoint.is_open:
        operation["security"] = []
    parameters: list[Json] = [_id(endpoint.id or _SESSION)] if "{id}" in endpoint.path else []
    parameters += [
        {
            "name": field.name,
            "in": "query",
            "description": field.about,
            "schema": _schema(field, nullable=False),
        }
        for field in endpoint.query
    ]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.method == "POST":
        required = any(field.required for field in endpoint.body)
        content: Json = {
            "application/json": {"schema": _object(endpoint.body), "example": _example(endpoint.body)}
        }
        if endpoint.takes_lines:
            content[LINES] = {"schema": {"type": "string", "description": "One JSON object a line."}}
        operation["requestBody"] = {"required": required, "content": content}
    return operation


def _id(field: Field) -> Json:
    return {
        "name": "id",
        "in": "path",
        "required": True,
        "description": field.about,
        "schema": {"type": "string", "minLength": 1, "maxLength": 1024},
        "example": field.example,
    }


def _responses(answers: Sequence[Answer]) -> Json:
    """By status, each in every media type it may come in. What is said first of one stands."""
    found: dict[str, Json] = {}
    content: dict[str, Json] = {}
    for answer in answers:
        status = str(answer.status)
        found.setdefault(status, {"description": answer.about})
        if answer.media_type is not None:
            found[status]["content"] = content.setdefault(status, {})
            content[status].setdefault(answer.media_type, _media(answer))
    return dict(found)


def _media(answer: Answer) -> Json:
    schema: Json
    if answer.fields == (fields.ERROR,):
        schema = {"$ref": "#/components/schemas/Error"}
    elif answer.media_type != "application/json":
        schema = {"type": "string"}
    else:
        schema = _object(answer.fields)
    media: Json = {"schema": schema}
    if answer.fields:
        media["example"] = _example(answer.fields)
    return media


def _object(of: Sequence[Field]) -> Json:
    """Fields not listed are ignored in a request, and may be added to an answer."""
    properties: Json = {}
    for field in of:
        for name in (field.name, *field.also):
            properties[name] = _schema(field, nullable=bool(field.also) or not field.required)
    schema: Json = {"type": "object", "properties": properties}
    if names := [field.name for field in of if field.required and not field.also]:
        schema["required"] = names
    if groups := [_one_of_its_names(field) for field in of if field.required and field.also]:
        schema["allOf"] = groups
    return schema


def _one_of_its_names(field: Field) -> Json:
    said: Json = {"not": {"type": "null"}} if field.type == "any" else {"type": field.type}
    return {
        "anyOf": [
            {"required": [name], "properties": {name: said | {"pattern": r"\S"}}}
            for name in (field.name, *field.also)
        ]
    }


def _schema(field: Field, *, nullable: bool) -> Json:
    schema: Json = {"description": field.about}
    if field.type == "any":
        return schema
    if field.type == "object" and field.fields:
        schema |= _object(field.fields)
    elif field.type == "array":
        schema["items"] = _items(field)
    elif field.type == "integer":
        schema["minimum"] = field.least
        if field.most is not None:
            schema["maximum"] = field.most
    elif field.choices:
        schema["enum"] = list(field.choices)
    elif field.type == "string" and not nullable:
        schema["minLength"] = 1
    schema["type"] = [field.type, "null"] if nullable else field.type
    return schema


def _items(field: Field) -> Json:
    if field.items == "any":
        return {}
    if field.items == "object":
        return _object(field.fields)
    return {"type": field.items} | ({"enum": list(field.choices)} if field.choices else {})


def _example(of: Sequence[Field]) -> Json:
    return {field.name: _example_of(field) for field in of}


def _example_of(field: Field) -> object:
    if field.fields:
        inner = _example(field.fields)
        return [inner] if field.type == "array" else inner
    return field.example
