"""Figures on what memory costs and saves: spending by day, model and project, injections into sessions, and
the savings of one call per turn instead of one per tool use.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from claude_mem.api.projects import Batching, CostAnswer, CostBudget, CostRow, InjectedRow
from claude_mem.model.clock import DAY_MS, Clock
from claude_mem.settings import Settings
from claude_mem.store.base import Store

_SUMMED = ("calls", "input_tokens", "cached_tokens", "output_tokens")
_EXPLAINED = (
    "This is an estimate. {uses} took {calls}. One call per tool use would have taken another {more}, and "
    "every call sends the instructions (about {instructions:,} tokens). The tool uses themselves are sent "
    "either way. Dollars are computed at the average token price of this period; if the provider caches the "
    "instructions, the savings are smaller."
)


class CostReport(Struct, frozen=True, kw_only=True):
    """`instructions`: how many tokens every call begins with."""

    store: Store
    clock: Clock
    settings: Settings
    instructions: int

    def cost(self, project: str, *, days: int) -> CostAnswer:
        """`project`: a name or a key. The days are those of UTC, as the budget's are; today is the last."""
        known = self.store.projects.find(project) if project else None
        project = known.name if known else project
        now = self.clock()
        since = now - now % DAY_MS - (days - 1) * DAY_MS
        rows = [row for row in self.store.queue.spending(since) if not project or row.project == project]
        injected = self.store.statistics.injected(since, project or None)
        every = [_day(since + number * DAY_MS) for number in range(days)]
        spent = self.store.queue.spent(0, now)
        events = sorted({str(each.event) for each in injected})
        return CostAnswer(
            days=days,
            since=every[0],
            rows=rows,
            by_day=[_sum((row for row in rows if row.day == day), day=day) for day in every],
            by_model=_grouped(rows, "provider", "model"),
            by_project=_grouped(rows, "project"),
            total=_sum(rows),
            injected=[_injected((each for each in injected if each.day == day), day=day) for day in every],
            injected_by_event=[
                _injected((each for each in injected if each.event == event), event=event) for event in events
            ],
            batching=self._batching(rows, self.store.statistics.observed_tool_uses(since, project or None)),
            budget=CostBudget(
                daily_tokens=self.settings.daily_tokens,
                daily_usd=self.settings.daily_usd,
                session_tokens=self.settings.session_tokens,
                session_usd=self.settings.session_usd,
                today={"tokens": spent.daily_tokens, "usd": spent.daily_usd},
            ),
        )

    def _batching(self, rows: list[CostRow], uses: int) -> Batching:
        total = _sum(rows)
        calls, sent = total.calls, total.input_tokens + total.cached_tokens
        more = max(0, uses - calls) if calls else 0
        saved = more * self.instructions
        whole, usd = sent + total.output_tokens, total.cost_usd
        return Batching(
            tool_uses=uses,
            calls=calls,
            input_tokens=sent,
            estimated_input_tokens=sent + saved,
            saved_tokens=saved,
            saved_usd=round(saved * usd / whole, 4) if usd is not None and whole else None,
            explained=_EXPLAINED.format(
                uses=_many(uses, "tool use"),
                calls=_many(calls, "call"),
                more=_many(more, "call"),
                instructions=self.instructions,
            ),
        )


def _sum(rows: Iterable[CostRow], **by: Any) -> CostRow:
    """`by`: what they have in common. Money is not known of every model; what is known is summed."""
    rows = list(rows)
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    sums = {name: sum(getattr(row, name) for row in rows) for name in _SUMMED}
    return CostRow(**by, **sums, cost_usd=round(sum(known), 6) if known or not rows else None)


def _injected(counts: Iterable[InjectedRow], **by: Any) -> InjectedRow:
    counts = list(counts)
    times, tokens = sum(each.times for each in counts), sum(each.tokens for each in counts)
    return InjectedRow(**by, times=times, tokens=tokens)


def _grouped(rows: list[CostRow], *names: str) -> list[CostRow]:
    groups: dict[tuple[str, ...], list[CostRow]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    summed = [_sum(group, **dict(zip(names, key, strict=True))) for key, group in groups.items()]
    return sorted(summed, key=lambda each: -(each.input_tokens + each.output_tokens))


def _many(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def _day(epoch_ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=epoch_ms)).date().isoformat()
