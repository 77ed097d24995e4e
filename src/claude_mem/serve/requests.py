"""Reads requests: JSON within limits, validated against a struct of `api`; rejects everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct, inspect
from starlette.datastructures import QueryParams

from claude_mem.api.fields import Params
from claude_mem.api.memories import ImportAnswer
from claude_mem.store.values import ImportResult


class Refusal(Exception):
    """A rejected request; `str()` is one sentence with the problem and, if it is not obvious, the remedy."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        projects: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self.status, self.code, self.field, self.projects = status, code, field, projects
        self.headers = dict(headers or {})
        super().__init__(message)

    def as_json(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": str(self)}
        if self.field is not None:
            error["field"] = self.field
        if self.projects:
            error["projects"] = list(self.projects)
        return {"error": error}


S = TypeVar("S", bound=Struct)

DEEPEST = 100
"""The maximum nesting of lists and objects, which later code processes recursively."""

MOST_LINES = 1_000

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def parse(raw: bytes, what: str = "The body") -> dict[str, object]:
    """Parses an object; an empty body counts as an empty object. Raises Refusal, which names it `what`."""
    if not raw.strip():
        return {}
    try:
        found: object = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "bad_json", f"{what} is not UTF-8.") from None
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refusal(400, "bad_json", f"{what} is not JSON{where}.") from None
    if not isinstance(found, dict):
        raise Refusal(400, "bad_json", f"{what} is JSON, but not an object.")
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and _depth_exceeds(found, DEEPEST):
        raise _too_deep(what)
    if _SURROGATE.search(raw):
        found = _without_lone_surrogates(found)
    return found


def absorb_lines(raw: bytes, absorb: Callable[[list[dict[str, object]]], ImportResult]) -> ImportAnswer:
    """Reads lines. An unreadable line is reported by its number, and the others are still accepted."""
    lines = raw.split(b"\n")
    if len(lines) > MOST_LINES + 1:
        raise Refusal(400, "too_many", f"At most {MOST_LINES:,} lines at a time; send them in parts.")
    records: list[dict[str, object]] = []
    numbers: list[int] = []
    refused: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            records.append(parse(line, "It"))
        except Refusal as why:
            refused.append((number, str(why)))
        else:
            numbers.append(number)
    done = absorb(records)
    refused += [(numbers[index], why) for index, why in done.refused]
    return ImportAnswer(taken=done.taken, known=done.known, refused=sorted(refused))


def read(shape: type[S], given: Mapping[str, object]) -> S:
    """The struct that an object is meant to be; names it does not have are ignored. A field is also found
    under its aliases, and the first that says something counts. Raises Refusal, naming the field."""
    trimmed = issubclass(shape, Params)
    values: dict[str, object] = {}
    for field in fields(shape):
        found = [_checked(field, given[name]) for name in field.names if given.get(name) is not None]
        if trimmed:
            found = [value.strip() if type(value) is str else value for value in found]  # not of an enum
        filled = [value for value in found if not (isinstance(value, str) and not value.strip())]
        if field.required and not filled:
            raise Refusal(400, "missing_field", f"`{field.name}` is missing.", field=field.name)
        if filled or found:
            values[field.attribute] = (filled or found)[0]
        elif field.nullable and any(name in given for name in field.names):
            values[field.attribute] = None
    return shape(**values)


def read_query(shape: type[S], given: Mapping[str, str]) -> S:
    """As `read`, from the text of a query string. A list has commas, or its name comes again."""
    values: dict[str, object] = {}
    for field in fields(shape):
        for name in field.names:
            if name in given:
                texts = given.getlist(name) if isinstance(given, QueryParams) else [given[name]]
                values[name] = _meaning(field.type, texts)
    return read(shape, values)


def read_arguments(shape: type[S], given: Mapping[str, object]) -> S:
    """As `read`, from what a model wrote: "5" for 5, 12 for [12], text with commas for a list. A name that
    the struct does not have is refused."""
    declared = fields(shape)
    known = [field.name for field in declared]
    if unknown := sorted(set(given) - set(known)):
        message = f"`{unknown[0]}` must be one of: {', '.join(known)}."
        raise Refusal(400, "bad_field", message, field=unknown[0])
    return read(shape, {field.name: _typed(field.type, given.get(field.name)) for field in declared})


