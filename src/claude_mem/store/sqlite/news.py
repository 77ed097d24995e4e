"""What is new since some marks: which projects have more to tell, which sessions are being compacted."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from claude_mem.store.sqlite.queries import execute


@dataclass(frozen=True, slots=True)
class Marks:
    observation: int
    summary: int
    event: int
    session: int


@dataclass(frozen=True, slots=True)
class News:
    marks: Marks
    projects: tuple[int, ...] = ()
    compacted: tuple[tuple[int, str], ...] = ()  # project, session


def since(db: sqlite3.Connection, marks: Marks | None) -> News:
    last = Marks(**{name: _last(db, name) for name in ("observation", "summary", "event", "session")})
    if marks is None or last == marks:
        return News(last)
    projects = execute(
        db,
        "projects_with_news",
        observation=marks.observation,
        summary=marks.summary,
        session=marks.session,
    )
    compacted = execute(db, "compacted_since", after=marks.event).fetchall()
    return News(
        last,
        tuple(row["project_id"] for row in projects),
        tuple((row["project_id"], row["claude_session_id"]) for row in compacted),
    )


def figures(db: sqlite3.Connection) -> dict[str, Any]:
    row = execute(db, "memory_figures").fetchone()
    told = execute(db, "injection_figures").fetchall()
    return {
        **{name: row[name] for name in ("projects", "sessions", "prompts", "observations", "summaries")},
        "injected": {each["event"]: {"times": each["times"], "tokens": each["tokens"]} for each in told},
    }


def _last(db: sqlite3.Connection, name: str) -> int:
    (last,) = execute(db, f"last_{'evidence' if name == 'event' else name}").fetchone()
    return int(last)
