"""Claude Code, as `agents.base` wants it."""

from __future__ import annotations

from claude_mem.agents import launcher
from claude_mem.agents.base import Agent
from claude_mem.agents.claude_code import hooks
from claude_mem.agents.claude_code.events import NAME, parse

AGENT = Agent(
    name=NAME,
    title="Claude Code",
    parse=parse,
    hooks=lambda: {"hooks": hooks.hooks(launcher.this_machine())},
)
