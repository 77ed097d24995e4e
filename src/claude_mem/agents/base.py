"""What an agent's folder offers: `agents/<folder>/agent.py` has one of these, named AGENT.

agent.py        AGENT, as below
dialect.py      to_hook, from_hook: see `hook.translate`; only where its hooks differ from Claude Code's
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from msgspec import Struct

from claude_mem.agents import FOLDERS
from claude_mem.agents.launcher import Machine
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import Event


class Parse(Protocol):
    def __call__(
        self,
        name: str,
        payload: Mapping[str, object],
        *,
        id: str,
        at: int,
        client: str,
        private: bool = False,
    ) -> Event | None:
        """The event that a hook reported, in the words of Claude Code's hooks; None for one that says nothing
        worth keeping. Raises EventUnreadable."""
        ...


class Agent(Struct, frozen=True):
    name: str  # its row in FOLDERS
    parse: Parse
    hooks: Callable[[Machine], dict[str, Any]]
    """What it must be told to run, as its settings have it."""


def load(name: str) -> Agent:
    """Raises EventUnreadable for one that is not in the table: a newer version's, most likely."""
    try:
        folder = FOLDERS[name]
    except KeyError:
        raise EventUnreadable(
            f"written by the hook of an agent that is not known here: {name[:40]}"
        ) from None
    return cast(Agent, importlib.import_module(f"claude_mem.agents.{folder}.agent").AGENT)
