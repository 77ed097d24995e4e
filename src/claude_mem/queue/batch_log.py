"""The outcome of each batch: one log line with figures and ids, and the durations for /metrics."""

from __future__ import annotations

import logging
import threading
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from msgspec import Struct

from claude_mem.model.jobs import CallCost, Lease
from claude_mem.model.memory import Findings, Nothing, Observed, Outcome
from claude_mem.queue.schedule import Decision, Fallback, Park, Retry, Settle, Wait

log = logging.getLogger("claude_mem.queue")

EXPECTED = ("stored", "nothing", "waits", "aborted")
LONGEST_ID = 64
BOUNDS_S = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
"""The bounds of the durations' histogram; the last is the longest that a call may take."""


class BatchReport(Struct, frozen=True):
    """`cause`: the kind of reply or exception that caused the outcome, never its text."""

    lease: Lease
    outcome: str  # stored, nothing, waits, retry, parked, fallback, aborted, failed
    ms: int
    provider: str = "offline"
    cause: str | None = None
    spend: CallCost | None = None
    findings: Findings | None = None

    def as_line(self) -> str:
        lease, spend, findings = self.lease, self.spend, self.findings
        first, last = lease.jobs[0], lease.jobs[-1]
        fields: dict[str, object] = {
            "batch": lease.number,
            "session": lease.session_id,
            "events": len(lease.jobs),
            "jobs": f"{first.id}-{last.id}",
            "first": _id(first.event.id),
            "last": _id(last.event.id),
            "provider": self.provider,
        }
        if spend is not None:
            fields["tokens"] = f"{spend.input_tokens + spend.cached_tokens}+{spend.output_tokens}"
            if spend.cost_usd is not None:
                fields["usd"] = f"{spend.cost_usd:.4f}"
        fields |= {"ms": self.ms, "attempt": lease.attempt, "outcome": self.outcome}
        if self.cause is not None:
            fields["cause"] = self.cause
        if findings is not None:
            fields |= {"observations": len(findings.observations), "summaries": len(findings.summaries)}
        return " ".join(f"{name}={value}" for name, value in fields.items())


def outcome_of(outcome: Outcome, decision: Decision) -> tuple[str, str | None]:
    """The outcome of the batch and the cause of a failure, in one word each."""
    cause = None if isinstance(outcome, Observed | Nothing) else type(outcome).__name__.lower()
    if isinstance(decision, Settle):
        return ("stored" if isinstance(outcome, Observed) else "nothing"), cause
    return _WORDS[type(decision)], cause


_WORDS: dict[type[Decision], str] = {Wait: "waits", Retry: "retry", Park: "parked", Fallback: "fallback"}


class BatchLog:
    """Any number of threads may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: Counter[str] = Counter()
        self._ms: Counter[str] = Counter()
        self._took = [0] * (len(BOUNDS_S) + 1)

    def add(self, report: BatchReport) -> None:
        with self._lock:
            self._count[report.outcome] += 1
            self._ms[report.outcome] += report.ms
            self._took[bisect_left(BOUNDS_S, report.ms / 1000)] += 1
        is_fine = report.outcome in EXPECTED and report.cause in (None, "throttled")
        log.log(logging.INFO if is_fine else logging.WARNING, "%s", report.as_line())
        if log.isEnabledFor(logging.DEBUG):
            ids = " ".join(_id(job.event.id) for job in report.lease.jobs)
            log.debug("batch=%d holds %s", report.lease.number, ids)

    def figures(self) -> tuple[dict[str, int], dict[str, float]]:
        """The number of batches since the worker started, and their total seconds, by outcome."""
        with self._lock:
            return dict(self._count), {name: ms / 1000 for name, ms in self._ms.items()}

    def durations(self) -> tuple[dict[str, int], float]:
        """How many batches took at most each bound, in seconds, and the total seconds of all batches."""
        with self._lock:
            bounds = (*map(str, BOUNDS_S), "+Inf")
            return dict(zip(bounds, accumulate(self._took), strict=True)), sum(self._ms.values()) / 1000


def _id(given: str) -> str:
    """An id that is safe to log. The id of an imported event comes from its sender, and could be any text."""
    return "".join(letter for letter in given[:LONGEST_ID] if letter in _ID_CHARACTERS)


_ID_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:")
