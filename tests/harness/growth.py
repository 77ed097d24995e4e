"""Measures how work grows with the length of the text, without a clock, so that a busy machine has no effect.

Python's steps are counted, as are the characters that a text's own methods go over. What happens inside of a
regular expression cannot be counted from Python: there the text is so long that quadratic work takes many
times the processor time of linear work, and a watchdog that counts processor time ends the process. Most work
does not get that far: over an eighth of that text it takes less time than quadratic work can.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

SHORT = 1_000
LONG = 200_000
MOST = 6.0  # four times the text costs about four times the steps; a square would be sixteen

# A search holds the interpreter and may let no handler of Python run: pytest's own timeout may be too late;
# faulthandler's handler is C. The slowest linear work takes a third of this on a busy machine, and a typical
# quadratic pattern twice as much.
PROCESSOR_S = 10.0
# The simplest quadratic pattern takes a nanosecond for each pair of characters: 0.3 s over this.
BRIEF = LONG // 8
BRIEF_S = 0.1
many_long_runs = pytest.mark.timeout(0)  # the watchdog has an eye on each

Work = Callable[[str], object]


class Counted(str):
    """A text that counts the characters its methods go over, and so do the texts that come of it."""

    __slots__ = ()
    characters = 0


class Encoded(bytes):
    """A counted text on its way through bytes, as the one that makes it storable goes."""

    def decode(self, *given: Any, **named: Any) -> Counted:
        return Counted(super().decode(*given, **named))


def _counted(got: object) -> Any:
    if isinstance(got, str):
        return Counted(got)
    if isinstance(got, bytes):
        return Encoded(got)
    if isinstance(got, (list, tuple)):
        return type(got)(map(_counted, got))
    return got


def _counting(name: str, cost: Callable[..., int]) -> Callable[..., Any]:
    plain = getattr(str, name)

    def method(self: str, *given: Any, **named: Any) -> Any:
        got = plain(self, *given, **named)
        Counted.characters += cost(self, got, *given)
        return _counted(got)

    return method


def _whole(text: str, *_: object) -> int:
    return len(text)


def _up_to(text: str, found: int, _: str, start: int | None = None, end: int | None = None) -> int:
    low, high = slice(start, end).indices(len(text))[:2]
    return max(0, (high if found < 0 else found) - low)


def _down_to(text: str, found: int, _: str, start: int | None = None, end: int | None = None) -> int:
    low, high = slice(start, end).indices(len(text))[:2]
    return max(0, high - (low if found < 0 else found))


def _contained(text: str, found: bool, part: str) -> int:
    return str.find(text, part) if found else len(text)


def _copied(_: str, got: str, *__: object) -> int:
    return len(got)


_COSTS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("lower", "upper", "casefold", "replace", "translate", "encode", "count"), _whole),
    **dict.fromkeys(("split", "rsplit", "splitlines", "partition", "rpartition", "__iter__"), _whole),
    **dict.fromkeys(("strip", "lstrip", "rstrip", "expandtabs"), _whole),
    **dict.fromkeys(("__getitem__", "__add__", "removeprefix", "removesuffix"), _copied),
    "find": _up_to,
    "rfind": _down_to,
    "__contains__": _contained,
}
for _name, _cost in _COSTS.items():
    setattr(Counted, _name, _counting(_name, _cost))


def _joined(self: str, before: str) -> Counted:
    Counted.characters += len(before) + len(self)
    return Counted(str.__add__(before, self))


setattr(Counted, "__radd__", _joined)  # noqa: B010 - a str has none to override


def steps(work: Work, text: str) -> int:
    """The lines of Python run, the calls into C, and the characters that the text's methods went over."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename == __file__:
            return None
        count += event == "line"
        return trace

    def profile(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "c_call"

    given, Counted.characters = Counted(text), 0
    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        work(given)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count + Counted.characters


def repeated(piece: str, characters: int, prefix: str = "", suffix: str = "") -> str:
    return prefix + piece * (characters // len(piece)) + suffix


def assert_steps_grow_with_length(work: Work, piece: str, prefix: str = "", suffix: str = "") -> None:
    short, long = (repeated(piece, characters, prefix, suffix) for characters in (SHORT, 4 * SHORT))
    work(short)  # compiles and caches what is needed once
    few, many = steps(work, short), steps(work, long)
    if many > MOST * few:
        pytest.fail(f"{prefix!r} + {piece[:40]!r} * n + {suffix!r}: {few} steps, then {many}")


class Finish:
    """Runs work over so many characters that quadratic work would take too long; that is ended and named on
    stderr."""

    def __init__(self, stderr: int) -> None:
        self.stderr = stderr

    def __call__(self, work: Work, piece: str, prefix: str = "", suffix: str = "") -> None:
        def run(text: str) -> None:
            work(text)

        # The dump of the stack names functions, and nothing else of what was going on.
        run.__code__ = run.__code__.replace(co_name=f"{prefix!r} + {piece[:40]!r} * n + {suffix!r}")
        # Chained to what the signal does otherwise, which is to end the process.
        faulthandler.register(signal.SIGVTALRM, file=self.stderr, all_threads=False, chain=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, PROCESSOR_S)
        try:
            began = time.thread_time()
            run(repeated(piece, BRIEF, prefix, suffix))
            if time.thread_time() - began > BRIEF_S:
                signal.setitimer(signal.ITIMER_VIRTUAL, PROCESSOR_S)
                run(repeated(piece, LONG, prefix, suffix))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            faulthandler.unregister(signal.SIGVTALRM)
