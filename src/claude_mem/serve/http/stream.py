"""`/stream`: live updates as server-sent events.

Each listener gets what came after the last event it was sent, at its own pace: there is no buffer to
overflow, a slow listener does not delay others, and one that reconnects with Last-Event-ID is only further
behind. Without listeners, the database is not polled.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, to_builtins
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.errors import StoreError
from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.serve.http import guard
from claude_mem.serve.http.router import Call
from claude_mem.serve.process_state import ProcessState, until
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Announcement, Running

MEDIA_TYPE = "text/event-stream"

_CURSOR = re.compile(r"p(\d{1,12})-o(\d{1,12})-s(\d{1,12})", re.ASCII)


class StreamPosition(Struct, frozen=True):
    """The last memory of each kind that a listener was sent. Written `p8-o12-s3`: an event's id."""

    prompt: int = 0
    observation: int = 0
    summary: int = 0

    def __str__(self) -> str:
        return f"p{self.prompt}-o{self.observation}-s{self.summary}"

    @classmethod
    def parse(cls, text: str) -> StreamPosition | None:
        found = _CURSOR.fullmatch(text)
        return cls(*map(int, found.groups())) if found else None

    def of(self, kind: MemoryKind) -> int:
        return int(getattr(self, kind))

    def at(self, kind: MemoryKind, id: int) -> StreamPosition:
        return replace(self, **{kind: id})


def format_event(name: str, cursor: StreamPosition | str, data: Mapping[str, object]) -> bytes:
    """Formats an event. Its name is in the data too, for clients with one handler for all events."""
    line = json.dumps({"type": name, **data}, ensure_ascii=False, separators=(",", ":"))
    return f"id: {cursor}\nevent: {name}\ndata: {line}\n\n".encode("utf-8", "replace")


MOST_LISTENERS = 32
HEARTBEAT_S = 15.0
"""Also the maximum delay of changes that no loop of the worker announces."""
GATHER_S = 0.2
RETRY_MS = 2000
WINDOW = 100
"""How many memories are fetched at a time, and so the maximum that waits for a listener."""
MOST_BEHIND = 10_000
"""How many missed memories are sent to a listener; beyond that, reloading the lists is cheaper."""
SESSIONS = 20
PASSED_OVER = b":\n\n"

KINDS: tuple[MemoryKind, ...] = ("prompt", "observation", "summary")


def listen(call: Call, project: str) -> Response:
    running = call.running
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE)
    if running.listeners.total() >= MOST_LISTENERS:
        retry = {"Retry-After": "5"}
        raise Refusal(503, "too_many", f"Too many listeners (at most {MOST_LISTENERS}).", headers=retry)
    since = StreamPosition.parse(call.request.headers.get("last-event-id", "").strip())
    listener = _Listener(running, call.recall.memory, project, since, visitor=visitor(call))
    return EventStream(listener.events(), running)


def visitor(call: Call) -> str | None:
    """The cookie of a signed-in browser; None: it is not one."""
    given = call.request.headers.get("cookie", "").encode("latin-1", "replace")
    cookie = guard.given_cookie([given], call.running.port)
    return cookie if cookie is not None and call.running.visitors.knows(cookie) else None


class EventStream(StreamingResponse):
    """Counts as a listener from the moment it was allowed to be one, whatever becomes of it."""

    def __init__(self, events: AsyncIterator[bytes], state: ProcessState, key_id: int = 0) -> None:
        super().__init__(events, media_type=MEDIA_TYPE)
        self._listeners, self._key_id = state.listeners, key_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._listeners[self._key_id] += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._listeners[self._key_id] -= 1
            if not self._listeners[self._key_id]:
                del self._listeners[self._key_id]


