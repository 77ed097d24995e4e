from claude_mem.model.jobs import Spent
from claude_mem.observe.observer import BudgetSpent, Limits, exhausted_budget, pending_spend


def test_without_limits_everything_is_allowed() -> None:
    assert exhausted_budget(Spent(10**9, 10**9, 1e6, 1e6), Limits()) is None


def test_below_its_limits_a_call_is_allowed() -> None:
    limits = Limits(daily_tokens=100, session_tokens=50, daily_usd=1.0, session_usd=0.5)
    assert exhausted_budget(Spent(99, 49, 0.99, 0.49), limits) is None


def test_each_budget_that_is_spent_is_named_with_its_figures() -> None:
    def said(spent: Spent, limits: Limits) -> str | None:
        found = exhausted_budget(spent, limits)
        return found.says if found else None

    assert said(Spent(daily_tokens=201_344), Limits(daily_tokens=200_000)) == (
        "Today's budget is spent: 201,344 of 200,000 tokens."
    )
    assert said(Spent(session_tokens=50), Limits(session_tokens=50)) == (
        "This session's budget is spent: 50 of 50 tokens."
    )
    assert said(Spent(daily_usd=1.25), Limits(daily_usd=1)) == "Today's budget is spent: $1.25 of $1.00."
    assert said(Spent(session_usd=0.5), Limits(session_usd=0.5)) == (
        "This session's budget is spent: $0.50 of $0.50."
    )


def test_a_limit_of_zero_allows_no_call_at_all() -> None:
    assert exhausted_budget(Spent(), Limits(daily_tokens=0)) is not None


def test_calls_under_way_count_and_are_named() -> None:
    limits = Limits(daily_tokens=1_000, daily_usd=2.0)
    assert exhausted_budget(Spent(daily_tokens=900), limits, Spent(daily_tokens=99)) is None
    assert exhausted_budget(Spent(daily_tokens=900), limits, Spent(daily_tokens=5_000)) == BudgetSpent(
        "day", "Today's budget is spent: 900 of 1,000 tokens, with 5,000 for calls under way."
    )
    assert exhausted_budget(Spent(daily_usd=1.5), limits, Spent(daily_usd=0.5)) == BudgetSpent(
        "day", "Today's budget is spent: $1.50 of $2.00, with $0.50 for calls under way."
    )


def test_what_calls_under_way_may_cost_is_told_by_the_days_mean_price() -> None:
    assert pending_spend(100, Spent(daily_tokens=1_000, daily_usd=2.0)) == Spent(
        daily_tokens=100, daily_usd=0.2
    )
    assert pending_spend(100, Spent()) == Spent(daily_tokens=100)
