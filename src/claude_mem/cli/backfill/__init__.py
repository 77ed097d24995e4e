"""`claude-mem backfill`: import past sessions and commits."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from claude_mem.agents import CLAUDE_CODE, catalog
from claude_mem.agents.catalog import Transcript
from claude_mem.cli import INTERRUPTED, client, import_sender, output
from claude_mem.cli.backfill.scan import Commits, Scan, estimates, scan_commits, scan_transcripts
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, change_flags
from claude_mem.cli.filter_flags import up_to
from claude_mem.cli.import_sender import SendReport, TranscriptSender
from claude_mem.cli.output import plural, short_path
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.events import repository_of
from claude_mem.providers.price import Estimate

MOST_WAITING = 2_000  # events that may wait to be observed while more are sent
LOOK_EVERY_S, LOOK_LATER_S = 0.02, 0.25
STALLED_S = 180.0
INDEXED_WITHIN_S = 60.0


def add(commands: Commands) -> None:
    parser = commands.add("backfill", run=backfill)
    parser.argument("--from", "DIR", "import transcripts from this folder instead", dest="folder")
    parser.argument("--project", "P", "only this project: a directory such as . or a name")
    parser.argument("--since", "WHEN", "yesterday, 'last month', 2026-01-31, …")
    named = catalog.with_transcripts()
    which = f"whose transcripts: {', '.join(named)} (default: {CLAUDE_CODE})"
    parser.argument("--agent", "NAME", which, choices=named, default=CLAUDE_CODE)
    observe = "offline: no model, free (default); auto: your model"
    parser.add_argument("--provider", choices=("offline", "auto"), default="offline", help=observe)
    tokens = "stop when this run has used this many tokens"
    parser.argument("--budget-usd", "X", "stop when this run has cost this many dollars", type=dollar_amount)
    parser.argument("--budget-tokens", "N", tokens, type=up_to(10**12))
    commits = "also import the commits of a repository (default: .)"
    parser.argument("--git", "REPO", commits, nargs="?", const=".")
    change_flags(parser, "be imported")


def dollar_amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a dollar amount such as 1.50")
    return amount


class BackfillRun:
    def __init__(self, args: argparse.Namespace, seen: Scan, progress: output.ProgressLine) -> None:
        self.args, self.seen, self.progress = args, seen, progress
        self.began = time.time_ns() // 1_000_000
        self.is_offline = args.provider == "offline"
        self.sender = TranscriptSender(args.agent, offline=self.is_offline, now=seen.now, sent=self._sent)
        self.sessions = self.size = 0
        self.stopped: str | None = None  # why not all of it was sent

    def send_all(self) -> None:
        limited = self.args.budget_usd is not None or self.args.budget_tokens is not None
        begun = set()
        for transcript in self.seen.fresh:
            if transcript.session in begun:
                self._settle_all()  # more of a session is observed after what came first, not with it
            begun.add(transcript.session)
            self.sender.add(transcript)
            self.sessions += 1
            self.size += transcript.size
            if limited:
                self._settle_all()
                if self._is_spent():
                    return
        self._settle_all()

    def wait_for_index(self) -> None:
        """Waits until the imported memory can be found and injected, which takes a moment."""
        deadline = time.monotonic() + INDEXED_WITHIN_S
        while time.monotonic() < deadline:
            recall: dict[str, Any] = import_sender.backfill_request("GET", "/health").get("recall") or {}
            if not recall or (not recall["index"]["waiting"] and recall["context"]["fresh"]):
                return
            self._show("indexing")
            time.sleep(LOOK_EVERY_S)

    def _sent(self) -> None:
        self._show()
        self._settle(MOST_WAITING)

    def _show(self, doing: str = "") -> None:
        self.progress.show(progress_text(self, doing))

    def _settle_all(self) -> None:
        self.sender.flush()
        self._settle(0)

    def _settle(self, most: int) -> None:
        """Waits until at most this many events are waiting."""
        least, seen_at, wait_s = None, time.monotonic(), LOOK_EVERY_S
        while (found := import_sender.backfill_progress(self.began))["waiting"] > most:
            if least is None or found["waiting"] < least:
                least, seen_at = found["waiting"], time.monotonic()
            self._show(f"{found['waiting']:,} events to observe")
            if found["paused"] and not self.is_offline:
                raise ClaudeMemError(
                    f"{found['paused']} What was imported stays queued. Run this again to continue."
                )
            if time.monotonic() - seen_at > STALLED_S and self.is_offline:
                raise ClaudeMemError("The worker is not making progress. Run: claude-mem doctor")
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LOOK_LATER_S)

    def _is_spent(self) -> bool:
        found = import_sender.backfill_progress(self.began)
        usd, tokens = self.args.budget_usd, self.args.budget_tokens
        if usd is not None and found["usd"] >= usd:
            self.stopped = f"The budget is spent: ${found['usd']:,.2f} of ${usd:,.2f}."
        elif tokens is not None and found["tokens"] >= tokens:
            self.stopped = f"The budget is spent: {found['tokens']:,} of {tokens:,} tokens."
        return self.stopped is not None


def backfill(args: argparse.Namespace) -> int:
    """Finds an agent's transcripts (of all projects unless you pass --project), shows what it found and asks
    before it imports. Imported sessions are scrubbed and observed like live ones, newest first. Unless you
    pass --provider auto, no model is used and it costs nothing. You can interrupt it at any time and run it
    again to continue. Sessions that were captured live are skipped.

    Example:
      claude-mem backfill
      claude-mem backfill --project . --git
      claude-mem backfill --agent codex --dry-run
      claude-mem backfill --from ~/old/projects --since 'last month' --yes
      claude-mem backfill --provider auto --budget-usd 1.50
    """
    if args.provider == "offline" and (args.budget_usd or args.budget_tokens):
        raise UsageError("A budget needs --provider auto: offline observing is free.")
    settings = client.load_settings()
    with output.waiting("Looking for transcripts ..."):
        seen = scan_transcripts(args)
        commits = scan_commits(args.git, args.since, settings, seen.now) if args.git else None
    if not args.yes or args.dry_run:
        with output.waiting("Estimating the cost ..."):
            costs = estimates(seen, args.agent, settings)
        text = scan_text(seen, costs, commits, args.provider)
        if args.dry_run:
            data = {"estimates": to_builtins(costs), "git": commits.as_data() if commits else None}
            return output.result(args, seen.as_data() | data, text)
        output.message(text)
    if not seen.fresh and not commits and not import_sender.backfill_progress(seen.now)["waiting"]:
        return _report(args, seen, None, None, {})
    if code := output.confirm("Continue?", "backfill adds to your memory", yes=args.yes):
        return code
    with output.ProgressLine(after_s=0.0, plain_every_s=10.0) as progress:
        run = BackfillRun(args, seen, progress)
        try:
            run.send_all()
            run.wait_for_index()
            progress.erase()
            sent = commits.send() if commits else None
        except KeyboardInterrupt:
            progress.erase()
            output.message(
                f"Interrupted after {run.sessions:,} of {output.plural(len(seen.fresh), 'session')}. "
                "Imported sessions are saved; run it again to continue."
            )
            return INTERRUPTED
    return _report(args, seen, run, sent, import_sender.backfill_progress(run.began))


def _report(
    args: argparse.Namespace,
    seen: Scan,
    run: BackfillRun | None,
    sent: SendReport | None,
    spent: dict[str, Any],
) -> int:
    if args.json:
        output.print_json(end_data(seen, run, sent, spent))
    else:
        print(end_text(seen, run, sent, spent))
        if sent:
            sent.print_refused()
    return WRONG if (run and run.stopped) or (sent and sent.refused) else OK


PROJECTS_SHOWN = 8
BAR_WIDTH = 24


def scan_text(seen: Scan, costs: Sequence[Estimate], commits: Commits | None, provider: str) -> str:
    data = seen.as_data()
    times = [data[name] for name in ("first_at", "last_at") if data[name] is not None]
    days = [datetime.fromtimestamp(at / 1000).astimezone().date().isoformat() for at in times]
    period = f", {' to '.join(dict.fromkeys(days))}" if days else ""
    lines = [f"Found in {short_path(seen.folder)}: {plural(data['sessions'], 'session')}{period}."]
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


def end_text(seen: Scan, run: BackfillRun | None, sent: SendReport | None, spent: dict[str, Any]) -> str:
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
    stats = client.request("GET", "/api/stats")
    newest = client.request("GET", "/api/observations", {"limit": 1})["items"]
    words = str(newest[0].get("title") or "").split()[:5] if newest else []
    example = f"claude-mem search {shlex.quote(' '.join(words))}" if words else "claude-mem timeline"
    kinds = ("session", "observation", "project")
    sessions, observations, projects = (plural(stats[f"{kind}s"], kind) for kind in kinds)
    return [f"In memory now: {sessions}, {observations} in {projects}.", f"Try: {example}"]


def end_data(
    seen: Scan, run: BackfillRun | None, sent: SendReport | None, spent: dict[str, Any]
) -> dict[str, Any]:
    counts = run.sender.counts if run else {}
    shown = run.sender.shown if run else []
    lines = [{"file": str(path), "line": number, "why": why} for path, number, why in shown]
    return seen.as_data() | {
        "imported": run.sessions if run else 0,
        "events": {name: counts.get(name, 0) for name in ("fresh", "duplicate", "dropped", "live")},
        "unreadable": {"count": counts.get("unreadable", 0), "lines": lines},
        "spent": {"tokens": spent.get("tokens", 0), "usd": spent.get("usd", 0.0)},
        "git": sent.as_data() if sent else None,
        "stopped": run.stopped if run else None,
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
