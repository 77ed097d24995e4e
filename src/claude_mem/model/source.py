"""Where an observation's words come from: the agent's own work, or text that it only read. Pure.

Text from outside may say anything, also what the next session is to do. So where a batch held any of it, and
what was observed changed no file, it counts as read: a wrong "external" costs a mark beside a memory, a wrong
"work" lends a stranger's words the agent's voice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from claude_mem.model.events import ToolCall
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Source
from claude_mem.model.tools import Sort, sort_of

_READERS = (Sort.READ, Sort.LOOK, Sort.WEB)
_PRINTS = re.compile(
    r"(?:^|[\s;&|(`'\"/])"
    r"(?:curl|wget|http|cat|bat|head|tail|less|more|sed|awk|grep|rg|strings|gh|git\s+(?:clone|fetch|pull|show|log|diff))"
    r"(?=$|[\s;&|)`'\"])"
)


def source_of(observation: Observation, tools: Iterable[ToolCall]) -> Source:
    """`tools`: those of the batch that it was made from."""
    if observation.files_modified:
        return "work"
    return "external" if any(map(reads_outside, tools)) else "work"


def reads_outside(tool: ToolCall) -> bool:
    """Whether what it returns was written by others, as far as its name and its command tell."""
    sort = sort_of(tool.name)
    if sort in _READERS or tool.name.startswith("mcp__"):
        return True
    return sort is Sort.COMMAND and _PRINTS.search(_command(tool.input or "")) is not None


def _command(given: str) -> str:
    try:
        values = json.loads(given)
    except (ValueError, RecursionError):
        return given  # cut short, or no JSON: then its text is all there is
    command = values.get("command") if isinstance(values, dict) else None
    return command if isinstance(command, str) else given
