"""One run of a backfill: looks, shows and asks, tells the worker, and says what came of it."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from claude_mem.cli import INTERRUPTED, consent, loading, say
from claude_mem.cli.backfill import history, looking, saying, worker
from claude_mem.cli.backfill.bar import Bar
from claude_mem.cli.backfill.looking import Seen
from claude_mem.cli.backfill.telling import Teller
from claude_mem.cli.commands import OK, WRONG, UsageError
from claude_mem.cli.sending import Sent
from claude_mem.model.errors import ClaudeMemError

MOST_WAITING = 2_000
"""Events that may wait to be observed while more are told: what is under way is bounded."""
LOOK_EVERY_S = 0.02
LOOK_LATER_S = 0.25
STALLED_S = 180.0


@dataclass(slots=True)
class Run:
    """How far a run is."""

    seen: Seen
    args: argparse.Namespace
    began: int
    teller: Teller
    bar: Bar
    sessions: int = 0
    size: int = 0
    stopped: str | None = None  # why not all of it was told
    told: set[str] = field(default_factory=set)

    def go(self) -> None:
        for transcript in self.seen.fresh:
            if transcript.session in self.told:
                self.teller.flush()
                self.settle(0)  # more of a session is observed after what came first, not with it
            self.told.add(transcript.session)
            self.teller.tell(transcript)
            self.sessions += 1
            self.size += transcript.size
            if self.is_limited:
                self.teller.flush()
                self.settle(0)
                if self.is_spent():
                    return
        self.teller.flush()
        self.settle(0)

    def sent(self) -> None:
        self.show()
        self.settle(MOST_WAITING)

    def show(self, doing: str = "") -> None:
        self.bar.show(self.sessions, self.size, self.teller.came.events, doing)

    def settle(self, most: int) -> None:
        """Wait until no more than so many events wait."""
        least, seen_at, wait_s = None, time.monotonic(), LOOK_EVERY_S
        while (found := worker.progress(self.began))["waiting"] > most:
            if least is None or found["waiting"] < least:
                least, seen_at = found["waiting"], time.monotonic()
            self.show(f"{found['waiting']:,} events to observe")
            if found["paused"] and self.args.provider != "offline":
                raise ClaudeMemError(f"{found['paused']} What was told waits; run it again to go on.")
            if time.monotonic() - seen_at > STALLED_S and self.args.provider == "offline":
                raise ClaudeMemError("The worker does not go on. Look at: claude-mem doctor")
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LOOK_LATER_S)

    @property
    def is_limited(self) -> bool:
        return self.args.budget_usd is not None or self.args.budget_tokens is not None

    def is_spent(self) -> bool:
        found = worker.progress(self.began)
        usd, tokens = self.args.budget_usd, self.args.budget_tokens
        if usd is not None and found["usd"] >= usd:
            self.stopped = f"The budget is spent: ${found['usd']:,.2f} of ${usd:,.2f}."
        elif tokens is not None and found["tokens"] >= tokens:
            self.stopped = f"The budget is spent: {found['tokens']:,} of {tokens:,} tokens."
        return self.stopped is not None


def run(args: argparse.Namespace) -> int:
    if args.provider == "offline" and (args.budget_usd or args.budget_tokens):
        raise UsageError("Offline costs nothing: a budget goes with --provider auto.")
    chosen = loading.load()
    with say.patiently("Looking for transcripts ..."):
        seen = looking.look(args)
        commits = history.look(args.git, args.since, chosen, seen.now) if args.git else None
    if not args.yes or args.dry_run:
        with say.patiently("Counting what it would cost ..."):
            costs = looking.estimates(seen.fresh, chosen)
        if args.json and args.dry_run:
            say.data(saying.as_data(seen, costs, commits))
            return OK
        found = saying.findings(seen, costs, commits, args)
        if args.dry_run:
            print(found)
            return OK
        say.talk(found)
    if not seen.fresh and not commits and not worker.progress(seen.now)["waiting"]:
        return _end(args, seen, None, None, {})
    code = consent.refused("Go on?", "backfill adds to your memory", yes=args.yes)
    return _import(args, seen, commits) if code is None else code


def _import(args: argparse.Namespace, seen: Seen, commits: history.History | None) -> int:
    began = time.time_ns() // 1_000_000
    with Bar(sys.stderr, len(seen.fresh), seen.size) as bar:
        run = Run(seen, args, began, Teller(offline=args.provider == "offline", now=seen.now), bar)
        run.teller.sent = run.sent
        try:
            run.go()
            indexed(run)
            bar.wipe()
            sent = commits.send() if commits else None
        except KeyboardInterrupt:
            bar.wipe()
            say.talk(saying.interrupted(run.sessions, len(seen.fresh)))
            return INTERRUPTED
    return _end(args, seen, run, sent, worker.progress(began))


def indexed(run: Run) -> None:
    """Until it can be found, and a session would be told of it; that is a moment, or nobody waits for it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        recall: dict[str, Any] = worker.health().get("recall") or {}
        if not recall or (not recall["index"]["waiting"] and recall["context"]["fresh"]):
            return
        run.show("indexing")
        time.sleep(LOOK_EVERY_S)


def _end(
    args: argparse.Namespace, seen: Seen, run: Run | None, sent: Sent | None, spent: dict[str, Any]
) -> int:
    came = run.teller.came if run else None
    told = run.sessions if run else 0
    stopped = run.stopped if run else None
    if args.json:
        say.data(saying.outcome(seen, told, came, sent, spent, stopped))
    else:
        print(saying.ended(seen, told, came, sent, spent, stopped))
        if sent:
            sent.say_refused()
    return WRONG if stopped or (sent and sent.refused) else OK
