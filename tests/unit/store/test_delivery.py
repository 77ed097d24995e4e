"""Row 9: whatever is delivered twice, out of order or by a worker that died, each event has one effect.

A model of the queue in plain Python runs beside the store; after every step both must agree.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.contracts.store_contract import HOUR, NOON, SettableClock, new_events

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import JobState, Lease
from claude_mem.model.memory import Findings, Observation
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore

SESSIONS = ("a", "b", "c")


def the_event(session: str, number: int) -> Event:
    """The same event whenever it is asked for: a delivery draws from these, again and again."""
    kind = (Kind.TOOL_USE, Kind.PROMPT, Kind.SESSION_START, Kind.STOP)[number % 4]
    tool = ToolCall("Bash", "ls", "x", f"t{number}") if kind is Kind.TOOL_USE else None
    return Event(
        f"{session}{number:03d}", NOON + number, kind, session, tool=tool, prompt_id=f"p{number}", text="t"
    )


class Modelled:
    """One event as the model sees it."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.state = JobState.DONE if event.kind is Kind.SESSION_START else JobState.READY
        self.not_before = 0


@dataclass(frozen=True)
class Held:
    lease: Lease
    jobs: list[Modelled]


class Delivery(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="claude-mem-delivery-"))
        self.clock = SettableClock()
        self.store = self.open()
        self.queue: list[Modelled] = []  # in the order of acceptance
        self.held: list[Held] = []
        self.dead: list[Lease] = []
        self.settled = 0

    def open(self) -> SqliteStore:
        return SqliteStore.open(self.folder / "q.db", clock=self.clock, backups=self.folder / "backups")

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    def of(self, session: str, *states: JobState) -> list[Modelled]:
        return [job for job in self.queue if job.event.session == session and job.state in states]

    def is_due(self, job: Modelled) -> bool:
        return job.not_before <= self.clock.now or job.not_before > self.clock.now + 24 * HOUR

    def next_run(self, limit: int) -> list[Modelled]:
        """What the store must hand out next, by the rules as a person would say them."""
        runs = []
        for session in SESSIONS:
            ready = self.of(session, JobState.READY)
            if ready and self.is_due(ready[0]) and not self.of(session, JobState.LEASED):
                run = []
                for job in ready:
                    if not self.is_due(job):
                        break
                    run.append(job)
                    if job.event.kind is Kind.STOP:
                        break
                runs.append(run)
        return min(runs, key=lambda run: self.queue.index(run[0]))[:limit] if runs else []

    @rule(
        deliveries=st.lists(
            st.tuples(st.sampled_from(SESSIONS), st.integers(0, 11), st.booleans()), min_size=1, max_size=8
        )
    )
    def deliver(self, deliveries: list[tuple[str, int, bool]]) -> None:
        batch = []
        for session, number, by_another_hook in deliveries:
            event = the_event(session, number)
            batch.append(replace(event, id=event.id + "'") if by_another_hook else event)
        accepted = self.store.events.accept(new_events(*batch))
        known = {(job.event.session, job.event.effect_key_in(None)) for job in self.queue}
        fresh = 0
        for event in batch:
            if (event.session, event.effect_key_in(None)) not in known:
                known.add((event.session, event.effect_key_in(None)))
                self.queue.append(Modelled(event))
                fresh += 1
        assert (accepted.fresh, accepted.duplicate) == (fresh, len(batch) - fresh)

    @rule(limit=st.integers(1, 5))
    def lease(self, limit: int) -> None:
        wanted = self.next_run(limit)
        lease = self.store.queue.lease(limit)
        assert [job.event.id for job in wanted] == [job.event.id for job in (lease.jobs if lease else ())]
        if lease is not None:
            for job in wanted:
                job.state = JobState.LEASED
            self.held.append(Held(lease, wanted))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        held = self.take(data)
        learned = tuple(Observation("change", title=job.event.id) for job in held.jobs)
        self.store.queue.settle(held.lease, Findings(learned))
        self.settled += len(held.jobs)
        for job in held.jobs:
            job.state = JobState.DONE
        self.dead.append(held.lease)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), wait=st.integers(-HOUR, 30 * HOUR), failed=st.booleans())
    def postpone(self, data: st.DataObject, wait: int, failed: bool) -> None:
        held = self.take(data)
        self.store.queue.postpone(held.lease, self.clock.now + wait, "later", failed=failed)
        self.dead.append(held.lease)
        for job in held.jobs:
            job.state, job.not_before = JobState.READY, self.clock.now + wait

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def park(self, data: st.DataObject) -> None:
        held = self.take(data)
        self.store.queue.park(held.lease, "broken")
        self.dead.append(held.lease)
        for job in held.jobs:
            job.state = JobState.PARKED

    @rule()
    def resume(self) -> None:
        parked = [job for job in self.queue if job.state is JobState.PARKED]
        assert self.store.queue.resume() == len(parked)
        for job in parked:
            job.state = JobState.READY
        for job in self.queue:
            if job.state is JobState.READY:
                job.not_before = 0  # whoever resumes everything wants nothing to wait

    @precondition(lambda self: any(job.state is JobState.PARKED for job in self.queue))
    @rule()
    def drop(self) -> None:
        (oldest, _reason), *_ = self.store.queue.jobs(JobState.PARKED, 1)
        everything = [job.id for state in JobState for job, _reason in self.store.queue.jobs(state, 1000)]
        others = [
            id
            for id in everything
            if id not in {j.id for j, _ in self.store.queue.jobs(JobState.PARKED, 1000)}
        ]
        assert self.store.queue.drop([oldest.id, *others]) == 1
        next(job for job in self.queue if job.state is JobState.PARKED).state = JobState.DONE

    @rule()
    def die_and_come_back(self) -> None:
        self.store.close()
        self.store = self.open()
        leased = [job for job in self.queue if job.state is JobState.LEASED]
        assert self.store.queue.reclaim() == len(leased)
        for job in leased:
            job.state = JobState.READY
        self.dead += [held.lease for held in self.held]
        self.held.clear()

    @precondition(lambda self: self.dead)
    @rule(data=st.data())
    def a_dead_holder_tries_to_settle(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.dead))
        with pytest.raises(StoreError):
            self.store.queue.settle(lease, Findings((Observation("change", title="ghost"),)))

    @rule(by=st.integers(-48 * HOUR, 48 * HOUR))
    def the_clock_jumps(self, by: int) -> None:
        self.clock.now += by

    def take(self, data: st.DataObject) -> Held:
        return self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))

    @invariant()
    def every_accepted_event_is_in_exactly_one_state(self) -> None:
        figures = self.store.queue.figures()
        counted = {
            JobState.READY: figures.ready,
            JobState.LEASED: figures.leased,
            JobState.PARKED: figures.parked,
            JobState.DONE: figures.done,
        }
        for state, number in counted.items():
            modelled = [job.event.id for job in self.queue if job.state is state]
            assert [job.event.id for job, _reason in self.store.queue.jobs(state, 1000)] == modelled
            assert number == len(modelled)

    @invariant()
    def each_settled_event_left_one_observation(self) -> None:
        with closing(sqlite3.connect(self.folder / "q.db")) as db:
            titles = [title for (title,) in db.execute("SELECT title FROM observations")]
        assert len(titles) == len(set(titles)) == self.settled


Delivery.TestCase.settings = settings(
    max_examples=settings().max_examples // 2, suppress_health_check=list(HealthCheck)
)
TestDelivery = Delivery.TestCase
