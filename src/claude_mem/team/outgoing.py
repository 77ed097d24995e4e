"""Selects what of a memory is sent to the team, and under which name. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from claude_mem.model.records import (
    Record,
    content_key_of,
    name_of,
    name_of_prompt,
    name_of_session,
    name_of_summary,
    parse_name,
)
from claude_mem.model.sharing import NamedItem, OutboxItem
from claude_mem.team import prompt_quotes

MOST_BYTES = 2 << 20
MOST_ITEMS, LONGEST_ITEM = 200, 2_000  # of a list: what the server takes
_NOT_SENT = frozenset(("asked", "tool_use_ids", "root", "cwd", "transcript_path", "aliases", "prompt_id"))

_OF_PROJECT = re.compile(r"(?:[a-z_]+-)+(?:[0-9a-f]{12}|[0-9a-f]{16})")
_OF_MACHINE = re.compile(rf"({_OF_PROJECT.pattern})-[0-9a-f]{{12}}")

Fit = Callable[[Record], Record]
"""Scrubs a record once more. Raises ValueError if it is not fit to be sent; `str()` says why."""


class Parcel(Struct, frozen=True):
    """What is sent at once: lines for the server, and which item each line from `first` on is of."""

    heads: tuple[bytes, ...]
    lines: tuple[bytes, ...]
    items: tuple[NamedItem, ...]
    unfit: dict[OutboxItem, str]

    def body(self, items: Sequence[NamedItem]) -> bytes:
        selected = set(items)
        lines = [line for line, item in zip(self.lines, self.items, strict=True) if item in selected]
        return b"".join((*self.heads, *lines))


def pack(
    heads: Sequence[Record],
    memories: Sequence[tuple[OutboxItem, Record]],
    fit: Fit,
    *,
    machine: str,
    most: int = MOST_BYTES,
) -> Parcel:
    """As many of them as there is room for, at least one; the others go another time. `machine`: what no
    other machine of the team is called."""
    unfit: dict[OutboxItem, str] = {}
    lines: list[bytes] = []
    items: list[NamedItem] = []
    first = tuple(line(fit(_leaving(each, machine))) for each in heads)
    room = most - sum(map(len, first))
    for item, record in memories:
        try:
            fitted = fit(_leaving(record, machine))
        except ValueError as why:
            unfit[item] = str(why)
            continue
        written = line(fitted)
        if lines and len(written) > room:
            break
        room -= len(written)
        lines.append(written)
        items.append(
            NamedItem(
                item,
                record_name(fitted),
                str(record["session_id"]),
                name_of_session(str(fitted["session_id"])),
            )
        )
    return Parcel(first, tuple(lines), tuple(items), unfit)


def record_name(record: Record) -> str:
    """A memory's name, on the server and on every machine."""
    session = str(record["session_id"])
    if record["kind"] == "prompt":
        return name_of_prompt(session, int(record["number"]))
    if record["kind"] == "summary":
        return name_of_summary(session, int(record["at"]))
    return name_of(session, int(record["at"]), content_key_of(record))


def line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _leaving(record: Record, machine: str) -> dict[str, Any]:
    """Without paths of this machine, without what refers to raw events, and without what repeats a prompt
    where prompts stay at home. Raises ValueError."""
    left = {name: value for name, value in record.items() if name not in _NOT_SENT}
    for name, value in left.items():
        if isinstance(value, list):
            left[name] = [str(each)[:LONGEST_ITEM] for each in value[:MOST_ITEMS]]
    if "session_id" in left:
        left["session_id"] = unique_session(str(left["session_id"]), machine)
    if older := parse_name(str(left.get("supersedes"))):
        left["supersedes"] = name_of(unique_session(older[0], machine), *older[1:])
    if prompts := record.get("asked"):
        left = prompt_quotes.without_quotes(left, prompt_quotes.prompts_of(str(prompts)))
    return left


def unique_session(session: str, machine: str) -> str:
    """An agent's session has an id of its own. What a person saves or imports is in a session that every
    machine calls the same, one for each project."""
    if not is_of_project(session):
        return session
    return f"{session}-{hashlib.sha256(machine.encode()).hexdigest()[:12]}"


def is_of_another_machine(session: str, machine: str) -> bool:
    """Whether it is another machine's id for a session of this kind; anyone can compute such an id."""
    found = _OF_MACHINE.fullmatch(session)
    return found is not None and unique_session(found[1], machine) != session


def is_of_project(session: str) -> bool:
    """Whether every machine has a session of this id for what its own user saves or imports."""
    return _OF_PROJECT.fullmatch(session) is not None
