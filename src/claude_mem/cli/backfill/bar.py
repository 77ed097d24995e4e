"""Shows how far an import is: a bar where somebody watches, else a plain line now and then."""

from __future__ import annotations

import time
from typing import IO

from claude_mem.cli import say
from claude_mem.hook import notices

EVERY_S = 0.2
PLAIN_EVERY_S = 10.0
WIDTH = 24


class Bar:
    def __init__(self, stream: IO[str], sessions: int, size: int) -> None:
        self._stream, self._sessions, self._size = stream, sessions, size
        self._began = time.monotonic()
        self._moves = stream.isatty()
        self._next_at = self._began + (0.0 if self._moves else PLAIN_EVERY_S)
        self._dirty = False

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def show(self, sessions: int, size: int, events: int, doing: str = "") -> None:
        now = time.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + (EVERY_S if self._moves else PLAIN_EVERY_S)
        said = line(sessions, self._sessions, size, self._size, events, now - self._began, doing)
        if self._moves:
            self._stream.write(f"\r\x1b[K{drawn(size, self._size)} {said}")
            self._dirty = True
        else:
            self._stream.write(f"{said}\n")
        self._stream.flush()

    def wipe(self) -> None:
        if self._dirty:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._dirty = False


def drawn(size: int, of: int) -> str:
    full = WIDTH if of <= 0 else min(WIDTH, size * WIDTH // of)
    return f"[{'#' * full}{'.' * (WIDTH - full)}]"


def line(sessions: int, of: int, size: int, of_size: int, events: int, took_s: float, doing: str = "") -> str:
    """`12 of 40 sessions, 5.1 MB/s, 310 events/s, 8 s left`."""
    said = [f"{sessions:,} of {say.many(of, 'session')}"]
    if took_s > 0 and size:
        rate = size / took_s
        said += [f"{rate / 1e6:.1f} MB/s", f"{events / took_s:,.0f} events/s"]
        if size < of_size:
            said.append(f"{notices.age((of_size - size) / rate)} left")
    return ", ".join(said) + (f" ({doing})" if doing else "")
