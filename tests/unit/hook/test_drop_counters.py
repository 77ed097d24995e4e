"""What was lost is counted by reason, and the user is told of each loss once."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_mem.hook import drop_counters, notices


@pytest.fixture(autouse=True)
def _in_the_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_news_is_what_is_new_by_reason_and_not_what_was_ever_lost() -> None:
    for _ in range(100):
        drop_counters.count("disk_full")
    drop_counters.mark_shown(drop_counters.news())
    drop_counters.count("late")
    assert drop_counters.news() == {"late": 1}
    assert {reason: lost for reason, lost in drop_counters.read().items() if lost} == {
        "disk_full": 100,
        "late": 1,
    }


def test_what_is_lost_while_the_user_is_being_told_stays_news() -> None:
    drop_counters.count("late")
    message, shown = notices.pending(None)
    drop_counters.count("late")
    Path("notice.tmp").write_text("the key was refused")
    Path("notice.tmp").rename("notice")  # as the worker leaves one
    shown()
    assert "1 event:" in message
    assert drop_counters.news() == {"late": 1}
    assert Path("notice").read_text() == "the key was refused"


def test_a_notice_is_not_removed_before_it_was_shown() -> None:
    Path("notice").write_text("the database was damaged")
    message, shown = notices.pending(None)
    assert (message, Path("notice").exists()) == ("the database was damaged", True)
    shown()
    assert not Path("notice").exists()


def test_every_reason_can_be_shown() -> None:
    for reason in drop_counters.REASONS:
        drop_counters.count(reason)
    message, _ = notices.pending(None)
    assert all(f"{notices.LOST_BY[reason]} (1)" in message for reason in drop_counters.REASONS)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\x00", b"late", b"late x y\n", b"late  \nfoo 1 2\n"])
def test_a_damaged_file_counts_as_an_empty_one_and_is_mended_by_the_next_count(content: bytes) -> None:
    Path("drops").write_bytes(content)
    assert drop_counters.news() == {}
    drop_counters.count("late")
    assert drop_counters.news() == {"late": 1}


def test_a_count_changes_the_file_in_place_so_that_it_works_on_a_full_disk() -> None:
    drop_counters.prepare()
    before = Path("drops").stat()
    for reason in drop_counters.REASONS:
        drop_counters.count(reason)
    drop_counters.mark_shown(drop_counters.news())
    after = Path("drops").stat()
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)


def test_what_was_counted_before_the_file_said_of_how_many_the_user_was_told_still_counts() -> None:
    Path("drops").write_text("spool_full 000000000002\nlate       000000000001\ntold       000000000003\n")
    drop_counters.count("late")
    assert drop_counters.read()["spool_full"] == 2
    assert drop_counters.read()["late"] == 2
