"""Speaks over `hook.sock`: one JSON message a line, the cheapest thing a standard-library client can say.

{"type":"observation","session_id":…,"tool_name":…}  ->  {"ok":true,"sessionDbId":…}   after the commit
{"type":"finalize","session_id":…}                   ->  {"ok":true,…}
{"type":"wake","version":…}                          ->  nothing: the spool is drained
{"type":"ask","version":…,"event":…,"payload":…}     ->  {"type": "answer", "context": "…"}; it is a wake too
anything else                                        ->  {"error":…}
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable

import msgspec

from claude_mem.model.errors import EventUnreadable, StoreError
from claude_mem.serve import report
from claude_mem.serve.answering import Answering
from claude_mem.serve.listen import BACKLOG
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.requests import parse
from claude_mem.serve.services import Running

LONGEST_LINE = 8 << 20
IDLE_S = 30.0
MOST_CONNECTIONS = 128

_SESSION = ("session_id", "claudeSessionId", "contentSessionId", "sessionId")
_TOOL_USE = ("tool_name", "tool_input", "tool_use_id", "cwd", "project", "prompt_id", "prompt_number")
_LAST_WORDS = ("last_user_message", "last_assistant_message", "cwd", "project", "prompt_id", "prompt_number")

Answer = dict[str, object] | None


class HookLine:
    """One listener on `hook.sock`. `on_wake` hears the version of the hook that called."""

    def __init__(self, running: Running, on_wake: Callable[[str], None]) -> None:
        self._running, self._on_wake = running, on_wake
        self._ask = ask = Answering(running.services.ask, running.swallow)
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
            self._running.swallow("hookline", error)
            return {"error": "Something went wrong; see the worker's log."}

    async def _serve(self, said: dict[str, object]) -> Answer:
        match said.get("type"):
            case "wake":
                self._wake(said)
                return None
            case "observation":
                output = said.get("tool_response", said.get("tool_output"))
                return await self._report(report.TOOL_USE, said, _TOOL_USE, tool_response=output)
            case "finalize":
                return await self._report(report.STOP, said, _LAST_WORDS)
            case "ask":
                try:
                    # In this order and as `_line` spells it: hooks do not parse, they cut the string out.
                    return {"type": "answer", "context": await self._ask(said)}
                finally:
                    # A prompt is spooled before it is asked about; taken in now, it slows nobody's answer.
                    self._wake(said)
            case None:
                raise Refusal(400, "missing_field", "type is missing.", field="type")
            case _:
                known = "observation, finalize, wake, ask"
                raise Refusal(400, "bad_field", f"type is none of {known}.", field="type")

    def _wake(self, said: dict[str, object]) -> None:
        version = said.get("version")
        self._running.wake.set()
        self._on_wake(version if isinstance(version, str) else "")

    async def _report(
        self, event: str, said: dict[str, object], names: tuple[str, ...], **more: object
    ) -> Answer:
        session = next((said[name] for name in _SESSION if said.get(name)), None)
        if session is None:
            raise Refusal(400, "missing_field", "session_id is missing.", field="session_id")
        payload = {name: said.get(name) for name in names}
        accepted = await report.report(self._running, event, session, **payload, **more)
        return {"ok": True, **msgspec.to_builtins(report.outcome(accepted))}


def _line(answer: dict[str, object]) -> bytes:
    return json.dumps(answer).encode() + b"\n"
