"""What it cost, summed up: unknown prices are not passed off as nothing, and all of it fits a screen."""

from datetime import date
from pathlib import Path

from claude_mem.api.projects import CostRow
from claude_mem.cli.commands.stats import BREAKDOWNS, as_data, by, dollars, render, total
from claude_mem.model.jobs import QueueFigures
from claude_mem.model.structs import replace
from claude_mem.settings import Settings
from claude_mem.store.values import InjectionTotals, SpentToday, UsageCounts

SINCE = date(2026, 1, 25)
CHOSEN = Settings(Path("/data"))


def _cost_row(*values: object) -> CostRow:
    """In the order of its fields."""
    return CostRow(**dict(zip(CostRow.__struct_fields__, values, strict=True)))  # type: ignore[arg-type]


HAIKU = _cost_row("2026-01-30", "shop", "anthropic", "claude-haiku", 3, 900, 600, 90, 0.02)
LOCAL = _cost_row("2026-01-31", "shop", "openai", "qwen", 2, 100, 0, 10, None)
TALLY = UsageCounts(
    sessions=2,
    prompts=1,
    events=1204,
    by_type={"bugfix": 3, "change": 1},
    by_provider={"anthropic:claude-haiku": 3, "offline": 1},
    seen_again=2,
    summaries=1,
    queue=QueueFigures(ready=4, parked=1),
    spending=[HAIKU, LOCAL],
    today=SpentToday(110, 0.0),
)
EVER = UsageCounts(sessions=9, prompts=20, by_type={"bugfix": 30, "change": 2}, summaries=12)


def test_what_came_in_and_what_became_of_it_is_said_in_four_lines() -> None:
    assert render(SINCE, TALLY, CHOSEN, ever=EVER).splitlines()[:9] == [
        "In total  9 sessions, 32 observations, 12 summaries",
        "",
        "Since 2026-01-25 (UTC)",
        "",
        "Captured  2 sessions, 1 prompt, 1,204 events",
        "Observed  4 observations, 1 summary; 2 repeated",
        "          bugfix 3, change 1",
        "          written by anthropic:claude-haiku 3, offline 1",
        "Waiting   4 events, 1 parked (claude-mem queue list)",
    ]


def test_a_price_that_is_not_known_of_some_calls_makes_the_sum_a_least() -> None:
    assert total([HAIKU]).usd_is_whole
    assert (total([HAIKU, LOCAL]).usd, total([HAIKU, LOCAL]).usd_is_whole) == (0.02, False)
    assert total([LOCAL]).usd is None
    screen = render(SINCE, TALLY, CHOSEN, ever=EVER)
    assert "5 calls, 1,700 tokens, > $0.0200" in screen
    assert [line.split()[-1] for line in screen.splitlines() if line.startswith("  qwen")] == ["unknown"]


def test_cost_is_told_by_day_by_model_and_by_project() -> None:
    named = {name: list(by(name, TALLY.spending)) for name in BREAKDOWNS}
    assert named == {
        "day": ["2026-01-30", "2026-01-31"],
        "model": ["claude-haiku", "qwen"],
        "project": ["shop"],
    }
    assert by("project", TALLY.spending)["shop"] == total(TALLY.spending)


def test_who_asked_no_model_reads_that_it_cost_nothing() -> None:
    screen = render(SINCE, replace(TALLY, spending=[]), CHOSEN, ever=EVER)
    assert "Cost      nothing: no model was used" in screen
    assert " day " not in screen


def test_the_budget_says_what_is_spent_of_what_and_when_it_is_all() -> None:
    last = render(SINCE, TALLY, CHOSEN, ever=EVER).splitlines()[-1]
    assert last == "Today     110 of 2,000,000 tokens, $0.00 of $2.00"
    spent = render(SINCE, replace(TALLY, today=SpentToday(110, 2.5)), CHOSEN, ever=EVER).splitlines()[-1]
    assert spent.startswith("Today     110 of 2,000,000 tokens, $2.50 of $2.00: budget used up")
    free = render(SINCE, TALLY, replace(CHOSEN, daily_tokens=0, daily_usd=0.0), ever=EVER).splitlines()[-1]
    assert free == "Today     110 tokens, $0.00 (no limit)"


def test_no_table_is_wider_than_80_columns() -> None:
    huge = _cost_row("2026-01-31", "p" * 90, "openai", "m" * 90, 9_999, 10**9, 99_999_998, 10**8, 999.5)
    for line in render(
        SINCE, replace(TALLY, spending=[huge, LOCAL], queue=QueueFigures()), CHOSEN, ever=EVER
    ).splitlines():
        assert len(line) <= 80, line


def test_small_sums_are_not_rounded_to_nothing() -> None:
    assert [dollars(amount) for amount in (0.0, 0.0004, 0.5, 1234.5)] == [
        "$0.00",
        "$0.0004",
        "$0.50",
        "$1,234.50",
    ]


def test_the_same_is_there_as_data() -> None:
    said = as_data(SINCE, TALLY, replace(CHOSEN, daily_usd=0.0), ever=EVER)
    assert said["captured"] == {"sessions": 2, "prompts": 1, "events": 1204}
    assert said["became"]["observations"] == 4
    assert said["cost"]["by_model"]["qwen"]["usd"] is None
    assert said["budget"] == {
        "tokens_today": 110,
        "daily_tokens": 2_000_000,
        "usd_today": 0.0,
        "daily_usd": None,
    }


def test_what_sessions_were_told_is_counted_by_occasion() -> None:
    told = {
        "SessionStart": InjectionTotals(1, 900),
        "UserPromptSubmit": InjectionTotals(12, 3000),
        "Bogus": InjectionTotals(1000, 10**9),
    }
    screen = render(SINCE, replace(TALLY, injected=told), CHOSEN, ever=EVER).splitlines()
    assert screen[9:13] == [
        "Injected  1,013 times, about 1,000,003,900 tokens",
        "          at the start           1 time, about 900 tokens",
        "          at prompts            12 times, about 3,000 tokens",
        "          Bogus              1,000 times, about 1,000,000,000 tokens",
    ]
    assert "Injected  nothing" in render(SINCE, TALLY, CHOSEN, ever=EVER)
    said = as_data(SINCE, replace(TALLY, injected=told), CHOSEN, ever=EVER)
    assert said["injected"]["SessionStart"] == {"times": 1, "tokens": 900}
