"""`make demo-team`, as it is run from a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness import hook_process, workers

pytestmark = pytest.mark.prove
SCRIPT = Path(__file__).parents[2] / "scripts" / "demo_team.py"


def test_the_teams_demo_shows_sharing_and_forgetting_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT],
        capture_output=True,
        text=True,
        env=hook_process.environment(tmp_path / "data"),
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("Ada forgets a session")
    assert "by ada" in before, "Ben finds what Ada has shared"
    assert "by ben in Codex" in before
    assert "waiting for ben/desktop" in after
    assert after.index("waiting for ben/desktop") < after.index(": done")
    assert "'decimal comma': none" in after
    (folder,) = [line.removeprefix("Folder: ") for line in done.stderr.splitlines() if "Folder: " in line]
    assert not Path(folder).exists()
    assert not [pid for who in ("ada", "ben") for pid in workers.processes(Path(folder) / who / "data")]
