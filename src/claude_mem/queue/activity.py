"""`activity.flag`: whether an agent is working, for status lines and spinners. Set at a prompt, cleared when
the last running turn of any session ends.

    {"active": true, "project": "shop", "timestamp": 1769850000000}
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from claude_mem.files import write_file
from claude_mem.model.clock import Clock
from claude_mem.model.events import Kind
from claude_mem.store.values import NewEvent

SILENT_MS = 60 * 60 * 1000
"""A turn without events for this long was interrupted, which no hook reports."""
_BEGINS = (Kind.PROMPT, Kind.TASK_END)
_ENDS = (Kind.STOP, Kind.STOP_FAILURE, Kind.SESSION_END)


class ActivityFlag:
    """The flag. Any thread may report to it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._lock = threading.Lock()
        self._turns: dict[str, tuple[int, str]] = {}  # by session: the time of its last event, its project
        self._written: tuple[bool, str] | None = None

    def follow(self, events: Sequence[NewEvent]) -> None:
        """Updates the flag from live events, in order."""
        with self._lock:
            now = self._clock()
            for new in events:
                event, project = new.event, new.event.project or new.origin.name
                if event.kind in _ENDS:
                    self._turns.pop(event.session, None)
                elif event.kind in _BEGINS or event.session in self._turns:
                    self._turns.pop(event.session, None)
                    self._turns[event.session] = now, project  # the most recent is last
            self._turns = {
                session: turn for session, turn in self._turns.items() if now - turn[0] < SILENT_MS
            }
            self._write(now)

    def _write(self, now: int) -> None:
        projects = [project for _, project in self._turns.values()]
        state = (bool(projects), projects[-1] if projects else "")
        if state == self._written:
            return
        flag: dict[str, object] = {"active": True, "project": state[1]} if state[0] else {"active": False}
        with suppress(OSError):  # a full disk: the next event tries again
            write_file(self._path, json.dumps(flag | {"timestamp": now}).encode())
            self._written = state
