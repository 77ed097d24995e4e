"""kill -9 of the command, of the worker, of both, at any point of a backfill: begun again, it ends where one
that nobody disturbed does."""

from __future__ import annotations

import random
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.e2e import transcripts
from tests.harness import checker, workers
from tests.harness.database_dump import dump
from tests.torture.test_kills import kill_holder

pytestmark = pytest.mark.prove


def some_sessions(folder: Path) -> Path:
    """The real ones if they are there; and one so long that it is told in parts."""
    if transcripts.REAL.is_dir():
        transcripts.real(folder / "real")
    for number in range(4):
        transcripts.session(folder / "made", f"short{number}", day=f"2026-06-1{number}", turns=3)
    transcripts.session(folder / "made", "long", day="2026-06-20", turns=12, uses=8, filling=40_000)
    return folder


def count(data: Path, query: str) -> int:
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db,
    ):
        (found,) = db.execute(query).fetchone()
        return int(found)
    return 0


def tool_uses(held: dict[str, list[dict[str, object]]]) -> list[str]:
    return [str(row["tool_use_id"]) for row in held["pending_messages"] if row["tool_use_id"]]


PROGRESS = "SELECT count(*) + total(state = 'done') FROM pending_messages"
"""Grows with every event that is taken in, and again when it is observed."""
HALF = "SELECT count(*) FROM sdk_sessions WHERE claude_session_id = 'long' AND seal IS NULL"
WAITING = """SELECT count(*) FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id
WHERE state IN ('ready', 'leased') AND held_until_epoch = 0"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, object]]]]:
    root = tmp_path_factory.mktemp("undisturbed")
    folder = some_sessions(root / "projects")
    with workers.running(root / "data") as data:
        transcripts.backfill(data, "--from", str(folder), "--yes")
        return folder, dump(data / "claude-mem.db")


@pytest.mark.parametrize("victim", ["command", "worker", "both"])
@pytest.mark.parametrize("seed", range(2))
def test_killed_anywhere_and_begun_again_it_ends_the_same(
    tmp_path: Path, undisturbed: tuple[Path, dict[str, list[dict[str, object]]]], victim: str, seed: int
) -> None:
    folder, expected = undisturbed
    chance = random.Random(f"{victim}-{seed}")
    with workers.running(tmp_path / "data") as data:
        for attempt in range(4):
            before, more = count(data, PROGRESS), chance.randrange(1, 250)

            def is_reached() -> bool:
                if attempt == seed:  # the long one is half told  # noqa: B023
                    return count(data, HALF) > 0
                return count(data, PROGRESS) >= before + more  # noqa: B023

            process = subprocess.Popen(
                transcripts.words("--from", str(folder), "--yes"),
                env=transcripts.environment(data),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            workers.until(lambda: process.poll() is not None or is_reached(), "far enough")  # noqa: B023
            if victim != "worker":
                transcripts.kill(process)
            if victim != "command":
                kill_holder(data)
            process.wait(timeout=120)
            if victim == "command":  # what was told by then is observed, and no more than that
                workers.until(lambda: count(data, WAITING) == 0, "observed")
        transcripts.backfill(data, "--from", str(folder), "--yes")
        assert not workers.states(data).keys() & {"ready", "leased", "parked"}
        assert dump(data / "claude-mem.db") == expected
        checker.check(data, tool_uses(expected))
