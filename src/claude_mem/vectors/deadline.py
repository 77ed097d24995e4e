"""Adds deadlines to a library that has none, one call at a time.

A call that never returns occupies one thread, not one more with every query.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from claude_mem.model.text import sentence_of
from claude_mem.vectors.backend import VectorsUnavailable

T = TypeVar("T")

REST_S = 15.0
"""After a failure, no call is made for this long, so that not every search waits for it."""
CLOSING_S = 1.0


class Deadline:
    """Calls are made in a separate thread. Whatever they raise becomes VectorsUnavailable."""

    def __init__(
        self, whom: str, clock: Callable[[], float], refusals: tuple[type[Exception], ...] = ()
    ) -> None:
        """`refusals`: what it raises when it answers but refuses this one call."""
        self._whom, self._clock, self._refusals = whom, clock, refusals
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._starting = Lock()
        self._rests_until = 0.0
        self._late: Future[Any] | None = None

    def call(self, work: Callable[[], T], seconds: float) -> T:
        if self._late is not None and not self._late.done():
            raise VectorsUnavailable(f"{self._whom} has not answered an earlier query yet.")
        if self._clock() < self._rests_until:
            raise VectorsUnavailable(f"{self._whom} failed a moment ago and will be retried soon.")
        answer: Future[T] = Future()
        self._serving()
        self._calls.put((work, answer))
        try:
            return answer.result(seconds)
        except TimeoutError as error:
            if not answer.cancel():
                self._late = answer
            self._rest()
            raise VectorsUnavailable(f"{self._whom} did not answer within {seconds:g} seconds.") from error
        except Exception as error:
            if not isinstance(error, self._refusals):
                self._rest()
            raise VectorsUnavailable(f"{self._whom} failed: {sentence_of(error)}.") from error

    def close(self, last: Callable[[], object]) -> None:
        """Let the thread end, after what it is doing and this. Not waited for longer than a moment."""
        if self._thread is None:
            return
        self._calls.put((last, Future()))
        self._calls.put(None)
        self._thread.join(CLOSING_S)

    def _rest(self) -> None:
        self._rests_until = self._clock() + REST_S

    def _serving(self) -> None:
        with self._starting:
            if self._thread is None:
                # Daemon, so that the process does not hang on a thread that waits for a response.
                self._thread = Thread(
                    target=self._serve, name=f"claude-mem-{self._whom.lower()}", daemon=True
                )
                self._thread.start()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            work, answer = call
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(work())
            except BaseException as error:  # the caller's to judge, also a panic of a library in Rust
                with suppress(Exception):
                    answer.set_exception(error)
