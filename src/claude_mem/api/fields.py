"""What all types of the API share: descriptions, aliases, limits of numbers, and the format of errors."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, UnsetType

from claude_mem.model.refs import MemoryKind

LARGEST = 2**31 - 1
LARGEST_ID = 2**63 - 1  # of SQLite


def doc(
    description: str,
    *examples: object,
    aliases: tuple[str, ...] = (),
    expected: str | None = None,
    is_column: bool = False,
) -> Meta:
    """The description of a field. `aliases`: other names that callers may use; `expected`: completes "must be
    ..." in an error, if the type is not clear enough; `is_column`: a filter by equality with the column of
    this name."""
    return Meta(
        description=description,
        examples=list(examples) or None,
        extra={"aliases": aliases, "expected": expected, "is_column": is_column},
    )


class Body(Struct, frozen=True, kw_only=True):
    """A request body. Null counts as missing, unless the field may be null."""


class Params(Body, frozen=True, kw_only=True):
    """The parameters of a request; strings are trimmed."""


Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Milliseconds = Annotated[int, Meta(ge=0)]
"""Milliseconds since the epoch, or of a duration."""
MemoryId = Annotated[int, Meta(ge=1, le=LARGEST_ID)] | Annotated[str, Meta(min_length=1, max_length=40)]
"""`12` or 12 an observation, `s12` a summary, `p12` a prompt, `e12` evidence."""
MemoryIds = Annotated[tuple[MemoryId, ...], Meta(max_length=500)]

SESSION_ALIASES = ("session_id", "claudeSessionId", "contentSessionId", "sessionId")
Session = Annotated[str, doc("Only this session.", "claude-session-123", aliases=SESSION_ALIASES)]
Author = Annotated[str | UnsetType, doc("The team member who made it; absent: you.", "ada")]
Kinds = Annotated[tuple[MemoryKind, ...], doc("Only these kinds.", ["observation"], aliases=("kinds",))]

A_MEMORY = "a memory id: 12, s12 or p12"
MEMORIES = "a list of at most 500 memory ids"


class ProjectChoice(Struct, frozen=True):
    key: Annotated[str, doc("Its unique key.", "git.example/acme/shop")]
    name: Annotated[str, doc("Its name.", "shop")]
    root: Annotated[str, doc("Its directory.", "/home/ada/shop")]


class ErrorDetail(Struct, frozen=True):
    code: Annotated[str, doc("A code for programs.", "missing_field")]
    message: Annotated[str, doc("A sentence for people.", "`claudeSessionId` is missing.")]
    field: Annotated[str | None, doc("The field that caused it.", "claudeSessionId")] = None
    projects: Annotated[
        list[ProjectChoice] | None, doc("Of `ambiguous_project`: the projects that have the name.")
    ] = None


class Error(Struct, frozen=True):
    error: Annotated[ErrorDetail, doc("What is wrong.")]
