"""What every store must do with events and sessions (`stores.py` lists them), and what its suites share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.stores import MARKS, STORES

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

    @pytest.fixture(params=[pytest.param(name, marks=MARKS.get(name, ())) for name in STORES])
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


def take_lease(store: Store, limit: int = 100) -> Lease:
    lease = store.queue.lease(limit)
    assert lease is not None, "work was due"
    return lease


def find_session(store: Store, session: str) -> Session:
    found = store.sessions.find(session)
    assert found is not None
    return found


class StoreContract(StoreSuite):
    # Taking in

    def test_accepting_nothing_changes_nothing(self, store: Store) -> None:
        assert store.events.accept([]).session_ids == ()
        assert store.queue.counters().get("accepted", 0) == 0

    def test_an_accepted_event_is_one_ready_job_of_its_session(self, store: Store, events: Events) -> None:
        accepted = store.events.accept(new_events(events.tool()))
        assert (accepted.fresh, accepted.duplicate, len(accepted.session_ids)) == (1, 0, 1)
        assert store.queue.figures() == QueueFigures(ready=1, oldest_ready_at=NOON + 2)
        assert find_session(store, "s1").id == accepted.session_ids[0]

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
        a, b = find_session(store, "a").id, find_session(store, "b").id
        assert accepted.session_ids == (a, b, a)

    def test_prompts_are_numbered_and_own_their_tool_uses(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("one"), events.tool(), events.prompt("two")))
        store.events.accept(new_events(events.tool()))
        assert [job.prompt_number for job in take_lease(store).jobs] == [1, 1, 2, 2]
        assert find_session(store, "s1").prompt_counter == 2
        assert find_session(store, "s1").first_user_prompt == "one"

    def test_a_number_given_by_the_caller_is_kept(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("one"), events.tool(prompt_number=7)))
        assert [job.prompt_number for job in take_lease(store).jobs] == [1, 7]

    def test_prompts_never_share_a_number_whatever_callers_say(self, store: Store, events: Events) -> None:
        given = (None, 5, 5, 1, None, 2**70, None)
        store.events.accept(new_events(*(events.prompt(f"p{n}", prompt_number=n) for n in given)))
        assert [job.prompt_number for job in take_lease(store).jobs] == [1, 5, 6, 7, 8, 9, 10]

    def test_a_session_start_asks_for_no_observation(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.make(Kind.SESSION_START, note="startup"), events.make(Kind.SESSION_END))
        )
        assert store.queue.figures() == QueueFigures(done=2)
        assert store.queue.lease(10) is None
        assert find_session(store, "s1").prompt_counter == 0

    def test_a_private_prompt_leaves_a_number_and_no_text(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("the secret", private=True), events.prompt("open")))
        assert store.queue.figures() == QueueFigures(ready=1, done=1, oldest_ready_at=NOON + 2)
        assert find_session(store, "s1").first_user_prompt == "open"
        assert find_session(store, "s1").prompt_counter == 2
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
        session = find_session(store, "s1")
        assert (session.status, session.first_user_prompt) == (SessionStatus.ACTIVE, "late")
        assert session.updated_at_epoch == tool.at
        assert ids(take_lease(store).jobs) == [tool.id, prompt.id]

    def test_a_session_is_where_its_first_event_was(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.tool("named", project="given"), events.tool("plain", cwd="/shop"))
        )
        assert find_session(store, "named").project == "given"
        plain = find_session(store, "plain")
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
            seen.append(find_session(store, "s1").status)
        assert seen == ["initialized", "active", "summarizing", "completed", "completed"]
        assert find_session(store, "s1").completed_at_epoch == NOON + 4

    def test_a_resumed_session_is_open_again(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.make(Kind.SESSION_END), events.prompt("one more thing")))
        session = find_session(store, "s1")
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
        assert (
            take_lease(store).jobs[0].event.text == "half an emoji \ufffd, a NUL \0, a whole one \U0001f980"
        )

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
        lease = take_lease(store)
        assert [job.event for job in lease.jobs] == came
        assert [job.attempts for job in lease.jobs] == [1, 1, 1, 1]
        assert lease.attempt == 1

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
        assert find_session(store, "s1").status is SessionStatus.FAILED
        assert find_session(store, "s1").pending == 1
        assert store.sessions.count_open() == 0

    def test_silence_interrupts_only_open_sessions(self, store: Store, events: Events) -> None:
        old = NOON - INTERRUPTED_AFTER_MS
        store.events.accept(new_events(events.tool("silent", at=old - 1), events.tool("awake", at=old)))
        store.events.accept(new_events(events.make(Kind.SESSION_END, "ended", at=old - 1)))
        assert store.sessions.count_open() == 2
        assert store.sessions.interrupt_silent(before=old) == 1
        assert find_session(store, "silent").status is SessionStatus.INTERRUPTED
        assert store.sessions.count_open() == 1
        store.events.accept(new_events(events.prompt("back", "silent")))
        assert find_session(store, "silent").status is SessionStatus.ACTIVE

    def test_the_last_event_is_the_latest_by_its_own_clock(self, store: Store, events: Events) -> None:
        assert store.queue.last_event_at() is None
        store.events.accept(new_events(events.tool("a", at=NOON + 9), events.tool("b", at=NOON + 5)))
        assert store.queue.last_event_at() == NOON + 9

    def test_what_is_counted_adds_up(self, store: Store) -> None:
        store.queue.count("set_aside")
        store.queue.count("set_aside", 4)
        assert store.queue.counters() == {"set_aside": 5}
