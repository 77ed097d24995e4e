"""What each agent's hooks send for one prompt and one tool: the shapes that were seen, in short."""

from __future__ import annotations

from typing import Any

Payload = dict[str, Any]
SESSION, CWD = "01a1b2c3", "/home/u/shop"


def _head(event: str, **more: object) -> Payload:
    where = {"transcript_path": "/home/u/t.jsonl", "cwd": CWD}
    return {"session_id": SESSION, **where, "hook_event_name": event, **more}


def _claude(event: str, **more: object) -> Payload:
    return _head(event, permission_mode="default", **more)


def _codex(event: str, **more: object) -> Payload:
    return _head(event, turn_id="01a1-turn", model="mock", permission_mode="bypassPermissions", **more)


def _gemini(event: str, **more: object) -> Payload:
    return _head(event, timestamp="2026-11-15T10:00:00.000Z", **more)


def _copilot(**more: object) -> Payload:
    return {"sessionId": SESSION, "timestamp": 1763200000000, "cwd": CWD, **more}


def _copilot_by_claude(event: str, **more: object) -> Payload:
    timed = {"session_id": SESSION, "timestamp": "2026-11-15T10:00:00.000Z", "cwd": CWD}
    return {"hook_event_name": event, **timed, **more}


def _cline(name: str, **more: object) -> Payload:
    return {
        "clineVersion": "3.0.65",
        "hookName": name,
        "timestamp": "2026-11-15T10:00:00.000Z",
        "taskId": SESSION,
        "sessionContext": {"rootSessionId": SESSION},
        "workspaceRoots": [CWD],
        "userId": "u",
        "agent_id": "agent-1",
        "parent_agent_id": None,
        **more,
    }


ECHO = {"command": "echo one"}
_TOOL = {"tool_name": "Bash", "tool_input": ECHO}

SHAPES: dict[str, list[tuple[str, Payload, str | None]]] = {
    "claude-code": [
        ("context", _claude("SessionStart", source="startup"), "session_start"),
        ("hook", _claude("UserPromptSubmit", prompt="say one"), "prompt"),
        (
            "hook",
            _claude("PostToolUse", **_TOOL, tool_response={"stdout": "one"}, tool_use_id="t1"),
            "tool_use",
        ),
        ("hook", _claude("Stop", last_assistant_message="all done"), "stop"),
        ("hook", _claude("SessionEnd", reason="other"), "session_end"),
    ],
    "codex": [
        ("context", _codex("SessionStart", source="startup"), "session_start"),
        ("hook", _codex("UserPromptSubmit", prompt="say one"), "prompt"),
        ("hook", _codex("PostToolUse", **_TOOL, tool_response="one\n", tool_use_id="call_1"), "tool_use"),
        ("hook", _codex("Stop", stop_hook_active=False, last_assistant_message="all done"), "stop"),
        ("hook", _codex("SessionEnd", reason="other"), "session_end"),
        ("hook", _codex("PermissionRequest", **_TOOL), None),
    ],
    "gemini": [
        ("context", _gemini("SessionStart", source="startup"), "session_start"),
        ("hook", _gemini("BeforeAgent", prompt="say one"), "prompt"),
        (
            "hook",
            _gemini(
                "AfterTool",
                tool_name="run_shell_command",
                tool_input=ECHO,
                tool_response={"llmContent": "<untrusted_context>\nOutput: one", "returnDisplay": "one"},
            ),
            "tool_use",
        ),
        ("hook", _gemini("AfterAgent", prompt="say one", prompt_response="all done"), "stop"),
        ("hook", _gemini("SessionEnd", reason="exit"), "session_end"),
        ("hook", _gemini("PreCompress", trigger="auto"), None),
    ],
    "qwen": [
        ("context", _gemini("SessionStart", source="startup"), "session_start"),
        ("hook", _gemini("UserPromptSubmit", prompt="say one"), "prompt"),
        (
            "hook",
            _gemini(
                "PostToolUse",
                tool_name="run_shell_command",
                tool_input=ECHO,
                tool_response={"llmContent": "Output: one", "returnDisplay": "one"},
                tool_use_id="call_1",
            ),
            "tool_use",
        ),
        ("hook", _gemini("UserPromptSubmit", prompt=""), None),
        ("hook", _gemini("Stop", last_assistant_message="all done", context_usage=0.1), "stop"),
    ],
    "droid": [
        ("context", _claude("SessionStart", source="startup"), "session_start"),
        ("hook", _claude("UserPromptSubmit", prompt="say one"), "prompt"),
        (
            "hook",
            _claude("PostToolUse", tool_name="Execute", tool_input=ECHO, tool_response="one"),
            "tool_use",
        ),
        ("hook", _claude("Stop", stop_hook_active=False), "stop"),
        ("hook", _claude("SessionEnd", reason="other"), "session_end"),
    ],
    "copilot": [
        ("sessionStart", _copilot(source="new", initialPrompt="say one"), "session_start"),
        ("userPromptSubmitted", _copilot(prompt="say one"), "prompt"),
        (
            "postToolUse",
            _copilot(
                toolName="bash",
                toolArgs=ECHO,
                toolResult={"resultType": "success", "textResultForLlm": "one"},
            ),
            "tool_use",
        ),
        (
            "agentStop",
            _copilot(transcriptPath="/h/session-state/x/events.jsonl", stopReason="end_turn"),
            "stop",
        ),
        ("sessionEnd", _copilot(reason="complete"), "session_end"),
        ("permissionRequest", _copilot(toolName="bash"), None),
    ],
    "cline": [
        ("TaskStart", _cline("agent_start", taskStart={"taskMetadata": {}}), "session_start"),
        ("UserPromptSubmit", _cline("prompt_submit", userPromptSubmit={"prompt": "say one"}), "prompt"),
        (
            "PostToolUse",
            _cline(
                "tool_result",
                tool_result={
                    "id": "c1",
                    "name": "run_commands",
                    "input": {"commands": ["echo one"]},
                    "output": "one",
                },
            ),
            "tool_use",
        ),
        ("TaskComplete", _cline("agent_end", turn={"outputText": "all done", "status": "completed"}), "stop"),
        ("SessionShutdown", _cline("session_shutdown", reason="exit"), "session_end"),
    ],
    "opencode": [
        ("hook", _head("SessionStart", source="startup", prompt_id="msg_1"), "session_start"),
        ("hook", _head("UserPromptSubmit", prompt="say one", prompt_id="msg_1"), "prompt"),
        (
            "hook",
            _head(
                "PostToolUse",
                tool_name="bash",
                tool_input=ECHO,
                tool_response={"output": "one", "exit": 0},
                tool_use_id="toolu_1",
            ),
            "tool_use",
        ),
        ("hook", _head("Stop", last_assistant_message="all done"), "stop"),
    ],
}
"""By agent: the hook's verb, its payload, and the kind of event that becomes of it; None: none does."""

COPILOT_BY_CLAUDE_CODE = [
    ("context", _copilot_by_claude("SessionStart", source="new", initial_prompt="say one"), "session_start"),
    ("hook", _copilot_by_claude("UserPromptSubmit", prompt="say one"), "prompt"),
    (
        "hook",
        _copilot_by_claude(
            "PostToolUse",
            tool_name="bash",
            tool_input=ECHO,
            tool_result={"result_type": "success", "text_result_for_llm": "one"},
        ),
        "tool_use",
    ),
    ("hook", _copilot_by_claude("Stop", stop_reason="end_turn"), "stop"),
    ("hook", _copilot_by_claude("SessionEnd", reason="complete"), "session_end"),
]
"""What Copilot sends to the hooks in a project's settings for Claude Code."""
