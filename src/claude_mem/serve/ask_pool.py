"""Answers recall hooks in a few threads of their own.

A hook waits for a fraction of a second, then gives up. So the queue is short, a question whose asker has left
is not looked up, and a lookup that hangs blocks neither the worker's other threads nor its shutdown: its
place is given to the next one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

log = logging.getLogger("claude_mem.serve")

THREADS = 4
MOST_THREADS = 16
"""Including those whose lookup hangs. Beyond it, no query is answered until one of them returns."""
MOST_WAITING = 8
"""Open questions; any further one gets an empty answer at once."""
WITHIN_S = 5.0
"""After this the asker has left, and a lookup that is still running counts as hung."""
LONGEST = 10_000
"""Characters, as the client counts them (in UTF-16). It shows only the beginning of a longer text."""

Question = dict[str, object]


class ContextTooLong(Exception):
    """If it were cut, the end of the fence would be missing."""


class _Lookup(Struct):
    question: Question
    answer: asyncio.Future[str]
    runs: bool = False
    is_left: bool = False  # its asker has left


class AskPool:
    """Answers each question in a thread, a few at a time; `record_mishap` receives what `ask` raises. Belongs
    to one event loop; only that changes its state."""

    def __init__(
        self, ask: Callable[[Question], str], record_mishap: Callable[[str, BaseException], None]
    ) -> None:
        self._ask, self._record_mishap = ask, record_mishap
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(THREADS)
        self._open: list[_Lookup] = []
        self._over = False
        self._threads = 0  # including those that hang
        self.hung = 0
        """Lookups whose askers have left, and which have not returned."""

    async def __call__(self, question: Question) -> str:
        """The context for the model; empty if it is not found in time."""
        if self._over or len(self._open) >= MOST_WAITING or self.hung >= MOST_THREADS:
            return ""
        lookup = _Lookup(question, self._loop.create_future())
        self._open.append(lookup)
        try:
            async with asyncio.timeout(WITHIN_S), self._places:
                self._start(lookup)
                return await lookup.answer
        except TimeoutError:
            return ""
        finally:
            self._open.remove(lookup)
            self._leave(lookup)

    def stop(self) -> None:
        """Answers open questions with an empty text; the threads end with their current lookup."""
        self._over = True
        for lookup in self._open:
            _settle(lookup, "")

    def _start(self, lookup: _Lookup) -> None:
        if self._threads >= MOST_THREADS or lookup.answer.done():
            _settle(lookup, "")
            return
        try:
            # A daemon: a lookup that hangs must not keep the worker from exiting.
            name = f"ask-{self._threads}"
            threading.Thread(target=self._look_up, args=(lookup,), name=name, daemon=True).start()
        except RuntimeError as error:  # no thread can be started; the next question tries again
            self._record_mishap("ask", error)
            _settle(lookup, "")
            return
        lookup.runs = True
        self._threads += 1

    def _look_up(self, lookup: _Lookup) -> None:
        try:
            found: str | Exception = _checked(self._ask(lookup.question))
        except Exception as error:  # counted: the session continues without memory
            found = error
        with suppress(RuntimeError):  # the worker has ended in the meantime
            self._loop.call_soon_threadsafe(self._end, lookup, found)

    def _end(self, lookup: _Lookup, found: str | Exception) -> None:
        lookup.runs = False
        self._threads -= 1
        self.hung -= lookup.is_left
        if isinstance(found, Exception):
            self._record_mishap("ask", found)
        _settle(lookup, "" if isinstance(found, Exception) else found)

    def _leave(self, lookup: _Lookup) -> None:
        """Its asker waits no more. If it still runs it hangs, and its place is another's."""
        if lookup.runs:
            lookup.is_left = True
            self.hung += 1
            if not self._over:
                log.warning(
                    "a recall hook's question was not answered within %g s; %d hang", WITHIN_S, self.hung
                )


def _settle(lookup: _Lookup, text: str) -> None:
    if not lookup.answer.done():
        lookup.answer.set_result(text)


def _checked(context: str) -> str:
    length = len(context) + sum(character > "\uffff" for character in context)
    if length > LONGEST:
        raise ContextTooLong(f"{length} characters")
    return context
