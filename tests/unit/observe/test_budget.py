from claude_mem.observe.budget import Limits, Spent, allows


def test_without_limits_everything_is_allowed() -> None:
    assert allows(Spent(10**9, 10**9, 1e6, 1e6), Limits()) is None


def test_below_its_limits_a_call_is_allowed() -> None:
    limits = Limits(daily_tokens=100, session_tokens=50, daily_usd=1.0, session_usd=0.5)
    assert allows(Spent(99, 49, 0.99, 0.49), limits) is None


def test_each_budget_that_is_spent_is_named_with_its_figures() -> None:
    def said(spent: Spent, limits: Limits) -> str | None:
        return allows(spent, limits)

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
    assert allows(Spent(), Limits(daily_tokens=0)) is not None
