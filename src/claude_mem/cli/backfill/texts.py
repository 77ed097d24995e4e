"""What a backfill shows: what was found, how far it is, and the result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_mem.cli.client import request
from claude_mem.cli.import_sender import Sent
from claude_mem.cli.output import plural, short_path
from claude_mem.hook import notices
from claude_mem.model.events import repository_of

if TYPE_CHECKING:
    from claude_mem.agents.catalog import Transcript
    from claude_mem.cli.backfill import BackfillRun
    from claude_mem.cli.backfill.scan import Commits, Scan
    from claude_mem.providers.price import Estimate

PROJECTS_SHOWN = 8
BAR_WIDTH = 24
ESTIMATE = ("provider", "model", "calls", "input_tokens", "output_tokens", "usd")


def scan_text(seen: Scan, costs: Sequence[Estimate], commits: Commits | None, provider: str) -> str:
    found = seen.found.transcripts
    lines = [f"Found in {short_path(seen.folder)}: {plural(len(found), 'session')}"]
    if found:
        times = (min(each.first_at for each in found), max(each.last_at for each in found))
        days = [datetime.fromtimestamp(at / 1000).astimezone().date().isoformat() for at in times]
        lines[0] += f", {' to '.join(dict.fromkeys(days))}"
    lines[0] += "."
    skipped = {
        "captured live; they are skipped": seen.live,
        "already imported": seen.done,
        "deleted, or recorded during a pause; they are skipped": seen.barred,
    }
    lines += [f"  {len(some):,} {what}." for what, some in skipped.items() if some]
    if seen.found.unreadable:
        path, why = seen.found.unreadable[0]
        lines.append(f"  {plural(len(seen.found.unreadable), 'file')} cannot be read: {path}: {why}")
    if seen.fresh:
        lines.append(f"To import: {_many(seen.fresh)}.")
        lines += _projects(seen.fresh)
        lines += [_cost(each, provider) for each in costs]
    else:
        lines.append("Nothing new.")
    if commits:
        lines.append(commits.as_text())
    return "\n".join(lines)


def _many(transcripts: Sequence[Transcript]) -> str:
    size = sum(each.size for each in transcripts)
    return f"{plural(len(transcripts), 'session')}, {size / 1e6:,.1f} MB"


def _projects(transcripts: Sequence[Transcript]) -> list[str]:
    by_root: dict[str, list[Transcript]] = {}
    for each in transcripts:
        by_root.setdefault(repository_of(each.cwd or "unknown"), []).append(each)
    lines = [f"  {short_path(Path(root))}: {_many(some)}" for root, some in by_root.items()]
    more = len(lines) - PROJECTS_SHOWN
    return lines if more <= 0 else [*lines[:PROJECTS_SHOWN], f"  and {more} more directories"]


def _cost(each: Estimate, provider: str) -> str:
    if each.provider == "offline":
        return f"  offline{' (chosen)' if provider == 'offline' else ''}: no model, free"
    usd = "price unknown" if each.usd is None else f"about ${each.usd:,.2f}"
    tokens = f"{(each.input_tokens + each.output_tokens) / 1000:,.0f}k tokens"
    return f"  {each.provider} ({each.model}): about {plural(each.calls, 'call')}, {tokens}, {usd}"


def end_text(seen: Scan, run: BackfillRun | None, sent: Sent | None, spent: dict[str, Any]) -> str:
    lines = []
    if run:
        counts = run.sender.counts
        if run.stopped:
            left = plural(len(seen.fresh) - run.sessions, "session")
            lines.append(f"{run.stopped} {left} left. Run it again to continue.")
        sessions, events = plural(run.sessions, "session"), plural(counts["fresh"], "new event")
        lines.append(f"Imported {sessions}: {events}.")
        if counts["dropped"]:
            dropped = plural(counts["dropped"], "event")
            lines.append(f"Skipped: {dropped} from private turns or from tools on the skip list.")
    elif not sent:
        lines.append("Nothing new.")
    if seen.live:
        lines.append(f"Skipped: {plural(len(seen.live), 'session')} captured live.")
    if spent.get("tokens"):
        lines.append(f"Cost: {spent['tokens']:,} tokens, ${spent['usd']:,.2f} (estimated).")
    if run and (unreadable := run.sender.counts["unreadable"]):
        lines.append(f"{plural(unreadable, 'line')} could not be read:")
        for path, number, why in run.sender.shown:
            lines.append(f"  {path}{f':{number}' if number else ''}: {why}")
        if unreadable > len(run.sender.shown):
            lines.append(f"  and {unreadable - len(run.sender.shown):,} more")
    if sent is not None:
        taken, known = sent.taken["observation"], sent.known["observation"]
        before = f", {known:,} already imported" if known else ""
        lines.append(f"From git: {plural(taken, 'commit')}{before}.")
    return "\n".join([*lines, *_totals()])


def _totals() -> list[str]:
    stats = request("GET", "/api/stats")
    newest = request("GET", "/api/observations", {"limit": 1})["items"]
    words = str(newest[0].get("title") or "").split()[:5] if newest else []
    example = f"claude-mem search {shlex.quote(' '.join(words))}" if words else "claude-mem timeline"
    kinds = ("session", "observation", "project")
    sessions, observations, projects = (plural(stats[f"{kind}s"], kind) for kind in kinds)
    return [f"In memory now: {sessions}, {observations} in {projects}.", f"Try: {example}"]


def scan_data(seen: Scan, costs: Sequence[Estimate], commits: Commits | None) -> dict[str, Any]:
    return _scan_fields(seen) | {
        "estimates": [{name: getattr(each, name) for name in ESTIMATE} for each in costs],
        "git": commits.as_data() if commits else None,
    }


def end_data(seen: Scan, run: BackfillRun | None, sent: Sent | None, spent: dict[str, Any]) -> dict[str, Any]:
    counts = run.sender.counts if run else {}
    shown = run.sender.shown if run else []
    lines = [{"file": str(path), "line": number, "why": why} for path, number, why in shown]
    return _scan_fields(seen) | {
        "imported": run.sessions if run else 0,
        "events": {name: counts.get(name, 0) for name in ("fresh", "duplicate", "dropped", "live")},
        "unreadable": {"count": counts.get("unreadable", 0), "lines": lines},
        "spent": {"tokens": spent.get("tokens", 0), "usd": spent.get("usd", 0.0)},
        "git": sent.as_data() if sent else None,
        "stopped": run.stopped if run else None,
    }


def _scan_fields(seen: Scan) -> dict[str, Any]:
    found = seen.found.transcripts
    return {
        "folder": str(seen.folder),
        "sessions": len(found),
        "new": len(seen.fresh),
        "bytes": seen.size,
        "live": len(seen.live),
        "known": len(seen.done),
        "barred": len(seen.barred),
        "first_at": min((each.first_at for each in found), default=None),
        "last_at": max((each.last_at for each in found), default=None),
    }


def progress_text(run: BackfillRun, doing: str) -> str:
    """`[####....] 12 of 40 sessions, 5.1 MB/s, 310 events/s, 8 s left`."""
    of_size, took_s = run.seen.size, run.progress.elapsed_s
    full = BAR_WIDTH if of_size <= 0 else min(BAR_WIDTH, run.size * BAR_WIDTH // of_size)
    of = plural(len(run.seen.fresh), "session")
    parts = [f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {run.sessions:,} of {of}"]
    if took_s > 0 and run.size:
        rate = run.size / took_s
        parts += [f"{rate / 1e6:.1f} MB/s", f"{run.sender.counts['events'] / took_s:,.0f} events/s"]
        if run.size < of_size:
            parts.append(f"{notices.age((of_size - run.size) / rate)} left")
    return ", ".join(parts) + (f" ({doing})" if doing else "")
