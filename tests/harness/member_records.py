"""What a member of the team shares, as it arrives on another machine."""

from __future__ import annotations

from typing import Any

from claude_mem.model.events import Origin
from claude_mem.model.records import Record


def shared_session(
    session: str, origin: Origin, *observed: str, at: int, client: str = "codex", **more: Any
) -> list[Record]:
    """A session with these observations. `summary`: the fields of its summary; `prompt`: its first; all else
    are fields of each observation."""
    prompt, summary = more.pop("prompt", None), more.pop("summary", None)
    found: list[Record] = [
        {"kind": "project", "key": origin.key, "name": origin.name},
        {
            "kind": "session",
            "session_id": session,
            "project": origin.key,
            "client": client,
            "created_at": at,
            "prompt_counter": 1 if prompt else None,
            "first_user_prompt": prompt,
        },
    ]
    if prompt:
        found.append({"kind": "prompt", "session_id": session, "number": 1, "text": prompt, "at": at})
    for number, title in enumerate(observed):
        found.append(
            {
                "kind": "observation",
                "session_id": session,
                "type": "decision",
                "title": title,
                "at": at + number,
            }
            | {"source": "work"}
            | more
        )
    if summary:
        found.append({"kind": "summary", "session_id": session, "at": at} | summary)
    return [{name: value for name, value in record.items() if value is not None} for record in found]
