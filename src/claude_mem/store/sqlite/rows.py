"""Rows as the values of the model."""

from __future__ import annotations

import json
import sqlite3

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import Job, Session, SessionStatus
from claude_mem.model.memory import Observation


def job(row: sqlite3.Row) -> Job:
    """A queued event as it came, with what the store knows better: its project and its prompt's number."""
    tool = None
    if row["tool_name"] is not None:
        tool = ToolCall(row["tool_name"], row["tool_input"], row["tool_response"], row["tool_use_id"])
    kind = _kind(row["kind"], tool)
    event = Event(
        id=row["event_id"],
        at=row["created_at_epoch"],
        kind=kind,
        session=row["claude_session_id"],
        client=row["client"],
        cwd=row["cwd"],
        project=row["project"],
        transcript_path=row["transcript_path"],
        prompt_id=row["prompt_id"],
        prompt_number=row["prompt_number"],
        agent_id=row["agent_id"],
        agent_type=row["agent_type"],
        tool=tool,
        text=row["prompt"] if kind is Kind.PROMPT else row["text"],
        note=row["note"],
        private=bool(row["private"]),
    )
    return Job(id=row["id"], event=event, prompt_number=row["prompt_number"], attempts=row["attempts"])


def _kind(word: str, tool: ToolCall | None) -> Kind:
    """A bit that flipped in a word is nothing SQLite notices; one such row must not hold up all others."""
    try:
        return Kind(word)
    except ValueError:
        return Kind.TOOL_USE if tool else Kind.SESSION_START


def session(row: sqlite3.Row) -> Session:
    return Session(
        id=row["id"],
        claude_session_id=row["claude_session_id"],
        project=row["project"],
        status=SessionStatus(row["status"]),
        prompt_counter=row["prompt_counter"],
        first_user_prompt=row["first_user_prompt"],
        created_at_epoch=row["created_at_epoch"],
        updated_at_epoch=row["updated_at_epoch"],
        completed_at_epoch=row["completed_at_epoch"],
        client=row["client"],
        cwd=row["cwd"],
        branch=row["branch"],
        title=row["title"],
        subtitle=row["subtitle"],
        pending=row["pending"],
    )


def observation(row: sqlite3.Row) -> Observation:
    return Observation(
        type=row["type"],
        title=row["title"],
        subtitle=row["subtitle"],
        narrative=row["narrative"],
        facts=_texts(row["facts"]),
        concepts=_texts(row["concepts"]),
        files_read=_texts(row["files_read"]),
        files_modified=_texts(row["files_modified"]),
    )


def _texts(array: str) -> tuple[str, ...]:
    return tuple(json.loads(array))
