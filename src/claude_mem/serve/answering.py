"""Answers recall hooks in a few threads of their own, and bounds what they may cost.

A hook waits for a fraction of a second and leaves. So nobody queues for long, a question whose asker has gone
is not looked up, and one that takes for ever holds up neither the worker's other threads nor its end: it
hangs alone, its place is given to the next, and its thread is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

log = logging.getLogger("claude_mem.serve")

THREADS = 4
MOST_THREADS = 16
"""With those whose lookup hangs. Past it nobody is answered until one of them comes back."""
MOST_WAITING = 8
"""For an answer, of all that ask; whoever comes then is told nothing, at once."""
WITHIN_S = 5.0
"""Then an asker has left, and a lookup that still runs for it hangs."""
LONGEST = 10_000
"""Characters, as the client counts them (in UTF-16). Of a longer text it shows only the beginning."""

Question = dict[str, object]


class TooLong(Exception):
    """Cut short, it would lose the mark that ends the quotation."""


@dataclass(slots=True)
class _Lookup:
    question: Question
    answer: asyncio.Future[str]
    state: Literal["waits", "runs", "hangs", "ended"] = "waits"


class Answering:
    """`ask` is called in threads; `swallow` hears what it raises. Belongs to one event loop."""

    def __init__(self, ask: Callable[[Question], str], swallow: Callable[[str, BaseException], None]) -> None:
        self._ask, self._swallow = ask, swallow
        self._loop = asyncio.get_running_loop()
        self._lookups: queue.SimpleQueue[_Lookup | None] = queue.SimpleQueue()
        self._open: set[asyncio.Future[str]] = set()
        self._over = False
        self._changing = threading.Lock()  # a lookup's state, and the two counts below, which go by it
        self._threads = 0  # that take lookups: without those that hang
        self._hung = 0

    @property
    def hung(self) -> int:
        """Lookups whose askers have left, and which have not returned."""
        return self._hung

    async def __call__(self, question: Question) -> str:
        """What the model is to be shown; nothing when it is not known in time."""
        if self._over or len(self._open) >= MOST_WAITING:
            return ""
        lookup = _Lookup(question, self._loop.create_future())
        self._open.add(lookup.answer)
        self._staff()
        if not self._threads:
            self._open.discard(lookup.answer)
            return ""  # all hang, and there may be no more; or none could be started
        self._lookups.put(lookup)
        try:
            async with asyncio.timeout(WITHIN_S):
                return await lookup.answer
        except TimeoutError:
            return ""
        finally:
            self._open.discard(lookup.answer)
            self._leave(lookup)

    def stop(self) -> None:
        """Whoever still waits is told nothing; the threads end with what they are at."""
        self._over = True
        for answer in self._open:
            if not answer.done():
                answer.set_result("")
        for _ in range(self._threads):
            self._lookups.put(None)

    def _staff(self) -> None:
        """As many threads as there is work for, within the bounds."""
        with self._changing:
            while self._threads < min(THREADS, len(self._open), MOST_THREADS - self._hung):
                # Daemons: what hangs in one may not keep the worker from ending.
                name = f"ask-{self._hung + self._threads}"
                try:
                    threading.Thread(target=self._work, name=name, daemon=True).start()
                except RuntimeError as error:  # the machine has none to spare; the next asker tries again
                    self._swallow("ask", error)
                    return
                self._threads += 1

    def _leave(self, lookup: _Lookup) -> None:
        """Its asker waits no more. If it still runs it hangs: its thread is lost, and another takes over."""
        with self._changing:
            if lookup.state != "runs":
                lookup.state = "ended"
                return
            lookup.state = "hangs"
            self._hung += 1
            self._threads -= 1
        if not self._over:
            log.warning(
                "a recall hook's question was not answered within %g s; %d hang", WITHIN_S, self._hung
            )
            self._staff()

    def _work(self) -> None:
        while (lookup := self._lookups.get()) is not None:
            if not self._begin(lookup):
                continue
            try:
                found: str | Exception = _checked(self._ask(lookup.question))
            except Exception as error:  # counted: a session does without its memory
                found = error
            is_replaced = self._end(lookup)
            try:
                self._loop.call_soon_threadsafe(self._settle, lookup.answer, found)
            except RuntimeError:
                return  # the worker has ended meanwhile
            if is_replaced:
                return

    def _begin(self, lookup: _Lookup) -> bool:
        """False: nobody waits for it any more."""
        with self._changing:
            if lookup.state != "waits" or lookup.answer.done():
                return False
            lookup.state = "runs"
            return True

    def _end(self, lookup: _Lookup) -> bool:
        """Whether another thread has taken this one's place meanwhile."""
        with self._changing:
            hung = lookup.state == "hangs"
            self._hung -= hung
            lookup.state = "ended"
            return hung

    def _settle(self, answer: asyncio.Future[str], found: str | Exception) -> None:
        if isinstance(found, Exception):
            self._swallow("ask", found)
        if not answer.done():
            answer.set_result("" if isinstance(found, Exception) else found)


def _checked(context: str) -> str:
    length = len(context) + sum(character > "\uffff" for character in context)
    if length > LONGEST:
        raise TooLong(f"{length} characters")
    return context
