"""What each agent's hooks send in one session: recorded from the real agents (`tests/fixtures/agents`, whose
recorder says how); and what Copilot sends to hooks in a project's settings for Claude Code."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.harness import hook_process

from claude_mem.agents import hook_payload, launcher
from claude_mem.model.events import Event

Payload = dict[str, Any]
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/agents"
SESSION, CWD = "01a1b2c3", "/home/u/parcel"
PROMPT, DONE = "Fix the postage of heavy parcels.", "It is done."


class Sent(NamedTuple):
    verb: str  # of the hook's command line
    payload: Payload
    kind: str | None  # of the event that becomes of it; None: none does


KINDS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_use",
    "PostToolUseFailure": "tool_failure",
    "Stop": "stop",
    "SessionEnd": "session_end",
    "BeforeAgent": "prompt",
    "AfterTool": "tool_use",
    "AfterAgent": "stop",
    "sessionStart": "session_start",
    "userPromptSubmitted": "prompt",
    "postToolUse": "tool_use",
    "agentStop": "stop",
    "beforeSubmitPrompt": "prompt",
    "postToolUseFailure": "tool_failure",
    "stop": "stop",
    "sessionEnd": "session_end",
    "TaskStart": "session_start",
    "TaskComplete": "stop",
    "pre_user_prompt": "prompt",
    "post_read_code": "tool_use",
    "post_write_code": "tool_use",
    "post_run_command": "tool_use",
    "post_mcp_tool_use": "tool_use",
    "post_cascade_response": "stop",
}
"""By the agents' own names of what they report."""


def recorded(agent: str, prefix: str = "") -> list[Sent]:
    """The first session of an agent's recording, in order; `prefix`: as the hooks of others were told."""
    folder = FIXTURES / agent
    names = json.loads((folder / "sessions.json").read_text())["sessions"][0]
    names = [name for name in names if (name.startswith(prefix) if prefix else "claude." not in name)]
    payloads = {name: iter(json.loads((folder / f"{name}.json").read_text())) for name in set(names)}
    found = []
    for name in names:
        payload, event = next(payloads[name]), name.removeprefix(prefix)
        verb = ("context" if event == "SessionStart" else "hook") if "hook_event_name" in payload else event
        kind = KINDS.get(event)
        is_empty = kind == "prompt" and payload.get("prompt") == ""  # Qwen Code's, after each tool
        found.append(Sent(verb, payload, None if is_empty else kind))
    return found


def opencode() -> list[Sent]:
    """What our plugin makes of what OpenCode gives to plugins."""
    folder = FIXTURES / "opencode"
    first = json.loads((folder / "tool.execute.after.json").read_text())
    asked = json.loads((folder / "chat.message.json").read_text())[0]["output"]
    head = {"session_id": asked["message"]["sessionID"], "cwd": CWD, "prompt_id": asked["message"]["id"]}

    def sent(event: str, kind: str, **more: object) -> Sent:
        return Sent("hook", head | {"hook_event_name": event} | more, kind)

    uses = [
        sent(
            "PostToolUse",
            "tool_use",
            tool_name=each["input"]["tool"],
            tool_input=each["input"]["args"],
            tool_response={
                "output": each["output"]["output"],
                "exit": each["output"]["metadata"].get("exit"),
            },
            tool_use_id=each["input"]["callID"],
        )
        for each in itertools.takewhile(lambda each: each["input"]["sessionID"] == head["session_id"], first)
    ]
    return [
        sent("SessionStart", "session_start", source="startup"),
        sent("UserPromptSubmit", "prompt", prompt=PROMPT),
        *uses,
        sent("Stop", "stop", last_assistant_message=DONE),
    ]


def claude_code() -> list[Sent]:
    def sent(event: str, kind: str, **more: object) -> Sent:
        where = {"transcript_path": "/home/u/t.jsonl", "cwd": CWD}
        verb = "context" if event == "SessionStart" else "hook"
        return Sent(verb, {"session_id": SESSION, **where, "hook_event_name": event, **more}, kind)

    shell = {"tool_name": "Bash", "tool_input": {"command": "echo heavy; ls missing.txt"}}
    return [
        sent("SessionStart", "session_start", source="startup"),
        sent("UserPromptSubmit", "prompt", prompt=PROMPT),
        sent("PostToolUseFailure", "tool_failure", **shell, error="Exit code 2\nheavy", tool_use_id="t1"),
        sent("Stop", "stop", last_assistant_message=DONE),
        sent("SessionEnd", "session_end", reason="other"),
    ]


OTHERS = ("codex", "copilot", "gemini", "opencode", "qwen", "droid", "cline", "cursor", "goose", "windsurf")
SENT = {
    "claude-code": claude_code(),
    **{agent: recorded(agent) for agent in OTHERS if agent != "opencode"},
    "opencode": opencode(),
}


def copilot_by_claude_code() -> list[Sent]:
    """The same session as Copilot reports it to hooks in a project's settings for Claude Code."""
    found = recorded("copilot", "claude.")
    return [sent for sent in found if sent.kind]


CANARY = "canary-4711"


def hook(data: Path, agent: str, verb: str, payload: Payload, **env: str) -> hook_process.Answered:
    """As an agent runs it: one command for a shell."""
    line = launcher.hook_line(hook_process.MACHINE, verb, agent)
    environ = hook_process.environment(data, **env)
    compact = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
    done = subprocess.run(
        ["sh", "-c", line], input=compact, capture_output=True, env=environ, timeout=60, check=False
    )
    return hook_process.Answered(done.returncode, done.stdout, done.stderr)


def events(data: Path) -> list[Event]:
    """What the worker makes of what is spooled."""
    found = []
    for spooled in hook_process.spooled(data):
        event = hook_payload.parse(
            spooled["event"],
            spooled["payload"],
            id=spooled["id"],
            at=spooled["at"],
            client=spooled["agent"],
            private="private" in spooled.get("flags", ()),
        )
        assert event is not None
        found.append(event)
    return found


def session_of(payload: Payload) -> str:
    keys = ("session_id", "sessionId", "conversation_id", "trajectory_id")
    own = next((payload[key] for key in keys if key in payload), None)
    return str(own or payload["sessionContext"]["rootSessionId"])
