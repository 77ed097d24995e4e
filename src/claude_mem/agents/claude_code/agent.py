"""Claude Code, as `agents.base` wants it. The hook speaks as it does, so it needs no dialect."""

from __future__ import annotations

from claude_mem.agents.base import Agent
from claude_mem.agents.claude_code.events import NAME, parse
from claude_mem.agents.claude_code.hooks import hooks

AGENT = Agent(name=NAME, parse=parse, hooks=lambda machine: {"hooks": hooks(machine)})
