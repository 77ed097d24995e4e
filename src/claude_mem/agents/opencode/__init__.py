"""The hooks of our plugin for OpenCode (`plugin.js`). The plugin is ours, so it uses Claude Code's format."""

from __future__ import annotations

from claude_mem.hook.translate import same

EVENTS = same("SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop PostCompact")
AS_IS = frozenset(("PostToolUse", "PostToolUseFailure"))
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PreToolUse"))
