"""The end of a log that is written and rotated meanwhile."""

import logging
import stat
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from claude_mem.api.system import LogLevel
from claude_mem.serve import worker_log

SECRET = "hun" + "ter2"  # in two parts: a traceback shows the lines it passed


def fail(secret: str) -> None:
    try:
        dict[str, str]()[secret]
    except KeyError as error:
        raise ValueError(f"about {secret}") from error


def test_an_exception_is_written_by_type_and_place_and_never_quoted(tmp_path: Path) -> None:
    with worker_log.open_log(tmp_path, "INFO"):
        try:
            fail(SECRET)
        except ValueError:
            logging.getLogger("claude_mem.serve").exception("something failed")
        worker_log.log_loop_error(None, {"message": "never retrieved", "exception": ValueError(SECRET)})
    text = (tmp_path / "worker.log").read_text()
    assert "something failed" in text
    assert "builtins.ValueError" in text
    assert "builtins.KeyError" in text
    assert "test_worker_log.py" in text
    assert SECRET not in text


def test_an_exception_that_another_handler_wrote_first_is_not_quoted_either(tmp_path: Path) -> None:
    logger, first = logging.getLogger("claude_mem.serve"), logging.StreamHandler(StringIO())
    logger.addHandler(first)
    try:
        with worker_log.open_log(tmp_path, "INFO"):
            try:
                fail(SECRET)
            except ValueError:
                logger.exception("something failed")
    finally:
        logger.removeHandler(first)
    text = (tmp_path / "worker.log").read_text()
    assert "builtins.ValueError" in text
    assert SECRET not in text


def test_the_log_rotates_and_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    with worker_log.open_log(tmp_path, "INFO"):
        for _ in range(6 * worker_log.LOG_BYTES // 100_000):
            logging.getLogger("claude_mem.serve").info("x" * 100_000)
    files = list(tmp_path.iterdir())
    assert len(files) == worker_log.LOG_FILES
    assert all(file.stat().st_size <= worker_log.LOG_BYTES for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_nothing_is_logged_once_the_log_is_closed(tmp_path: Path) -> None:
    with worker_log.open_log(tmp_path, "WARNING"):
        logging.getLogger("claude_mem.serve").info("too little to mention")
    logging.getLogger("claude_mem.serve").info("too late")
    assert (tmp_path / "worker.log").read_text() == ""


def line(number: int, level: str = "INFO") -> str:
    return f"2026-01-31 10:00:00,{number % 1000:03} {level} claude_mem.serve: number {number}\n"


def told(
    log: Path, after: object = None, level: LogLevel = "DEBUG", limit: int = 200
) -> tuple[list[str], Any]:
    found = worker_log.tail(log, str(after or ""), level, limit)
    return [each.text for each in found.lines], found.next


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = tmp_path / "worker.log"
    log.write_text("".join(line(number) for number in range(5)))
    return log


def test_the_last_lines_and_then_what_came_since(log: Path) -> None:
    lines, following = told(log, limit=2)
    assert lines == ["number 3", "number 4"]
    assert told(log, following)[0] == []
    with log.open("a") as file:
        file.write(line(5) + line(6))
    assert told(log, following)[0] == ["number 5", "number 6"]


def test_a_line_that_is_being_written_comes_whole_the_next_time(log: Path) -> None:
    with log.open("a") as file:
        file.write(line(5)[:30])
    lines, following = told(log)
    assert lines[-1] == "number 4"
    with log.open("a") as file:
        file.write(line(5)[30:])
    assert told(log, following)[0] == ["number 5"]


def test_a_log_that_was_emptied_is_read_from_its_beginning(log: Path) -> None:
    _, following = told(log)
    log.write_text(line(7))
    assert told(log, following)[0] == ["number 7"]


def test_nothing_is_lost_when_it_is_rotated(log: Path) -> None:
    _, following = told(log)
    with log.open("a") as file:
        file.write(line(5))
    log.rename(log.with_name("worker.log.1"))
    log.write_text(line(6))
    assert told(log, following)[0] == ["number 5", "number 6"]
    assert told(log)[0] == [f"number {number}" for number in range(7)]


class RotatedWhenOpened(type(Path())):  # type: ignore[misc]  # the class of paths here is known when it runs
    """A log that is rotated the moment after a file of it was opened."""

    rotates_after: str

    def open(self, *how: Any, **more: Any) -> Any:
        file = Path(self).open(*how, **more)  # noqa: SIM115 - its caller closes it
        if self.name == RotatedWhenOpened.rotates_after:
            RotatedWhenOpened.rotates_after = ""
            Path(self).with_name("worker.log").rename(self.with_name("worker.log.1"))
            Path(self).with_name("worker.log").write_text(line(6) + line(7))
        return file


@pytest.mark.parametrize("opened", ["worker.log", "worker.log.1"])
def test_nothing_is_lost_or_told_twice_when_it_is_rotated_while_it_is_read(log: Path, opened: str) -> None:
    log.with_name("worker.log.1").write_text(line(900) + line(901))
    _, following = told(log)
    with log.open("a") as file:
        file.write(line(5))
    RotatedWhenOpened.rotates_after = opened
    during, following = told(RotatedWhenOpened(log), following)
    assert not RotatedWhenOpened.rotates_after
    after, following = told(log, following)
    assert during + after == ["number 5", "number 6", "number 7"]
    assert told(log, following)[0] == []


def test_graver_ones_only_with_where_they_passed(log: Path) -> None:
    with log.open("a") as file:
        file.write(line(5, "ERROR") + '  File "x.py", line 1\nbuiltins.ValueError\n' + line(6, "WARNING"))
    assert told(log, level="ERROR")[0] == ['number 5\n  File "x.py", line 1\nbuiltins.ValueError']
    assert told(log, level="WARNING")[0][-1] == "number 6"


def test_no_log_is_an_empty_one(tmp_path: Path) -> None:
    assert told(tmp_path / "worker.log") == ([], None)


def test_of_a_huge_one_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("".join(line(number) for number in range(40_000)))
    assert log.stat().st_size > worker_log.TAIL_BYTES
    lines, following = told(log, limit=3)
    assert lines == ["number 39997", "number 39998", "number 39999"]
    assert told(log, following)[0] == []
