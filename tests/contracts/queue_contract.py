"""What every store must do for the pump: list what is waiting, and lease it to one holder at a time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.store_contract import (
    HOUR,
    NOON,
    Events,
    SettableClock,
    StoreSuite,
    find_session,
    ids,
    new_events,
    take_lease,
)

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import (
    CallCost,
    JobState,
    QueueFigures,
    SessionBacklog,
)
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.store.base import Store

DAY = 24 * HOUR
SPEND = CallCost("anthropic", "haiku", input_tokens=100, cached_tokens=20, output_tokens=3, cost_usd=0.5)


class QueueContract(StoreSuite):
    # What waits

    def test_what_two_hooks_of_an_agent_without_ids_report_counts_once_in_its_turn(
        self, store: Store, events: Events
    ) -> None:
        def reported(kind: Kind, **more: Any) -> list[Event]:
            return [events.make(kind, "copilot:a", client="copilot", **more) for _ in range(2)]

        call = ToolCall("bash", '{"command":"make"}', "ok")
        turn = [
            *reported(Kind.SESSION_START, note="startup"),
            *reported(Kind.PROMPT, text="go on"),
            *reported(Kind.TOOL_USE, tool=call),
            *reported(Kind.STOP),
        ]
        assert store.events.accept(new_events(*turn)).fresh == 4
        again = [*reported(Kind.PROMPT, text="go on"), *reported(Kind.TOOL_USE, tool=call)]
        assert store.events.accept(new_events(*again)).fresh == 2, "the next turn"
        late = events.make(Kind.SESSION_START, "copilot:a", client="copilot", note="startup")
        assert store.events.accept(new_events(late)).fresh == 0, "one of its hooks took long"
        resumed = events.make(Kind.SESSION_START, "copilot:a", client="copilot", note="resume")
        assert store.events.accept(new_events(resumed)).fresh == 1
        own = [events.make(Kind.TOOL_USE, "b", tool=call) for _ in range(2)]
        assert store.events.accept(new_events(*own)).fresh == 2, "who reports by the API says what counts"

    def test_nothing_waits_in_an_empty_store(self, store: Store) -> None:
        assert list(store.queue.backlogs()) == []

    def test_what_waits_in_a_session_is_summed_up(self, store: Store, events: Events) -> None:
        prompt, tool = events.prompt("twelve chars"), events.tool(at=NOON - 5)
        store.events.accept(new_events(prompt, tool))
        assert tool.tool is not None
        size = len("twelve chars") + len(tool.tool.input or "") + len(tool.tool.response or "")
        (session_id, _same) = store.events.accept(new_events(prompt, tool)).session_ids
        assert list(store.queue.backlogs()) == [
            SessionBacklog(session_id, 2, size, newest_at=NOON + 1, turn_ended=False)
        ]

    def test_text_of_every_kind_counts_as_something_to_read(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.make(Kind.STOP, text="five5"), events.tool(private=True, text="hidden"))
        )
        assert [one.characters for one in store.queue.backlogs()] == [5]

    def test_sessions_come_in_the_order_of_their_oldest_events(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(*(events.tool(session) for session in ("b", "a", "c", "a", "b"))))
        assert [one.session_id for one in store.queue.backlogs()] == [
            find_session(store, name).id for name in "bac"
        ]

    def test_a_compaction_does_not_wait_for_the_turns_end(self, store: Store, events: Events) -> None:
        """What the session did so far is to be remembered before its start after the compaction."""
        store.events.accept(new_events(events.tool("a"), events.make(Kind.PRE_COMPACT, "a", note="auto")))
        assert [one.turn_ended for one in store.queue.backlogs()] == [True]

    def test_a_turn_has_ended_when_a_stop_waits(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.tool("open"), events.tool("ended"), events.make(Kind.STOP, "ended"))
        )
        assert [one.turn_ended for one in store.queue.backlogs()] == [True, False], "and it comes first"

    def test_many_sessions_in_the_middle_of_a_turn_do_not_hide_one_whose_turn_has_ended(
        self, store: Store, events: Events
    ) -> None:
        late = [events.make(Kind.STOP, "ended"), events.tool("over"), events.make(Kind.SESSION_END, "over")]
        store.events.accept(new_events(*(events.tool(f"s{number}") for number in range(120)), *late))
        first, second, *rest = store.queue.backlogs()
        assert [first.session_id, second.session_id] == [
            find_session(store, "ended").id,
            find_session(store, "over").id,
        ]
        assert rest[0].session_id == find_session(store, "s0").id
        assert [one.turn_ended for one in (first, second, rest[0])] == [True, True, False]
        assert len({one.session_id for one in rest}) == len(rest) <= 120

    def test_an_ended_turn_that_must_wait_or_is_aborted_does_not_come_first(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.make(Kind.STOP, "waits"), events.make(Kind.STOP, "aborted")))
        store.queue.postpone(take_lease(store), NOON + HOUR, "busy", failed=True)
        store.sessions.fail(find_session(store, "aborted").id)
        store.events.accept(new_events(events.tool("due")))
        assert [one.session_id for one in store.queue.backlogs()] == [
            find_session(store, "due").id,
            find_session(store, "waits").id,
        ]

    def test_a_turn_has_ended_when_its_session_has(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.tool("silent"), events.tool("over"), events.tool("open", at=NOON + HOUR))
        )
        store.events.accept(new_events(events.make(Kind.SESSION_END, "over", at=NOON + HOUR)))
        store.sessions.interrupt_silent(before=NOON + HOUR)
        assert [one.turn_ended for one in store.queue.backlogs()] == [True, True, False]

    def test_what_somebody_holds_does_not_wait(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        take_lease(store)
        store.events.accept(new_events(events.tool("a")))
        assert [one.session_id for one in store.queue.backlogs()] == [find_session(store, "b").id]

    def test_what_was_postponed_says_for_how_long_and_how_often(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool(), events.tool()))
        store.queue.postpone(take_lease(store, 1), NOON + HOUR, "busy", failed=True)
        (waiting,) = store.queue.backlogs()
        assert (waiting.events, waiting.attempts, waiting.due_at) == (2, 1, NOON + HOUR)

    def test_many_sessions_that_must_wait_do_not_hide_one_that_is_due(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(*(events.tool(f"s{number}") for number in range(120))))
        for number in range(120):
            store.queue.postpone(take_lease(store), NOON + HOUR - number, "busy", failed=True)
        store.events.accept(new_events(events.tool("due")))
        first, second, *_ = store.queue.backlogs()
        assert first.session_id == find_session(store, "due").id
        assert second.due_at == NOON + HOUR - 119, "the soonest of those that wait"

    def test_a_clock_that_jumped_back_hides_nothing(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        store.events.accept(new_events(events.tool()))
        clock.now = NOON + 1000 * DAY
        store.queue.postpone(take_lease(store), clock.now + HOUR, "busy", failed=True)
        clock.now = NOON
        assert len(store.queue.backlogs()) == 1

    # Handing out

    def test_a_session_can_be_asked_for(self, store: Store, events: Events) -> None:
        made = [events.tool(session) for session in ("a", "b", "b")]
        store.events.accept(new_events(*made))
        b = find_session(store, "b").id
        lease = store.queue.lease(10, b)
        assert lease is not None
        assert (lease.session_id, ids(lease.jobs)) == (b, [made[1].id, made[2].id])
        assert store.queue.lease(10, b) is None, "a session has one holder at a time"
        assert store.queue.lease(10, 999) is None
        store.queue.postpone(lease, NOON + HOUR, "busy", failed=True)
        assert store.queue.lease(10, b) is None, "it must wait"

    def test_a_run_ends_with_its_turn(self, store: Store, events: Events) -> None:
        made = [events.tool(), events.make(Kind.STOP), events.prompt("next"), events.make(Kind.STOP)]
        store.events.accept(new_events(*made))
        for turn in (made[:2], made[2:]):
            lease = take_lease(store)
            assert ids(lease.jobs) == [event.id for event in turn]
            store.queue.settle(lease, Findings())

    def test_an_aborted_sessions_events_wait_until_somebody_works_in_it_again(
        self, store: Store, events: Events
    ) -> None:
        (aborted,) = store.events.accept(new_events(events.tool("aborted"))).session_ids
        store.events.accept(new_events(events.tool("other")))
        store.sessions.fail(aborted)
        assert [one.session_id for one in store.queue.backlogs()] == [find_session(store, "other").id]
        assert store.queue.lease(10, aborted) is None
        assert take_lease(store).session_id == find_session(store, "other").id
        assert store.queue.lease(10) is None
        store.events.accept(new_events(events.prompt("back", "aborted")))
        assert [one.events for one in store.queue.backlogs()] == [2]
        assert len(take_lease(store).jobs) == 2

    @pytest.mark.parametrize("kind", [Kind.TOOL_FAILURE, Kind.STOP])
    def test_whatever_comes_after_an_abort_reopens_the_session(
        self, store: Store, events: Events, kind: Kind
    ) -> None:
        (aborted,) = store.events.accept(new_events(events.tool("aborted"))).session_ids
        store.sessions.fail(aborted)
        store.events.accept(new_events(events.make(kind, "aborted")))
        assert len(take_lease(store).jobs) == 2

    def test_a_turn_is_asked_once_it_has_a_prompt_until_its_end(self, store: Store, events: Events) -> None:
        assert not store.events.has_prompt("s1", "Fix it")
        store.events.accept(new_events(events.tool()))
        assert not store.events.has_prompt("s1", "Fix it")
        store.events.accept(new_events(events.prompt("Fix it")))
        assert store.events.has_prompt("s1", "Something else")
        store.events.accept(new_events(events.make(Kind.STOP)))
        assert not store.events.has_prompt("s1", "Something else")
        assert store.events.has_prompt("s1", "Fix it"), "reported twice"

    def test_no_two_leases_share_a_number(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(*(events.tool(session) for session in "abc")))
        first, second = take_lease(store), take_lease(store)
        store.queue.reclaim()
        numbers = [first.number, second.number, *(take_lease(store).number for _ in range(3))]
        assert sorted(set(numbers)) == numbers

    def test_a_dead_holder_settles_nothing_even_after_its_job_was_resumed(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.tool()))
        dead = take_lease(store)
        store.queue.reclaim()
        store.queue.park(take_lease(store), "why")
        store.queue.resume()
        alive = take_lease(store)
        assert alive.attempt == dead.attempt, "they look alike"
        with pytest.raises(StoreError):
            store.queue.settle(dead, Findings((Observation("change", title="from the grave"),)), SPEND)
        with pytest.raises(StoreError):
            store.queue.postpone(dead, NOON, "from the grave", failed=False, spend=SPEND)
        with pytest.raises(StoreError):
            store.queue.park(dead, "from the grave", SPEND)
        assert store.queue.spending(0) == []
        store.queue.settle(alive, Findings())

    # Leases

    def test_a_lease_is_a_run_of_one_session_from_its_oldest(self, store: Store, events: Events) -> None:
        made = [events.tool(session) for session in ("a", "b", "a", "a", "b")]
        store.events.accept(new_events(*made))
        first, second = take_lease(store, 2), take_lease(store, 2)
        assert ids(first.jobs) == [made[0].id, made[2].id]
        assert ids(second.jobs) == [made[1].id, made[4].id]
        assert store.queue.lease(2) is None, "a session has one holder at a time"
        store.queue.settle(first, Findings())
        assert ids(take_lease(store).jobs) == [made[3].id]
        assert store.queue.figures() == QueueFigures(leased=3, done=2)

    def test_a_settled_lease_keeps_what_was_learned_and_is_done(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("go"), events.tool()))
        store.queue.settle(
            take_lease(store), Findings((Observation("bugfix", title="T"),), (Summary(request="R"),))
        )
        assert store.queue.figures() == QueueFigures(done=2)
        assert find_session(store, "s1").title == "R"
        assert find_session(store, "s1").pending == 0

    def test_a_session_keeps_its_first_title(self, store: Store, events: Events) -> None:
        for request in (None, "first", "second"):
            store.events.accept(new_events(events.tool()))
            store.queue.settle(take_lease(store), Findings(summaries=(Summary(request=request),)))
        assert find_session(store, "s1").title == "first"

    def test_a_lease_can_be_settled_once(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = take_lease(store)
        store.queue.settle(lease, Findings())
        with pytest.raises(StoreError):
            store.queue.settle(lease, Findings(summaries=(Summary(request="twice"),)))
        assert find_session(store, "s1").title is None

    def test_a_lease_that_was_taken_back_settles_nothing(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool(), events.tool()))
        dead = take_lease(store)
        assert store.queue.reclaim() == 2
        alive = take_lease(store)
        assert alive.attempt == 2
        with pytest.raises(StoreError):
            store.queue.settle(dead, Findings(summaries=(Summary(request="from the grave"),)))
        with pytest.raises(StoreError):
            store.queue.park(dead, "from the grave")
        with pytest.raises(StoreError):
            store.queue.postpone(dead, 0, "from the grave", failed=True)
        assert store.queue.figures().leased == 2
        store.queue.settle(alive, Findings())
        assert find_session(store, "s1").title is None

    def test_a_postponed_run_waits_and_nothing_of_its_session_overtakes_it(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        made = [events.tool(), events.tool(), events.tool("other")]
        store.events.accept(new_events(*made))
        store.queue.postpone(take_lease(store, 1), NOON + HOUR, "busy", failed=True)
        assert ids(take_lease(store).jobs) == [made[2].id]
        assert store.queue.lease(10) is None
        clock.now = NOON + HOUR
        lease = take_lease(store)
        assert ids(lease.jobs) == [made[0].id, made[1].id]
        assert [job.attempts for job in lease.jobs] == [2, 1]

    def test_a_run_ends_before_a_job_that_must_wait(self, store: Store, events: Events) -> None:
        made = [events.tool() for _ in range(4)]
        store.events.accept(new_events(*made))
        parked = take_lease(store, 1)
        store.queue.park(parked, "first")
        store.queue.postpone(take_lease(store, 1), NOON + HOUR, "second", failed=True)
        store.queue.resume([job.id for job in parked.jobs])
        assert ids(take_lease(store).jobs) == [made[0].id]

    def test_whoever_resumes_everything_lets_nothing_wait(self, store: Store, events: Events) -> None:
        made = [events.tool() for _ in range(2)]
        store.events.accept(new_events(*made))
        store.queue.postpone(take_lease(store), NOON + HOUR, "busy", failed=True)
        assert store.queue.lease(10) is None
        store.queue.resume()
        assert ids(take_lease(store).jobs) == [each.id for each in made]

    def test_a_wait_is_not_a_failed_attempt(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.postpone(take_lease(store), NOON, "throttled", failed=False)
        assert take_lease(store).attempt == 1

    def test_a_clock_that_jumped_back_makes_nobody_wait_endlessly(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        store.events.accept(new_events(events.tool()))
        clock.now = NOON + 1000 * 24 * HOUR
        store.queue.postpone(take_lease(store), clock.now + HOUR, "busy", failed=True)
        clock.now = NOON
        assert take_lease(store).attempt == 2

    def test_a_parked_job_is_visible_with_its_reason_and_let_pass(self, store: Store, events: Events) -> None:
        made = [events.tool(), events.tool()]
        store.events.accept(new_events(*made))
        store.queue.park(take_lease(store, 1), "unreadable reply")
        ((job, reason),) = store.queue.jobs(JobState.PARKED, 10)
        assert (job.event.id, job.attempts, reason) == (made[0].id, 1, "unreadable reply")
        assert ids(take_lease(store).jobs) == [made[1].id]
        assert find_session(store, "s1").pending == 2

    def test_resumed_jobs_start_anew(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        first, second = take_lease(store), take_lease(store)
        store.queue.park(first, "why")
        store.queue.park(second, "why")
        assert store.queue.resume([first.jobs[0].id, 999]) == 1
        assert store.queue.resume() == 1
        assert store.queue.figures() == QueueFigures(ready=2, oldest_ready_at=NOON + 2)
        assert [reason for _job, reason in store.queue.jobs(JobState.READY, 10)] == [None, None]
        assert take_lease(store).attempt == 1

    def test_reclaiming_takes_back_every_lease_and_keeps_the_attempts(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        take_lease(store), take_lease(store)
        assert store.queue.reclaim() == 2
        assert store.queue.reclaim() == 0
        assert take_lease(store).attempt == 2
