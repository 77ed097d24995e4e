"""`claude-mem stats`: how much was captured, observed and injected, and what it cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from claude_mem.cli import client, output
from claude_mem.cli.commands import Commands
from claude_mem.cli.filter_flags import up_to
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem.api.projects import CostRow
    from claude_mem.settings import Settings
    from claude_mem.store.values import InjectionTotals, UsageCounts


DAYS = 7
NAME = 27
OCCASIONS = {"SessionStart": "at the start", "UserPromptSubmit": "at prompts", "PreToolUse": "at files"}
BREAKDOWNS = ("day", "model", "project")
COLUMNS = (("calls", 8), ("input", 11), ("cached", 11), ("output", 11), ("cost", 10))


def add(commands: Commands) -> None:
    parser = commands.add("stats", run=_run)
    period = parser.add_mutually_exclusive_group()
    period.add_argument("--since", type=_day, metavar="DATE", help="from this date on, such as 2026-01-31")
    days = f"the last N days, including today (default: {DAYS})"
    period.add_argument("--days", type=up_to(36_500), default=DAYS, metavar="N", help=days)


def _run(args: argparse.Namespace) -> int:
    """Days are in UTC, as for budgets. The worker does not have to be running.

    Example:
      claude-mem stats
      claude-mem stats --days 30
      claude-mem stats --since 2026-01-31 --json
    """
    from claude_mem.wiring import database

    settings = client.load_settings()
    since = args.since or datetime.now(UTC).date() - timedelta(days=args.days - 1)
    with output.waiting("Counting ..."):
        found = database.survey(settings, thorough=False)
        if found.problem:
            raise ClaudeMemError(found.problem)
        if not found.exists:
            raise ClaudeMemError(client.NO_DATABASE)
        if found.schema != found.known_schema:
            raise ClaudeMemError("The database is from an older version. Run: claude-mem worker restart")
        midnight = datetime.combine(since, time.min, UTC)
        ever, counted = (database.tally(settings, at) for at in (0, int(midnight.timestamp() * 1000)))
    data = as_data(since, counted, settings, ever=ever)
    return output.result(args, data, render(since, counted, settings, ever=ever))


class Cost(Struct, frozen=True):
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None  # None: not known of any call
    usd_is_whole: bool = True  # False: of some calls it is not known

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cached_tokens + self.output_tokens


def total(rows: Iterable[CostRow]) -> Cost:
    rows = list(rows)
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens")
    sums = {name: sum(getattr(row, name) for row in rows) for name in names}
    return Cost(**sums, usd=sum(known) if known else None, usd_is_whole=len(known) == len(rows))


def by(column: str, rows: list[CostRow]) -> dict[str, Cost]:
    """`column`: one of BREAKDOWNS."""
    names = sorted({getattr(row, column) for row in rows})
    return {name: total(row for row in rows if getattr(row, column) == name) for name in names}


def as_data(since: date, counted: UsageCounts, settings: Settings, *, ever: UsageCounts) -> dict[str, Any]:
    return {
        "total": {
            "sessions": ever.sessions,
            "prompts": ever.prompts,
            "observations": sum(ever.by_type.values()),
            "summaries": ever.summaries,
        },
        "since": since.isoformat(),
        "captured": {"sessions": counted.sessions, "prompts": counted.prompts, "events": counted.events},
        "became": {
            "observations": sum(counted.by_type.values()),
            "by_type": counted.by_type,
            "by_provider": counted.by_provider,
            "seen_again": counted.seen_again,
            "summaries": counted.summaries,
        },
        "injected": to_builtins(counted.injected),
        "queue": to_builtins(counted.queue),
        "cost": to_builtins(total(counted.spending))
        | {f"by_{column}": to_builtins(by(column, counted.spending)) for column in BREAKDOWNS},
        "budget": {
            "tokens_today": counted.today.tokens,
            "daily_tokens": settings.daily_tokens or None,
            "usd_today": counted.today.usd,
            "daily_usd": settings.daily_usd or None,
        },
    }


def render(since: date, counted: UsageCounts, settings: Settings, *, ever: UsageCounts) -> str:
    lines = [
        f"In total  {output.plural(ever.sessions, 'session')}, "
        f"{output.plural(sum(ever.by_type.values()), 'observation')}, "
        f"{output.plural(ever.summaries, 'summary', 'summaries')}",
        "",
        f"Since {since.isoformat()} (UTC)",
        "",
        f"Captured  {output.plural(counted.sessions, 'session')}, "
        f"{output.plural(counted.prompts, 'prompt')}, {output.plural(counted.events, 'event')}",
        f"Observed  {output.plural(sum(counted.by_type.values()), 'observation')}, "
        f"{output.plural(counted.summaries, 'summary', 'summaries')}"
        + (f"; {counted.seen_again:,} repeated" if counted.seen_again else ""),
    ]
    if counted.by_type:
        lines.append("          " + _listed(counted.by_type))
        lines.append("          written by " + _listed(counted.by_provider))
    queue = counted.queue
    if queue.ready or queue.leased or queue.parked:
        parked = f", {queue.parked:,} parked (claude-mem queue list)" if queue.parked else ""
        lines.append(f"Waiting   {output.plural(queue.ready + queue.leased, 'event')}{parked}")
    return "\n".join(
        [*lines, *_injected(counted.injected), *_cost(counted.spending), _budget(counted, settings)]
    )


def _listed(counts: dict[str, int]) -> str:
    return output.fit(", ".join(f"{name} {count:,}" for name, count in counts.items()), 69)


def _injected(injected: dict[str, InjectionTotals]) -> list[str]:
    if not injected:
        return ["Injected  nothing"]
    times = sum(each.times for each in injected.values())
    tokens = sum(each.tokens for each in injected.values())
    lines = [f"Injected  {output.plural(times, 'time')}, about {tokens:,} tokens"]
    for event, each in injected.items():
        count = f"{each.times:>8,} {'time' if each.times == 1 else 'times'}"
        lines.append(f"          {OCCASIONS.get(event, event):<16}{count}, about {each.tokens:,} tokens")
    return lines


def _cost(spending: list[CostRow]) -> list[str]:
    if not spending:
        return ["Cost      nothing: no model was used"]
    overall = total(spending)
    price = _dollars(overall) or "price unknown"
    lines = [f"Cost      {output.plural(overall.calls, 'call')}, {overall.tokens:,} tokens, {price}"]
    for column in BREAKDOWNS:
        heads = "".join(f"{head:>{width}}" for head, width in COLUMNS)
        lines += ["", f"  {column:<{NAME}}{heads}"]
        lines += [_row(each, cost) for each, cost in by(column, spending).items()]
    return [*lines, ""]


def _row(name: str, cost: Cost) -> str:
    figures = (
        f"{cost.calls:,}",
        tokens(cost.input_tokens),
        tokens(cost.cached_tokens),
        tokens(cost.output_tokens),
        _dollars(cost) or "unknown",
    )
    columns = "".join(f"{figure:>{width}}" for figure, (_, width) in zip(figures, COLUMNS, strict=True))
    return f"  {output.fit(name, NAME - 1):<{NAME}}{columns}"


def tokens(count: int) -> str:
    """A number of tokens, exact if it fits the column: `99,999,999`, `100.0 M`."""
    return f"{count:,}" if count < 100_000_000 else f"{count / 1e6:,.1f} M"


def _dollars(cost: Cost) -> str | None:
    if cost.usd is None:
        return None
    return f"{'' if cost.usd_is_whole else '> '}{dollars(cost.usd)}"


def dollars(amount: float) -> str:
    """An amount in dollars, to the cent; below ten cents, to the hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"


def _budget(counted: UsageCounts, settings: Settings) -> str:
    used, most_tokens = counted.today.tokens, settings.daily_tokens
    usd, most_usd = counted.today.usd, settings.daily_usd
    of_tokens = f" of {most_tokens:,}" if most_tokens else ""
    of_usd = f" of ${most_usd:,.2f}" if most_usd else ""
    spent = (most_tokens and used >= most_tokens) or (most_usd and usd >= most_usd)
    over = ": budget used up, the offline observer has taken over" if spent else ""
    limit = "" if most_tokens or most_usd else " (no limit)"
    return f"Today     {used:,}{of_tokens} tokens, {dollars(usd)}{of_usd}{limit}{over}"


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2026-01-31") from None
