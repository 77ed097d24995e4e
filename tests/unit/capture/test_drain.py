"""What nobody has asked for in a season is tidied away, but never the switch for everything."""

import os
from pathlib import Path

import pytest

from claude_mem.capture import drain, off

NOW = 1_800_000_000.0


def test_a_pause_of_everything_is_for_ever_and_a_sessions_lasts_a_season(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("off").mkdir()
    for switch, days in ((off.ALL, 400), (off.path("old"), 91), (off.path("new"), 89)):
        Path(switch).touch()
        os.utime(switch, (NOW - days * 86_400,) * 2)
    assert drain.Spool().tidy(NOW) == 1
    assert sorted(path.name for path in Path("off").iterdir()) == ["all", "new"]
