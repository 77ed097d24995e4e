"""Decides whether another call may be made, by what was spent and what the user allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claude_mem.model.jobs import Spent

Whose = Literal["day", "session"]

_WORDS: dict[Whose, str] = {"day": "Today's", "session": "This session's"}


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit."""

    daily_tokens: int | None = None
    session_tokens: int | None = None
    daily_usd: float | None = None
    session_usd: float | None = None


@dataclass(frozen=True, slots=True)
class SpentUp:
    whose: Whose
    says: str  # one sentence


def spent_up(spent: Spent, limits: Limits, under_way: Spent | None = None) -> SpentUp | None:
    """None when another call may be made; else which budget is spent. `under_way`: what those calls may take
    that are not in the books yet."""
    more = under_way or Spent()
    tokens: list[tuple[Whose, int, int, int | None]] = [
        ("day", spent.daily_tokens, more.daily_tokens, limits.daily_tokens),
        ("session", spent.session_tokens, more.session_tokens, limits.session_tokens),
    ]
    for whose, used, asked, limit in tokens:
        if limit is not None and used + asked >= limit:
            waits = f", with {asked:,} for calls under way" if used < limit else ""
            return SpentUp(whose, f"{_WORDS[whose]} budget is spent: {used:,} of {limit:,} tokens{waits}.")
    money: list[tuple[Whose, float, float, float | None]] = [
        ("day", spent.daily_usd, more.daily_usd, limits.daily_usd),
        ("session", spent.session_usd, more.session_usd, limits.session_usd),
    ]
    for whose, cost, due, most in money:
        if most is not None and cost + due >= most:
            waits = f", with ${due:,.2f} for calls under way" if cost < most else ""
            return SpentUp(whose, f"{_WORDS[whose]} budget is spent: ${cost:,.2f} of ${most:,.2f}{waits}.")
    return None


def under_way(tokens: int, spent: Spent) -> Spent:
    """What so many tokens of other sessions may come to, at the day's mean price so far."""
    price = spent.daily_usd / spent.daily_tokens if spent.daily_tokens else 0.0
    return Spent(daily_tokens=tokens, daily_usd=tokens * price)
