"""Passes queued batches to an observer when they are due, and stores the outcome.

One step is one batch. A failure of the provider (rate limit, login, outage) delays all sessions, not only
the one that called it; a failure of a batch delays only that batch.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import assert_never

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError, StoreUnavailable
from claude_mem.model.jobs import CallCost, Lease
from claude_mem.model.memory import (
    Batch,
    Broken,
    Findings,
    Nothing,
    Observed,
    Outcome,
    Paused,
    Throttled,
    Unreadable,
)
from claude_mem.queue.batch_log import BatchLog, BatchReport, outcome_of
from claude_mem.queue.schedule import (
    LONGEST_WAIT_MS,
    LOOK_AGAIN_MS,
    Decision,
    Fallback,
    Park,
    Retry,
    Settle,
    Wait,
    backoff,
    decide,
    due_at,
)
from claude_mem.store.base import Queue

log = logging.getLogger("claude_mem")

MOST_EVENTS = 150
HOLD_AFTER = 2  # this many failures in a row hold all sessions back
NOTIFY_AFTER = 4  # with this many, the last of them the provider's, the user is notified: at the third hold
SHORTEST_HOLD_MS = 1_000  # for a provider that asks us to wait, but does not say how long
STORE_HOLD_MS = 60_000
PAST_AGAIN_MS = 1_000

NO_STORE = (StoreUnavailable, StoreDamaged)  # nothing can be stored now; the batch is not at fault

When = int | None
"""When to look again, in epoch milliseconds; None: when something new arrives."""


class Pump:
    """Any number of threads may call `step`; each works on a different session."""

    def __init__(
        self,
        queue: Queue,
        observe: Callable[[Batch, int], tuple[Outcome, CallCost | None]],
        fall_back: Callable[[Batch], Findings],
        clock: Clock,
        notify: Callable[[str], None],
        jitter: Callable[[], float] = random.random,
        provider: str = "offline",
    ) -> None:
        """`fall_back` observes without a model; `provider`: its name, for the log."""
        self._queue, self._observe, self._fall_back = queue, observe, fall_back
        self._clock, self._notify, self._jitter, self._provider = clock, notify, jitter, provider
        self.batches = BatchLog()
        self._lock = threading.Lock()
        self._held_until = 0
        self._stuck_until = 0  # until then nothing can be stored
        self._past_lock = threading.Lock()  # imported sessions are observed one at a time, in order
        self._paused_until = 0  # the end of the hold that the pause has caused
        self._failures = 0
        self._failures_of: dict[int, int] = {}  # the provider's failures in a row, by session
        self._aborted: set[int] = set()
        self._busy: dict[int, threading.Event] = {}
        self._stranded: list[tuple[Lease, BaseException, CallCost | None]] = []
        self.paused: str | None = None
        """Why nothing is being observed, as one sentence; None: all is well."""

    def step(self) -> When:
        """Processes one batch, if one is due. Returns when to look again: at once, if there was one."""
        now = self._clock()
        with self._lock:
            held = self._held_until if _is_in_force(self._held_until, now) else None
            if _is_in_force(self._stuck_until, now):
                return self._stuck_until
        if held is None:
            self._return_stranded()
        # Locked before looking, so that what is found is still there when it is leased.
        past = self._past_lock if self._past_lock.acquire(blocking=False) else None
        try:
            soonest = held
            for backlog in self._queue.backlogs():
                if held is not None and not backlog.offline:
                    continue
                at = due_at(backlog, now)
                if at <= now and backlog.past and past is None:
                    at = now + PAST_AGAIN_MS  # another thread is working on imported sessions
                elif at <= now:
                    if past is not None and not backlog.past:
                        past.release()  # a call may take minutes; imported sessions need not wait for it
                        past = None
                    if self._take(backlog.session_id):
                        return now
                soonest = at if soonest is None else min(soonest, at)
            return None if soonest is None else max(soonest, now + 1)
        finally:
            if past is not None:
                past.release()

    def abort(self, session_id: int, within_s: float) -> bool:
        """Aborts a session's running batch: its events stay queued, and the observer's result is not stored.
        True once no thread works on the session."""
        with self._lock:
            ended = self._busy.get(session_id)
            if ended is None:
                return True
            self._aborted.add(session_id)
        return ended.wait(within_s)

    def release(self) -> None:
        """Ends all pauses, because the user has fixed something and wants a retry now."""
        with self._lock:
            self._held_until = self._stuck_until = self._paused_until = self._failures = 0
            self._failures_of.clear()

    def _take(self, session_id: int) -> bool:
        """Processes a session's next batch; False if another thread has it."""
        ended = threading.Event()
        with self._lock:
            if session_id in self._busy:
                return False
            # Before the lease: an abort must find a thread that is about to begin.
            self._busy[session_id] = ended
        try:
            lease = self._queue.lease(MOST_EVENTS, session_id)
            if lease is not None:
                self._process(lease)
            return lease is not None
        finally:
            with self._lock:
                del self._busy[session_id]
                self._aborted.discard(session_id)
            ended.set()

    def _process(self, lease: Lease) -> None:
        outcome: Outcome | None = None
        spend: CallCost | None = None
        uses_model, began = True, time.monotonic()
        ended: tuple[str, str | None] = ("aborted", None)
        try:
            if not self._is_aborted(lease):
                batch = self._queue.batch(lease)
                uses_model = not batch.offline
                outcome, spend = self._observe(batch, lease.session_id)
            if outcome is None or self._is_aborted(lease):
                self._queue.postpone(lease, self._clock(), "aborted", failed=False, spend=spend)
                return
            # If no call was made, the outcome says nothing about the provider.
            notice = self._follow_provider(outcome, lease.session_id) if uses_model else None
            decision, message = self._conclude(lease, outcome, spend)
            ended = outcome_of(outcome, decision)
        except BaseException as error:
            ended = ("failed", type(error).__name__)
            # The outcome is unknown: the events go back to the queue, and the caller gets the error.
            if isinstance(error, NO_STORE):
                with self._lock:
                    # Calling the model again now would only cost again.
                    self._hold(self._clock() + STORE_HOLD_MS)
                    self._stuck_until = self._held_until
            self._return(lease, error, spend)
            raise
        finally:
            findings = outcome.findings if ended[0] == "stored" and isinstance(outcome, Observed) else None
            author = self._provider if uses_model and ended[1] and not spend else _author(spend)
            took = int((time.monotonic() - began) * 1000)
            self.batches.add(BatchReport(lease, ended[0], took, author, ended[1], spend, findings))
        for each in filter(None, (notice, message)):
            self._notify(each)

    def _is_aborted(self, lease: Lease) -> bool:
        with self._lock:
            return lease.session_id in self._aborted

    def _return(self, lease: Lease, error: BaseException, spend: CallCost | None) -> None:
        message: str | None = None
        try:
            if isinstance(error, Exception) and not isinstance(error, NO_STORE):
                broken = Broken(f"the observer failed: {type(error).__name__}: {error}")
                decision, _ = self._conclude(lease, broken, spend)
                # Not the error's message, which may quote a session: `queue list` shows that.
                if isinstance(decision, Park):
                    message = _given_up(len(lease.jobs), f"the observer failed: {type(error).__name__}")
            else:  # the batch is not at fault
                reason = str(error) or type(error).__name__
                self._queue.postpone(lease, self._clock(), reason, failed=False, spend=spend)
        except NO_STORE:
            with self._lock:
                self._stranded.append((lease, error, spend))
        except StoreError:
            return  # the lease is no longer ours: it was reclaimed, or its session deleted
        if message:
            self._notify(message)

    def _return_stranded(self) -> None:
        """Gives back leases that could not be given back before, because nothing could be written."""
        with self._lock:
            stranded, self._stranded = self._stranded, []
        for lease, error, spend in stranded:
            self._return(lease, error, spend)

    def _conclude(
        self, lease: Lease, outcome: Outcome, spend: CallCost | None
    ) -> tuple[Decision, str | None]:
        """Carries out the decision about a batch. Returns it, and a message for the user."""
        message: str | None = None
        with self._lock:
            failures = self._failures_of.get(lease.session_id, 1)
        decision = decide(outcome, lease.attempt, self._clock(), self._jitter(), failures=failures)
        match decision:
            case Settle():
                findings = outcome.findings if isinstance(outcome, Observed) else Findings()
                self._queue.settle(lease, findings, spend, provider=_author(spend))
                self._log_omissions(lease, outcome)
            case Wait(until=until):
                self._queue.postpone(lease, until, _reason(outcome), failed=False, spend=spend)
            case Retry(until=until, reason=reason):
                self._queue.postpone(lease, until, reason, failed=True, spend=spend)
            case Park(reason=reason):
                self._queue.park(lease, reason, spend)
                message = _given_up(len(lease.jobs), _reason(outcome))
            case Fallback(reason=reason):
                findings = self._fall_back(self._queue.batch(lease))
                self._queue.park(lease, reason, spend, fallback=findings)
                message = _fell_back(len(lease.jobs))
            case _:
                assert_never(decision)
        return decision, message

    def _log_omissions(self, lease: Lease, outcome: Outcome) -> None:
        """Logs empty blocks in a model's reply, and why it skipped a summary."""
        if isinstance(outcome, Observed | Nothing):
            if outcome.empty:
                log.warning("session %d: %d empty blocks in the reply", lease.session_id, outcome.empty)
                self._queue.count("empty_blocks", outcome.empty)
            if outcome.skipped:
                log.info("session %d: no summary: %s", lease.session_id, outcome.skipped)

    def _follow_provider(self, outcome: Outcome, session_id: int) -> str | None:
        """Updates the provider's state from an outcome, and returns a message for the user, if there is
        one."""
        now = self._clock()
        with self._lock:
            before = self.paused
            match outcome:
                case Paused(reason=reason):
                    self._pause(reason, now + LOOK_AGAIN_MS)
                case Throttled(until=until):
                    self._hold(max(until, now + SHORTEST_HOLD_MS))
                case Broken():
                    self._fail(outcome, session_id, now)
                case _:
                    # A hold and its pause stay: a call that began before them proves nothing.
                    self._failures = 0
                    self._failures_of.pop(session_id, None)
                    if not _is_in_force(self._paused_until, now):
                        self.paused = None
            return self.paused if self.paused != before else None

    # Callers of these hold the lock.

    def _fail(self, broken: Broken, session_id: int, now: int) -> None:
        self._failures += 1
        if broken.at_fault == "provider":
            # By session: otherwise one whose batches time out would be retried without a pause.
            self._failures_of[session_id] = self._failures_of.get(session_id, 0) + 1
        if self._failures < HOLD_AFTER:
            return
        wait = backoff(self._failures - HOLD_AFTER + 1, self._jitter())
        until = now + min(wait, LOOK_AGAIN_MS)
        self._hold(until)
        if broken.at_fault == "provider" and self._failures >= NOTIFY_AFTER:
            # The first message stays: during one outage, each attempt may fail differently.
            self._pause(self.paused or _unreached(broken.reason), until)

    def _pause(self, reason: str, until: int) -> None:
        self._hold(until)
        self.paused, self._paused_until = reason, self._held_until

    def _hold(self, until: int) -> None:
        """Keeps the longest hold; one beyond LONGEST_WAIT_MS comes from a clock that was set back."""
        now = self._clock()
        current = self._held_until if _is_in_force(self._held_until, now) else 0
        self._held_until = max(current, min(until, now + LONGEST_WAIT_MS))


def _is_in_force(until: int, now: int) -> bool:
    return now < until <= now + LONGEST_WAIT_MS


def _unreached(reason: str) -> str:
    return f"The model cannot be reached: {reason.rstrip('.')}. Recorded events are queued; nothing is lost."


def _given_up(events: int, reason: str) -> str:
    failures = f"repeated failures: {reason.rstrip('.')}"
    return f"{_events_were(events)} parked after {failures}. Run: claude-mem queue list"


def _fell_back(events: int) -> str:
    """The message about a fallback. It omits the reason, which quotes the reply: `queue list` may show it,
    the log not."""
    return (
        f"{_events_were(events)} processed offline, because the model's replies could not be read. "
        "To retry with the model: claude-mem queue retry"
    )


def _events_were(events: int) -> str:
    return "1 event was" if events == 1 else f"{events} events were"


def _author(spend: CallCost | None) -> str:
    """The author of the observations: the model that was called, otherwise the offline observer."""
    return f"{spend.provider}:{spend.model}" if spend else "offline"


def _reason(outcome: Outcome) -> str:
    match outcome:
        case Paused(reason=reason) | Broken(reason=reason) | Unreadable(reason=reason):
            return reason
        case Throttled():
            return "the provider asked to wait"
    return ""
