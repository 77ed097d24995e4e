"""Windsurf's hooks, from its documentation: its own names, with the details in `tool_info`. No hook
reports a command's output or exit code, and no hook output reaches the model.
"""

from __future__ import annotations

from claude_mem.hook import paths

EVENTS = {
    "pre_user_prompt": "UserPromptSubmit",
    "post_read_code": "PostToolUse",
    "post_write_code": "PostToolUse",
    "post_run_command": "PostToolUse",
    "post_mcp_tool_use": "PostToolUse",
    "post_cascade_response": "Stop",
}
KEYS = {"trajectory_id": "session_id", "execution_id": "prompt_id"}
INJECTION_EVENTS: frozenset[str] = frozenset()
RESPONSE_HEADING = "### Planner Response"


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    action, info = payload.pop("agent_action_name", None), payload.pop("tool_info", None)
    if not isinstance(info, dict):
        return None
    payload["cwd"] = info.get("cwd") or paths.working_directory()  # a hook runs in the workspace
    if event == "UserPromptSubmit":
        payload["prompt"] = info.get("user_prompt")
    elif event == "Stop":
        # All that was done since the prompt.
        response = str(info.get("response") or "").rpartition(RESPONSE_HEADING)[2]
        payload["last_assistant_message"] = response.strip()
    elif action == "post_mcp_tool_use":
        payload["tool_name"] = f"mcp__{info.get('mcp_server_name')}__{info.get('mcp_tool_name')}"
        payload["tool_input"] = info.get("mcp_tool_arguments")
        payload["tool_response"] = info.get("mcp_result")
    elif action == "post_run_command":
        payload |= {"tool_name": "run_command", "tool_input": {"command": info.get("command_line")}}
    else:
        payload |= {"tool_name": "Read" if action == "post_read_code" else "Edit", "tool_input": info}
    return payload


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    del event, context, message, reason
    return {}
