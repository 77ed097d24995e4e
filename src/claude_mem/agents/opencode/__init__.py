"""What our plugin for OpenCode says (`plugin.js`): it is ours, so it speaks as Claude Code's hooks do."""

from __future__ import annotations

from claude_mem.hook.translate import same

EVENTS = same("SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop PostCompact")
AS_IS = frozenset(("PostToolUse", "PostToolUseFailure"))
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PreToolUse"))
