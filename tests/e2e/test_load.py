"""Row 14: a burst of 10,000 events, and many sessions at once."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness import checker, hook_process, payloads, workers

from claude_mem.serve import control

BURST = """
import os, sys, time
os.chdir(sys.argv[1])
from claude_mem.hook import spool_writer
from tests.harness import payloads
who = int(sys.argv[2])
for n in range(int(sys.argv[3])):
    event = payloads.bash(f"toolu_{who}_{n:05d}", session=f"s{who}", stdout="y" * 1500)
    spool_writer.put(b"PostToolUse", event, time.time_ns())
"""
MOST_RSS = 200 << 20


def rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.prove
def test_a_burst_of_ten_thousand_events_is_taken_in_whole_in_order_and_in_bounded_memory(data: Path) -> None:
    with workers.running(data):
        senders = [
            subprocess.Popen([sys.executable, "-c", BURST, str(data), str(who), "1000"]) for who in range(10)
        ]
        assert [sender.wait() for sender in senders] == [0] * 10
        for who in range(10):  # with nothing more to come, also the rest goes out
            hook_process.run(data, payloads.end(f"s{who}"))
        workers.settled(data)
        pid = control.status(data).pid
        assert pid
        assert rss(pid) < MOST_RSS
        expected = [f"toolu_{who}_{n:05d}" for who in range(10) for n in range(1000)]
        assert checker.check(data, expected)["done"] == 10_000
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        for who in range(10):
            order = db.execute(
                "SELECT tool_use_id FROM pending_messages JOIN sdk_sessions s ON s.id = session_id"
                " WHERE s.claude_session_id = ? AND tool_use_id NOT NULL ORDER BY pending_messages.id",
                (f"s{who}",),
            )
            ids = [row[0] for row in order]
            assert ids == sorted(ids)


@pytest.mark.parametrize(
    "sessions", [pytest.param(8, marks=pytest.mark.short), pytest.param(50, marks=pytest.mark.prove)]
)
def test_many_sessions_at_once_lose_nothing(data: Path, sessions: int) -> None:
    def work(who: int) -> list[str]:
        session = f"session-{who}"
        assert hook_process.run(data, payloads.start(session)).code == 0
        assert hook_process.run(data, payloads.prompt("go", session=session)).code == 0
        ids = [f"toolu_{who}_{n}" for n in range(4)]
        for id in ids:
            assert hook_process.run(data, payloads.bash(id, session=session)).code == 0
        return ids

    with workers.running(data):
        with ThreadPoolExecutor(sessions) as at_once:
            accepted = [id for ids in at_once.map(work, range(sessions)) for id in ids]
        workers.drained(data)
        where = checker.check(data, accepted)
    assert where["ready"] == 4 * sessions, "their turns have not ended"
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        assert db.execute("SELECT count(*), min(prompt_counter) FROM sdk_sessions").fetchone() == (
            sessions,
            1,
        )
