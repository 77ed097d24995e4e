"""`/stream` of a team server: live updates as server-sent events, limited to what the member may see.

An event's id is a cursor that follows transactions, so a listener that reconnects with Last-Event-ID
misses nothing, even on another process of the server. Events are read as the member, when they are
sent. A key that has expired or was revoked gets nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec import Struct, to_builtins
from starlette.responses import Response

from claude_mem.api.filters import Page
from claude_mem.api.system import StreamQuery
from claude_mem.model.errors import InvalidInput, StoreError
from claude_mem.serve.http.router import Answer, Routes
from claude_mem.serve.http.stream import HEARTBEAT_S, MEDIA_TYPE, RETRY_MS, EventStream, format_event
from claude_mem.serve.process_state import until
from claude_mem.serve.requests import Refusal
from claude_mem.serve.team_server.gate import KEY
from claude_mem.serve.team_server.team_routes import TeamCall

MOST_LISTENERS = 500
MOST_OF_A_KEY = 8
WINDOW = 100
"""How many memories are read at a time, and so the maximum that waits for a listener."""
KEY_EVERY_S = 5.0
"""How often a key is looked up again while nothing happens."""
GATHER_S = 1.0
"""How long to collect changes, because all listeners of a process query the database at the same time."""

routes = Routes()


@routes.get(
    "/stream",
    "Live updates of the caller's projects, as server-sent events. Send Last-Event-ID to resume.",
    Answer(200, "Events, until the caller disconnects.", media_type=MEDIA_TYPE),
    scope="read",
)
async def listen(call: TeamCall, query: StreamQuery) -> Response:
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE)
    serving, key_id = call.serving, call.identity.key_id
    if serving.listeners.total() >= MOST_LISTENERS or serving.listeners[key_id] >= MOST_OF_A_KEY:
        raise Refusal(503, "too_many", "Too many listeners.", headers={"Retry-After": "5"})
    since = call.request.headers.get("last-event-id", "").strip()
    listener = _Listener(call, query.project, call.request.scope[KEY], since)
    return EventStream(listener.events(), serving, key_id)


class _Listener(Struct):
    call: TeamCall
    project: str  # empty: of all
    key: str
    cursor: str  # empty: from now on

    async def events(self) -> AsyncIterator[bytes]:
        serving = self.call.serving
        try:
            for event in await asyncio.to_thread(self._first):
                yield event
            waited_s = 0.0
            while not serving.stopping.is_set() and not serving.is_draining:
                changed = serving.changed  # before the look: what comes during it is not missed
                while await self._may_listen() and (found := await asyncio.to_thread(self._next)):
                    for event in found:
                        yield event
                if not await self._may_listen():
                    return
                if await until(changed, KEY_EVERY_S):
                    await until(serving.stopping, GATHER_S)  # a burst is one reason to look
                    waited_s = 0.0
                elif (waited_s := waited_s + KEY_EVERY_S) >= HEARTBEAT_S:
                    waited_s = 0.0
                    yield b": still here\n\n"
        except (StoreError, Refusal):
            return  # it hangs up; the listener comes again, and says where it was

    async def _may_listen(self) -> bool:
        keys = self.call.serving.keys
        is_known, identity = keys.cached(self.key)
        if not is_known:
            identity = await asyncio.to_thread(keys.identify, self.key)
        return identity is not None and "read" in identity.scopes

    def _first(self) -> list[bytes]:
        given, self.cursor = self.cursor, self.call.services.sharing.now()
        events = [f"retry: {RETRY_MS}\n\n".encode()]
        if given:
            try:
                self.call.services.sharing.changes(given, 1)
                self.cursor = given
            except InvalidInput:
                events.append(self._event("reset", message="The cursor is unknown; reload the lists."))
        projects = to_builtins(self.call.memory.projects(Page(100)).items)
        return [*events, self._event("initial", projects=projects)]

    def _next(self) -> list[bytes]:
        """The next changes; empty: all were sent."""
        found = self.call.services.sharing.changes(self.cursor, WINDOW)
        self.cursor = found.cursor
        results = self.call.memory.details([str(ref) for ref in found.refs]).results if found.refs else []
        events = [
            self._event(f"new_{each['kind']}", **{each["kind"]: each})
            for each in results
            if not self.project or each["project"] == self.project
        ]
        return events or ([f"id: {self.cursor}\n:\n\n".encode()] if found.more else [])

    def _event(self, name: str, **data: object) -> bytes:
        return format_event(name, self.cursor, data)
