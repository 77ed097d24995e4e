"""Says how far something is, once it takes longer than a moment."""

from __future__ import annotations

import sys
import time

AFTER_S = 2.0
EVERY_S = 0.2


class Ticker:
    """On a terminal one line that is written over, and wiped at the end; elsewhere one sentence, once."""

    def __init__(self, sentence: str, after_s: float = AFTER_S) -> None:
        self._sentence, self._next_at = sentence, time.monotonic() + after_s
        self._moves = sys.stderr.isatty()
        self._shown = False

    def __enter__(self) -> Ticker:
        return self

    def show(self, how_far: str) -> None:
        now = time.monotonic()
        if now < self._next_at or (self._shown and not self._moves):
            return
        self._shown, self._next_at = True, now + EVERY_S
        said = f"{self._sentence} {how_far}"
        print(f"\r\x1b[K{said}" if self._moves else said, end="" if self._moves else "\n", file=sys.stderr)
        sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        self.wipe()

    def wipe(self) -> None:
        if self._shown and self._moves:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
