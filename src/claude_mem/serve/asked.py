"""Reads what a request asks of memory, and who answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.ports.desk import Desk
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal

RESULTS = 20
"""How many are told when nobody says."""
MOST_IDS = 500
LONGEST_REF = 40


def desk(call: Call) -> Desk:
    found = call.running.parts.desk
    if found is None:
        raise Refusal(503, "unavailable", "This worker only captures; it recalls nothing.")
    return found


def narrowing(given: Mapping[str, object]) -> SearchFilters:
    """Of the fields a route has."""
    superseded, wrong = given.get("superseded"), given.get("wrong")
    return SearchFilters(
        project=text(given, "project"),
        cwd=text(given, "cwd"),
        kinds=cast(Any, _many(given, "kind")),
        types=cast(Any, _many(given, "type")),
        concepts=_many(given, "concept"),
        file=text(given, "file"),
        branch=text(given, "branch"),
        session=text(given, "session"),
        client=text(given, "client"),
        since=text(given, "since"),
        until=text(given, "until"),
        superseded=superseded if isinstance(superseded, bool) else None,
        wrong=wrong if isinstance(wrong, bool) else None,
        pinned=given.get("pinned") is True,
    )


def page(given: Mapping[str, object]) -> Page:
    return Page(
        number(given, "limit", RESULTS),
        number(given, "offset", 0),
        text(given, "cursor"),
        given.get("count") is True,
    )


def text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value.strip() if isinstance(value, str) else ""


def number(given: Mapping[str, object], name: str, otherwise: int) -> int:
    value = given.get(name)
    return value if isinstance(value, int) else otherwise


def refs(given: Mapping[str, object]) -> list[str]:
    """Each once, in their order. Raises Refusal."""
    ids = given.get("ids")
    ids = ids if isinstance(ids, list) else []
    if len(ids) > MOST_IDS:
        raise Refusal(400, "bad_field", f"ids holds more than {MOST_IDS}.", field="ids")
    if not all(_is_ref(each) for each in ids):
        raise Refusal(400, "bad_field", "ids is not an array of memories' ids.", field="ids")
    return list(dict.fromkeys(str(each) for each in ids))


def _is_ref(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST_REF
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _many(given: Mapping[str, object], name: str) -> tuple[str, ...]:
    values = given.get(name)
    return tuple(str(value) for value in values) if isinstance(values, Sequence) else ()
