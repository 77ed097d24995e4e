"""The parameters of the MCP tools. Their descriptions cost tokens in every session, so they are short."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from claude_mem.api.fields import Params, doc
from claude_mem.api.filters import FilterFields, FilterRequest

HERE = "."
MOST_IDS = 50

Project = Annotated[str, doc(f'A project\'s name; "{HERE}" for the one you work in. Default: all.')]
Limit = Annotated[int, Meta(ge=1, le=100), doc("The maximum number of results (20).")]
Ids = Annotated[
    tuple[int | str, ...],
    doc("Ids as shown in an index: 12, s3, p4.", expected="a list of ids: 12, s3 or p4"),
]


class SearchArguments(FilterFields, frozen=True, kw_only=True):
    query: Annotated[str, doc("Words, an identifier, an error message, a path.")] = ""
    project: Project = ""
    limit: Annotated[int, Meta(ge=1, le=100), doc("The maximum number of results (10).")] = 10
    offset: Annotated[int, Meta(ge=0, le=10_000), doc("How many to skip, for the next page.")] = 0

    def filters(self, cwd: str) -> FilterRequest:
        """`cwd`: the directory the client works in."""
        given = {each.name: getattr(self, each.name) for each in structs.fields(FilterFields)}
        return FilterRequest(**given | project_filter(self.project, cwd))


class TimelineArguments(Params, frozen=True, kw_only=True):
    anchor: Annotated[str, doc("An id from an index (12, s3), a session's id, or a time in words.")] = ""
    query: Annotated[
        str, doc("Instead of an anchor: center on the best result of this search. Neither: now.")
    ] = ""
    before: Annotated[int, Meta(ge=0, le=100), doc("How many before it (10).")] = 10
    after: Annotated[int, Meta(ge=0, le=100), doc("How many after it (10).")] = 10
    project: Project = ""


class ReadArguments(Params, frozen=True, kw_only=True):
    ids: Ids


class SessionArguments(Params, frozen=True, kw_only=True):
    id: Annotated[str, doc("The session's id, or the beginning of it.")]


class FileArguments(Params, frozen=True, kw_only=True):
    path: Annotated[str, doc("A path, or the end of one.")]
    project: Project = ""
    limit: Limit = 20


class RememberArguments(Params, frozen=True, kw_only=True):
    text: Annotated[str, doc("The text to save.")]
    title: Annotated[str, doc("A few words.")] = ""
    type: Annotated[str, doc("bugfix, feature, refactor, change, discovery or decision.")] = ""
    files: Annotated[tuple[str, ...], doc("Paths it is about.")] = ()
    project: Annotated[str, doc("A project's name. Default: the one you work in.")] = HERE


class ForgetArguments(Params, frozen=True, kw_only=True):
    ids: Ids
    confirm: Annotated[str, doc("The exact text that the first call returned.")] = ""


def project_filter(project: str, cwd: str) -> dict[str, str]:
    """The project filter for the name that a model gave."""
    return {"project": "", "cwd": cwd} if project == HERE else {"project": project}


def input_schema(shape: type[Struct]) -> dict[str, Any]:
    """A tool's arguments as JSON Schema, without what a model does not need."""
    (_,), components = msgspec.json.schema_components([shape])
    found: dict[str, Any] = components[shape.__name__]
    declared: dict[str, dict[str, Any]] = found["properties"]
    own_first = sorted(declared, key=lambda name: name not in shape.__annotations__)
    properties = {
        name: {key: value for key, value in declared[name].items() if key not in ("examples", "default")}
        for name in own_first
    }
    return {
        "type": "object",
        "properties": properties,
        "required": found["required"],
        "additionalProperties": False,
    }
