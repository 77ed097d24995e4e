"""Sums up what was captured, what became of it and what it cost, from outside: the worker need not run."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from claude_mem.model.jobs import QueueFigures
from claude_mem.ports.pumping import Spending
from claude_mem.store.sqlite import overview, spending
from claude_mem.store.sqlite.connection import open_reader
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.queries import execute


@dataclass(frozen=True, slots=True)
class Today:
    """What was spent since midnight UTC, by all sessions: as the budget counts it."""

    tokens: int = 0
    usd: float = 0.0  # as far as it is known


@dataclass(frozen=True, slots=True)
class Told:
    """What sessions were told on one occasion."""

    times: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Tally:
    sessions: int = 0
    prompts: int = 0
    events: int = 0
    by_type: dict[str, int] = field(default_factory=dict)  # observations, the most frequent first
    by_provider: dict[str, int] = field(default_factory=dict)
    seen_again: int = 0  # and so not stored twice
    summaries: int = 0
    told: dict[str, Told] = field(default_factory=dict)  # by the hook's event
    queue: QueueFigures = field(default_factory=QueueFigures)
    spending: list[Spending] = field(default_factory=list)
    today: Today = field(default_factory=Today)


def count(path: Path, since: int, now: int) -> Tally:
    """Of a database of this version's schema. Both times in epoch milliseconds."""
    with closing(open_reader(path)) as db, translated(path):
        db.execute("BEGIN")  # one view: figures that belong together add up
        by_type: Counter[str] = Counter()
        by_provider: Counter[str] = Counter()
        for kind, provider, observations in execute(db, "tally_observations", since=since):
            by_type[kind] += observations
            by_provider[provider] += observations
        return Tally(
            sessions=_number(db, "tally_sessions", since),
            prompts=_number(db, "tally_prompts", since),
            events=_number(db, "tally_events", since),
            by_type=dict(by_type.most_common()),
            by_provider=dict(by_provider.most_common()),
            seen_again=_number(db, "tally_sightings", since),
            summaries=_number(db, "tally_summaries", since),
            told={
                row["event"]: Told(row["times"], row["tokens"])
                for row in execute(db, "tally_injections", since=since)
            },
            queue=overview.figures(db),
            spending=spending.since(db, since),
            today=spent_today(db, now),
        )


def spent_today(db: sqlite3.Connection, now: int) -> Today:
    midnight = now - now % spending.DAY_MS
    day = execute(db, "spent_between", since=midnight, until=midnight + spending.DAY_MS).fetchone()
    return Today(day["tokens"], day["usd"])


def last_observation_at(db: sqlite3.Connection) -> int | None:
    (at,) = execute(db, "last_observation_at").fetchone()
    return None if at is None else int(at)


def _number(db: sqlite3.Connection, query: str, since: int) -> int:
    (found,) = execute(db, query, since=since).fetchone()
    return int(found)
