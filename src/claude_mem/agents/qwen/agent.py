"""Qwen Code, a fork of Gemini CLI, as `agents.catalog` declares an agent."""

from __future__ import annotations

from pathlib import Path

from claude_mem.agents.gemini.agent import gemini_agent
from claude_mem.agents.qwen.dialect import EVENTS

AGENT = gemini_agent("qwen", lambda: Path.home() / ".qwen", EVENTS)
