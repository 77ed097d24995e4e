"""Memories for the tests of recall, each as plain as may be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from claude_mem.model.refs import Card, Hit, Ref

DAY = 86_400_000


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOW = at("2026-11-16 10:05")


def card(id: int = 1, title: str = "Retry waits as told", **more: Any) -> Card:
    ref = more.pop("ref", Ref("observation", id))
    given: dict[str, Any] = {"created_at": NOW - DAY, "type": "bugfix", **more}
    return Card(ref, "session-1", 1, "demo", 1, given.pop("created_at"), title, **given)


def hit(id: int = 1, title: str = "Retry waits as told", *, marks: tuple[str, ...] = (), **more: Any) -> Hit:
    return Hit(card(id, title, **more), 1.0, marks=marks)
