"""What every store must do (`stores.py` lists them).

Longer than other files because it is one thing: the whole contract, to be read from top to bottom.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.stores import STORES

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, Origin, ToolCall
from claude_mem.model.jobs import (
    INTERRUPTED_AFTER_MS,
    Job,
    JobState,
    Lease,
    QueueFigures,
    Session,
    SessionStatus,
)
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import NewEvent

NOON = 1_760_000_000_000
HOUR = 60 * 60 * 1000
ORIGIN = Origin(key="github.com/a/shop", name="shop", root="/home/a/shop", branch="main", commit="c0ffee")


class SettableClock:
    """A clock that stands still until it is told the time."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Events:
    """Makes events that differ where they must: each has its own id and is a millisecond later."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def make(self, kind: Kind, session: str = "s1", **fields: Any) -> Event:
        number = next(self._numbers)
        fields.setdefault("at", NOON + number)
        fields.setdefault("id", f"{number:08d}")
        return Event(kind=kind, session=session, **fields)

    def tool(self, session: str = "s1", **fields: Any) -> Event:
        number = next(self._numbers)
        call = ToolCall("Edit", '{"file_path": "/a.py"}', '{"ok": true}', f"toolu_{number}")
        return self.make(Kind.TOOL_USE, session, **({"tool": call} | fields))

    def prompt(self, text: str | None, session: str = "s1", **fields: Any) -> Event:
        return self.make(Kind.PROMPT, session, text=text, **fields)


def new_events(*events: Event, origin: Origin = ORIGIN) -> list[NewEvent]:
    return [NewEvent(event, origin) for event in events]


def ids(jobs: Sequence[Job]) -> list[str]:
    return [job.event.id for job in jobs]


class StoreSuite:
    """What every suite about a store stands on: a clock, and events that take place by it."""

    @pytest.fixture
    def clock(self) -> SettableClock:
        return SettableClock()

    @pytest.fixture
    def events(self) -> Events:
        return Events()

    @pytest.fixture(params=STORES)
    def open_store(
        self, request: pytest.FixtureRequest, clock: SettableClock, tmp_path: Path
    ) -> Iterator[Callable[[], Store]]:
        """Opens another empty store each time."""
        numbers = itertools.count()
        with ExitStack() as stack:

            def opened() -> Store:
                folder = tmp_path / str(next(numbers))
                folder.mkdir()
                return stack.enter_context(STORES[request.param](folder, clock))

            yield opened

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        return open_store()


def catch_up(store: Store) -> None:
    """The full-text index is in step."""
    while store.text_index.step():
        pass


class StoreContract(StoreSuite):
    # Taking in

    def test_accepting_nothing_changes_nothing(self, store: Store) -> None:
        assert store.events.accept([]).session_ids == ()
        assert store.queue.counters().get("accepted", 0) == 0

    def test_an_accepted_event_is_one_ready_job_of_its_session(self, store: Store, events: Events) -> None:
        accepted = store.events.accept(new_events(events.tool()))
        assert (accepted.fresh, accepted.duplicate, len(accepted.session_ids)) == (1, 0, 1)
        assert store.queue.figures() == QueueFigures(ready=1, oldest_ready_at=NOON + 2)
        assert _session(store, "s1").id == accepted.session_ids[0]

    def test_an_event_delivered_twice_counts_once(self, store: Store, events: Events) -> None:
        event = events.tool()
        first = store.events.accept(new_events(event))
        second = store.events.accept(new_events(event, event))
        assert (second.fresh, second.duplicate) == (0, 2)
        assert second.session_ids == first.session_ids * 2
        assert store.queue.figures().ready == 1
        assert (store.queue.counters()["accepted"], store.queue.counters()["duplicate"]) == (1, 2)

    def test_two_tool_uses_of_a_prompt_without_ids_are_both_accepted(
        self, store: Store, events: Events
    ) -> None:
        made, tested = (
            events.tool(prompt_id="p1", tool=ToolCall("Bash", f'{{"command": "{command}"}}', "ok"))
            for command in ("make", "make test")
        )
        again = replace(tested, id="under another name")
        assert store.events.accept(new_events(made, tested)).fresh == 2
        assert store.events.accept(new_events(tested, again)).fresh == 0
        assert ids([job for job, _ in store.queue.jobs(JobState.READY, 9)]) == [made.id, tested.id]

    def test_an_effect_reported_under_two_ids_counts_once(self, store: Store, events: Events) -> None:
        event = events.tool()
        accepted = store.events.accept(new_events(event, replace(event, id="another hook's")))
        assert (accepted.fresh, accepted.duplicate) == (1, 1)

    def test_one_tool_use_id_in_two_sessions_is_two_effects(self, store: Store, events: Events) -> None:
        event = events.tool()
        accepted = store.events.accept(new_events(event, replace(event, id="other", session="s2")))
        assert accepted.fresh == 2

    def test_a_duplicate_changes_nothing_of_its_session(self, store: Store, events: Events) -> None:
        prompt, end = events.prompt("hello", prompt_id="p1"), events.make(Kind.SESSION_END, note="exit")
        store.events.accept(new_events(prompt, end))
        before = store.sessions.find("s1")
        again = replace(prompt, id="again", at=NOON + HOUR)
        store.events.accept(new_events(prompt, replace(end, session="never seen"), again))
        assert store.sessions.find("s1") == before
        assert store.sessions.find("never seen") is None

    def test_a_batch_answers_with_a_session_id_for_each_arrival(self, store: Store, events: Events) -> None:
        accepted = store.events.accept(new_events(events.tool("a"), events.tool("b"), events.tool("a")))
        a, b = _session(store, "a").id, _session(store, "b").id
        assert accepted.session_ids == (a, b, a)

    def test_prompts_are_numbered_and_own_their_tool_uses(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("one"), events.tool(), events.prompt("two")))
        store.events.accept(new_events(events.tool()))
        assert [job.prompt_number for job in _lease(store).jobs] == [1, 1, 2, 2]
        assert _session(store, "s1").prompt_counter == 2
        assert _session(store, "s1").first_user_prompt == "one"

    def test_a_number_given_by_the_caller_is_kept(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("one"), events.tool(prompt_number=7)))
        assert [job.prompt_number for job in _lease(store).jobs] == [1, 7]

    def test_prompts_never_share_a_number_whatever_callers_say(self, store: Store, events: Events) -> None:
        given = (None, 5, 5, 1, None, 2**70, None)
        store.events.accept(new_events(*(events.prompt(f"p{n}", prompt_number=n) for n in given)))
        assert [job.prompt_number for job in _lease(store).jobs] == [1, 5, 6, 7, 8, 9, 10]

    def test_a_session_start_asks_for_no_observation(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.make(Kind.SESSION_START, note="startup"), events.make(Kind.SESSION_END))
        )
        assert store.queue.figures() == QueueFigures(done=2)
        assert store.queue.lease(10) is None
        assert _session(store, "s1").prompt_counter == 0

    def test_a_private_prompt_leaves_a_number_and_no_text(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("the secret", private=True), events.prompt("open")))
        assert store.queue.figures() == QueueFigures(ready=1, done=1, oldest_ready_at=NOON + 2)
        assert _session(store, "s1").first_user_prompt == "open"
        assert _session(store, "s1").prompt_counter == 2
        ((job, _reason),) = store.queue.jobs(JobState.DONE, 10)
        assert job.event.private
        assert job.event.text is None

    def test_a_private_tool_use_leaves_nothing_of_the_tool(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool(private=True, text="said")))
        ((job, _reason),) = store.queue.jobs(JobState.DONE, 10)
        assert (job.event.tool, job.event.text) == (None, None)

    def test_events_that_overtake_their_sessions_start_are_welcome(
        self, store: Store, events: Events
    ) -> None:
        start, prompt, tool = events.make(Kind.SESSION_START), events.prompt("late"), events.tool()
        store.events.accept(new_events(tool))
        store.events.accept(new_events(prompt))
        store.events.accept(new_events(start))
        session = _session(store, "s1")
        assert (session.status, session.first_user_prompt) == (SessionStatus.ACTIVE, "late")
        assert session.updated_at_epoch == tool.at
        assert ids(_lease(store).jobs) == [tool.id, prompt.id]

    def test_a_session_is_where_its_first_event_was(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.tool("named", project="given"), events.tool("plain", cwd="/shop"))
        )
        assert _session(store, "named").project == "given"
        plain = _session(store, "plain")
        assert (plain.project, plain.cwd, plain.branch) == ("shop", "/shop", "main")

    def test_a_session_follows_its_events(self, store: Store, events: Events) -> None:
        seen = []
        for event in (
            events.make(Kind.SESSION_START),
            events.prompt("go"),
            events.make(Kind.STOP, text="done"),
            events.make(Kind.SESSION_END, note="exit"),
            events.make(Kind.TOOL_USE, tool=ToolCall("Late", use_id="late")),
        ):
            store.events.accept(new_events(event))
            seen.append(_session(store, "s1").status)
        assert seen == ["initialized", "active", "summarizing", "completed", "completed"]
        assert _session(store, "s1").completed_at_epoch == NOON + 4

    def test_a_resumed_session_is_open_again(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.make(Kind.SESSION_END), events.prompt("one more thing")))
        session = _session(store, "s1")
        assert (session.status, session.completed_at_epoch) == (SessionStatus.ACTIVE, None)

    def test_text_that_has_no_utf8_and_numbers_past_64_bits_are_accepted(
        self, store: Store, events: Events
    ) -> None:
        odd = replace(ORIGIN, key="/caf\udce9", root="/caf\udce9")
        event = events.prompt("half an emoji \ud83d, a NUL \0, a whole one \U0001f980", cwd="/caf\udce9")
        strange = events.make(Kind.STOP, "caf\udce9", at=2**80, text="\udc80")
        accepted = store.events.accept(new_events(event, strange, origin=odd))
        assert store.events.accept(new_events(event, strange, origin=odd)).duplicate == 2
        assert accepted.fresh == 2
        assert _lease(store).jobs[0].event.text == "half an emoji \ufffd, a NUL \0, a whole one \U0001f980"

    def test_sixteen_threads_accepting_at_once_lose_nothing(self, store: Store, events: Events) -> None:
        made = [events.tool(f"s{number % 5}") for number in range(400)]
        with ThreadPoolExecutor(16) as pool:
            accepted = list(pool.map(lambda event: store.events.accept(new_events(event)), made * 2))
        assert sum(one.fresh for one in accepted) == 400
        assert store.queue.figures().ready == 400

    # Handing out

    def test_a_job_carries_the_event_as_it_came(self, store: Store, events: Events) -> None:
        common: dict[str, Any] = {
            "cwd": "/home/a/shop",
            "transcript_path": "/t.jsonl",
            "prompt_id": "p1",
            "agent_id": "a1",
            "agent_type": "Explore",
            "project": "shop",
            "prompt_number": 1,
        }
        came = [
            events.prompt("please", **common),
            events.tool(**common),
            events.make(Kind.TOOL_FAILURE, text="exit 1", tool=ToolCall("Bash", use_id="t9"), **common),
            events.make(Kind.PRE_COMPACT, note="auto", text="", **common),
        ]
        store.events.accept(new_events(*came))
        lease = _lease(store)
        assert [job.event for job in lease.jobs] == came
        assert [job.attempts for job in lease.jobs] == [1, 1, 1, 1]
        assert lease.attempt == 1

    def test_a_lease_is_a_run_of_one_session_from_its_oldest(self, store: Store, events: Events) -> None:
        made = [events.tool(session) for session in ("a", "b", "a", "a", "b")]
        store.events.accept(new_events(*made))
        first, second = _lease(store, 2), _lease(store, 2)
        assert ids(first.jobs) == [made[0].id, made[2].id]
        assert ids(second.jobs) == [made[1].id, made[4].id]
        assert store.queue.lease(2) is None, "a session has one holder at a time"
        store.queue.settle(first, Findings())
        assert ids(_lease(store).jobs) == [made[3].id]
        assert store.queue.figures() == QueueFigures(leased=3, done=2)

    def test_a_settled_lease_keeps_what_was_learned_and_is_done(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("go"), events.tool()))
        store.queue.settle(
            _lease(store), Findings((Observation("bugfix", title="T"),), (Summary(request="R"),))
        )
        assert store.queue.figures() == QueueFigures(done=2)
        assert _session(store, "s1").title == "R"
        assert _session(store, "s1").pending == 0

    def test_a_session_keeps_its_first_title(self, store: Store, events: Events) -> None:
        for request in (None, "first", "second"):
            store.events.accept(new_events(events.tool()))
            store.queue.settle(_lease(store), Findings(summaries=(Summary(request=request),)))
        assert _session(store, "s1").title == "first"

    def test_a_lease_can_be_settled_once(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = _lease(store)
        store.queue.settle(lease, Findings())
        with pytest.raises(StoreError):
            store.queue.settle(lease, Findings(summaries=(Summary(request="twice"),)))
        assert _session(store, "s1").title is None

    def test_a_lease_that_was_taken_back_settles_nothing(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool(), events.tool()))
        dead = _lease(store)
        assert store.queue.reclaim() == 2
        alive = _lease(store)
        assert alive.attempt == 2
        with pytest.raises(StoreError):
            store.queue.settle(dead, Findings(summaries=(Summary(request="from the grave"),)))
        with pytest.raises(StoreError):
            store.queue.park(dead, "from the grave")
        with pytest.raises(StoreError):
            store.queue.postpone(dead, 0, "from the grave", failed=True)
        assert store.queue.figures().leased == 2
        store.queue.settle(alive, Findings())
        assert _session(store, "s1").title is None

    def test_a_postponed_run_waits_and_nothing_of_its_session_overtakes_it(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        made = [events.tool(), events.tool(), events.tool("other")]
        store.events.accept(new_events(*made))
        store.queue.postpone(_lease(store, 1), NOON + HOUR, "busy", failed=True)
        assert ids(_lease(store).jobs) == [made[2].id]
        assert store.queue.lease(10) is None
        clock.now = NOON + HOUR
        lease = _lease(store)
        assert ids(lease.jobs) == [made[0].id, made[1].id]
        assert [job.attempts for job in lease.jobs] == [2, 1]

    def test_a_run_ends_before_a_job_that_must_wait(self, store: Store, events: Events) -> None:
        made = [events.tool() for _ in range(4)]
        store.events.accept(new_events(*made))
        parked = _lease(store, 1)
        store.queue.park(parked, "first")
        store.queue.postpone(_lease(store, 1), NOON + HOUR, "second", failed=True)
        store.queue.resume([job.id for job in parked.jobs])
        assert ids(_lease(store).jobs) == [made[0].id]

    def test_whoever_resumes_everything_lets_nothing_wait(self, store: Store, events: Events) -> None:
        made = [events.tool() for _ in range(2)]
        store.events.accept(new_events(*made))
        store.queue.postpone(_lease(store), NOON + HOUR, "busy", failed=True)
        assert store.queue.lease(10) is None
        store.queue.resume()
        assert ids(_lease(store).jobs) == [each.id for each in made]

    def test_a_wait_is_not_a_failed_attempt(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.postpone(_lease(store), NOON, "throttled", failed=False)
        assert _lease(store).attempt == 1

    def test_a_clock_that_jumped_back_makes_nobody_wait_endlessly(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        store.events.accept(new_events(events.tool()))
        clock.now = NOON + 1000 * 24 * HOUR
        store.queue.postpone(_lease(store), clock.now + HOUR, "busy", failed=True)
        clock.now = NOON
        assert _lease(store).attempt == 2

    def test_a_parked_job_is_visible_with_its_reason_and_let_pass(self, store: Store, events: Events) -> None:
        made = [events.tool(), events.tool()]
        store.events.accept(new_events(*made))
        store.queue.park(_lease(store, 1), "unreadable reply")
        ((job, reason),) = store.queue.jobs(JobState.PARKED, 10)
        assert (job.event.id, job.attempts, reason) == (made[0].id, 1, "unreadable reply")
        assert ids(_lease(store).jobs) == [made[1].id]
        assert _session(store, "s1").pending == 2

    def test_resumed_jobs_start_anew(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        first, second = _lease(store), _lease(store)
        store.queue.park(first, "why")
        store.queue.park(second, "why")
        assert store.queue.resume([first.jobs[0].id, 999]) == 1
        assert store.queue.resume() == 1
        assert store.queue.figures() == QueueFigures(ready=2, oldest_ready_at=NOON + 2)
        assert [reason for _job, reason in store.queue.jobs(JobState.READY, 10)] == [None, None]
        assert _lease(store).attempt == 1

    def test_reclaiming_takes_back_every_lease_and_keeps_the_attempts(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        _lease(store), _lease(store)
        assert store.queue.reclaim() == 2
        assert store.queue.reclaim() == 0
        assert _lease(store).attempt == 2

    # Answering

    def test_jobs_come_in_pages_by_id(self, store: Store, events: Events) -> None:
        made = [events.tool(f"s{number % 2}") for number in range(5)]
        store.events.accept(new_events(*made))
        first = [job for job, _reason in store.queue.jobs(JobState.READY, 3)]
        rest = [job for job, _reason in store.queue.jobs(JobState.READY, 3, after=first[-1].id)]
        assert ids(first + rest) == [event.id for event in made]

    def test_a_session_is_found_by_either_id(self, store: Store, events: Events) -> None:
        (session_id,) = store.events.accept(new_events(events.tool())).session_ids
        assert store.sessions.find(session_id) == store.sessions.find("s1") is not None
        assert store.sessions.find(session_id + 1) is None
        assert store.sessions.find("nobody") is None
        assert store.sessions.find(2**80) is None

    def test_a_failed_session_keeps_its_queued_events(self, store: Store, events: Events) -> None:
        (session_id,) = store.events.accept(new_events(events.tool())).session_ids
        store.sessions.fail(session_id)
        assert _session(store, "s1").status is SessionStatus.FAILED
        assert _session(store, "s1").pending == 1
        assert store.sessions.count_open() == 0

    def test_silence_interrupts_only_open_sessions(self, store: Store, events: Events) -> None:
        old = NOON - INTERRUPTED_AFTER_MS
        store.events.accept(new_events(events.tool("silent", at=old - 1), events.tool("awake", at=old)))
        store.events.accept(new_events(events.make(Kind.SESSION_END, "ended", at=old - 1)))
        assert store.sessions.count_open() == 2
        assert store.sessions.interrupt_silent(before=old) == 1
        assert _session(store, "silent").status is SessionStatus.INTERRUPTED
        assert store.sessions.count_open() == 1
        store.events.accept(new_events(events.prompt("back", "silent")))
        assert _session(store, "silent").status is SessionStatus.ACTIVE

    def test_the_last_event_is_the_latest_by_its_own_clock(self, store: Store, events: Events) -> None:
        assert store.queue.last_event_at() is None
        store.events.accept(new_events(events.tool("a", at=NOON + 9), events.tool("b", at=NOON + 5)))
        assert store.queue.last_event_at() == NOON + 9

    def test_what_is_counted_adds_up(self, store: Store) -> None:
        store.queue.count("set_aside")
        store.queue.count("set_aside", 4)
        assert store.queue.counters() == {"set_aside": 5}


def _session(store: Store, session: str) -> Session:
    found = store.sessions.find(session)
    assert found is not None
    return found


def _lease(store: Store, limit: int = 100) -> Lease:
    lease = store.queue.lease(limit)
    assert lease is not None, "work was due"
    return lease
