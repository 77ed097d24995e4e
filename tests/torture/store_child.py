"""A process that has a store open, with some work leased, and acts on it as it is told, until it is killed.

It is forked from one that has imported everything: hundreds of them begin in a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from tests.harness.forked_process import FORKS

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, Origin, ToolCall
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent

NOW = 1_760_000_000_000


def open_store(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "claude-mem.db", clock=lambda: NOW, backups=folder / "backups")


class StoreChild:
    """As its parent sees it. Its store is open when this returns."""

    def __init__(self, folder: Path, leased: int, new: Sequence[str]) -> None:
        self._pipe, given = FORKS.Pipe()
        self.process = FORKS.Process(target=_obey, args=(given, folder, leased, tuple(new)))
        self.process.start()
        given.close()
        assert self.answer() == "opened"

    def tell(self, *acts: str) -> None:
        for act in acts:
            with suppress(BrokenPipeError):  # it was killed
                self._pipe.send(act)

    def answer(self) -> str:
        said: str = self._pipe.recv()
        return said

    def remaining_answers(self) -> list[str]:
        """All it said until it ended."""
        answers = []
        with suppress(EOFError, ConnectionResetError):
            while True:
                answers.append(self.answer())
        self.end()
        return answers

    def end(self) -> int | None:
        """Its exit code, once it has ended."""
        self.process.join(30)
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()
        self.process.join(30)
        self.process.close()
        self._pipe.close()


def _obey(pipe: Connection, folder: Path, leased: int, new: Sequence[str]) -> None:
    store = open_store(folder)
    lease = store.queue.lease(leased)
    assert lease is not None
    known = Observation("change", title="known", narrative="k")
    learned = (
        known,
        *(Observation("change", title=job.event.id, narrative="n" * 3000) for job in lease.jobs),
    )
    tool = ToolCall("Bash", "make " + "x" * 3000, "ok " * 2000)
    events = [Event(name, NOW, Kind.TOOL_USE, "s1", tool=tool) for name in new]
    new_arrivals = [NewEvent(event, Origin("key", "name", "/root")) for event in events]
    memory = Findings(learned, (Summary(request="R"),))
    cost = CallCost("p", "m", 1, 2, 3)
    acts = {
        "settle": lambda: store.queue.settle(lease, memory, cost),
        "fall back": lambda: store.queue.park(lease, "prose", cost, fallback=memory),
        "accept": lambda: store.events.accept(new_arrivals),
        "close": store.close,
    }
    pipe.send("opened")
    act = ""
    while act != "close":
        act = pipe.recv()
        try:
            acts[act]()
            pipe.send(f"acknowledged {act}")
        except StoreError as error:
            pipe.send(f"{type(error).__name__} {act}")
