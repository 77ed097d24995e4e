"""Time as an argument: a day of waiting is tested in microseconds."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], int]
"""Epoch milliseconds, now."""
