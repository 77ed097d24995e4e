"""Says as JSON Schema what a tool takes, and makes of what a model wrote what it meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from claude_mem.serve.endpoint import Field, pick
from claude_mem.serve.refusal import Refusal


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: _schema(field) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def understood(fields: Sequence[Field], arguments: Mapping[str, object]) -> dict[str, Any]:
    """Values by name, None where nothing was said. Raises Refusal."""
    known = [field.name for field in fields]
    if unknown := sorted(set(arguments) - set(known)):
        raise Refusal(400, "bad_field", f"{unknown[0]} is none of {', '.join(known)}.", field=unknown[0])
    return pick(fields, {field.name: _meant(field, arguments.get(field.name)) for field in fields})


def _schema(field: Field) -> dict[str, Any]:
    told: dict[str, Any] = {"type": field.type, "description": field.about}
    if field.type == "integer":
        told |= {"minimum": field.least} | ({"maximum": field.most} if field.most is not None else {})
    if field.type == "array":
        told["items"] = {"type": ["string", "integer"]} if field.items == "any" else {"type": field.items}
        told |= {"maxItems": field.most} if field.most is not None else {}
    return told


def _meant(field: Field, value: object) -> object:
    """Models write "5" for 5, 12 for [12], and a list where several go with commas."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    match field.type, value:
        case "integer", str() if value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
        case "string", list():
            return ",".join(str(item) for item in value)
        case "string", int() if is_number:
            return str(value)
        case "array", str():
            return [item.strip() for item in value.split(",") if item.strip()]
        case "array", int() if is_number:
            return [value]
        case _:
            return value
