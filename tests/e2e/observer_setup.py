"""The observing half of a worker with a scripted model, stepped through by a clock of its own."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.test_hook_to_memory import rows, telling_apart
from tests.harness.model_script import Request, Say, Script, Step
from tests.harness.model_server import ModelServer

from claude_mem.model.events import Event, Kind, Origin, ToolCall
from claude_mem.model.jobs import JobState, SpentSoFar
from claude_mem.observe import mode, observer
from claude_mem.observe.offline import Offline
from claude_mem.providers import anthropic
from claude_mem.providers.registry import Access
from claude_mem.queue.pump import Pump
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent

NOON = 1_780_000_000_000
SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
GOOD = Say("<observation><title>Found</title><facts><fact>It works.</fact></facts></observation>")


@dataclass
class Rig:
    """The observing half of a worker, and a clock that only moves when nothing is left to do."""

    server: ModelServer
    store: SqliteStore
    told: list[str] = field(default_factory=list)
    asked_at: list[int] = field(default_factory=list)
    now: int = NOON

    def __post_init__(self) -> None:
        model = anthropic.build(
            Access(api_key="k", base_url=self.server.url, model="scripted"),
            clock=self.clock,
            jitter=lambda: 0.5,
        )
        watched = observer.Observer(
            model,
            Offline().observe,
            observer.ObserverOptions(mode.load("code", [])),
            lambda _: SpentSoFar(),
            self.told.append,
        )
        self.pump = Pump(
            self.store.queue,
            watched.observe,
            watched.fall_back,
            self.clock,
            self.told.append,
            jitter=lambda: 0.0,
        )

    def clock(self) -> int:
        return self.now

    def queue(self, *sessions: str) -> None:
        """A turn that has ended, in each of these sessions."""
        for session in sessions:
            tool = ToolCall("Bash", '{"command": "make"}', "done", f"toolu_{session}")
            events = (
                Event(f"{session}-1", self.now, Kind.PROMPT, session, text=f"make {session}"),
                Event(f"{session}-2", self.now, Kind.TOOL_USE, session, tool=tool),
                Event(f"{session}-3", self.now, Kind.STOP, session, text="It is made."),
            )
            self.store.events.accept([NewEvent(event, Origin("key", "name", "/root")) for event in events])

    def step(self) -> int | None:
        """One step of the pump; keeps at what time the model was asked."""
        before = len(self.server.requests)
        again = self.pump.step()
        self.asked_at += [self.now] * (len(self.server.requests) - before)
        return again

    def run(self, until: int) -> None:
        """All that happens up to a time; it is that time afterwards."""
        while (again := self.step()) is not None and again <= until:
            self.now = max(self.now, again)
        self.now = until

    @property
    def waits(self) -> list[int]:
        """Seconds between one request and the next."""
        return [(b - a) // SECOND for a, b in zip(self.asked_at, self.asked_at[1:], strict=False)]

    def parked(self) -> list[tuple[str, str | None]]:
        return [(job.event.id, reason) for job, reason in self.store.queue.jobs(JobState.PARKED, 100)]

    def observed(self) -> list[str]:
        """Which tool uses have led to an observation, each as often as it has."""
        found = rows(self.store.path.parent, "SELECT tool_use_ids FROM observations ORDER BY id")
        return [id for each in found for id in json.loads(each["tool_use_ids"])]


@contextmanager
def rigged(data: Path, *steps: Step, script: Script | None = None) -> Iterator[Rig]:
    path = data / "claude-mem.db"
    with ModelServer(script or steps) as server:
        rig: Rig
        with closing(SqliteStore.open(path, clock=lambda: rig.now, backups=data / "backups")) as store:
            rig = Rig(server, store)
            yield rig


def many(count: int) -> list[str]:
    return [f"s{n:02d}" for n in range(count)]


def ids(sessions: list[str]) -> list[str]:
    return [f"toolu_{session}" for session in sessions]


class Moody:
    """A server that answers with `step` until it is told better; then it says something new each time."""

    def __init__(self, step: Step) -> None:
        self.step: Step | None = step
        self._better = telling_apart()

    def __call__(self, request: Request) -> Step:
        return self.step or self._better(request)
