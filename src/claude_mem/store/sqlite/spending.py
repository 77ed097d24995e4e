"""What observing cost: written with the settlement it belongs to, summed up by session and by day."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Spend, Spent
from claude_mem.ports.pumping import Spending
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import iso

DAY_MS = 24 * 60 * 60 * 1000


def add(db: sqlite3.Connection, session_id: int, spend: Spend, now: int) -> None:
    execute(
        db,
        "add_spend",
        session_id=session_id,
        provider=spend.provider,
        model=spend.model,
        input_tokens=spend.input_tokens,
        cached_tokens=spend.cached_tokens,
        output_tokens=spend.output_tokens,
        cost_usd=spend.cost_usd,
        created_at=iso(now),
        created_at_epoch=now,
    )


def spent(db: sqlite3.Connection, session_id: int, now: int) -> Spent:
    # The day of UTC: a time zone can change under a worker, and a budget must not be spent twice for that.
    midnight = now - now % DAY_MS
    session = execute(db, "spent_in_session", session_id=session_id).fetchone()
    day = execute(db, "spent_between", since=midnight, until=midnight + DAY_MS).fetchone()
    return Spent(
        daily_tokens=day["tokens"],
        session_tokens=session["tokens"],
        daily_usd=day["usd"],
        session_usd=session["usd"],
    )


def since(db: sqlite3.Connection, at: int) -> list[Spending]:
    return [Spending(**row) for row in execute(db, "spending_since", since=at)]
