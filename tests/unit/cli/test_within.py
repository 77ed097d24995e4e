"""Doctor waits for nothing longer than its deadline."""

import threading
import time

from claude_mem.cli.doctor.facts import Unknown
from claude_mem.cli.doctor.within import Question


def test_an_answer_is_waited_for() -> None:
    assert Question(lambda: 7).answer(time.monotonic() + 60) == 7


def test_what_never_answers_is_unknown_and_left_behind() -> None:
    never = threading.Event()
    assert Question(never.wait).answer(time.monotonic() + 0.01) == Unknown("no answer in time")
    never.set()


def test_what_fails_is_unknown_with_its_reason() -> None:
    def fail() -> int:
        raise PermissionError(13, "Permission denied")

    answer = Question(fail).answer(time.monotonic() + 60)
    assert isinstance(answer, Unknown)
    assert "Permission denied" in answer.why
