"""The record format of exports and imports, to which other tools' data is also converted.

One JSON object per line. The first names the format. A record comes after the records it refers to:

    {"kind": "claude-mem", "version": 1, "made_at": 1794800000000}
    project, session, prompt, event, observation, sighting, summary

Times are epoch milliseconds (`at`, `…_at`). A session is identified by the client's own id, a project by its
key, an observation by what it is (`name_of`), so that two machines call the same thing the same. See
docs/export.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from claude_mem.model.memory import Observation, Summary, content_key
from claude_mem.model.refs import Card

FORMAT = "claude-mem"
VERSION = 1

FOREIGN = "import"
"""The client of every session that came from an untrusted file: nothing of it speaks in the user's or
the agent's own voice, and untrusted records are added to no other one."""

Record = Mapping[str, Any]

TEXT, INT, FLAG, LIST = "string", "integer", "boolean", "list of strings"


def _fields_of(value: type[Struct]) -> dict[str, str]:
    """Of texts and lists of texts."""
    return {each.name: LIST if each.default == () else TEXT for each in fields(value)}


FIELDS: dict[str, dict[str, str]] = {
    "project": {
        "key": TEXT,
        "name": TEXT,
        "named": FLAG,  # a person gave it its name
        "root": TEXT,
        "remote": TEXT,
        "aliases": LIST,  # keys of projects that were merged into it
        "created_at": INT,
    },
    "session": {
        "session_id": TEXT,
        "project": TEXT,
        "title": TEXT,
        "subtitle": TEXT,
        "first_user_prompt": TEXT,
        "prompt_counter": INT,
        "status": TEXT,
        "client": TEXT,
        "author": TEXT,  # the member of the team whose it was; null: whoever exports
        "cwd": TEXT,
        "transcript_path": TEXT,
        "branch": TEXT,
        "commit": TEXT,
        "end_reason": TEXT,
        "created_at": INT,
        "updated_at": INT,
        "completed_at": INT,
    },
    "prompt": {
        "session_id": TEXT,
        "number": INT,
        "text": TEXT,
        "private": FLAG,
        "prompt_id": TEXT,
        "at": INT,
    },
    "event": {
        "session_id": TEXT,
        "event_id": TEXT,
        "event_kind": TEXT,
        "effect_key": TEXT,
        "prompt_number": INT,
        "tool_name": TEXT,
        "tool_use_id": TEXT,
        "tool_input": TEXT,
        "tool_response": TEXT,
        "text": TEXT,
        "note": TEXT,
        "prompt_id": TEXT,
        "agent_id": TEXT,
        "agent_type": TEXT,
        "cwd": TEXT,
        "branch": TEXT,
        "commit": TEXT,
        "private": FLAG,
        "at": INT,
    },
    "observation": {
        "session_id": TEXT,
        "project": TEXT,  # the key of its project, if that is not its session's
        **_fields_of(Observation),
        "text": TEXT,
        "prompt_number": INT,
        "client": TEXT,
        "branch": TEXT,
        "commit": TEXT,
        "tool_use_ids": LIST,
        "supersedes": TEXT,  # the name of an older one
        "provider": TEXT,
        "pinned": FLAG,
        "wrong": FLAG,
        "source": TEXT,
        "at": INT,
    },
    "sighting": {"observation": TEXT, "session_id": TEXT, "prompt_number": INT, "at": INT},
    "summary": {
        "session_id": TEXT,
        **_fields_of(Summary),
        "prompt_number": INT,
        "source": TEXT,
        "at": INT,
    },
}
"""Every kind's fields, in the order they are written. An absent one is null, or empty."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "project": ("key", "name"),
    "session": ("session_id", "project", "created_at"),
    "prompt": ("session_id", "number", "at"),
    "event": ("session_id", "event_kind", "at"),
    "observation": ("session_id", "type", "at"),
    "sighting": ("observation", "session_id", "at"),
    "summary": ("session_id", "at"),
}


def content_key_of(record: Mapping[str, Any]) -> str | None:
    """The content key of an observation in a record."""
    return content_key(
        Observation(
            type=record["type"],
            title=record.get("title"),
            narrative=record.get("narrative"),
            facts=tuple(record.get("facts", ())),
            files_modified=tuple(record.get("files_modified", ())),
        )
    )


def name_of(session_id: str, at: int, key: str | None) -> str:
    """What identifies an observation."""
    return f"{session_id}/{at}/{key or '-'}"


def parse_name(name: str) -> tuple[str, int, str | None] | None:
    """The session, the time and the content's key that a name is made of; None: it is no name."""
    session_id, _, rest = name.rpartition("/")
    session_id, _, at = session_id.rpartition("/")
    if not session_id or not at.isdecimal() or len(at) > 15:
        return None
    return session_id, int(at), None if rest == "-" else rest


def name_of_summary(session_id: str, at: int) -> str:
    """What identifies a summary."""
    return f"{session_id}/{at}/summary"


def name_of_prompt(session_id: str, number: int) -> str:
    """What identifies a prompt."""
    return f"{session_id}/{number}/prompt"


def name_of_card(card: Card, columns: Mapping[str, Any]) -> str | None:
    """What identifies a stored memory; None: raw evidence, which is not shared."""
    match card.ref.kind:
        case "observation":
            return name_of(card.session, card.created_at, columns["content_key"])
        case "summary":
            return name_of_summary(card.session, card.created_at)
        case "prompt" if card.prompt_number is not None:
            return name_of_prompt(card.session, card.prompt_number)
        case _:
            return None


def name_of_session(session_id: str) -> str:
    """What identifies a session that is to be forgotten."""
    return f"{session_id}/session"


def digest_of(name: str) -> str:
    """The digest of a name, by which a memory is found on another machine without storing its name."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()
