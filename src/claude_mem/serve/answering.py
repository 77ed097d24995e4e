"""Answers recall hooks in a few threads of their own, and bounds what they may cost.

A hook waits for a fraction of a second and leaves. So nobody queues for long, a question whose asker has gone
is not looked up, and one that takes for ever holds up neither the worker's other threads nor its end.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable

THREADS = 4
MOST_WAITING = 8
"""For an answer, of all that ask; whoever comes then is told nothing, at once."""
WITHIN_S = 5.0
LONGEST = 10_000
"""Characters, as the client counts them (in UTF-16). Of a longer text it shows only the beginning."""

Question = dict[str, object]


class TooLong(Exception):
    """Cut short, it would lose the mark that ends the quotation."""


class Answering:
    """`ask` is called in threads; `swallow` hears what it raises. Belongs to one event loop."""

    def __init__(self, ask: Callable[[Question], str], swallow: Callable[[str, BaseException], None]) -> None:
        self._ask, self._swallow = ask, swallow
        self._loop = asyncio.get_running_loop()
        self._questions: queue.SimpleQueue[tuple[Question, asyncio.Future[str]] | None] = queue.SimpleQueue()
        self._open: set[asyncio.Future[str]] = set()
        self._threads = 0
        self._waiting = 0
        self._over = False

    async def __call__(self, question: Question) -> str:
        """What the model is to be shown; nothing when it is not known in time."""
        if self._over or self._waiting >= MOST_WAITING:
            return ""
        answer: asyncio.Future[str] = self._loop.create_future()
        self._waiting += 1
        if self._threads < min(THREADS, self._waiting):
            # Daemons: what hangs in one may not keep the worker from ending.
            threading.Thread(target=self._work, name=f"ask-{self._threads}", daemon=True).start()
            self._threads += 1
        self._questions.put((question, answer))
        self._open.add(answer)
        try:
            async with asyncio.timeout(WITHIN_S):
                return await answer
        except TimeoutError:
            return ""
        finally:
            self._open.discard(answer)

    def stop(self) -> None:
        """Whoever still waits is told nothing; the threads end with what they are at."""
        self._over = True
        for answer in self._open:
            if not answer.done():
                answer.set_result("")
        for _ in range(self._threads):
            self._questions.put(None)

    def _work(self) -> None:
        while (item := self._questions.get()) is not None:
            question, answer = item
            found: str | Exception = ""
            if not answer.done():
                try:
                    found = _checked(self._ask(question))
                except Exception as error:  # counted: a session does without its memory
                    found = error
            try:
                self._loop.call_soon_threadsafe(self._settle, answer, found)
            except RuntimeError:
                return  # the worker has ended meanwhile

    def _settle(self, answer: asyncio.Future[str], found: str | Exception) -> None:
        self._waiting -= 1
        if isinstance(found, Exception):
            self._swallow("ask", found)
        if not answer.done():
            answer.set_result("" if isinstance(found, Exception) else found)


def _checked(context: str) -> str:
    length = len(context) + sum(character > "\uffff" for character in context)
    if length > LONGEST:
        raise TooLong(f"{length} characters")
    return context
