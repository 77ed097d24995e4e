"""Row 6 and P8: a damaged database is quarantined and replaced, and the user is told at the next start."""

import os
import random
from pathlib import Path

import pytest
from tests.harness import checker, hook_process, payloads, workers

from claude_mem import settings
from claude_mem.serve import control
from claude_mem.wiring import database


def damage(database: Path) -> None:
    """Overwrite pages in the middle, as a failing disk does."""
    content = bytearray(database.read_bytes())
    chance = random.Random(6)
    for at in range(4096, len(content), 4096):
        content[at : at + 64] = chance.randbytes(64)
    database.write_bytes(content)


def test_a_damaged_database_is_restored_from_the_newest_backup_and_the_user_is_told(data: Path) -> None:
    with workers.running(data):
        hook_process.run(data, payloads.bash("toolu_1"))
        workers.drained(data)
    database.backup(settings.load(hook_process.environment(data)))
    damage(data / "claude-mem.db")
    with workers.running(data):
        hook_process.run(data, payloads.bash("toolu_2"))
        workers.drained(data)
        told = hook_process.run(data, payloads.start()).json["systemMessage"]
        assert "damaged" in told
        assert "restored from the backup" in told
        assert "systemMessage" not in hook_process.run(data, payloads.start()).json
        assert checker.check(data, ["toolu_1", "toolu_2"])["ready"] == 2
    (aside,) = (data / "backups").glob("quarantine-*")
    assert (aside / "claude-mem.db").exists()


def test_without_a_backup_it_starts_anew_keeps_the_damaged_file_and_says_so(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "claude-mem.db").write_bytes(b"SQLite format 3\0" + os.urandom(8192))
    with workers.running(data):
        hook_process.run(data, payloads.bash("toolu_1"))
        workers.drained(data)
        assert "no backup" in hook_process.run(data, payloads.start()).json["systemMessage"]
        checker.check(data, ["toolu_1"])


@pytest.mark.prove
def test_a_database_from_the_future_is_left_alone_and_the_user_is_told(data: Path) -> None:
    import sqlite3

    with workers.running(data):
        pass
    with sqlite3.connect(data / "claude-mem.db") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    before = (data / "claude-mem.db").read_bytes()
    from claude_mem.model.errors import WorkerFailed

    with pytest.raises(WorkerFailed, match="newer version"):
        control.start(data)
    with hook_process.listening(data):
        told = hook_process.run(data, payloads.start()).json["systemMessage"]
    assert "newer version" in told
    assert (data / "claude-mem.db").read_bytes() == before
    assert len(hook_process.spooled(data)) == 1
