"""Finds things out at the same time, and waits for none of them longer than a deadline.

A dead network file system blocks a plain `stat` for minutes; the thread that waits for it is left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from claude_mem.cli.doctor.facts import Unknown

T = TypeVar("T")


class Question(Generic[T]):
    """Asked in a thread of its own from the moment it is made."""

    def __init__(self, find_out: Callable[[], T]) -> None:
        self._answer: T | Unknown = Unknown("no answer in time")
        self._thread = threading.Thread(target=self._ask, args=(find_out,), daemon=True)
        self._thread.start()

    def answer(self, until: float) -> T | Unknown:
        """`until` is a moment of the monotonic clock."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return self._answer

    def _ask(self, find_out: Callable[[], T]) -> None:
        try:
            self._answer = find_out()
        except Exception as error:  # whatever is broken is what doctor is here to tell
            self._answer = Unknown(str(error) or type(error).__name__)
