"""Translates another agent's hook protocol into the one this package speaks, and its answer back.

The hook, privacy and the spool know one vocabulary: that of Claude Code's hooks (`session_id`,
`hook_event_name`, `tool_input`, ...), so that every rule about what may be recorded is written once. An agent
that speaks otherwise brings `claude_mem/agents/<folder>/dialect.py`, standard library only, with

    to_hook(verb, payload)     its payload in these words; None: nothing to record
    from_hook(answer)          the hook's answer, as that agent expects it
"""

from __future__ import annotations

import json

from claude_mem.agents import FOLDERS
from claude_mem.privacy import scrub_payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Dialect(Protocol):
        """A module: `dialect` of an agent's folder."""

        def to_hook(self, verb: str, payload: dict[str, object]) -> dict[str, object] | None: ...

        def from_hook(self, answer: dict[str, object]) -> bytes: ...


FIRST = ("session_id", "cwd", "prompt_id", "hook_event_name", "tool_name")
"""The order in which Claude Code writes them, which the hook relies on where it reads without parsing."""


def payload(agent: str, verb: str, head: bytes, tail: bytes, whole: bool) -> tuple[bytes, bytes, bool] | None:
    """As standard input would have held it; None: nothing to record. Raises KeyError for an agent that is not
    in the table, NotAPayload for what is no JSON object."""
    dialect = _dialect(agent)
    given, is_whole = scrub_payload.read(head, tail, whole)
    spoken = dialect.to_hook(verb, given)
    if spoken is None:
        return None
    ordered = {key: spoken[key] for key in FIRST if key in spoken} | spoken
    return json.dumps(ordered, separators=(",", ":")).encode(), b"", is_whole


def answer(agent: str, line: bytes) -> bytes:
    """The hook's answer as that agent expects it; nothing stays nothing."""
    return _dialect(agent).from_hook(json.loads(line)) if line.strip() else b""


def _dialect(agent: str) -> Dialect:
    import importlib

    dialect: Dialect = importlib.import_module(f"claude_mem.agents.{FOLDERS[agent]}.dialect")
    return dialect
