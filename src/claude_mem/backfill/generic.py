"""Decides what lines of JSON mean that nobody made for us: any object with a text becomes an observation.

Its words are somebody else's, so they are marked as such.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import get_args

from claude_mem.backfill.fields import Fields
from claude_mem.backfill.gained import Gained, Project, named
from claude_mem.model.memory import ObservationType
from claude_mem.model.records import Record

CLIENT = "jsonl"
LONGEST = 4 << 20  # characters of a line
MOST_TITLE = 200
TYPES: tuple[str, ...] = get_args(ObservationType)

TEXT = ("text", "content", "memory", "narrative", "body", "note", "description", "summary")
TITLE = ("title", "name", "subject", "headline")
AT = ("created_at", "timestamp", "at", "date", "time", "created", "updated_at")
PROJECT = ("project", "repo", "repository", "workspace")
TYPE = ("type", "category")
FILES = ("files", "files_modified", "paths", "file")
CONCEPTS = ("concepts", "tags", "labels")

Clean = Callable[[str], str]


def read(
    lines: Iterable[str | bytes],
    *,
    at: int,
    clean: Clean,
    gained: Gained,
    project_of: Callable[[str], Project] = named,
    unnamed: str = "unknown",
) -> Iterator[Record]:
    """`at`: the time of a line that tells none. `unnamed`: the project of a line that names none."""
    sessions: set[str] = set()
    for line in lines:
        said = _parsed(line)
        if said is None:
            if line.strip():
                gained.pass_over("line", "cannot be read")
            continue
        row = Fields(said, clean)
        text, title = _first(row, TEXT), _first(row, TITLE)
        if not (text or title):
            gained.pass_over("line", "has no text")
            continue
        project = project_of(row.name(*PROJECT) or unnamed)
        when = row.at(*AT) or at
        session = session_id(project)
        if session not in sessions:
            sessions.add(session)
            yield from _begun(session, project, when, gained)
        yield gained.take(_observation(row, session, title, text, when, gained))


def session_id(project: Project) -> str:
    """Of the session that holds what such lines tell of a project."""
    return f"{CLIENT}-{hashlib.sha256(project.key.encode(errors='replace')).hexdigest()[:16]}"


def _begun(session: str, project: Project, at: int, gained: Gained) -> Iterator[Record]:
    yield gained.take({"kind": "project", **project.record(), "created_at": at})
    yield gained.take(
        {
            "kind": "session",
            "session_id": session,
            "project": project.key,
            "title": f"Brought in for {project.name}",
            "client": CLIENT,
            "status": "completed",
            "created_at": at,
        }
    )


def _observation(
    row: Fields, session: str, title: str | None, text: str | None, at: int, gained: Gained
) -> dict[str, object]:
    type, concepts = row.name(*TYPE).lower(), _all(row, CONCEPTS)
    if type not in TYPES:
        if type:
            gained.retype(type, "discovery")
            concepts = [*concepts, type]
        type = "discovery"
    return {
        "kind": "observation",
        "session_id": session,
        "type": type,
        "title": title or _opening(text or ""),
        "narrative": text,
        "facts": row.texts("facts"),
        "concepts": concepts,
        "files_read": _all(row, FILES),
        "client": CLIENT,
        "provider": CLIENT,
        "source": "external",
        "at": at,
    }


def _parsed(line: str | bytes) -> dict[str, object] | None:
    if len(line) > LONGEST:
        return None
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    try:
        said = json.loads(text.strip("\N{BYTE ORDER MARK} \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _first(row: Fields, keys: Sequence[str]) -> str | None:
    return next(filter(None, map(row.text, keys)), None)


def _all(row: Fields, keys: Sequence[str]) -> list[str]:
    return next(filter(None, map(row.texts, keys)), [])


def _opening(text: str) -> str:
    line = next(filter(None, map(str.strip, text.splitlines())), "")
    return line if len(line) <= MOST_TITLE else line[: MOST_TITLE - 1].rstrip() + "…"
