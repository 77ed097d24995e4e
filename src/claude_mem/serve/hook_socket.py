"""The hooks' line to the worker, `hook.sock`: one JSON message a line, the cheapest thing a standard-library
client can say.

{"type":"observation","session_id":…,"tool_name":…}  ->  {"ok":true,"sessionDbId":…}   after the commit
{"type":"finalize","session_id":…}                   ->  {"ok":true,…}
{"type":"wake","version":…}                          ->  nothing: the spool is drained
{"type":"ask","version":…,"event":…,"payload":…}     ->  {"type": "answer", "context": "…"}; it is a wake too
anything else                                        ->  {"error":…}

Recall hooks are answered in a few threads of their own. A hook waits for a fraction of a second and leaves:
nobody queues for long, a question whose asker has gone is not looked up, and one that takes for ever holds up
neither the worker's other threads nor its end: it hangs alone, its place is given to the next, and its thread
is replaced.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import socket
import threading
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from claude_mem.model.errors import EventUnreadable, StoreError
from claude_mem.serve import event_reports
from claude_mem.serve.requests import Refusal, parse
from claude_mem.serve.services import BACKLOG, Running

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


class ContextTooLong(Exception):
    """Cut short, it would lose the mark that ends the quotation."""


class _Lookup(Struct):
    question: Question
    answer: asyncio.Future[str]
    state: Literal["waits", "runs", "hangs", "ended"] = "waits"


class AskPool:
    """`ask` is called in threads; `record_mishap` hears what it raises. Belongs to one event loop."""

    def __init__(
        self, ask: Callable[[Question], str], record_mishap: Callable[[str, BaseException], None]
    ) -> None:
        self._ask, self._record_mishap = ask, record_mishap
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
                    self._record_mishap("ask", error)
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
            self._record_mishap("ask", found)
        if not answer.done():
            answer.set_result("" if isinstance(found, Exception) else found)


def _checked(context: str) -> str:
    length = len(context) + sum(character > "\uffff" for character in context)
    if length > LONGEST:
        raise ContextTooLong(f"{length} characters")
    return context


LONGEST_LINE = 8 << 20
IDLE_S = 30.0
MOST_CONNECTIONS = 128

_SESSION = ("session_id", "claudeSessionId", "contentSessionId", "sessionId")
_TOOL_USE = ("tool_name", "tool_input", "tool_use_id", "cwd", "project", "prompt_id", "prompt_number")
_LAST_WORDS = ("last_user_message", "last_assistant_message", "cwd", "project", "prompt_id", "prompt_number")

Answer = dict[str, object] | None


class HookListener:
    """One listener on `hook.sock`. `on_wake` hears the version of the hook that called."""

    def __init__(self, running: Running, on_wake: Callable[[str], None]) -> None:
        self._running, self._on_wake = running, on_wake
        self._ask = ask = AskPool(running.services.recall.injector.answer, running.record_mishap)
        running.hung_asks = lambda: ask.hung
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        # Not start_unix_server: from Python 3.13 that removes the file on close, which is for us to do.
        self._server = await asyncio.start_server(
            self._converse, sock=listener, limit=LONGEST_LINE, backlog=BACKLOG
        )

    async def stop(self, within_s: float) -> None:
        """Take no more; let what is being committed finish, and hang up on the rest."""
        if self._server is not None:
            self._server.close()
        self._ask.stop()
        for task in self._open - self._busy:
            task.cancel()
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=within_s)
            for task in late:
                task.cancel()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MOST_CONNECTIONS:
            # Whoever calls has something for us; that much is understood without reading it.
            self._running.wake.set()
            writer.write(_line({"error": "Too many connections; try again."}))
            writer.close()
            return
        self._open.add(task)
        try:
            while not self._running.stopping.is_set() and await self._exchange(task, reader, writer):
                pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the caller has gone, said nothing for too long, or the worker stops: hang up
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One message and its answer; False at the end of the conversation."""
        try:
            async with asyncio.timeout(IDLE_S):
                line = await reader.readline()
        except ValueError:
            writer.write(_line({"error": f"The line is longer than {LONGEST_LINE} bytes."}))
            return False  # where the next message would begin is not known
        if not line:
            return False
        self._busy.add(task)
        try:
            answer = await self._answer(line)
        finally:
            self._busy.discard(task)
        if answer is not None:
            writer.write(_line(answer))
            async with asyncio.timeout(IDLE_S):
                await writer.drain()
        return True

    async def _answer(self, line: bytes) -> Answer:
        try:
            return await self._serve(parse(line))
        except Refusal as refusal:
            field: dict[str, object] = {"field": refusal.field} if refusal.field else {}
            return {"error": str(refusal), **field}
        except EventUnreadable as error:
            return {"error": str(error)}
        except StoreError as error:
            return {"error": str(error), "retry": True}
        except Exception as error:  # one bad message must not end the line for everybody
            self._running.record_mishap("hookline", error)
            return {"error": "Something went wrong; see the worker's log."}

    async def _serve(self, said: dict[str, object]) -> Answer:
        match said.get("type"):
            case "wake":
                self._wake(said)
                return None
            case "observation":
                output = said.get("tool_response", said.get("tool_output"))
                return await self._report(event_reports.TOOL_USE, said, _TOOL_USE, tool_response=output)
            case "finalize":
                return await self._report(event_reports.STOP, said, _LAST_WORDS)
            case "ask":
                try:
                    # In this order and as `_line` spells it: hooks do not parse, they cut the string out.
                    return {"type": "answer", "context": await self._ask(said)}
                finally:
                    # A prompt is spooled before it is asked about; taken in now, it slows nobody's answer.
                    self._wake(said)
            case None:
                raise Refusal(400, "missing_field", "`type` is missing.", field="type")
            case _:
                known = "observation, finalize, wake, ask"
                raise Refusal(400, "bad_field", f"`type` must be one of: {known}.", field="type")

    def _wake(self, said: dict[str, object]) -> None:
        version = said.get("version")
        self._running.wake.set()
        self._on_wake(version if isinstance(version, str) else "")

    async def _report(
        self, event: str, said: dict[str, object], names: tuple[str, ...], **more: object
    ) -> Answer:
        session = next((said[name] for name in _SESSION if said.get(name)), None)
        if session is None:
            raise Refusal(400, "missing_field", "`session_id` is missing.", field="session_id")
        payload = {name: said.get(name) for name in names}
        accepted = await event_reports.report(self._running, event, session, **payload, **more)
        return {"ok": True, **msgspec.to_builtins(event_reports.outcome(accepted))}


def _line(answer: dict[str, object]) -> bytes:
    return json.dumps(answer).encode() + b"\n"
