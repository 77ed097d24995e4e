"""`claude-mem backfill`: import past sessions and commits."""

from __future__ import annotations

import argparse
import time
from typing import Any

from claude_mem.agents import CLAUDE_CODE, catalog
from claude_mem.cli import INTERRUPTED, client, output
from claude_mem.cli.backfill import scan, sender, texts
from claude_mem.cli.backfill.scan import Scan
from claude_mem.cli.backfill.sender import TranscriptSender
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, change_flags
from claude_mem.cli.filter_flags import up_to
from claude_mem.cli.import_sender import Sent
from claude_mem.model.errors import ClaudeMemError

MOST_WAITING = 2_000  # events that may wait to be observed while more are sent
LOOK_EVERY_S, LOOK_LATER_S = 0.02, 0.25
STALLED_S = 180.0
INDEXED_WITHIN_S = 60.0


def add(commands: Commands) -> None:
    parser = commands.add(
        "backfill",
        more=(
            "Finds an agent's transcripts (of all projects unless you pass --project),\n"
            "shows what it found and asks before it imports. Imported sessions are scrubbed\n"
            "and observed like live ones, newest first. Unless you pass --provider auto, no\n"
            "model is used and it costs nothing. You can interrupt it at any time and run it\n"
            "again to continue. Sessions that were captured live are skipped."
        ),
        example=(
            "claude-mem backfill\n"
            "claude-mem backfill --project . --git\n"
            "claude-mem backfill --agent codex --dry-run\n"
            "claude-mem backfill --from ~/old/projects --since 'last month' --yes\n"
            "claude-mem backfill --provider auto --budget-usd 1.50"
        ),
        run=backfill,
    )
    parser.add_argument(
        "--from", dest="folder", metavar="DIR", help="import transcripts from this folder instead"
    )
    parser.add_argument("--project", metavar="P", help="only this project: a directory such as . or a name")
    parser.add_argument("--since", metavar="WHEN", help="yesterday, 'last month', 2026-01-31, …")
    named = catalog.with_transcripts()
    which = f"whose transcripts: {', '.join(named)} (default: {CLAUDE_CODE})"
    parser.add_argument("--agent", choices=named, default=CLAUDE_CODE, metavar="NAME", help=which)
    observe = "offline: no model, free (default); auto: your model"
    parser.add_argument("--provider", choices=("offline", "auto"), default="offline", help=observe)
    dollars = "stop when this run has cost this many dollars"
    tokens = "stop when this run has used this many tokens"
    parser.add_argument("--budget-usd", type=dollar_amount, metavar="X", help=dollars)
    parser.add_argument("--budget-tokens", type=up_to(10**12), metavar="N", help=tokens)
    commits = "also import the commits of a repository (default: .)"
    parser.add_argument("--git", nargs="?", const=".", metavar="REPO", help=commits)
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
        """Until it can be found and injected; that takes a moment."""
        deadline = time.monotonic() + INDEXED_WITHIN_S
        while time.monotonic() < deadline:
            recall: dict[str, Any] = sender.request("GET", "/health").get("recall") or {}
            if not recall or (not recall["index"]["waiting"] and recall["context"]["fresh"]):
                return
            self._show("indexing")
            time.sleep(LOOK_EVERY_S)

    def _sent(self) -> None:
        self._show()
        self._settle(MOST_WAITING)

    def _show(self, doing: str = "") -> None:
        self.progress.show(texts.progress_text(self, doing))

    def _settle_all(self) -> None:
        self.sender.flush()
        self._settle(0)

    def _settle(self, most: int) -> None:
        """Wait until no more than so many events wait."""
        least, seen_at, wait_s = None, time.monotonic(), LOOK_EVERY_S
        while (found := sender.progress(self.began))["waiting"] > most:
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
        found = sender.progress(self.began)
        usd, tokens = self.args.budget_usd, self.args.budget_tokens
        if usd is not None and found["usd"] >= usd:
            self.stopped = f"The budget is spent: ${found['usd']:,.2f} of ${usd:,.2f}."
        elif tokens is not None and found["tokens"] >= tokens:
            self.stopped = f"The budget is spent: {found['tokens']:,} of {tokens:,} tokens."
        return self.stopped is not None


def backfill(args: argparse.Namespace) -> int:
    if args.provider == "offline" and (args.budget_usd or args.budget_tokens):
        raise UsageError("A budget needs --provider auto: offline observing is free.")
    chosen = client.load_settings()
    with output.waiting("Looking for transcripts ..."):
        seen = scan.scan(args)
        commits = scan.scan_commits(args.git, args.since, chosen, seen.now) if args.git else None
    if not args.yes or args.dry_run:
        with output.waiting("Estimating the cost ..."):
            costs = scan.estimates(seen, args.agent, chosen)
        text = texts.scan_text(seen, costs, commits, args.provider)
        if args.dry_run:
            return output.result(texts.scan_data(seen, costs, commits), text, as_json=args.json)
        output.message(text)
    if not seen.fresh and not commits and not sender.progress(seen.now)["waiting"]:
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
    return _report(args, seen, run, sent, sender.progress(run.began))


def _report(
    args: argparse.Namespace, seen: Scan, run: BackfillRun | None, sent: Sent | None, spent: dict[str, Any]
) -> int:
    if args.json:
        output.print_json(texts.end_data(seen, run, sent, spent))
    else:
        print(texts.end_text(seen, run, sent, spent))
        if sent:
            sent.print_refused()
    return WRONG if (run and run.stopped) or (sent and sent.refused) else OK
