"""Serves `hook.sock`, on which hooks reach the worker: one JSON message per line, which is cheap to write
without a library.

{"type":"observation","session_id":…,"tool_name":…}  ->  {"ok":true,"sessionDbId":…}   after the commit
{"type":"finalize","session_id":…}                   ->  {"ok":true,…}
the same without a session_id                        ->  for the session last named on this connection or, if
                                                         there is none, for the only open one
{"type":"wake","version":…}                          ->  nothing: the spool is drained
{"type":"ask","version":…,"event":…,"payload":…}     ->  {"type": "answer", "context": "…"}; also a wake
{"type":"command","session":…,"cwd":…,"typed":…}     ->  the same: the output of `/mem`, for the user
anything else                                        ->  {"error":…}

Recall queries are answered in a few separate threads (`QueryPool`). A hook waits for a fraction of a
second, then gives up. So the queue is short, and a query whose caller has disconnected is dropped. A lookup
that hangs blocks neither the worker's other threads nor its shutdown, because a new thread takes its place.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from claude_mem.api.fields import SESSION_ALIASES
from claude_mem.model.errors import EventUnreadable, StoreError
from claude_mem.serve.http.routes import session_routes
from claude_mem.serve.requests import Refusal, parse
from claude_mem.serve.services import BACKLOG, Running
from claude_mem.serve.worker_log import name_of

log = logging.getLogger("claude_mem.serve")

QUERY_THREADS = 4
MOST_QUERY_THREADS = 16
"""The maximum number of threads, including hung ones. At this limit, no query is answered until one
returns."""
MOST_WAITING = 8
"""The maximum number of waiting queries; any further one gets an empty answer immediately."""
QUERY_WITHIN_S = 5.0
"""After this time the caller has disconnected, and a lookup that is still running counts as hung."""
LONGEST_CONTEXT = 10_000
"""Characters, as the client counts them (in UTF-16). It shows only the beginning of a longer text."""

Question = dict[str, object]


class ContextTooLong(Exception):
    """The context is too long. Truncating it would remove the end of the fence."""


class _Lookup(Struct):
    question: Question
    answer: asyncio.Future[str]
    runs: bool = False
    is_left: bool = False  # its caller has left


class QueryPool:
    """Answers each question in a thread, a few at a time; `record_mishap` receives what `answer` raises.
    Belongs to one event loop; only that changes its state."""

    def __init__(
        self, answer: Callable[[Question], str], record_mishap: Callable[[str, BaseException], None]
    ) -> None:
        self._pool, self._record_mishap = answer, record_mishap
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(QUERY_THREADS)
        self._open: list[_Lookup] = []
        self._over = False
        self._threads = 0  # including those that hang
        self.hung = 0
        """Lookups that have not returned although their callers have disconnected."""

    async def __call__(self, question: Question) -> str:
        """The context for the model; empty if it is not found in time."""
        if self._over or len(self._open) >= MOST_WAITING or self.hung >= MOST_QUERY_THREADS:
            return ""
        lookup = _Lookup(question, self._loop.create_future())
        self._open.append(lookup)
        try:
            async with asyncio.timeout(QUERY_WITHIN_S), self._places:
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
            _resolve(lookup, "")

    def _start(self, lookup: _Lookup) -> None:
        if self._threads >= MOST_QUERY_THREADS or lookup.answer.done():
            _resolve(lookup, "")
            return
        try:
            # A daemon: a lookup that hangs must not keep the worker from exiting.
            name = f"ask-{self._threads}"
            threading.Thread(target=self._look_up, args=(lookup,), name=name, daemon=True).start()
        except RuntimeError as error:  # no thread can be started; the next question tries again
            self._record_mishap("ask", error)
            _resolve(lookup, "")
            return
        lookup.runs = True
        self._threads += 1

    def _look_up(self, lookup: _Lookup) -> None:
        try:
            found: str | Exception = _checked(self._pool(lookup.question))
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
        _resolve(lookup, "" if isinstance(found, Exception) else found)

    def _leave(self, lookup: _Lookup) -> None:
        """The caller no longer waits. If the lookup is still running, it hangs, and its slot is freed."""
        if lookup.runs:
            lookup.is_left = True
            self.hung += 1
            if not self._over:
                log.warning(
                    "a recall hook's question was not answered within %g s; %d hang",
                    QUERY_WITHIN_S,
                    self.hung,
                )


def _resolve(lookup: _Lookup, text: str) -> None:
    if not lookup.answer.done():
        lookup.answer.set_result(text)


def _checked(context: str) -> str:
    length = len(context) + sum(character > "\uffff" for character in context)
    if length > LONGEST_CONTEXT:
        raise ContextTooLong(f"{length} characters")
    return context


LONGEST_LINE = 8 << 20
GRACE_S = 4.0
"""How long a commit may take once the worker stops."""
IDLE_S = 30.0
COMMAND_WITHIN_S = 5.5  # the hook waits for six
MOST_COMMANDS = 4
LONGEST_OUTPUT = 8_000
_SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"  # as the client names it to what it runs
MOST_CONNECTIONS = 128

_CIRCUMSTANCES = ("cwd", "project", "prompt_id", "prompt_number", "timestamp")
_TOOL_USE = ("tool_name", "tool_input", "tool_use_id", *_CIRCUMSTANCES)
_LAST_WORDS = ("last_user_message", "last_assistant_message", *_CIRCUMSTANCES)

Answer = dict[str, object] | None


class _Connection(Struct):
    """One connection."""

    task: asyncio.Task[None]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: object = None  # the last one named


class HookListener:
    """The listener on `hook.sock`. `on_wake` gets the version of the hook that called."""

    def __init__(self, running: Running, on_wake: Callable[[str], None], listener: socket.socket) -> None:
        self._running, self._on_wake, self._listener = running, on_wake, listener
        self._pool = pool = QueryPool(running.services.recall.injector.answer, running.record_mishap)
        running.hung_queries = lambda: pool.hung
        self._server: asyncio.Server | None = None
        self._commands = asyncio.Semaphore(MOST_COMMANDS)
        self._busy: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        # Not start_unix_server: from Python 3.13 on, that removes the file on close, which we do ourselves.
        self._server = await asyncio.start_server(
            self._serve_connection, sock=self._listener, limit=LONGEST_LINE, backlog=BACKLOG
        )

    async def stop(self) -> None:
        """Accepts no more messages, lets commits finish, and closes the other connections."""
        if self._server is not None:
            self._server.close()
        self._pool.stop()
        for task in self._open - self._busy:
            task.cancel()
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=GRACE_S)
            for task in late:
                task.cancel()

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MOST_CONNECTIONS:
            # Without reading it: a caller has something for us, so drain the spool.
            self._running.wake.set()
            writer.write(_line({"error": "Too many connections; try again."}))
            writer.close()
            return
        self._open.add(task)
        try:
            connection = _Connection(task, reader, writer)
            while not self._running.stopping.is_set() and await self._exchange(connection):
                pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the caller is gone or idle for too long, or the worker stops: close the connection
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, connection: _Connection) -> bool:
        """Handles one message and its answer; False at the end of the connection."""
        task, writer = connection.task, connection.writer
        try:
            async with asyncio.timeout(IDLE_S):
                line = await connection.reader.readline()
        except ValueError:
            writer.write(_line({"error": f"The line is longer than {LONGEST_LINE} bytes."}))
            return False  # the start of the next message is unknown
        if not line:
            return False
        self._busy.add(task)
        try:
            answer = await self._answer(line, connection)
        finally:
            self._busy.discard(task)
        if answer is not None:
            writer.write(_line(answer))
            async with asyncio.timeout(IDLE_S):
                await writer.drain()
        return True

    async def _answer(self, line: bytes, connection: _Connection) -> Answer:
        try:
            return await self._serve(parse(line), connection)
        except Refusal as refusal:
            field: dict[str, object] = {"field": refusal.field} if refusal.field else {}
            return {"error": str(refusal), **field}
        except EventUnreadable as error:
            return {"error": str(error)}
        except StoreError as error:
            log.warning("a message could not be stored: %s", name_of(error))
            return {"error": str(error), "retry": True}
        except Exception as error:  # one bad message must not stop the listener
            self._running.record_mishap("hook_socket", error)
            return {"error": "Something went wrong; see the worker's log."}

    async def _serve(self, message: dict[str, object], connection: _Connection) -> Answer:
        match message.get("type"):
            case "wake":
                self._wake(message)
                return None
            case "observation":
                output = message.get("tool_response", message.get("tool_output"))
                return await self._report(
                    connection, session_routes.TOOL_USE, message, _TOOL_USE, tool_response=output
                )
            case "finalize":
                return await self._report(connection, session_routes.STOP, message, _LAST_WORDS)
            case "ask":
                try:
                    # Keep this order and spacing: hooks do not parse the answer, but cut the string out.
                    return {"type": "answer", "context": await self._pool(message)}
                finally:
                    # The prompt was spooled before its query. Draining it now delays no answer.
                    self._wake(message)
            case "command":
                return {"type": "answer", "context": await self._command(message)}
            case None:
                raise Refusal(400, "missing_field", "`type` is missing.", field="type")
            case _:
                known = "observation, finalize, wake, ask, command"
                raise Refusal(400, "bad_field", f"`type` must be one of: {known}.", field="type")

    async def _command(self, message: dict[str, object]) -> str:
        """The output of `claude-mem slash`, which in turn queries this worker over its socket."""
        session, cwd, typed = (str(message.get(name) or "") for name in ("session", "cwd", "typed"))
        data_dir = self._running.services.settings.data_dir
        environ = os.environ | {_SESSION_VARIABLE: session, "CLAUDE_MEM_DATA_DIR": str(data_dir)}
        environ.pop("CLAUDE_MEM_OFF", None)  # inherited from the session whose hook started the worker
        try:
            # Waiting for a free slot counts too: nothing is started for a hook that has given up.
            async with asyncio.timeout(COMMAND_WITHIN_S), self._commands:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-E", "-P", "-m", "claude_mem", "slash"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    cwd=cwd if cwd and os.path.isdir(cwd) else data_dir,  # noqa: PTH112 - not worth an object
                    env=environ,
                )
                try:
                    output, _ = await process.communicate(typed.encode(errors="replace"))
                finally:
                    if process.returncode is None:
                        process.kill()
                        await process.wait()
        except TimeoutError:
            return ""
        return elided(output.decode(errors="replace").strip())

    def _wake(self, message: dict[str, object]) -> None:
        version = message.get("version")
        self._running.wake.set()
        self._on_wake(version if isinstance(version, str) else "")

    async def _report(
        self,
        connection: _Connection,
        event: str,
        message: dict[str, object],
        names: tuple[str, ...],
        **more: object,
    ) -> Answer:
        session = next((message[name] for name in SESSION_ALIASES if message.get(name)), None)
        if session is None:
            session = connection.session or await asyncio.to_thread(self._only_open_session)
        connection.session = session
        payload: dict[str, Any] = {name: message.get(name) for name in names} | more
        report = partial(session_routes.report, self._running, event, session, **payload)
        return {"ok": True, **msgspec.to_builtins(await asyncio.to_thread(report))}

    def _only_open_session(self) -> str:
        """The session of a message that names none. Raises Refusal unless exactly one is open."""
        found = self._running.services.store.sessions.last_open(2)
        if len(found) == 1:
            return found[0]
        many = "several sessions are open" if found else "no session is open"
        raise Refusal(400, "missing_field", f"`session_id` is missing, and {many}.", field="session_id")


def elided(text: str) -> str:
    return text if len(text) <= LONGEST_OUTPUT else text[:LONGEST_OUTPUT].rpartition("\n")[0] + "\n…"


def _line(answer: dict[str, object]) -> bytes:
    return json.dumps(answer).encode() + b"\n"
