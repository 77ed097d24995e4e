"""A client without hooks: what its transcripts tell while they grow is remembered like any other work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import transcripts
from tests.harness import hook_process, payloads, workers


def rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def sessions(data: Path) -> list[str]:
    return [name for (name,) in rows(data, "SELECT claude_session_id FROM sdk_sessions ORDER BY 1")]


def events_of(data: Path, session: str) -> int:
    told = "SELECT count(*) FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
    ((found,),) = rows(data, f"{told} WHERE claude_session_id = '{session}'")
    return int(found)


@pytest.mark.parametrize(
    "goes_on", [pytest.param(False, marks=pytest.mark.short), pytest.param(True, marks=pytest.mark.prove)]
)
def test_lines_that_a_transcript_gains_are_taken_in_once_unless_hooks_told_of_the_session(
    tmp_path: Path, goes_on: bool
) -> None:
    folder = tmp_path / "projects"
    transcripts.session(folder / "shop", "old", day="2026-03-01")
    whole = transcripts.session(tmp_path / "elsewhere", "grows", day="2026-04-01").read_bytes()
    lines = whole.splitlines(keepends=True)
    grows = folder / "shop" / "grows.jsonl"
    with workers.running(tmp_path / "data", CLAUDE_MEM_WATCH=str(folder)) as data:
        workers.until((data / "watch.json").exists, "the watch has begun")
        hook_process.run(data, payloads.prompt("Turn 0 of hooked", "hooked", "p-1"))
        workers.drained(data)
        transcripts.session(folder, "hooked", day="2026-04-01")
        grows.write_bytes(b"".join(lines[:5]) + lines[5][:30])  # as a client leaves it for a moment
        workers.until(lambda: sessions(data) == ["grows", "hooked"], "its beginning is there")
        assert rows(data, "SELECT count(*) FROM user_prompts") == [(2,)]
        with grows.open("ab") as file:
            file.write(lines[5][30:] + b"".join(lines[6:]))
        told = "SELECT count(*) FROM pending_messages WHERE kind = 'stop' AND state = 'done'"
        workers.until(lambda: rows(data, told) == [(2,)], "both turns are observed")
        assert rows(data, "SELECT count(*) FROM user_prompts") == [(3,)]
        assert rows(data, "SELECT count(DISTINCT tool_use_id) FROM pending_messages") == [(6,)]
        assert rows(data, "SELECT count(*) FROM observations")[0][0] > 0
        assert sessions(data) == ["grows", "hooked"]  # what was there before is left to backfill
        assert events_of(data, "hooked") == 1, "it is not doubled"
        events = events_of(data, "grows")

    if goes_on:  # Another worker goes on where this one was: nothing twice, and what came meanwhile is seen.
        more = transcripts.session(tmp_path / "elsewhere", "meanwhile", day="2026-04-02").read_bytes()
        (folder / "shop" / "meanwhile.jsonl").write_bytes(more)
        with workers.running(tmp_path / "data", CLAUDE_MEM_WATCH=str(folder)) as data:
            workers.until(lambda: "meanwhile" in sessions(data), "the other is there")
            assert events_of(data, "grows") == events


@pytest.mark.prove
def test_nothing_is_watched_unless_somebody_wants_it(tmp_path: Path) -> None:
    with workers.running(tmp_path / "data") as data:
        hook_process.run(data, payloads.prompt("Hello", "live", "p-1"))
        workers.drained(data)
        assert sessions(data) == ["live"]
        assert not (data / "watch.json").exists()
