"""Within its budget the model is asked, past it the offline observer takes over; what was paid is booked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from claude_mem.model.events import Event, Kind
from claude_mem.model.jobs import CallCost, SpentSoFar
from claude_mem.model.memory import (
    Batch,
    Broken,
    Failure,
    Findings,
    Nothing,
    Observation,
    Observed,
    Outcome,
    Throttled,
)
from claude_mem.observe import mode
from claude_mem.observe.observer import (
    ExhaustedBudget,
    Limits,
    Observer,
    ObserverOptions,
    exhausted_budget,
    pending_spend,
)
from claude_mem.observe.tool_calls import ParsedEvent
from claude_mem.providers.registry import MOST_OUTPUT, Prompt, Reply

DEADLINE_S = 60.0
COST = CallCost("anthropic", "haiku", input_tokens=90, output_tokens=10, cost_usd=0.01)
OFFLINE = Observed(Findings((Observation("change", title="offline"),), read_outside=False))
BATCH = Batch("shop", "s", (Event(id="1", at=1, kind=Kind.STOP, session="s", text="It is done."),))


def offline(_batch: Batch, _seen: Sequence[ParsedEvent]) -> Findings:
    return OFFLINE.findings


@dataclass
class Asked:
    """A model that answers as `answer` says."""

    answer: Callable[[], Reply | Failure] = lambda: Reply("<nothing/>", COST)
    prompts: list[Prompt] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        self.prompts.append(prompt)
        return self.answer()

    def close(self) -> None: ...


@dataclass
class Books:
    """What the store knows of spending."""

    sessions: dict[int, int] = field(default_factory=dict)
    usd_per_token: float = 0.0

    def spent(self, session_id: int) -> SpentSoFar:
        day, session = sum(self.sessions.values()), self.sessions.get(session_id, 0)
        return SpentSoFar(day, session, day * self.usd_per_token, session * self.usd_per_token)

    def book(self, session_id: int, spend: CallCost | None) -> None:
        self.sessions[session_id] = self.sessions.get(session_id, 0) + (spend.tokens if spend else 0)


@dataclass
class Rig:
    limits: Limits = field(default_factory=Limits)
    model: Asked = field(default_factory=Asked)
    books: Books = field(default_factory=Books)
    told: list[str] = field(default_factory=list)
    day: int = 1

    def __post_init__(self) -> None:
        options = ObserverOptions(mode.load("code", []), limits=self.limits)
        self.observer = Observer(
            self.model, offline, options, self.books.spent, self.told.append, today=lambda: self.day
        )

    def ask(self, session_id: int) -> tuple[Outcome, CallCost | None]:
        return self.observer.observe(BATCH, session_id)

    def observe(self, session_id: int) -> Outcome:
        """As the pump does it: what it cost is booked."""
        outcome, spend = self.ask(session_id)
        self.books.book(session_id, spend)
        return outcome


def test_past_its_budget_a_session_is_observed_offline_and_others_by_the_model() -> None:
    rig = Rig(Limits(session_tokens=150))
    assert [rig.observe(1), rig.observe(1)] == [Nothing(), Nothing()]
    assert rig.observe(1) == OFFLINE
    assert rig.observer.budget_message == "This session's budget is spent: 200 of 150 tokens."
    assert rig.observe(2) == Nothing()
    assert rig.observer.budget_message is None


def test_a_spent_budget_is_told_once_for_each_session_however_they_alternate() -> None:
    rig = Rig(Limits(session_tokens=100))
    for _ in range(5):
        for session in (1, 2, 3):
            rig.observe(session)
    assert (
        rig.told
        == ["This session's budget is spent: 100 of 100 tokens. The offline observer takes over."] * 3
    )


def test_a_spent_budget_is_told_once_a_day_however_its_figures_change() -> None:
    rig = Rig(Limits(daily_tokens=100))
    for total in (100, 120, 90, 130):
        rig.books.sessions = {1: total}
        rig.observe(2)
        rig.observe(1)
    assert len(rig.told) == 1
    rig.day += 1
    rig.observe(1)
    assert len(rig.told) == 2


@pytest.mark.parametrize(
    ("limits", "spent", "usd"),
    [
        (Limits(daily_tokens=MOST_OUTPUT), 1, 0.0),
        (Limits(daily_usd=MOST_OUTPUT / 1000), 1, 0.001),
    ],
    ids=["tokens", "money"],
)
def test_two_who_ask_together_do_not_both_pass_a_budget_with_room_for_one(
    limits: Limits, spent: int, usd: float
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def answer() -> Reply:
        begun.set()
        assert may_end.wait(DEADLINE_S)
        return Reply("<nothing/>", COST)

    rig = Rig(limits, Asked(answer), Books({9: spent}, usd))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(rig.ask, 1)
        assert begun.wait(DEADLINE_S)
        try:
            assert rig.observe(2) == OFFLINE
            assert "for calls under way" in (rig.observer.budget_message or "")
        finally:
            may_end.set()
        outcome, spend = first.result(DEADLINE_S)
    assert (outcome, len(rig.model.prompts)) == (Nothing(), 1)
    rig.books.book(1, spend)
    assert rig.observe(2) == Nothing(), "what it took in the end left room"


def test_a_call_counts_until_it_is_booked() -> None:
    rig = Rig(Limits(daily_tokens=100))
    _, spend = rig.ask(1)
    assert rig.observe(2) == OFFLINE, "answered, and not yet in the books"
    rig.books.book(1, spend)
    rig = Rig(Limits(daily_tokens=101))
    rig.observe(1)
    assert rig.observe(2) == Nothing(), "in the books, and not counted twice"


@pytest.mark.parametrize("failure", [Throttled(5), Broken("500", "provider")])
def test_a_call_that_failed_for_nothing_counts_no_more(failure: Failure) -> None:
    answers: list[Reply | Failure] = [failure, Reply("<nothing/>", COST)]
    rig = Rig(Limits(daily_tokens=100), Asked(lambda: answers.pop(0)))
    assert [rig.observe(1), rig.observe(2)] == [failure, Nothing()]


def test_a_model_that_raises_leaves_nothing_reserved() -> None:
    def crash() -> Reply:
        raise ValueError("oops")

    rig = Rig(Limits(daily_tokens=100), Asked(crash))
    with pytest.raises(ValueError, match="oops"):
        rig.observe(1)
    rig.model.answer = lambda: Reply("<nothing/>", COST)
    assert rig.observe(2) == Nothing()


def test_a_failure_that_was_paid_for_is_booked() -> None:
    rig = Rig(model=Asked(lambda: Broken("refused", spend=COST)))
    assert rig.ask(1) == (Broken("refused", spend=COST), COST)


def test_without_limits_everything_is_allowed() -> None:
    assert exhausted_budget(SpentSoFar(10**9, 10**9, 1e6, 1e6), Limits()) is None


def test_below_its_limits_a_call_is_allowed() -> None:
    limits = Limits(daily_tokens=100, session_tokens=50, daily_usd=1.0, session_usd=0.5)
    assert exhausted_budget(SpentSoFar(99, 49, 0.99, 0.49), limits) is None


def test_each_budget_that_is_spent_is_named_with_its_figures() -> None:
    def said(spent: SpentSoFar, limits: Limits) -> str | None:
        found = exhausted_budget(spent, limits)
        return found.message if found else None

    assert said(SpentSoFar(daily_tokens=201_344), Limits(daily_tokens=200_000)) == (
        "Today's budget is spent: 201,344 of 200,000 tokens."
    )
    assert said(SpentSoFar(session_tokens=50), Limits(session_tokens=50)) == (
        "This session's budget is spent: 50 of 50 tokens."
    )
    assert said(SpentSoFar(daily_usd=1.25), Limits(daily_usd=1)) == "Today's budget is spent: $1.25 of $1.00."
    assert said(SpentSoFar(session_usd=0.5), Limits(session_usd=0.5)) == (
        "This session's budget is spent: $0.50 of $0.50."
    )


def test_a_limit_of_zero_allows_no_call_at_all() -> None:
    assert exhausted_budget(SpentSoFar(), Limits(daily_tokens=0)) is not None


def test_calls_under_way_count_and_are_named() -> None:
    limits = Limits(daily_tokens=1_000, daily_usd=2.0)
    assert exhausted_budget(SpentSoFar(daily_tokens=900), limits, SpentSoFar(daily_tokens=99)) is None
    assert exhausted_budget(
        SpentSoFar(daily_tokens=900), limits, SpentSoFar(daily_tokens=5_000)
    ) == ExhaustedBudget(
        "day", "Today's budget is spent: 900 of 1,000 tokens, with 5,000 for calls under way."
    )
    assert exhausted_budget(SpentSoFar(daily_usd=1.5), limits, SpentSoFar(daily_usd=0.5)) == ExhaustedBudget(
        "day", "Today's budget is spent: $1.50 of $2.00, with $0.50 for calls under way."
    )


def test_what_calls_under_way_may_cost_is_told_by_the_days_mean_price() -> None:
    assert pending_spend(100, SpentSoFar(daily_tokens=1_000, daily_usd=2.0)) == SpentSoFar(
        daily_tokens=100, daily_usd=0.2
    )
    assert pending_spend(100, SpentSoFar()) == SpentSoFar(daily_tokens=100)


def told(kind: Kind, text: str) -> Event:
    return Event(id="1", at=1, kind=kind, session="s", text=text)


@pytest.mark.parametrize(
    "events",
    [
        (told(Kind.PROMPT, "Always run the linter first."),),
        (told(Kind.PROMPT, "One."), told(Kind.PROMPT, "Another.")),
        (
            told(Kind.PROMPT, "Go on."),
            told(Kind.STOP, "You've hit your monthly spend limit · raise it at a.b"),
        ),
        (told(Kind.STOP, "API Error: 529 overloaded"),),
        (told(Kind.STOP, "5-hour limit reached ∙ resets 7pm"), told(Kind.STOP_FAILURE, "rate limited")),
    ],
)
def test_nothing_is_paid_for_a_turn_in_which_nothing_happened(events: tuple[Event, ...]) -> None:
    rig = Rig()
    outcome, spend = rig.observer.observe(Batch("shop", "s", events, request="Go on."), 1)
    assert isinstance(outcome, Observed)
    assert outcome.findings.observations == OFFLINE.findings.observations
    assert (spend, rig.model.prompts) == (None, [])


def test_a_turn_that_did_something_before_the_limit_is_asked_about() -> None:
    rig = Rig()
    limit = told(Kind.STOP, "You've hit your session limit · resets 7:20pm")
    rig.observer.observe(Batch("shop", "s", (told(Kind.AGENT_MESSAGE, "The cause is the cache."), limit)), 1)
    assert len(rig.model.prompts) == 1
    about = told(
        Kind.STOP, "API Error handling now retries: the client waits and asks again. " + "Why. " * 200
    )
    rig.observer.observe(Batch("shop", "s", (about,)), 2)
    assert len(rig.model.prompts) == 2
