"""A client without hooks: what its transcripts tell while they grow is remembered like any other work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.e2e import transcripts

from claude_mem.testing import hooks, payloads, workers


def rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def sessions(data: Path) -> list[str]:
    return [name for (name,) in rows(data, "SELECT claude_session_id FROM sdk_sessions ORDER BY 1")]


def test_lines_that_a_transcript_gains_are_taken_in_once_and_observed(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    transcripts.session(folder / "shop", "old", day="2026-03-01")
    whole = transcripts.session(tmp_path / "elsewhere", "grows", day="2026-04-01").read_bytes()
    lines = whole.splitlines(keepends=True)
    grows = folder / "shop" / "grows.jsonl"
    with workers.running(tmp_path / "data", CLAUDE_MEM_WATCH=str(folder)) as data:
        workers.until((data / "watch.json").exists, "the watch has begun")
        grows.write_bytes(b"".join(lines[:5]) + lines[5][:30])  # as a client leaves it for a moment
        workers.until(lambda: sessions(data) == ["grows"], "its beginning is there")
        first = rows(data, "SELECT count(*) FROM user_prompts")
        assert first == [(1,)]
        with grows.open("ab") as file:
            file.write(lines[5][30:] + b"".join(lines[6:]))
        told = "SELECT count(*) FROM pending_messages WHERE kind = 'stop' AND state = 'done'"
        workers.until(lambda: rows(data, told) == [(2,)], "both turns are observed")
        assert rows(data, "SELECT count(*) FROM user_prompts") == [(2,)]
        assert rows(data, "SELECT count(DISTINCT tool_use_id) FROM pending_messages") == [(6,)]
        assert rows(data, "SELECT count(*) FROM observations")[0][0] > 0
        assert sessions(data) == ["grows"]  # what was there before is left to backfill
        events = rows(data, "SELECT count(*) FROM pending_messages")

    # Another worker goes on where this one was: nothing twice, and what came meanwhile is seen.
    more = transcripts.session(tmp_path / "elsewhere", "meanwhile", day="2026-04-02").read_bytes()
    (folder / "shop" / "meanwhile.jsonl").write_bytes(more)
    with workers.running(tmp_path / "data", CLAUDE_MEM_WATCH=str(folder)) as data:
        workers.until(lambda: sessions(data) == ["grows", "meanwhile"], "the other is there")
        assert (
            rows(
                data,
                "SELECT count(*) FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
                " WHERE claude_session_id = 'grows'",
            )
            == events
        )


def test_a_session_with_hooks_is_not_doubled(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    with workers.running(tmp_path / "data", CLAUDE_MEM_WATCH=str(folder)) as data:
        workers.until((data / "watch.json").exists, "the watch has begun")
        hooks.run(data, payloads.prompt("Turn 0 of hooked", "hooked", "p-1"))
        transcripts.session(folder, "hooked", day="2026-04-01")
        transcripts.session(folder, "without", day="2026-04-01")
        workers.until(lambda: "without" in sessions(data), "the one without hooks is there")
        of_hooked = rows(
            data,
            "SELECT count(*) FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
            " WHERE claude_session_id = 'hooked'",
        )
        assert of_hooked == [(1,)]


def test_nothing_is_watched_unless_somebody_wants_it(tmp_path: Path) -> None:
    with workers.running(tmp_path / "data") as data:
        hooks.run(data, payloads.prompt("Hello", "live", "p-1"))
        workers.drained(data)
        assert sessions(data) == ["live"]
        assert not (data / "watch.json").exists()
