"""What a backfill shows: what was found, how far it is, and what came of it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem.cli import output
from claude_mem.cli.backfill.sender import SendReport
from claude_mem.cli.client import Sent, request
from claude_mem.hook import notices

if TYPE_CHECKING:
    from claude_mem.agents.claude_code.transcript_files import Transcript
    from claude_mem.cli.backfill import BackfillRun
    from claude_mem.cli.backfill.scan import Commits, Scan
    from claude_mem.imports.estimate import Estimate


PROJECTS_SHOWN = 8


def scan_text(
    seen: Scan, costs: Sequence[Estimate], commits: Commits | None, args: argparse.Namespace
) -> str:
    lines = [
        f"Found in {output.short_path(seen.folder)}: {output.plural(len(seen.found.transcripts), 'session')}"
    ]
    lines[0] += f", {_span(seen.found.transcripts)}." if seen.found.transcripts else "."
    for count, what in (
        (len(seen.live), "captured live; they are skipped"),
        (len(seen.done), "already imported"),
        (len(seen.barred), "deleted, or from a pause; they are skipped"),
    ):
        if count:
            lines.append(f"  {count:,} {what}.")
    if seen.found.unreadable:
        path, why = seen.found.unreadable[0]
        lines.append(f"  {output.plural(len(seen.found.unreadable), 'file')} cannot be read: {path}: {why}")
    if seen.fresh:
        lines.append(f"To import: {output.plural(len(seen.fresh), 'session')}, {_size(seen.size)}.")
        lines += _projects(seen.fresh)
        lines += _costs(costs, args.provider)
    else:
        lines.append("Nothing new.")
    if commits:
        lines.append(commits.found())
    return "\n".join(lines)


def end_text(seen: Scan, run: BackfillRun | None, sent: Sent | None, spent: dict[str, Any]) -> str:
    lines = []
    if run and run.stopped:
        left = output.plural(len(seen.fresh) - run.sessions, "session")
        lines.append(f"{run.stopped} {left} left; run it again to continue.")
    if run:
        came = run.sender.came
        sessions, events = output.plural(run.sessions, "session"), output.plural(came.fresh, "new event")
        lines.append(f"Imported {sessions}: {events}.")
        if came.dropped:
            dropped = output.plural(came.dropped, "event")
            lines.append(f"Skipped: {dropped} from private turns or from tools on the skip list.")
    elif not sent:
        lines.append("Nothing new.")
    if seen.live:
        lines.append(f"Skipped: {output.plural(len(seen.live), 'session')} captured live.")
    if spent.get("tokens"):
        lines.append(f"Cost: {spent['tokens']:,} tokens, ${spent['usd']:,.2f} (estimated).")
    if run and run.sender.came.unreadable:
        lines += _unreadable_lines(run.sender.came)
    if sent is not None:
        taken, known = sent.taken["observation"], sent.known["observation"]
        before = f", {known:,} already imported" if known else ""
        lines.append(f"From git: {output.plural(taken, 'commit')}{before}.")
    return "\n".join([*lines, *_totals()])


def scan_data(seen: Scan, costs: Sequence[Estimate], commits: Commits | None) -> dict[str, Any]:
    names = ("provider", "model", "calls", "input_tokens", "output_tokens", "usd")
    return _scan_fields(seen) | {
        "estimates": [{name: getattr(each, name) for name in names} for each in costs],
        "git": commits.as_data() if commits else None,
    }


def end_data(seen: Scan, run: BackfillRun | None, sent: Sent | None, spent: dict[str, Any]) -> dict[str, Any]:
    came = run.sender.came if run else SendReport()
    unreadable = [{"file": str(path), "line": number, "why": why} for path, number, why in came.shown]
    return _scan_fields(seen) | {
        "imported": run.sessions if run else 0,
        "events": {name: getattr(came, name) for name in ("fresh", "duplicate", "dropped", "live")},
        "unreadable": {"count": came.unreadable, "lines": unreadable},
        "spent": {"tokens": spent.get("tokens", 0), "usd": spent.get("usd", 0.0)},
        "git": sent.as_data() if sent else None,
        "stopped": run.stopped if run else None,
    }


def _scan_fields(seen: Scan) -> dict[str, Any]:
    return {
        "folder": str(seen.folder),
        "sessions": len(seen.found.transcripts),
        "new": len(seen.fresh),
        "bytes": seen.size,
        "live": len(seen.live),
        "known": len(seen.done),
        "barred": len(seen.barred),
        "first_at": min((each.first_at for each in seen.found.transcripts), default=None),
        "last_at": max((each.last_at for each in seen.found.transcripts), default=None),
    }


def _unreadable_lines(came: SendReport) -> list[str]:
    lines = [f"{output.plural(came.unreadable, 'line')} could not be read:"]
    for path, number, why in came.shown:
        lines.append(f"  {path}:{number}: {why}" if number else f"  {path}: {why}")
    if came.unreadable > len(came.shown):
        lines.append(f"  and {came.unreadable - len(came.shown):,} more")
    return lines


def _totals() -> list[str]:
    stats = request("GET", "/api/stats")
    newest = request("GET", "/api/observations", {"limit": 1})["items"]
    words = str(newest[0].get("title") or "").split()[:5] if newest else []
    example = f"claude-mem search {shlex.quote(' '.join(words))}" if words else "claude-mem timeline"
    kinds = ("session", "observation", "project")
    sessions, observations, projects = (output.plural(stats[f"{kind}s"], kind) for kind in kinds)
    return [f"In memory now: {sessions}, {observations} in {projects}.", f"Try: {example}"]


def _projects(transcripts: Sequence[Transcript]) -> list[str]:
    from claude_mem.agents.claude_code.transcript_files import root_of

    by_root: dict[str, list[Transcript]] = {}
    for each in transcripts:
        by_root.setdefault(root_of(each.cwd or "unknown"), []).append(each)
    shown = list(by_root.items())
    lines = [
        f"  {output.short_path(Path(root))}: {output.plural(len(some), 'session')}, "
        f"{_size(sum(each.size for each in some))}"
        for root, some in shown[:PROJECTS_SHOWN]
    ]
    if len(shown) > PROJECTS_SHOWN:
        lines.append(f"  and {len(shown) - PROJECTS_SHOWN} more directories")
    return lines


def _costs(costs: Sequence[Estimate], provider: str) -> list[str]:
    lines = []
    for each in costs:
        if each.provider == "offline":
            chosen = " (chosen)" if provider == "offline" else ""
            lines.append(f"  offline{chosen}: no model, free")
            continue
        usd = "price unknown" if each.usd is None else f"about ${each.usd:,.2f}"
        tokens = f"{(each.input_tokens + each.output_tokens) / 1000:,.0f}k tokens"
        model = f" ({each.model})" if each.model else ""
        lines.append(f"  {each.provider}{model}: about {output.plural(each.calls, 'call')}, {tokens}, {usd}")
    return lines


def _span(transcripts: Sequence[Transcript]) -> str:
    first, last = min(each.first_at for each in transcripts), max(each.last_at for each in transcripts)
    days = [datetime.fromtimestamp(at / 1000).astimezone().date().isoformat() for at in (first, last)]
    return f"{days[0]} to {days[1]}" if days[0] != days[1] else days[0]


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


BAR_WIDTH = 24


def progress_text(run: BackfillRun, doing: str) -> str:
    """`[####....] 12 of 40 sessions, 5.1 MB/s, 310 events/s, 8 s left`."""
    of_size, took_s = run.seen.size, run.progress.elapsed_s
    full = BAR_WIDTH if of_size <= 0 else min(BAR_WIDTH, run.size * BAR_WIDTH // of_size)
    of = output.plural(len(run.seen.fresh), "session")
    parts = [f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {run.sessions:,} of {of}"]
    if took_s > 0 and run.size:
        rate = run.size / took_s
        parts += [f"{rate / 1e6:.1f} MB/s", f"{run.sender.came.events / took_s:,.0f} events/s"]
        if run.size < of_size:
            parts.append(f"{notices.age((of_size - run.size) / rate)} left")
    return ", ".join(parts) + (f" ({doing})" if doing else "")
