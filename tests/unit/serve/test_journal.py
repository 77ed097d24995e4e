import logging
import stat
from pathlib import Path

from claude_mem.serve import journal

SECRET = "hun" + "ter2"  # in two parts: a traceback shows the lines it passed


def fail(secret: str) -> None:
    try:
        dict[str, str]()[secret]
    except KeyError as error:
        raise ValueError(f"about {secret}") from error


def test_an_exception_is_written_by_type_and_place_and_never_quoted(tmp_path: Path) -> None:
    with journal.opened(tmp_path, "INFO"):
        try:
            fail(SECRET)
        except ValueError:
            logging.getLogger("claude_mem.serve").exception("something failed")
        journal.loop_trouble(None, {"message": "never retrieved", "exception": ValueError(SECRET)})
    text = (tmp_path / "worker.log").read_text()
    assert "something failed" in text
    assert "builtins.ValueError" in text
    assert "builtins.KeyError" in text
    assert "test_journal.py" in text
    assert SECRET not in text


def test_the_log_rotates_and_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    with journal.opened(tmp_path, "INFO"):
        for _ in range(6 * journal.MOST_BYTES // 100_000):
            logging.getLogger("claude_mem.serve").info("x" * 100_000)
    files = list(tmp_path.iterdir())
    assert len(files) == journal.FILES
    assert all(file.stat().st_size <= journal.MOST_BYTES for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_nothing_is_logged_once_the_log_is_closed(tmp_path: Path) -> None:
    with journal.opened(tmp_path, "WARNING"):
        logging.getLogger("claude_mem.serve").info("too little to mention")
    logging.getLogger("claude_mem.serve").info("too late")
    assert (tmp_path / "worker.log").read_text() == ""
