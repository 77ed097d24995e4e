"""Who turns events into memory: a model that is asked, or an observer that needs none."""

from __future__ import annotations

from typing import Protocol

from claude_mem.model.batch import Batch
from claude_mem.model.observation import Memory
from claude_mem.model.outcome import Failure
from claude_mem.model.prompt import Prompt, Reply


class Model(Protocol):
    """A language model behind some wire. Every adapter passes the contract suite in `claude_mem.testing`."""

    @property
    def name(self) -> str: ...

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        """Blocking; answers within the deadline whatever the other side does. Never raises for the wire."""
        ...

    def close(self) -> None:
        """Let go of connections and child processes; a later ask may open them again."""
        ...


class Extractor(Protocol):
    """An observer that needs no model."""

    def observe(self, batch: Batch) -> Memory:
        """Total, deterministic and quick."""
        ...
