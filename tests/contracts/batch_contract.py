"""What every store must do with a batch: return its context, save its results and its cost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.queue_contract import SPEND
from tests.contracts.store_contract import (
    HOUR,
    NOON,
    ORIGIN,
    Events,
    SettableClock,
    StoreSuite,
    find_session,
    new_events,
    take_lease,
)

from claude_mem.api.projects import CostRow
from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind
from claude_mem.model.jobs import (
    JobState,
    QueueFigures,
    SessionStatus,
    SpentSoFar,
)
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Filters, Ref
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import Revision

DAY = 24 * HOUR
OFFLINE = Findings((Observation("change", title="Offline"),), (Summary("Seen offline"),))


def _cost_row(*values: object) -> CostRow:
    """In the order of its fields."""
    return CostRow(**dict(zip(CostRow.__struct_fields__, values, strict=True)))  # type: ignore[arg-type]


class BatchContract(StoreSuite):
    # Around a batch

    def test_a_batch_says_whose_events_these_are(self, store: Store, events: Events) -> None:
        tool = events.tool(project="given")
        store.events.accept(new_events(tool, origin=replace(ORIGIN, branch="fix")))
        lease = take_lease(store)
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
            lease = take_lease(store, limit)
            seen.append(store.queue.batch(lease).request)
            store.queue.settle(lease, Findings())
        assert seen == ["one", "two", "two"]

    def test_a_private_request_is_not_told(self, store: Store, events: Events) -> None:
        store.events.accept(
            new_events(events.prompt("the secret", private=True), events.make(Kind.POST_COMPACT))
        )
        assert store.queue.batch(take_lease(store)).request is None

    def test_a_private_request_hides_behind_the_one_before_it(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.prompt("open"), events.prompt("the secret", private=True)))
        store.queue.settle(take_lease(store), Findings())
        store.events.accept(new_events(events.make(Kind.POST_COMPACT)))
        assert store.queue.batch(take_lease(store)).request == "open"

    def test_a_batch_knows_what_the_agent_had_said_last(self, store: Store, events: Events) -> None:
        def said(text: str, session: str = "s1", *, private: bool = False) -> Event:
            return replace(events.make(Kind.STOP, session), text=text, private=private)

        store.events.accept(new_events(said("Shall I?"), said("of another", "other")))
        for _ in range(2):
            store.queue.settle(take_lease(store), Findings())
        secret = said("the secret", private=True)
        store.events.accept(new_events(secret, events.prompt("yes"), said("Did it.")))
        assert store.queue.batch(take_lease(store)).before == "Shall I?"

    def test_a_batch_knows_the_last_titles_of_its_session(self, store: Store, events: Events) -> None:
        for session in ("other", "s1"):
            for number in range(7):
                store.events.accept(new_events(events.tool(session)))
                learned = [_observed(f"{session} {number} {part}") for part in range(5)]
                _settle(store, *learned, Observation("change", narrative=f"no title {session} {number}"))
        store.events.accept(new_events(events.tool()))
        recorded = store.queue.batch(take_lease(store)).recorded
        assert recorded == tuple(f"s1 {number} {part}" for number in range(1, 7) for part in range(5))

    # Keeping

    def test_what_a_project_remembers_is_not_stored_twice(self, store: Store, events: Events) -> None:
        said = _observed("The tests need a running Redis")
        store.events.accept(new_events(events.tool()))
        _settle(store, said, replace(said, title="the tests need a running redis."))
        store.events.accept(new_events(events.tool()))
        _settle(store, said, _observed("Something else"))
        store.events.accept(new_events(events.tool()))
        assert store.queue.batch(take_lease(store)).recorded == (
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
            known[session] = len(store.queue.batch(take_lease(store)).recorded)
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
            store.queue.settle(take_lease(store), Findings(summaries=(told,)))
        session = store.sessions.find("s1")
        assert session is not None
        assert (session.title, session.subtitle) == (title, subtitle)
        assert len(session.title or "") <= 80
        assert len(session.subtitle or "") <= 120
        store.events.accept(new_events(events.tool()))
        store.queue.settle(
            take_lease(store), Findings(summaries=(Summary(request="another", completed="more"),))
        )
        again = store.sessions.find("s1")
        assert again is not None
        assert again.title == (title if subtitle else "another"), "until it came to something"
        assert again.subtitle == "more"

    # Giving up

    def test_what_was_dropped_is_done_and_says_so(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("b"), events.tool("c")))
        parked, held = take_lease(store), take_lease(store)
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
        store.queue.park(take_lease(store), "prose", SPEND, fallback=OFFLINE)
        store.queue.settle(take_lease(store), Findings())
        assert store.queue.figures() == QueueFigures(parked=2, done=1, fallback=2)
        assert _said(store) == {"Offline", "Seen offline"}
        assert store.queue.resume() == 2
        assert _said(store) == {"Offline", "Seen offline"}, "until it is observed after all"
        lease = take_lease(store)
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
            store.queue.park(take_lease(store), "prose", fallback=OFFLINE)
            assert sorted(_listed(store)) == ["Offline", "Seen offline"]
            store.queue.resume()
        store.queue.settle(take_lease(store), Findings())
        assert _said(store) == set(), "the model found nothing worth remembering"

    def test_a_fallback_survives_a_retry_that_fails(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.park(take_lease(store), "prose", fallback=OFFLINE)
        store.queue.resume()
        store.queue.park(take_lease(store), "refused")
        assert _said(store) == {"Offline", "Seen offline"}
        assert store.queue.figures() == QueueFigures(parked=1, fallback=1)
        store.queue.resume()
        store.queue.settle(take_lease(store), Findings())
        assert _said(store) == set()

    def test_a_batch_with_a_fallback_is_resumed_as_a_whole(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool("a"), events.tool("a"), events.tool("b")))
        first, second = take_lease(store), take_lease(store)
        store.queue.park(first, "prose", fallback=OFFLINE)
        store.queue.park(second, "prose", fallback=Findings((Observation("change", title="Of b"),)))
        assert store.queue.resume([first.jobs[1].id]) == 2
        assert [job.id for job in take_lease(store).jobs] == [job.id for job in first.jobs]
        assert store.queue.figures() == QueueFigures(leased=2, parked=1, fallback=1)

    def test_what_a_person_has_taken_up_stays(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        two = (*OFFLINE.observations, Observation("change", title="Pinned"))
        store.queue.park(take_lease(store), "prose", fallback=Findings(two))
        (ref,) = (ref for ref, title in _titled(store) if title == "Pinned")
        store.memories.revise([Revision(ref.id, {"pinned": 1})])
        store.queue.resume()
        store.queue.settle(take_lease(store), Findings())
        assert _said(store) == {"Pinned"}

    def test_a_fallback_of_dropped_jobs_stays_for_good(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = take_lease(store)
        store.queue.park(lease, "prose", fallback=OFFLINE)
        assert store.queue.drop([job.id for job in lease.jobs]) == 1
        assert store.queue.figures() == QueueFigures(done=1)
        assert store.queue.resume() == 0
        assert _said(store) == {"Offline", "Seen offline"}

    def test_a_dead_holder_leaves_no_fallback(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        dead = take_lease(store)
        store.queue.reclaim()
        store.queue.settle(take_lease(store), Findings())
        with pytest.raises(StoreError):
            store.queue.park(dead, "prose", fallback=OFFLINE)
        assert _said(store) == set()
        assert store.queue.figures() == QueueFigures(done=1)

    # What it costs

    def test_a_call_is_paid_for_whatever_came_of_it(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.postpone(take_lease(store), NOON, "later", failed=True, spend=SPEND)
        store.queue.park(take_lease(store), "unreadable", SPEND)
        store.queue.resume()
        store.queue.settle(take_lease(store), Findings(), SPEND)
        assert store.queue.spent(find_session(store, "s1").id, NOON) == SpentSoFar(
            daily_tokens=369, session_tokens=369, daily_usd=1.5, session_usd=1.5
        )

    def test_what_was_not_asked_costs_nothing(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        store.queue.settle(take_lease(store), Findings())
        assert store.queue.spent(find_session(store, "s1").id, NOON) == SpentSoFar()
        assert store.queue.spending(0) == []

    def test_a_session_pays_for_its_life_and_the_day_for_all_sessions(
        self, store: Store, events: Events, clock: SettableClock
    ) -> None:
        for day, session in ((0, "a"), (1, "a"), (1, "b")):
            clock.now = NOON + day * DAY
            store.events.accept(new_events(events.tool(session)))
            store.queue.settle(take_lease(store), Findings(), SPEND)
        assert store.queue.spent(find_session(store, "b").id, clock.now) == SpentSoFar(
            daily_tokens=246, session_tokens=123, daily_usd=1.0, session_usd=0.5
        )
        assert store.queue.spent(find_session(store, "a").id, clock.now).session_tokens == 246
        midnight = clock.now - clock.now % DAY + DAY
        assert store.queue.spent(find_session(store, "a").id, midnight - 1).daily_tokens == 246
        assert store.queue.spent(find_session(store, "a").id, midnight).daily_tokens == 0

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
            store.queue.settle(take_lease(store), Findings(), spend)
        first, second = "2025-10-09", "2025-10-10"
        assert store.queue.spending(NOON) == [
            _cost_row(first, "shop", "anthropic", "haiku", 2, 200, 40, 6, 1.0),
            _cost_row(first, "shop", "openai", "llama", 1, 100, 20, 3, None),
            _cost_row(second, "bank", "anthropic", "haiku", 1, 100, 20, 3, None),
            _cost_row(second, "shop", "anthropic", "haiku", 1, 100, 20, 3, 0.5),
        ]
        assert [one.day for one in store.queue.spending(NOON + 25 * HOUR)] == [second, second]

    def test_a_session_of_any_state_pays(self, store: Store, events: Events) -> None:
        store.events.accept(new_events(events.tool()))
        lease = take_lease(store)
        store.sessions.fail(lease.session_id)
        store.queue.postpone(lease, NOON, "aborted", failed=False, spend=SPEND)
        assert store.queue.spent(lease.session_id, NOON).session_tokens == 123
        found = store.sessions.find(lease.session_id)
        assert found is not None
        assert (found.status, found.pending) == (SessionStatus.FAILED, 1)


def _observed(title: str, **fields: Any) -> Observation:
    return Observation("discovery", title=title, **fields)


def _settle(store: Store, *observations: Observation) -> None:
    store.queue.settle(take_lease(store), Findings(observations), provider="offline")


def _titled(store: Store) -> list[tuple[Ref, str | None]]:
    found = store.memories.list_cards(Filters(kinds=("observation", "summary")), limit=100)
    return [(card.ref, card.title) for card in found]


def _listed(store: Store) -> list[str]:
    return [title or "" for _, title in _titled(store)]


def _said(store: Store) -> set[str]:
    return set(_listed(store))
