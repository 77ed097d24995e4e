"""Decides whether another call may be made, by what was spent and what the user allows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit."""

    daily_tokens: int | None = None
    session_tokens: int | None = None
    daily_usd: float | None = None
    session_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    daily_tokens: int = 0
    session_tokens: int = 0
    daily_usd: float = 0.0
    session_usd: float = 0.0


def allows(spent: Spent, limits: Limits) -> str | None:
    """None when another call may be made; else which budget is spent, in one sentence."""
    for whose, used, limit in (
        ("Today's", spent.daily_tokens, limits.daily_tokens),
        ("This session's", spent.session_tokens, limits.session_tokens),
    ):
        if limit is not None and used >= limit:
            return f"{whose} budget is spent: {used:,} of {limit:,} tokens."
    for whose, cost, most in (
        ("Today's", spent.daily_usd, limits.daily_usd),
        ("This session's", spent.session_usd, limits.session_usd),
    ):
        if most is not None and cost >= most:
            return f"{whose} budget is spent: ${cost:,.2f} of ${most:,.2f}."
    return None
