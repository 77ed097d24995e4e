"""The search filters, declared once: HTTP parameters, MCP arguments, command-line flags and the viewer's
controls are generated from `FilterFields`."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import FieldInfo

from claude_mem.api.fields import Kinds, Params, Session, doc
from claude_mem.model.refs import ObservationType


class FilterFields(Params, frozen=True, kw_only=True):
    """The filters as strings, as people and query strings write them; empty: not filtered."""

    project: Annotated[str, doc("Only this project: its name or key.", "shop")] = ""
    kinds: Kinds = field(name="kind", default=())
    types: Annotated[
        tuple[ObservationType, ...],
        doc("Only observations of these types.", ["bugfix", "decision"], aliases=("types", "obs_type")),
    ] = field(name="type", default=())
    concepts: Annotated[
        tuple[str, ...], doc("Only memories with one of these concepts.", ["gotcha"], aliases=("concepts",))
    ] = field(name="concept", default=())
    file: Annotated[
        str,
        doc(
            "Only memories about this path, end of a path, directory (src/) or glob (src/*.py).",
            "src/login.py",
        ),
    ] = ""
    branch: Annotated[str, doc("Only from work on this git branch.", "main", is_column=True)] = ""
    session: Session = ""
    client: Annotated[str, doc("Only from this coding agent.", "claude-code", is_column=True)] = ""
    author: Annotated[str, doc("Only this team member's; me: your own.", "ada")] = ""
    since: Annotated[
        str,
        doc(
            "From this time on: yesterday, last week, 3 days ago, 2026-01-31, or a git tag.",
            "last week",
            aliases=("dateStart",),
        ),
    ] = ""
    until: Annotated[str, doc("Up to this time, in the same format.", "yesterday", aliases=("dateEnd",))] = ""
    superseded: Annotated[
        bool | None, doc("Only memories replaced by newer ones; false: exclude them.", False)
    ] = None
    wrong: Annotated[
        bool | None,
        doc("Only memories marked wrong; false, and always in a search: exclude them.", False),
    ] = None
    pinned: Annotated[bool, doc("Only pinned memories.", False)] = False
    raw: Annotated[
        bool, doc("List raw tool events too, instead of only the memories made from them.", False)
    ] = False


class FilterRequest(FilterFields, frozen=True, kw_only=True):
    """With the directory somebody works in: `claude-mem search --here`, or "." of an MCP tool."""

    cwd: Annotated[str, doc("Only the project this directory belongs to.", "/home/ada/shop")] = ""


@cache
def column_filters() -> tuple[str, ...]:
    """The filters that compare a memory's column of the same name, and need only a condition in SQL."""
    declared = msgspec.structs.fields(FilterFields)
    return tuple(each.name for each in declared if get_args(each.type)[1].extra["is_column"])


class Page(Struct, frozen=True):
    limit: int = 20
    offset: int = 0
    cursor: str = ""  # or the `next` of the page before: quick, however far into a list
    count: bool = False  # tell how many there are in all


class FilterInfo(Struct, frozen=True):
    """The description of a filter for one of the interfaces."""

    name: str
    kind: Literal["text", "list", "flag", "switch"]
    """`flag`: set or not. `switch`: true, false, or neither."""
    choices: tuple[str, ...]
    help: str


def filter_infos() -> tuple[FilterInfo, ...]:
    return tuple(_info(each) for each in msgspec.structs.fields(FilterFields))


def _info(declared: FieldInfo) -> FilterInfo:
    plain, meta = get_args(declared.type)
    inner = get_args(plain)
    if plain is str:
        return FilterInfo(declared.encode_name, "text", (), meta.description)
    if plain is bool:
        return FilterInfo(declared.encode_name, "flag", (), meta.description)
    if bool in inner:
        return FilterInfo(declared.encode_name, "switch", (), meta.description)
    return FilterInfo(declared.encode_name, "list", get_args(inner[0]), meta.description)
