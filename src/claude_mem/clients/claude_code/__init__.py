"""Claude Code: its dialect, and how memory is connected to it. Nothing here touches the machine."""

from __future__ import annotations

from claude_mem.clients.claude_code.dialect import KINDS, NAME, parse

__all__ = ["KINDS", "NAME", "parse"]