class _Listener(Struct):
    """A listener, and what was sent to it so far."""

    running: Running
    memory: MemoryReader
    project: str  # empty: of all
    since: StreamPosition | None  # None: it has only just come
    cursor: StreamPosition = field(default_factory=StreamPosition)
    sessions: dict[object, object] = field(default_factory=dict)  # the status of each
    queue: dict[str, int | None] = field(default_factory=dict)
    observer: dict[str, object] = field(default_factory=dict)
    corrected: int = 0  # the number of the last correction it was sent
    visitor: str | None = None  # the cookie it came with; None: it needs none

    async def events(self) -> AsyncIterator[bytes]:
        try:
            self.corrected = self.running.last_announcement
            for event in await asyncio.to_thread(self._first):
                yield event
            while not self.running.stopping.is_set() and self._may_listen():
                changed = self.running.changed  # before the look: what comes during it is not missed
                while found := await asyncio.to_thread(self._memories):
                    for event in found:
                        yield event
                announcements = tuple(self.running.announcements)  # here: the loop appends to them
                for event in await asyncio.to_thread(self._states, announcements):
                    yield event
                if await until(changed, HEARTBEAT_S):
                    await until(self.running.stopping, GATHER_S)  # a burst is one reason to look
                else:
                    yield b": still here\n\n"
        except StoreError:
            return  # it hangs up; the listener comes again, and says where it was

    def _may_listen(self) -> bool:
        """Whether the listener is still signed in."""
        return self.visitor is None or self.running.visitors.knows(self.visitor)

    def _first(self) -> list[bytes]:
        last = self.memory.last_ids()
        newest = StreamPosition(**{kind: last[kind] for kind in KINDS})
        cursor, events = self.since or newest, [f"retry: {RETRY_MS}\n\n".encode()]
        behind = max(newest.of(kind) - cursor.of(kind) for kind in KINDS)
        if behind > MOST_BEHIND:
            cursor = newest
        for kind in KINDS:  # after a restore there is less than it was sent
            cursor = cursor.at(kind, min(cursor.of(kind), newest.of(kind)))
        self.cursor = cursor
        states = self._new_sessions()
        self.queue, self.observer = self._queue(), self._observer()
        state = {"queue": self.queue, "observer": self.observer}
        projects = to_builtins(self.memory.projects(Page(100)).items)
        events.append(self._event("initial", projects=projects, sessions=states, **state))
        if behind > MOST_BEHIND:
            message = "Too many changes were missed; reload the lists."
            events.append(self._event("reset", message=message))
        return events

    def _memories(self) -> list[bytes]:
        """The next ones, a window of each kind; empty: it was sent all there are.

        By their ids: by time, what was imported or observed late would not be among the newest."""
        events = []
        for kind in KINDS:
            last = self.cursor.of(kind)
            results = self._after(kind, last)
            if not results and self.memory.last_ids()[kind] > last + WINDOW:
                # Read again: everything older than the newest is committed or deleted by now.
                results = self._after(kind, last)
                if not results:
                    self.cursor = self.cursor.at(kind, last + WINDOW)
                    events.append(PASSED_OVER)
            for result in results:
                self.cursor = self.cursor.at(kind, int(result["id"]))
                if self._concerns(result):
                    events.append(self._event(f"new_{kind}", **{kind: result}))
                else:
                    events.append(PASSED_OVER)
        return events

    def _states(self, announcements: Sequence[Announcement]) -> list[bytes]:
        events = [self._event("session", session=session) for session in self._new_sessions()]
        if (queue := self._queue()) != self.queue:
            self.queue = queue
            events.append(self._event("queue", queue=queue))
        if (observer := self._observer()) != self.observer:
            self.observer = observer
            events.append(self._event("observer", observer=observer))
        for each in announcements:
            if each.number > self.corrected:
                self.corrected = each.number
                events.append(self._event("changed", what=each.what, refs=each.refs))
        return events

    def _after(self, kind: MemoryKind, last: int) -> list[dict[str, Any]]:
        refs = [str(Ref(kind, id)) for id in range(last + 1, last + WINDOW + 1)]
        return self.memory.details(refs).results

    def _new_sessions(self) -> list[dict[str, Any]]:
        """The sessions that changed since they were last sent."""
        listed = to_builtins(self.memory.sessions(FilterRequest(), Page(SESSIONS)).items)
        latest = [item for item in listed if self._concerns(item)]
        new = [item for item in latest if self.sessions.get(item["id"]) != item.get("status")]
        self.sessions = {item["id"]: item.get("status") for item in latest}
        return new

    def _concerns(self, item: dict[str, Any]) -> bool:
        return not self.project or item.get("project") == self.project

    def _observer(self) -> dict[str, object]:
        """Whether something is being observed now, by what, and what is blocking it."""
        shown = self.running.services.observing.state()
        data = {name: shown.get(name) for name in ("provider", "paused", "spentUp")}
        return data | {"working": bool(self.queue.get("leased"))}

    def _queue(self) -> dict[str, int | None]:
        figures = self.running.services.store.queue.figures()
        return {
            "ready": figures.ready,
            "leased": figures.leased,
            "parked": figures.parked,
            "done": figures.done,
            "spooled": self.running.services.intake.waiting(),
            "oldest_ready_at": figures.oldest_ready_at,
        }

    def _event(self, name: str, **data: object) -> bytes:
        return format_event(name, self.cursor, {**data, "timestamp": self.running.services.clock()})
