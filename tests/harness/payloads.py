"""Hook payloads in the shapes the real client sends; the common head comes first, as it does there."""

from __future__ import annotations

import json

SESSION = "5694c0de-0000-4000-8000-000000000001"


def payload(event: str, session: str = SESSION, **fields: object) -> bytes:
    head = {
        "session_id": session,
        "transcript_path": f"/home/u/.claude/projects/-home-u-proj/{session}.jsonl",
        "cwd": "/home/u/proj",
        "hook_event_name": event,
    }
    return json.dumps(head | fields, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def start(session: str = SESSION, **fields: object) -> bytes:
    return payload("SessionStart", session, **({"source": "startup"} | fields))


def prompt(text: str, session: str = SESSION, prompt_id: str | None = "p-1", **fields: object) -> bytes:
    named = {"prompt_id": prompt_id} if prompt_id else {}
    return payload("UserPromptSubmit", session, **named, permission_mode="default", prompt=text, **fields)


def task_ended(result: str, session: str = SESSION, prompt_id: str | None = "p-9") -> bytes:
    """What the client submits when a subagent in the background is done: no user's prompt."""
    details = f'<summary>Agent "Look" finished</summary>\n<result>{result}</result>'
    text = f"<task-notification>\n<status>completed</status>\n{details}\n</task-notification>"
    return prompt(text, session, prompt_id)


def bash(use_id: str, command: str = "ls -1", stdout: str = "hello.txt", **fields: object) -> bytes:
    session = str(fields.pop("session", SESSION))
    return payload(
        "PostToolUse",
        session,
        **({"prompt_id": "p-1"} | fields),
        tool_name="Bash",
        tool_input={"command": command, "description": "List files"},
        tool_response={"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False},
        tool_use_id=use_id,
        duration_ms=57,
    )


def read_file(use_id: str, path: str, content: str, **fields: object) -> bytes:
    session = str(fields.pop("session", SESSION))
    return payload(
        "PostToolUse",
        session,
        **({"prompt_id": "p-1"} | fields),
        tool_name="Read",
        tool_input={"file_path": path},
        tool_response={"type": "text", "file": {"filePath": path, "content": content, "numLines": 2}},
        tool_use_id=use_id,
    )


def failure(use_id: str, error: str, session: str = SESSION) -> bytes:
    return payload(
        "PostToolUseFailure",
        session,
        prompt_id="p-1",
        tool_name="Bash",
        tool_input={"command": "false"},
        tool_use_id=use_id,
        error=error,
        is_interrupt=False,
    )


def stop(message: str, session: str = SESSION, prompt_id: str = "p-1") -> bytes:
    return payload(
        "Stop", session, prompt_id=prompt_id, stop_hook_active=False, last_assistant_message=message
    )


def end(session: str = SESSION, reason: str = "other") -> bytes:
    return payload("SessionEnd", session, reason=reason)
