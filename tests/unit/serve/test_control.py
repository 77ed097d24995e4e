from pathlib import Path

import pytest

from claude_mem.model.errors import WorkerFailed
from claude_mem.serve import control


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", None),
        (
            "a notice\nworker.lock cannot be opened (Is a directory).\n",
            "worker.lock cannot be opened (Is a directory)",
        ),
    ],
)
def test_why_the_last_worker_did_not_start_is_the_last_line_of_its_log(
    tmp_path: Path, log: str, said: str | None
) -> None:
    assert control.start_problem(tmp_path) is None
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/start.log").write_text(log)
    assert control.start_problem(tmp_path) == said


def test_of_a_crash_nothing_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/start.log").write_text(
        "Traceback (most recent call last):\nValueError: a prompt's words\n"
    )
    assert "words" not in str(control.start_problem(tmp_path))
    assert "start.log" in str(control.start_problem(tmp_path))


def test_what_a_worker_says_before_it_exits_is_a_sentence_with_one_full_stop(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo The disk is full."]
    with pytest.raises(WorkerFailed, match=r"did not start: The disk is full\. See its log"):
        control.start(tmp_path, command=command)
