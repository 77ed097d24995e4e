"""Takes what waits, when the policy says so, to an observer, and settles what came of it.

One step is one batch. What a provider says about itself (wait, log in, out of order) holds back all sessions,
not only the one that asked; what a batch does holds back that batch alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import assert_never

from claude_mem.model.batch import Batch, Gathered
from claude_mem.model.job import Lease
from claude_mem.model.observation import Memory
from claude_mem.model.outcome import Broken, Observed, Outcome, Paused, Throttled
from claude_mem.model.prompt import Spend
from claude_mem.ports.clock import Clock
from claude_mem.ports.pumping import Work
from claude_mem.queue.retry import Park, Retry, Settle, Wait, backoff, decide

MOST_EVENTS = 100
HOLD_AFTER = 2  # this many failures in a row are the provider's, not the batch's
LONGEST_HOLD_MS = 5 * 60 * 1000

When = int | None
"""Epoch milliseconds to look again; None: not before something new arrives."""


class Pump:
    """Any number of threads may step it; each holds a session of its own."""

    def __init__(
        self,
        work: Work,
        observe: Callable[[Batch, int], tuple[Outcome, Spend | None]],
        due_at: Callable[[Gathered, int], int],
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._work, self._observe, self._due_at = work, observe, due_at
        self._clock, self._tell = clock, tell
        self._lock = threading.Lock()
        self._held_until = 0
        self._failures = 0
        self._aborted: set[int] = set()
        self._busy: dict[int, threading.Event] = {}
        self.paused: str | None = None
        """Why nothing is observed at the moment, as one sentence; None: all is well."""

    def step(self) -> When:
        """Do one batch, if one is due. Returns when to look again: at once, after one was done."""
        now = self._clock()
        if now < self._held_until <= now + LONGEST_HOLD_MS:
            return self._held_until
        soonest: When = None
        for gathered in self._work.gathered():
            at = self._due_at(gathered, now)
            if at <= now and (lease := self._work.lease(MOST_EVENTS, gathered.session_id)):
                self._do(lease)
                return now
            soonest = at if soonest is None else min(soonest, at)
        return None if soonest is None else max(soonest, now + 1)

    def abort(self, session_id: int, within_s: float) -> bool:
        """Let go of a session's work: its events stay. True once nobody works on it any more."""
        with self._lock:
            ended = self._busy.get(session_id)
            if ended is None:
                return True
            self._aborted.add(session_id)
        return ended.wait(within_s)

    def _do(self, lease: Lease) -> None:
        ended = threading.Event()
        with self._lock:
            self._busy[lease.session_id] = ended
        try:
            outcome, spend = self._observe(self._work.batch(lease), lease.session_id)
            with self._lock:
                aborted = lease.session_id in self._aborted
            if aborted:
                self._work.postpone(lease, self._clock(), "aborted", failed=False, spend=spend)
            else:
                self._note(outcome)
                self._conclude(lease, outcome, spend)
        except BaseException:
            # Nothing is known of what came of it: the events go back, and the pump's owner hears of it.
            self._work.postpone(lease, self._clock() + backoff(1), "the observer failed", failed=True)
            raise
        finally:
            with self._lock:
                self._busy.pop(lease.session_id, None)
                self._aborted.discard(lease.session_id)
            ended.set()

    def _conclude(self, lease: Lease, outcome: Outcome, spend: Spend | None) -> None:
        decision = decide(outcome, lease.attempt, self._clock())
        match decision:
            case Settle():
                memory = outcome.memory if isinstance(outcome, Observed) else Memory()
                self._work.settle(lease, memory, spend)
            case Wait(until=until):
                self._work.postpone(lease, until, _reason(outcome), failed=False, spend=spend)
            case Retry(until=until, reason=reason):
                self._work.postpone(lease, until, reason, failed=True, spend=spend)
            case Park(reason=reason):
                self._work.park(lease, reason, spend)
            case _:
                assert_never(decision)

    def _note(self, outcome: Outcome) -> None:
        """What this says about the provider: whether to hold all sessions back, and whom to tell."""
        now = self._clock()
        with self._lock:
            before = self.paused
            match outcome:
                case Paused(reason=reason):
                    self.paused = reason
                    self._held_until = now + LONGEST_HOLD_MS
                case Throttled(until=until):
                    self._held_until = min(until, now + LONGEST_HOLD_MS)
                case Broken():
                    self._failures += 1
                    if self._failures >= HOLD_AFTER:
                        wait = min(backoff(self._failures - HOLD_AFTER + 1), LONGEST_HOLD_MS)
                        self._held_until = now + wait
                case _:
                    self._failures, self._held_until, self.paused = 0, 0, None
            told = self.paused
        if told and told != before:
            self._tell(told)


def _reason(outcome: Outcome) -> str:
    match outcome:
        case Paused(reason=reason):
            return reason
        case Throttled():
            return "the provider asked to wait"
    return ""