class Field(Struct, frozen=True):
    """A field of a request's struct."""

    name: str
    attribute: str
    aliases: tuple[str, ...]
    type: inspect.Type  # without None
    declared: Any
    required: bool
    nullable: bool
    expected: str
    about: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


@cache
def fields(shape: type[Struct]) -> tuple[Field, ...]:
    found = []
    for each in msgspec.structs.fields(shape):
        info = inspect.type_info(each.type)
        extra: dict[str, Any] = {}
        about = ""
        if isinstance(info, inspect.Metadata):
            about = (info.extra_json_schema or {}).get("description", "")
            extra, info = info.extra or {}, info.type
        nullable = isinstance(info, inspect.UnionType) and info.includes_none
        if isinstance(info, inspect.UnionType) and nullable:
            rest = tuple(one for one in info.types if not isinstance(one, inspect.NoneType))
            info = rest[0] if len(rest) == 1 else inspect.UnionType(rest)
        expected = extra.get("expected") or _expectation(info)
        found.append(
            Field(
                each.encode_name,
                each.name,
                tuple(name for name in extra.get("aliases", ()) if name != each.encode_name),
                info,
                each.type,
                each.required,
                nullable,
                expected,
                about,
            )
        )
    return tuple(found)


def _checked(field: Field, value: object) -> object:
    if isinstance(field.type, inspect.IntType) and isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON, 1.0 is an integer too
    try:
        return msgspec.convert(value, field.declared)
    except msgspec.ValidationError:
        message = f"`{field.name}` must be {field.expected}."
        raise Refusal(400, "bad_field", message, field=field.name) from None


def _expectation(type: inspect.Type) -> str:
    """Completes "must be ...": "a list of strings", "an integer from 1 to 100"."""
    expected = "an object"
    match type:
        case inspect.StrType(max_length=most):
            expected = "a string" if most is None else f"a string of at most {most:,} characters"
        case inspect.IntType(ge=least, le=most):
            expected = "an integer" if least is None or most is None else f"an integer from {least} to {most}"
        case inspect.BoolType():
            expected = "true or false"
        case inspect.LiteralType(values=values):
            expected = f"one of: {', '.join(str(value) for value in values)}"
        case inspect.EnumType(cls=cls):
            expected = f"one of: {', '.join(str(each.value) for each in cls)}"
        case inspect.VarTupleType(item_type=inspect.StrType()):
            expected = "a list of strings"
        case inspect.VarTupleType(item_type=item):
            expected = f"a list, each {_expectation(item)}"
    return expected


def _meaning(type: inspect.Type, texts: Sequence[str]) -> object:
    """Converts text to the field's type; invalid text is not changed, and is rejected later."""
    text = texts[-1]
    match type:
        case inspect.IntType() if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        case inspect.BoolType() if text.lower() in _YES + _NO:
            return text.lower() in _YES
        case inspect.VarTupleType():
            return [item.strip() for text in texts for item in text.split(",") if item.strip()]
        case _:
            return text


def _typed(type: inspect.Type, value: object) -> object:
    """Corrects a value that a model wrote in another form; other values are not changed."""
    if isinstance(value, str) and isinstance(type, inspect.IntType | inspect.BoolType | inspect.VarTupleType):
        return _meaning(type, [value])
    if isinstance(value, int) and not isinstance(value, bool):
        if isinstance(type, inspect.StrType):
            return str(value)
        return [value] if isinstance(type, inspect.VarTupleType) else value
    if isinstance(value, list) and isinstance(type, inspect.StrType):
        return ",".join(str(item) for item in value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are JavaScript, not JSON


def _too_deep(what: str) -> Refusal:
    return Refusal(400, "too_deep", f"{what} is nested deeper than {DEEPEST} levels.")


def _depth_exceeds(value: object, most: int) -> bool:
    level: list[object] = [value]
    for _ in range(most):
        deeper: list[object] = []
        for item in level:
            if isinstance(item, dict):
                deeper += [inner for inner in item.values() if isinstance(inner, dict | list)]
            elif isinstance(item, list):
                deeper += [inner for inner in item if isinstance(inner, dict | list)]
        if not deeper:
            return False
        level = deeper
    return True


def _without_lone_surrogates(value: dict[str, object]) -> dict[str, object]:
    """Removes lone surrogates, which are valid in JSON, but not in UTF-8 or in the database."""
    text = json.dumps(value, ensure_ascii=False)
    clean: dict[str, object] = json.loads(text.encode("utf-8", "replace"))
    return clean
