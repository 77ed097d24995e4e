"""No rendering outlives a forgetting, however the two fall."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from tests.unit.recall.remembering import house

from claude_mem.recall.render import Rendered
from claude_mem.store.values import Project
from claude_mem.wiring.contexts import Contexts
from claude_mem.wiring.freshness import Freshness


def test_what_is_just_being_rendered_when_something_is_forgotten_is_cleared_too(tmp_path: Path) -> None:
    reading, forgotten = Event(), Event()

    def slow_start(project: Project, session: str) -> Rendered:
        reading.set()
        forgotten.wait(0.2)  # a forgetting does not wait for us to read; it may only wait to clear
        return Rendered("the secret")

    with house(tmp_path) as memory, ThreadPoolExecutor(2) as threads:
        memory.turn("x")
        contexts = Contexts(tmp_path / "data", memory.shelves, memory.keeping, slow_start, memory.clock)
        fresh = Freshness(memory.store.readers, memory.library, contexts)
        step = threads.submit(fresh.step)
        assert reading.wait(10)
        fresh.anew()
        forgotten.set()
        step.result(10)
        left = [file.read_text() for file in (tmp_path / "data" / "context").glob("*")]
        assert left == []
        assert fresh.is_due(), "and what is left of it is rendered next"
