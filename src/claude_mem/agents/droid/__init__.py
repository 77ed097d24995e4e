"""Factory droid's hooks: Claude Code's format. `droid exec` does not report prompts, and no hook reports the
agent's last message; its transcript contains both.
"""

from __future__ import annotations

from claude_mem.hook.translate import same

EVENTS = same("SessionStart UserPromptSubmit PostToolUse Stop SubagentStop PreCompact SessionEnd")
AS_IS = frozenset(("PostToolUse",))
INJECTION_EVENTS = frozenset(("SessionStart", "PostToolUse"))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    if event == "Stop" and "last_assistant_message" not in payload:
        from claude_mem.hook.transcript_peek import last_lines, member, texts

        for line in last_lines(payload.get("transcript_path")):
            message = member(line, "message")
            text = texts(member(message, "content"))
            if member(message, "role") == "assistant" and text:
                return payload | {"last_assistant_message": text}
            if _is_prompt(line):
                break
    return payload


def prompt(payload: dict[str, object]) -> str:
    """The turn's; "" if it is not found."""
    from claude_mem.hook.transcript_peek import last_lines, member, texts

    for line in last_lines(payload.get("transcript_path")):
        if _is_prompt(line):
            return texts(member(line.get("message"), "content"))
    return ""


def _is_prompt(line: dict[str, object]) -> bool:
    """What the user typed: not a tool's result, nor what droid itself puts before a prompt."""
    from claude_mem.hook.transcript_peek import member, texts

    message = line.get("message")
    if member(message, "role") != "user" or member(message, "visibility"):
        return False
    own = str(line.get("id")).startswith("context-")
    return not own and bool(texts(member(message, "content")).strip())
