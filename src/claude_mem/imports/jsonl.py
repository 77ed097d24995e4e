"""Imports JSON lines from any tool: every object with a text becomes an observation.

Its text is untrusted, and marked as such. `Fields` reads the values of any foreign row: a
text, a list, a number or a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from claude_mem.agents.claude_code import transcript_lines
from claude_mem.imports.import_report import (
    Clean,
    SourceReport,
    own_session_id,
    project_named,
)
from claude_mem.model.events import Origin
from claude_mem.model.records import Record
from claude_mem.model.refs import TYPES

MOST_ITEMS = 1_000
_SECONDS_UNTIL = 100_000_000_000  # as milliseconds that is 1973, as seconds the year 5138
_LATEST = 253_402_300_799_999


class Fields:
    """The fields of one row. Names and times are used as they are; text by a person or a model is cleaned."""

    def __init__(self, row: Mapping[str, object], clean: Clean) -> None:
        self._row, self._clean = row, clean

    def has(self, key: str) -> bool:
        return self._row.get(key) not in (None, "")

    def name(self, *keys: str) -> str:
        """The first of these fields that exists; empty: none does."""
        found = (str(self._row[key]).strip() for key in keys if self.has(key))
        return next((name for name in found if name), "")

    def text(self, key: str) -> str | None:
        value = self._row.get(key)
        if value is None or value == "":
            return None
        return self._clean(_as_text(value)).strip() or None

    def texts(self, key: str) -> list[str]:
        """A list, or JSON that is one, or a text alone."""
        cleaned = (self._clean(item).strip() for item in self._listed(key))
        return [item for item in cleaned if item][:MOST_ITEMS]

    def number(self, key: str) -> int | None:
        value = self._row.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if 0 <= value <= _LATEST else None

    def at(self, *keys: str) -> int | None:
        """Epoch milliseconds: from another column that has them or seconds, or from its own text."""
        for key in keys:
            for value in (self._row.get(f"{key}_epoch"), self._row.get(key)):
                found = when(value)
                if found:
                    return found
        return None

    def _listed(self, key: str) -> list[str]:
        value = self._row.get(key)
        if isinstance(value, str) and value.lstrip().startswith("["):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, list):
            return [_as_text(item) for item in value if item is not None]
        return [_as_text(value)] if value not in (None, "") else []


def when(value: object) -> int | None:
    """Epoch milliseconds of a number of them, or of seconds, or of a time as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            milliseconds = int(value * 1000 if 0 < value < _SECONDS_UNTIL else value)
        except (ValueError, OverflowError):  # not a number, or endless
            return None
        return milliseconds if 0 < milliseconds <= _LATEST else None
    return transcript_lines.epoch(value)


def paths_in(row: Fields, *keys: str) -> Iterator[str]:
    """The record's files that have absolute paths."""
    for key in keys:
        yield from (item for item in row.texts(key) if item.startswith("/"))


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return json.dumps(value, ensure_ascii=False, default=str)


CLIENT = "jsonl"
LONGEST = 4 << 20  # characters of a line
MOST_TITLE = 200

TEXT = ("text", "content", "memory", "narrative", "body", "note", "description", "summary")
TITLE = ("title", "name", "subject", "headline")
AT = ("created_at", "timestamp", "at", "date", "time", "created", "updated_at")
PROJECT = ("project", "repo", "repository", "workspace")
TYPE = ("type", "category")
FILES = ("files", "files_modified", "paths", "file")
CONCEPTS = ("concepts", "tags", "labels")


def read(
    lines: Iterable[str | bytes],
    *,
    at: int,
    clean: Clean,
    report: SourceReport,
    project_of: Callable[[str], Origin] = project_named,
    unnamed: str = "unknown",
) -> Iterator[Record]:
    """`at`: the time of a line without one. `unnamed`: the project of a line that without one."""
    sessions: set[str] = set()
    for line in lines:
        fields = _parsed(line)
        if fields is None:
            if line.strip():
                report.skip("line", "unreadable")
            continue
        row = Fields(fields, clean)
        text, title = _first(row, TEXT), _first(row, TITLE)
        if not (text or title):
            report.skip("line", "no text")
            continue
        project = project_of(row.name(*PROJECT) or unnamed)
        when = row.at(*AT) or at
        session = own_session_id(CLIENT, project)
        if session not in sessions:
            sessions.add(session)
            yield from report.begin(CLIENT, project, f"Brought in for {project.name}", when)
        yield _observation(row, session, title, text, when, report)


def _observation(
    row: Fields, session: str, title: str | None, text: str | None, at: int, report: SourceReport
) -> Record:
    type, concepts = row.name(*TYPE).lower(), _all(row, CONCEPTS)
    if type not in TYPES:
        if type:
            report.remap(type, "discovery")
            concepts = [*concepts, type]
        type = "discovery"
    return report.record(
        "observation",
        session_id=session,
        type=type,
        title=title or _opening(text or ""),
        narrative=text,
        facts=row.texts("facts"),
        concepts=concepts,
        files_read=_all(row, FILES),
        client=CLIENT,
        provider=CLIENT,
        source="external",
        at=at,
    )


def _parsed(line: str | bytes) -> dict[str, object] | None:
    if len(line) > LONGEST:
        return None
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    try:
        found = json.loads(text.strip("\N{BYTE ORDER MARK} \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _first(row: Fields, keys: Sequence[str]) -> str | None:
    return next(filter(None, map(row.text, keys)), None)


def _all(row: Fields, keys: Sequence[str]) -> list[str]:
    return next(filter(None, map(row.texts, keys)), [])


def _opening(text: str) -> str:
    line = next(filter(None, map(str.strip, text.splitlines())), "")
    return line if len(line) <= MOST_TITLE else line[: MOST_TITLE - 1].rstrip() + "…"
