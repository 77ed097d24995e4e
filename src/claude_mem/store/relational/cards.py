"""Reads rows of memory as cards, and in full."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder as JsonDecoder

from claude_mem.model.records import FOREIGN
from claude_mem.model.refs import KINDS, Card, MemoryKind, Ref, Source
from claude_mem.model.text import lazy_pattern, one_line, unescaped
from claude_mem.store.relational.part import Connection, execute
from claude_mem.store.relational.text_document import PATH_KEYS, WRITERS, relative

TITLE = 120
_ARRAY = JsonDecoder(list[Any])
_STRING = r'"((?:[^"\\]|\\.)+)"'
_VALUES = {key: re.compile(rf'"{key}":\s*{_STRING}') for key in PATH_KEYS}
_ANY_VALUE = lazy_pattern(rf":\s*{_STRING}")
_EVENTS = {
    "stop": "Last message",
    "said": "Between tool calls",
    "stop_failure": "The turn failed",
    "task_end": "Background task",
    "subagent_stop": "Subagent's last message",
    "pre_compact": "Compaction instructions",
    "post_compact": "Compaction summary",
}


def cards(db: Connection, refs: Sequence[Ref]) -> list[Card]:
    """The cards of the memories that exist, unordered."""
    return [_MAKE[kind](row) for kind, row in _rows(db, refs, _CARDS)]


def details(db: Connection, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
    """The memories with all columns, with JSON parsed."""
    found = {}
    for kind, row in _rows(db, refs, _CARDS | {"observation": "observation_details"}):
        card = _MAKE[kind](row)
        found[card.ref] = card, {name: _read(name, value) for name, value in row.items()}
    return found


_Columns = dict[str, Any]
"""A row by the names of its columns: a card reads two dozen, and a Row looks through those before each."""

_CARDS: dict[MemoryKind, str] = {kind: f"{kind}_cards" for kind in KINDS}


def _rows(
    db: Connection, refs: Sequence[Ref], queries: Mapping[MemoryKind, str]
) -> Iterator[tuple[MemoryKind, _Columns]]:
    by_kind: dict[MemoryKind, list[int]] = {}
    for ref in refs:
        by_kind.setdefault(ref.kind, []).append(ref.id)
    for kind, ids in by_kind.items():
        names: tuple[str, ...] = ()
        for row in execute(db, queries[kind], ids=json.dumps(ids)):
            names = names or tuple(row.keys())
            yield kind, dict(zip(names, row, strict=True))


def _observation(row: _Columns) -> Card:
    modified = _paths(row["files_modified"])
    title = row["title"] or _title(row["narrative"] or row["text"] or "")
    parts = (row["subtitle"], row["narrative"] or row["text"], *_decoded(row["facts"]))
    return Card(
        **_common(row, Ref("observation", row["id"])),
        title=title or f"A {row['type']}",
        text="\n".join(part for part in parts if part),
        type=row["type"],
        files=tuple(dict.fromkeys((*modified, *_paths(row["files_read"])))),
        files_modified=modified,
        concepts=_paths(row["concepts"]),
        provider=row["provider"],
        source=row["source"],
        pinned=bool(row["pinned"]),
        wrong=bool(row["wrong"]),
        supersedes=row["supersedes"],
        superseded_by=row["superseded_by"],
        seen_again=row["seen_again"],
    )


def _summary(row: _Columns) -> Card:
    edited = _paths(row["files_edited"])
    named = ("investigated", "learned", "completed", "next_steps", "notes")
    parts = [f"{name.replace('_', ' ').capitalize()}: {row[name]}" for name in named if row[name]]
    return Card(
        **_common(row, Ref("summary", row["id"])),
        title=_title(row["request"] or row["completed"] or row["learned"] or "Turn summary"),
        text="\n".join(parts),
        files=tuple(dict.fromkeys((*edited, *_paths(row["files_read"])))),
        files_modified=edited,
        source="external" if row["source"] == "external" else _default_source(row),
    )


def _prompt(row: _Columns) -> Card:
    return Card(
        **_common(row, Ref("prompt", row["id"])),
        title=_title(row["prompt"]),
        text=row["prompt"],
        source=_default_source(row),
    )


def _evidence(row: _Columns) -> Card:
    given = row["tool_input"] or ""
    files = tuple(relative(path, row["cwd"]) for path in _given_paths(given))
    if row["tool_name"]:
        title = f"{row['tool_name']} {files[0] if files else _first_text(given)}"
    else:
        title = f"{_EVENTS.get(row['kind'], row['kind'])}: {row['text'] or ''}"
    parts = (given, row["tool_response"], row["text"])
    wrote = row["tool_name"] in WRITERS
    return Card(
        **_common(row, Ref("evidence", row["id"])),
        title=_title(title),
        text="\n".join(part for part in parts if part),
        type=row["tool_name"] or row["kind"],
        files=files,
        files_modified=files if wrote else (),
        source=_default_source(row),
    )


_MAKE: dict[MemoryKind, Callable[[_Columns], Card]] = {
    "observation": _observation,
    "summary": _summary,
    "prompt": _prompt,
    "evidence": _evidence,
}


def _common(row: _Columns, ref: Ref) -> dict[str, Any]:
    return {
        "ref": ref,
        "session": row["claude_session_id"],
        "session_db_id": row["session_id"],
        "project": row["project"],
        "project_id": row["project_id"],
        "created_at": row["created_at_epoch"],
        "prompt_number": row["prompt_number"],
        "client": row["client"],
        "author": row["author"],
        "branch": row["branch"],
        "commit": row["commit_sha"],
    }


def _default_source(row: _Columns) -> Source:
    """The source of a row without one: an untrusted session is not our work."""
    return "external" if row["client"] == FOREIGN else "work"


def _title(text: str) -> str:
    return one_line(text[: 4 * TITLE], TITLE)


def _paths(array: str) -> tuple[str, ...]:
    return tuple([item for item in _decoded(array) if isinstance(item, str)])


def _decoded(array: str) -> list[Any]:
    if array == "[]":
        return []
    try:
        return _ARRAY.decode(array)
    except DecodeError:  # half a letter, which only the standard library reads
        return list(json.loads(array))


def _given_paths(given: str) -> list[str]:
    """Of what may have been cut in the middle: read by looking for the key, not by parsing all of it."""
    return [unescaped(found[1]) for key in PATH_KEYS if (found := _VALUES[key].search(given))]


def _first_text(given: str) -> str:
    """The first text of a tool's input: a command, a pattern, a URL."""
    found = _ANY_VALUE.search(given)
    return unescaped(found[1]) if found else given


def _read(name: str, value: Any) -> Any:
    is_array = name in ("facts", "concepts", "files_read", "files_modified", "files_edited", "tool_use_ids")
    return json.loads(value) if is_array and value else value
