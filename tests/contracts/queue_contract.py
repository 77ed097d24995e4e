"""What every store must do for the pump: say what waits, hand it out, save what came of it and its cost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.store_contract import (
    HOUR,
    NOON,
    ORIGIN,
    Events,
    SettableClock,
    StoreSuite,
    ids,
    new_events,
)

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import (
    CallCost,
    JobState,
    Lease,
    QueueFigures,
    SessionBacklog,
    SessionStatus,
    SpentSoFar,
)
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Filters, Ref
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import DailyCost, Revision

DAY = 24 * HOUR
OFFLINE = Findings((Observation("change", title="Offline"),), (Summary("Seen offline"),))
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
        assert [one.session_id for one in store.queue.backlogs()] == [_id(store, name) for name in "bac"]

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
        assert [first.session_id, second.session_id] == [_id(store, "ended"), _id(store, "over")]
        assert rest[0].session_id == _id(store, "s0")
        assert [one.turn_ended for one in (first, second, rest[0])] == [True, True, False]
        assert len({one.session_id for one in rest}) == len(rest) <= 120

    def test_an_ended_turn_that_must_wait_or_is_aborted_does_not_come_first(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.make(Kind.STOP, "waits"), events.make(Kind.STOP, "aborted")))
        store.queue.postpone(_lease(store), NOON + HOUR, "busy", failed=True)
        store.sessions.fail(_id(store, "aborted"))
        store.events.accept(new_events(events.tool("due")))
        assert [one.session_id for one in store.queue.backlogs()] == [_id(store, "due"), _id(store, "waits")]

    def test_a_turn_has_ended_when_its_session_has(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.tool("silent"), events.tool("over"), events.tool("open", at=NOON + HOUR))
        )
        store.events.accept(new_events(events.make(Kind.SESSION_END, "over", at=NOON + HOUR)))
        store.sessions.interrupt_silent(before=NOON + HOUR)
        assert [one.turn_ended for one in store.queue.backlogs()] == [True, True, False]

    def test_what_somebody_holds_does_not_wait(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b")))
        _lease(store)
        store.events.accept(new_events(events.tool("a")))
        assert [one.session_id for one in store.queue.backlogs()] == [_id(store, "b")]

    def test_what_was_postponed_says_for_how_long_and_how_often(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool(), events.tool()))
        store.queue.postpone(_lease(store, 1), NOON + HOUR, "busy", failed=True)
        (waiting,) = store.queue.backlogs()
        assert (waiting.events, waiting.attempts, waiting.due_at) == (2, 1, NOON + HOUR)

    def test_many_sessions_that_must_wait_do_not_hide_one_that_is_due(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(*(events.tool(f"s{number}") for number in range(120))))
        for number in range(120):
            store.queue.postpone(_lease(store), NOON + HOUR - number, "busy", failed=True)
        store.events.accept(new_events(events.tool("due")))
        first, second, *_ = store.queue.backlogs()
        assert first.session_id == _id(store, "due")
        assert second.due_at == NOON + HOUR - 119, "the soonest of those that wait"

    def test_a_clock_that_jumped_back_hides_nothing(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        store.events.accept(new_events(events.tool()))
        clock.now = NOON + 1000 * DAY
        store.queue.postpone(_lease(store), clock.now + HOUR, "busy", failed=True)
        clock.now = NOON
        assert len(store.queue.backlogs()) == 1

    # Handing out

    def test_a_session_can_be_asked_for(self, store: Store, events: Events) -> None:
        made = [events.tool(session) for session in ("a", "b", "b")]
        store.events.accept(new_events(*made))
        b = _id(store, "b")
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
            lease = _lease(store)
            assert ids(lease.jobs) == [event.id for event in turn]
            store.queue.settle(lease, Findings())

    def test_an_aborted_sessions_events_wait_until_somebody_works_in_it_again(
        self, store: Store, events: Events
    ) -> None:
        (aborted,) = store.events.accept(new_events(events.tool("aborted"))).session_ids
        store.events.accept(new_events(events.tool("other")))
        store.sessions.fail(aborted)
        assert [one.session_id for one in store.queue.backlogs()] == [_id(store, "other")]
        assert store.queue.lease(10, aborted) is None
        assert _lease(store).session_id == _id(store, "other")
        assert store.queue.lease(10) is None
        store.events.accept(new_events(events.prompt("back", "aborted")))
        assert [one.events for one in store.queue.backlogs()] == [2]
        assert len(_lease(store).jobs) == 2

    @pytest.mark.parametrize("kind", [Kind.TOOL_FAILURE, Kind.STOP])
    def test_whatever_comes_after_an_abort_reopens_the_session(
        self, store: Store, events: Events, kind: Kind
    ) -> None:
        (aborted,) = store.events.accept(new_events(events.tool("aborted"))).session_ids
        store.sessions.fail(aborted)
        store.events.accept(new_events(events.make(kind, "aborted")))
        assert len(_lease(store).jobs) == 2

    def test_a_turn_is_asked_once_it_has_a_prompt_until_its_end(self, store: Store, events: Events) -> None:
        assert not store.events.is_asked("s1", "Fix it")
        store.events.accept(new_events(events.tool()))
        assert not store.events.is_asked("s1", "Fix it")
        store.events.accept(new_events(events.prompt("Fix it")))
        assert store.events.is_asked("s1", "Something else")
        store.events.accept(new_events(events.make(Kind.STOP)))
        assert not store.events.is_asked("s1", "Something else")
        assert store.events.is_asked("s1", "Fix it"), "reported twice"

    def test_no_two_leases_share_a_number(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(*(events.tool(session) for session in "abc")))
        first, second = _lease(store), _lease(store)
        store.queue.reclaim()
        numbers = [first.number, second.number, *(_lease(store).number for _ in range(3))]
        assert sorted(set(numbers)) == numbers

    def test_a_dead_holder_settles_nothing_even_after_its_job_was_resumed(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.tool()))
        dead = _lease(store)
        store.queue.reclaim()
        store.queue.park(_lease(store), "why")
        store.queue.resume()
        alive = _lease(store)
        assert alive.attempt == dead.attempt, "they look alike"
        with pytest.raises(StoreError):
            store.queue.settle(dead, Findings((Observation("change", title="from the grave"),)), SPEND)
        with pytest.raises(StoreError):
            store.queue.postpone(dead, NOON, "from the grave", failed=False, spend=SPEND)
        with pytest.raises(StoreError):
            store.queue.park(dead, "from the grave", SPEND)
        assert store.queue.spending(0) == []
        store.queue.settle(alive, Findings())

    # Around a batch

    def test_a_batch_says_whose_events_these_are(self, store: Store, events: Events) -> None:
        tool = events.tool(project="given")
        store.events.accept(new_events(tool, origin=replace(ORIGIN, branch="fix")))
        lease = _lease(store)
        batch = store.queue.batch(lease)
        assert (batch.project, batch.session, batch.branch) == ("given", "s1", "fix")
        assert batch.events == tuple(job.event for job in lease.jobs)
        assert (batch.request, batch.recorded) == (None, ())

    def test_a_batch_knows_the_request_it_came_of(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("one"), events.tool(), events.make(Kind.STOP)))
        store.events.accept(
            new_events(events.prompt("two"), events.tool(), events.tool(), events.prompt("three"))
        )
        seen = []
        for limit in (10, 2, 10):
            lease = _lease(store, limit)
            seen.append(store.queue.batch(lease).request)
            store.queue.settle(lease, Findings())
        assert seen == ["one", "two", "two"]

    def test_a_private_request_is_not_told(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.prompt("the secret", private=True), events.make(Kind.POST_COMPACT))
        )
        assert store.queue.batch(_lease(store)).request is None

    def test_a_private_request_hides_behind_the_one_before_it(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("open"), events.prompt("the secret", private=True)))
        store.queue.settle(_lease(store), Findings())
        store.events.accept(new_events(events.make(Kind.POST_COMPACT)))
        assert store.queue.batch(_lease(store)).request == "open"

    def test_a_batch_knows_what_the_agent_had_said_last(self, store: Store, events: Events) -> None:
        def said(text: str, session: str = "s1", *, private: bool = False) -> Event:
            return replace(events.make(Kind.STOP, session), text=text, private=private)

        store.events.accept(new_events(said("Shall I?"), said("of another", "other")))
        for _ in range(2):
            store.queue.settle(_lease(store), Findings())
        secret = said("the secret", private=True)
        store.events.accept(new_events(secret, events.prompt("yes"), said("Did it.")))
        assert store.queue.batch(_lease(store)).before == "Shall I?"

    def test_a_batch_knows_the_last_titles_of_its_session(self, store: Store, events: Events) -> None:
        for session in ("other", "s1"):
            for number in range(7):
                store.events.accept(new_events(events.tool(session)))
                learned = [_observed(f"{session} {number} {part}") for part in range(5)]
                _settle(store, *learned, Observation("change", narrative=f"no title {session} {number}"))
        store.events.accept(new_events(events.tool()))
        recorded = store.queue.batch(_lease(store)).recorded
        assert recorded == tuple(f"s1 {number} {part}" for number in range(1, 7) for part in range(5))

    # Keeping

    def test_what_a_project_remembers_is_not_stored_twice(self, store: Store, events: Events) -> None:
        said = _observed("The tests need a running Redis")
        store.events.accept(new_events(events.tool()))
        _settle(store, said, replace(said, title="the tests need a running redis."))
        store.events.accept(new_events(events.tool()))
        _settle(store, said, _observed("Something else"))
        store.events.accept(new_events(events.tool()))
        assert store.queue.batch(_lease(store)).recorded == (
            "The tests need a running Redis",
            "Something else",
        )
        assert store.queue.figures() == QueueFigures(leased=1, done=2), (
            "a batch that told nothing new is done"
        )

    def test_another_project_and_a_later_month_remember_for_themselves(
        self, store: Store, events: Events
    ) -> None:
        said = _observed("The tests need a running Redis")
        for session, origin, at in (
            ("s1", ORIGIN, NOON),
            ("elsewhere", replace(ORIGIN, key="github.com/b/shop"), NOON),  # of the same name
            ("soon", ORIGIN, NOON + 29 * DAY),
            ("later", ORIGIN, NOON + 31 * DAY),
        ):
            store.events.accept(new_events(events.tool(session, at=at), origin=origin))
            _settle(store, said)
        known = {}
        for session in ("s1", "elsewhere", "soon", "later"):
            store.events.accept(new_events(events.tool(session)))
            known[session] = len(store.queue.batch(_lease(store)).recorded)
        assert known == {"s1": 1, "elsewhere": 1, "soon": 0, "later": 1}

    @pytest.mark.parametrize(
        ("summary", "title", "subtitle"),
        [
            (Summary(request="Fix  the\nlogin", completed="It works"), "Fix the login", "It works"),
            (Summary(request="Fix it", learned="Why"), "Fix it", "Why"),
            (Summary(request="Fix it"), "Fix it", None),
            (
                Summary(request="make the login form " * 8, completed="done " * 40),
                ("make the login form " * 4).rstrip() + "…",
                ("done " * 24).rstrip() + "…",
            ),
            (Summary(request="长" * 100), "长" * 79 + "…", None),
            (Summary(completed="It works"), None, None),
        ],
    )
    def test_a_session_is_called_by_its_first_good_summary(
        self, store: Store, events: Events, summary: Summary, title: str | None, subtitle: str | None
    ) -> None:
        for told in (Summary(learned="no request in it"), summary):
            store.events.accept(new_events(events.tool()))
            store.queue.settle(_lease(store), Findings(summaries=(told,)))
        session = store.sessions.find("s1")
        assert session is not None
        assert (session.title, session.subtitle) == (title, subtitle)
        assert len(session.title or "") <= 80
        assert len(session.subtitle or "") <= 120
        store.events.accept(new_events(events.tool()))
        store.queue.settle(_lease(store), Findings(summaries=(Summary(request="another", completed="more"),)))
        again = store.sessions.find("s1")
        assert again is not None
        assert again.title == (title if subtitle else "another"), "until it came to something"
        assert again.subtitle == "more"

    # Giving up

    def test_what_was_dropped_is_done_and_says_so(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b"), events.tool("c")))
        parked, held = _lease(store), _lease(store)
        store.queue.park(parked, "unreadable")
        (waiting, _reason) = store.queue.jobs(JobState.READY, 10)[0]
        dropped = parked.jobs[0].id
        assert store.queue.drop([dropped, held.jobs[0].id, waiting.id, 999]) == 1
        assert store.queue.drop([dropped]) == 0
        assert [(job.id, reason) for job, reason in store.queue.jobs(JobState.DONE, 10)] == [
            (dropped, "dropped by the user")
        ]
        assert store.queue.figures() == QueueFigures(ready=1, leased=1, done=1, oldest_ready_at=NOON + 6)
        assert store.queue.resume() == 0

    # Standing in for a model whose replies cannot be read

    def test_a_fallback_is_parked_and_remembered_and_gives_way_to_what_is_settled(
        self, store: Store, events: Events
    ) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("a"), events.tool("b")))
        store.queue.park(_lease(store), "prose", SPEND, fallback=OFFLINE)
        store.queue.settle(_lease(store), Findings())
        assert store.queue.figures() == QueueFigures(parked=2, done=1, fallback=2)
        assert _said(store) == {"Offline", "Seen offline"}
        assert store.queue.resume() == 2
        assert _said(store) == {"Offline", "Seen offline"}, "until it is observed after all"
        lease = _lease(store)
        assert store.queue.batch(lease).recorded == ()
        store.queue.settle(lease, Findings((Observation("change", title="Model"),), (Summary("Asked"),)))
        assert _said(store) == {"Model", "Asked"}
        found = store.sessions.find("a")
        assert found is not None
        assert found.title == "Asked"
        assert store.queue.figures() == QueueFigures(done=3)

    def test_a_second_fallback_takes_the_place_of_the_first(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        for _ in range(3):
            store.queue.park(_lease(store), "prose", fallback=OFFLINE)
            assert sorted(_listed(store)) == ["Offline", "Seen offline"]
            store.queue.resume()
        store.queue.settle(_lease(store), Findings())
        assert _said(store) == set(), "the model found nothing worth remembering"

    def test_a_fallback_survives_a_retry_that_fails(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.park(_lease(store), "prose", fallback=OFFLINE)
        store.queue.resume()
        store.queue.park(_lease(store), "refused")
        assert _said(store) == {"Offline", "Seen offline"}
        assert store.queue.figures() == QueueFigures(parked=1, fallback=1)
        store.queue.resume()
        store.queue.settle(_lease(store), Findings())
        assert _said(store) == set()

    def test_a_batch_with_a_fallback_is_resumed_as_a_whole(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("a"), events.tool("b")))
        first, second = _lease(store), _lease(store)
        store.queue.park(first, "prose", fallback=OFFLINE)
        store.queue.park(second, "prose", fallback=Findings((Observation("change", title="Of b"),)))
        assert store.queue.resume([first.jobs[1].id]) == 2
        assert [job.id for job in _lease(store).jobs] == [job.id for job in first.jobs]
        assert store.queue.figures() == QueueFigures(leased=2, parked=1, fallback=1)

    def test_what_a_person_has_taken_up_stays(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        two = (*OFFLINE.observations, Observation("change", title="Pinned"))
        store.queue.park(_lease(store), "prose", fallback=Findings(two))
        (ref,) = (ref for ref, title in _titled(store) if title == "Pinned")
        store.memories.revise([Revision(ref.id, {"pinned": 1})])
        store.queue.resume()
        store.queue.settle(_lease(store), Findings())
        assert _said(store) == {"Pinned"}

    def test_a_fallback_of_dropped_jobs_stays_for_good(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = _lease(store)
        store.queue.park(lease, "prose", fallback=OFFLINE)
        assert store.queue.drop([job.id for job in lease.jobs]) == 1
        assert store.queue.figures() == QueueFigures(done=1)
        assert store.queue.resume() == 0
        assert _said(store) == {"Offline", "Seen offline"}

    def test_a_dead_holder_leaves_no_fallback(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        dead = _lease(store)
        store.queue.reclaim()
        store.queue.settle(_lease(store), Findings())
        with pytest.raises(StoreError):
            store.queue.park(dead, "prose", fallback=OFFLINE)
        assert _said(store) == set()
        assert store.queue.figures() == QueueFigures(done=1)

    # What it costs

    def test_a_call_is_paid_for_whatever_came_of_it(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.postpone(_lease(store), NOON, "later", failed=True, spend=SPEND)
        store.queue.park(_lease(store), "unreadable", SPEND)
        store.queue.resume()
        store.queue.settle(_lease(store), Findings(), SPEND)
        assert store.queue.spent(_id(store, "s1"), NOON) == SpentSoFar(
            daily_tokens=369, session_tokens=369, daily_usd=1.5, session_usd=1.5
        )

    def test_what_was_not_asked_costs_nothing(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.settle(_lease(store), Findings())
        assert store.queue.spent(_id(store, "s1"), NOON) == SpentSoFar()
        assert store.queue.spending(0) == []

    def test_a_session_pays_for_its_life_and_the_day_for_all_sessions(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        for day, session in ((0, "a"), (1, "a"), (1, "b")):
            clock.now = NOON + day * DAY
            store.events.accept(new_events(events.tool(session)))
            store.queue.settle(_lease(store), Findings(), SPEND)
        assert store.queue.spent(_id(store, "b"), clock.now) == SpentSoFar(
            daily_tokens=246, session_tokens=123, daily_usd=1.0, session_usd=0.5
        )
        assert store.queue.spent(_id(store, "a"), clock.now).session_tokens == 246
        midnight = clock.now - clock.now % DAY + DAY
        assert store.queue.spent(_id(store, "a"), midnight - 1).daily_tokens == 246
        assert store.queue.spent(_id(store, "a"), midnight).daily_tokens == 0

    def test_spending_is_summed_by_day_project_and_model(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        free = replace(SPEND, provider="openai", model="llama", cost_usd=None)
        for hours, project, spend in (
            (0, "shop", SPEND),
            (1, "shop", SPEND),
            (1, "shop", free),
            (25, "shop", SPEND),
            (25, "bank", replace(SPEND, cost_usd=None)),
        ):
            clock.now = NOON + hours * HOUR
            store.events.accept(new_events(events.tool(project, project=project)))
            store.queue.settle(_lease(store), Findings(), spend)
        first, second = "2025-10-09", "2025-10-10"
        assert store.queue.spending(NOON) == [
            DailyCost(first, "shop", "anthropic", "haiku", 2, 200, 40, 6, 1.0),
            DailyCost(first, "shop", "openai", "llama", 1, 100, 20, 3, None),
            DailyCost(second, "bank", "anthropic", "haiku", 1, 100, 20, 3, None),
            DailyCost(second, "shop", "anthropic", "haiku", 1, 100, 20, 3, 0.5),
        ]
        assert [one.day for one in store.queue.spending(NOON + 25 * HOUR)] == [second, second]

    def test_a_session_of_any_state_pays(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = _lease(store)
        store.sessions.fail(lease.session_id)
        store.queue.postpone(lease, NOON, "aborted", failed=False, spend=SPEND)
        assert store.queue.spent(lease.session_id, NOON).session_tokens == 123
        found = store.sessions.find(lease.session_id)
        assert found is not None
        assert (found.status, found.pending) == (SessionStatus.FAILED, 1)


def _observed(title: str, **fields: Any) -> Observation:
    return Observation("discovery", title=title, **fields)


def _settle(store: Store, *observations: Observation) -> None:
    store.queue.settle(_lease(store), Findings(observations), provider="offline")


def _id(store: Store, session: str) -> int:
    found = store.sessions.find(session)
    assert found is not None
    return found.id


def _lease(store: Store, limit: int = 100) -> Lease:
    lease = store.queue.lease(limit)
    assert lease is not None, "work was due"
    return lease


def _titled(store: Store) -> list[tuple[Ref, str | None]]:
    found = store.memories.list_cards(Filters(kinds=("observation", "summary")), limit=100)
    return [(card.ref, card.title) for card in found]


def _listed(store: Store) -> list[str]:
    return [title or "" for _, title in _titled(store)]


def _said(store: Store) -> set[str]:
    return set(_listed(store))
