"""What memory costs, in figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, SettableClock, new_events

from claude_mem.api.projects import CostRow, InjectedRow
from claude_mem.model.clock import DAY_MS
from claude_mem.model.events import Origin
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Findings
from claude_mem.recall.cost import CostReport
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import Injection

NOON = 1_769_860_800_000  # 2026-01-31T12:00:00Z
SHOP = Origin("github.com/ada/shop", "shop", "/home/ada/shop")
MILL = Origin("/home/ada/mill", "mill", "/home/ada/mill")


@pytest.fixture
def costing(tmp_path: Path) -> Iterator[CostReport]:
    clock, events = SettableClock(NOON), Events()
    with SqliteStore.open(tmp_path / "m.db", clock=clock, backups=tmp_path / "backups") as store:

        def ask(at: int, origin: Origin, uses: int, spend: CallCost) -> None:
            """A model is asked about some tool uses."""
            clock.now = at
            made = [events.tool(origin.name, at=at) for _ in range(uses)]
            session_id = store.events.accept(new_events(*made, origin=origin)).session_ids[0]
            lease = store.queue.lease(200, session_id)
            assert lease is not None
            store.queue.settle(lease, Findings(), spend)

        for output, usd in ((100, 0.01), (100, 0.005), (200, 0.005)):
            ask(NOON - DAY_MS, SHOP, 30, CallCost("anthropic", "haiku", 1_000, 200, output, usd))
        ask(NOON - 1, SHOP, 6, CallCost("anthropic", "haiku", 1_000, 0, 100, 0.01))
        ask(NOON, MILL, 4, CallCost("openai", "local", 500, 0, 50, None))
        for session, event, tokens, at in (
            ("mill", "SessionStart", 300, NOON - DAY_MS),
            ("mill", "SessionStart", 500, NOON - DAY_MS + 1),
            ("shop", "UserPromptSubmit", 90, NOON),
        ):
            store.injections.note_injection(Injection(session, event, ("1",), tokens, at))
        settings = Settings(Path("data"), daily_tokens=5_000, daily_usd=2.0)
        yield CostReport(store=store, clock=clock, settings=settings, instructions=800)


def test_it_is_told_by_day_model_and_project_and_adds_up(costing: CostReport) -> None:
    cost = costing.cost("", days=3)
    assert [day.day for day in cost.by_day] == ["2026-01-29", "2026-01-30", "2026-01-31"]
    assert [day.calls for day in cost.by_day] == [0, 3, 2]
    assert [(each.model, each.input_tokens) for each in cost.by_model] == [
        ("haiku", 4_000),
        ("local", 500),
    ]
    assert {each.project: each.cost_usd for each in cost.by_project} == {"shop": 0.03, "mill": None}
    assert cost.total == CostRow(
        calls=5, input_tokens=4_500, cached_tokens=600, output_tokens=550, cost_usd=0.03
    )
    assert cost.injected[1:] == [
        InjectedRow(day="2026-01-30", times=2, tokens=800),
        InjectedRow(day="2026-01-31", times=1, tokens=90),
    ]
    assert cost.budget.today == {"tokens": 1_650, "usd": 0.01}


def test_what_batching_saved_is_an_estimate_that_says_so(costing: CostReport) -> None:
    saved = costing.cost("", days=3).batching
    assert (saved.tool_uses, saved.calls) == (100, 5)
    assert saved.saved_tokens == 95 * 800
    assert saved.estimated_input_tokens == 5_100 + 95 * 800
    assert saved.saved_usd == pytest.approx(95 * 800 * 0.03 / 5_650, abs=1e-4)
    for figure in ("estimate", "100 tool uses", "5 calls", "95 calls", "800 tokens"):
        assert figure in saved.explained


def test_one_project_is_told_alone(costing: CostReport) -> None:
    cost = costing.cost("mill", days=3)
    assert [row.project for row in cost.rows] == ["mill"]
    assert cost.total.cost_usd is None
    assert cost.batching.saved_usd is None
    assert sum(day.times for day in cost.injected) == 2
    assert costing.cost(MILL.key, days=3) == cost, "by its key as by its name"
