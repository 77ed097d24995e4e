"""What memory costs, in figures."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from claude_mem.model.clock import DAY_MS
from claude_mem.model.jobs import Spent
from claude_mem.recall.cost import CostReport
from claude_mem.settings import Settings
from claude_mem.store import Store
from claude_mem.store.values import InjectionCount, Project, Spending

NOON = 1_769_860_800_000  # 2026-01-31T12:00:00Z


class Ledgers:
    def injected(self, since: int, project: str | None) -> list[InjectionCount]:
        told = [
            InjectionCount("2026-01-30", "SessionStart", 2, 800),
            InjectionCount("2026-01-31", "UserPromptSubmit", 1, 90),
        ]
        return told if project is None else told[:1]

    def uses_asked_about(self, since: int, project: str | None) -> int:
        return 100

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


MILL = Project(2, "/home/ada/mill", "mill", "/home/ada/mill")
SPENT = [
    Spending("2026-01-30", "shop", "anthropic", "haiku", 3, 3_000, 600, 400, 0.02),
    Spending("2026-01-31", "shop", "anthropic", "haiku", 1, 1_000, 0, 100, 0.01),
    Spending("2026-01-31", "mill", "openai", "local", 1, 500, 0, 50, None),
]


@pytest.fixture
def costing() -> CostReport:
    asked: list[int] = []

    def spending(since: int) -> list[Spending]:
        asked.append(since)
        assert since == NOON - NOON % DAY_MS - 2 * DAY_MS
        return SPENT

    def spent(session_id: int, now: int) -> Spent:
        assert (session_id, now) == (0, NOON)
        return Spent(daily_tokens=1_650, daily_usd=0.01)

    queue = SimpleNamespace(spending=spending, spent=spent)
    known = {"mill": MILL, MILL.key: MILL}
    memories = SimpleNamespace(project=known.get)
    return CostReport(
        store=cast(Store, SimpleNamespace(queue=queue, statistics=Ledgers(), memories=memories)),
        clock=lambda: NOON,
        settings=Settings(Path("data"), daily_tokens=5_000, daily_usd=2.0),
        instructions=800,
    )


def test_it_is_told_by_day_model_and_project_and_adds_up(costing: CostReport) -> None:
    cost = costing.cost("", days=3)
    assert [day["day"] for day in cost["by_day"]] == ["2026-01-29", "2026-01-30", "2026-01-31"]
    assert [day["calls"] for day in cost["by_day"]] == [0, 3, 2]
    assert [(each["model"], each["input_tokens"]) for each in cost["by_model"]] == [
        ("haiku", 4_000),
        ("local", 500),
    ]
    assert {each["project"]: each["cost_usd"] for each in cost["by_project"]} == {"shop": 0.03, "mill": None}
    assert cost["total"] == {
        "calls": 5,
        "input_tokens": 4_500,
        "cached_tokens": 600,
        "output_tokens": 550,
        "cost_usd": 0.03,
    }
    assert cost["injected"][1:] == [
        {"day": "2026-01-30", "times": 2, "tokens": 800},
        {"day": "2026-01-31", "times": 1, "tokens": 90},
    ]
    assert cost["budget"]["today"] == {"tokens": 1_650, "usd": 0.01}


def test_what_batching_saved_is_an_estimate_that_says_so(costing: CostReport) -> None:
    saved = costing.cost("", days=3)["batching"]
    assert (saved["tool_uses"], saved["calls"]) == (100, 5)
    assert saved["saved_tokens"] == 95 * 800
    assert saved["estimated_input_tokens"] == 5_100 + 95 * 800
    assert saved["saved_usd"] == pytest.approx(95 * 800 * 0.03 / 5_650, abs=1e-4)
    assert saved["explained"].startswith(
        "An estimate: 100 tool uses took 5 calls. One call for each would have been 95 calls more, and every "
        "call sends the instructions (about 800 tokens)."
    )


def test_one_project_is_told_alone(costing: CostReport) -> None:
    cost = costing.cost("mill", days=3)
    assert [row["project"] for row in cost["rows"]] == ["mill"]
    assert cost["total"]["cost_usd"] is None
    assert cost["batching"]["saved_usd"] is None
    assert sum(day["times"] for day in cost["injected"]) == 2
    assert costing.cost(MILL.key, days=3) == cost, "by its key as by its name"
