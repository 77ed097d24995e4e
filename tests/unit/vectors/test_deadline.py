"""Waiting for a library that knows no deadline."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from claude_mem.vectors.backend import VectorsUnavailable
from claude_mem.vectors.deadline import REST_S, Deadline


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def line(clock: Clock) -> Iterator[Deadline]:
    line = Deadline("Somebody", clock, (LookupError,))
    yield line
    line.close(lambda: None)


def test_an_answer_is_passed_on(line: Deadline) -> None:
    assert line.call(lambda: threading.current_thread().name, 30) == "claude-mem-somebody"


def test_whoever_hangs_is_left_and_holds_one_thread_only(line: Deadline, clock: Clock) -> None:
    answer = threading.Event()
    threads = threading.active_count()
    with pytest.raises(VectorsUnavailable, match=r"^Somebody did not answer within 0.01 seconds\.$"):
        line.call(answer.wait, 0.01)
    for _ in range(20):
        clock.now += 2 * REST_S
        with pytest.raises(VectorsUnavailable, match="has not answered an earlier query yet"):
            line.call(answer.wait, 30)
    assert threading.active_count() <= threads + 1
    answer.set()
    assert line._late is not None
    line._late.result(30)
    assert line.call(lambda: "back", 30) == "back"


def test_after_a_failure_nobody_waits_for_a_while(line: Deadline, clock: Clock) -> None:
    def fail() -> None:
        raise OSError("no route\nto host.")

    with pytest.raises(VectorsUnavailable, match=r"^Somebody failed: no route to host\.$"):
        line.call(fail, 30)
    with pytest.raises(VectorsUnavailable, match="a moment ago"):
        line.call(lambda: "fine", 30)
    clock.now += REST_S
    assert line.call(lambda: "fine", 30) == "fine"


def test_a_refusal_is_no_failure(line: Deadline) -> None:
    def refuse() -> None:
        raise LookupError("no such thing")

    with pytest.raises(VectorsUnavailable, match="no such thing"):
        line.call(refuse, 30)
    assert line.call(lambda: "fine", 30) == "fine"
