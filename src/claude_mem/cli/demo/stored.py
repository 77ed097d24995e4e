"""Reads back what became of the session, through the documented tables, as anybody with sqlite3 could."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoredSession:
    id: str
    project: str
    status: str
    prompts: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    prompt: int
    kind: str
    tool: str | None
    what: str  # one line, for people
    private: bool
    state: str


@dataclass(frozen=True, slots=True)
class StoredObservation:
    type: str
    title: str
    subtitle: str
    files: list[str]
    provider: str


@dataclass(frozen=True, slots=True)
class StoredSummary:
    prompt: int
    fields: dict[str, str]  # those that were filled in


@dataclass(frozen=True, slots=True)
class Stored:
    session: StoredSession
    events: list[StoredEvent]
    observations: list[StoredObservation]
    summaries: list[StoredSummary]


SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def read(database: Path) -> Stored:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        id_, project, status, prompts, cwd = db.execute(_query("session")).fetchone()
        rows = db.execute(_query("events")).fetchall()
        observations = db.execute(_query("observations")).fetchall()
        summaries = db.execute(_query("summaries")).fetchall()
    events = [
        StoredEvent(prompt, kind, tool, _line(tool_input, text, cwd), bool(private), state)
        for prompt, kind, tool, tool_input, text, private, state in rows
    ]
    return Stored(
        StoredSession(id_, project, status, prompts),
        events,
        [
            StoredObservation(type_, title or "", subtitle or "", _files(modified, read_), provider)
            for type_, title, subtitle, modified, read_, provider in observations
        ],
        [
            StoredSummary(prompt, {name: said for name, said in zip(SUMMARY, told, strict=True) if said})
            for prompt, *told in summaries
        ],
    )


def indexed(database: Path, texts: Iterable[str]) -> dict[str, int]:
    """Of each, how many texts the full-text index has it of."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        return {text: db.execute(_query("indexed"), {"phrase": f'"{text}"'}).fetchone()[0] for text in texts}


def _files(modified: str, read_: str) -> list[str]:
    """Those it changed; of one that changed none, those it read."""
    found: list[str] = json.loads(modified) or json.loads(read_)
    return found


def _line(tool_input: str | None, text: str | None, cwd: str) -> str:
    """What a tool was asked to do in one line, else what was said."""
    try:
        asked = json.loads(tool_input or "{}")
    except ValueError:
        asked = {}
    file = str(asked.get("file_path") or "").removeprefix(f"{cwd}/")
    return str(asked.get("command") or file or text or "")


def _query(name: str) -> str:
    script = (resources.files(__package__) / "show.sql").read_text(encoding="utf-8")
    return script.partition(f"-- name: {name}\n")[2].partition("-- name:")[0]
