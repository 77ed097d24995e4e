import json
import time
from pathlib import Path

import pytest

from claude_mem.serve import lock

HOUR_MS = 3_600_000


def test_a_start_is_under_way_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    assert not lock.is_starting(tmp_path)
    lock.mark_starting(tmp_path, "opening the database")
    assert lock.is_starting(tmp_path)
    assert json.loads((tmp_path / "starting.json").read_bytes())["doing"] == "opening the database"
    lock.clear_starting(tmp_path)
    lock.clear_starting(tmp_path)
    assert not lock.is_starting(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("hours", [-1, 1])
def test_who_has_been_starting_for_an_hour_is_not(tmp_path: Path, hours: int) -> None:
    since = time.time_ns() // 1_000_000 - hours * HOUR_MS
    (tmp_path / "starting.json").write_text(json.dumps({"doing": "", "since": since}))
    assert not lock.is_starting(tmp_path)


@pytest.mark.parametrize("damaged", ["", "{", "[]", "{}", '{"since": "1"}', '{"since": true}', "[" * 100_000])
def test_a_damaged_record_says_nothing(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "starting.json").write_text(damaged)
    assert not lock.is_starting(tmp_path)
