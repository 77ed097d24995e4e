"""The worker's log is read while it is written and rotated."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_mem.cli.commands import worker_process


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.log"


class Rests:
    """What happens between two looks, one step at a time."""

    def __init__(self, *steps: object) -> None:
        self._steps: Iterator[object] = iter(steps)

    def __call__(self) -> None:
        step = next(self._steps, None)
        if step is None:
            raise KeyboardInterrupt
        assert callable(step)
        step()


def followed(log: Path, *steps: object) -> str:
    """All that is printed until Ctrl-C, which comes after the last step."""
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        said.extend(worker_process.follow_log(log, Rests(*steps)))
    return "".join(said)


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_the_last_lines_reach_back_into_the_file_that_was_rotated_away(log: Path) -> None:
    log.with_name("worker.log.1").write_text("a\nb\n")
    log.write_text("c\n")
    assert worker_process.last_lines(log, 2) == ["b", "c"]
    assert worker_process.last_lines(log, 0) == []


def test_a_log_that_is_not_there_yet_has_no_lines(log: Path) -> None:
    assert worker_process.last_lines(log, 20) == []


def test_following_prints_what_is_appended_and_nothing_of_what_was_there(log: Path) -> None:
    log.write_text("old\n")
    assert followed(log, lambda: append(log, "new\n"), lambda: append(log, "newer\n")) == "new\nnewer\n"


def test_following_goes_on_in_the_new_file_after_a_rotation_and_loses_nothing(log: Path) -> None:
    log.write_text("old\n")

    def rotate() -> None:
        append(log, "last\n")
        log.rename(log.with_name("worker.log.1"))

    assert followed(log, rotate, lambda: append(log, "first\n")) == "last\nfirst\n"


def test_following_starts_again_when_the_log_was_emptied(log: Path) -> None:
    log.write_text("a long line from before\n")
    assert followed(log, lambda: log.write_text("x\n")) == "x\n"


def test_following_waits_for_a_log_that_is_not_there_yet(log: Path) -> None:
    assert followed(log, lambda: append(log, "hello\n")) == "hello\n"
