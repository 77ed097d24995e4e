"""`claude-mem backfill`: what was done before anybody listened becomes memory, once, whatever happens."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contract.recalling import Worker
from tests.e2e import transcripts
from tests.e2e.transcripts import backfill

from claude_mem.testing import hooks, payloads, workers
from claude_mem.testing.dump import dump
from claude_mem.testing.model_server import ModelServer, Say


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Path]:
    with workers.running(tmp_path / "data") as data:
        yield data


def rows(data: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return db.execute(query, values).fetchall()


def cli(data: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "claude_mem", *arguments],
        env=hooks.environment(data),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )


def imported(data: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(backfill(data, *arguments, "--yes", "--json").stdout)
    return found


def test_sessions_of_directories_that_are_gone_are_of_the_repository_they_were_in(
    worker: Path, tmp_path: Path
) -> None:
    gone = "/home/u/gone/parcel"
    folder = tmp_path / "projects"
    for number, cwd in enumerate(
        (gone, f"{gone}/.worktrees/3", f"{gone}/web/src", f"{gone}.worktrees/topic", "/home/u/gone/other")
    ):
        day = f"2026-07-{10 + number}"
        transcripts.session(folder / str(number), f"s{number}", cwd=cwd, day=day, turns=1, uses=1)
    moving = transcripts.session(folder / "5", "s5", cwd=gone, day="2026-07-20", turns=1, uses=1)
    first, *rest = moving.read_text().splitlines(keepends=True)
    moved = "".join(rest).replace(f'"cwd":"{gone}"', f'"cwd":"{gone}/docs"')
    moving.write_text(first + moved)
    assert imported(worker, "--from", str(folder))["imported"] == 6
    found = Worker(worker).get("/api/projects/overview")["items"]
    assert {(each["name"], each["root"], each["sessions"]) for each in found} == {
        ("parcel", gone, 5),
        ("other", "/home/u/gone/other", 1),
    }
    assert Worker(worker).get("/api/stats")["projects"] == 2


needs_real = pytest.mark.skipif(
    not transcripts.REAL.is_dir(), reason=f"THE NINE REAL TRANSCRIPTS ARE NOT AT {transcripts.REAL}"
)


@needs_real
def test_nine_real_sessions_are_imported_whole_and_a_second_time_changes_nothing(
    worker: Path, tmp_path: Path
) -> None:
    folder = transcripts.real(tmp_path / "projects" / "omp")
    first = imported(worker, "--from", str(folder))
    assert (first["imported"], first["unreadable"]["count"]) == (9, 0)
    assert first["events"]["fresh"] > 500
    once = dump(worker / "claude-mem.db")
    assert once["observations"]
    assert once["session_summaries"]
    assert {row["status"] for row in once["sdk_sessions"]} == {"completed"}

    again = imported(worker, "--from", str(folder))
    assert (again["imported"], again["known"]) == (0, 9)
    assert dump(worker / "claude-mem.db") == once

    # The same told anew, from a copy that counts as changed: every event is known by its name.
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes() + b'{"type":"mode"}\n')
    told = imported(worker, "--from", str(folder))
    assert (told["imported"], told["events"]["fresh"]) == (9, 0)
    for row in once["sdk_sessions"]:
        row.pop("seal")
    after = dump(worker / "claude-mem.db")
    for row in after["sdk_sessions"]:
        row.pop("seal")
    assert after == once


def test_times_numbers_and_branches_are_those_of_then(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "old", day="2026-03-01")
    imported(worker, "--from", str(tmp_path / "projects"))
    assert rows(
        worker,
        "SELECT status, branch, commit_sha, created_at, prompt_counter, completed_at FROM sdk_sessions",
    ) == [("completed", "main", None, "2026-03-01T04:00:00.000Z", 2, "2026-03-01T04:00:15.000Z")]
    assert rows(worker, "SELECT prompt_number, created_at FROM user_prompts ORDER BY 1") == [
        (1, "2026-03-01T04:00:00.000Z"),
        (2, "2026-03-01T04:00:08.000Z"),
    ]
    ((earliest, latest),) = rows(worker, "SELECT min(created_at), max(created_at) FROM observations")
    assert "2026-03-01T04:00:00.000Z" < earliest <= latest <= "2026-03-01T04:00:15.000Z"


def test_what_is_shown_first_costs_nothing_and_changes_nothing(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "a", day="2026-03-01")
    transcripts.session(tmp_path / "projects", "b", day="2026-05-01", cwd="/home/u/shop")
    shown = backfill(worker, "--from", str(tmp_path / "projects"), "--dry-run").stdout
    assert "2 sessions, 2026-03-01 to 2026-05-01" in shown
    assert "/home/u/shop: 1 session" in shown
    assert "offline (chosen): no model is asked, free" in shown
    assert "anthropic" in shown
    assert "about 4 calls" in shown
    data = json.loads(backfill(worker, "--from", str(tmp_path), "--dry-run", "--json").stdout)
    assert (data["sessions"], data["estimates"][0]["usd"]) == (2, 0.0)
    refused = backfill(worker, "--from", str(tmp_path / "projects"), code=2)
    assert "say --yes" in refused.stderr
    assert rows(worker, "SELECT count(*) FROM sdk_sessions") == [(0,)]


def test_only_what_was_asked_for_is_imported(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "a", day="2026-03-01")
    transcripts.session(tmp_path / "projects", "b", day="2026-05-01", cwd="/home/u/shop")
    transcripts.session(tmp_path / "projects", "c", day="2026-06-01", cwd="/home/u/shop/web")
    imported(worker, "--from", str(tmp_path), "--project", "/home/u/shop", "--since", "2026-05-15")
    assert rows(worker, "SELECT claude_session_id FROM sdk_sessions") == [("c",)]
    imported(worker, "--from", str(tmp_path), "--project", "shop")
    assert rows(worker, "SELECT claude_session_id FROM sdk_sessions ORDER BY id") == [("c",), ("b",)]
    imported(worker, "--from", str(tmp_path))
    assert rows(worker, "SELECT claude_session_id FROM sdk_sessions ORDER BY id") == [("c",), ("b",), ("a",)]


def test_a_session_captured_as_it_happened_is_left_alone(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "lived")
    transcripts.session(tmp_path / "projects", "missed")
    hooks.run(worker, payloads.prompt("Turn 0 of lived", "lived", "p-1"))
    workers.drained(worker)
    before = rows(worker, "SELECT count(*) FROM pending_messages")
    told = imported(worker, "--from", str(tmp_path / "projects"))
    assert (told["live"], told["imported"]) == (1, 1)
    lived = rows(
        worker,
        "SELECT event_id FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
        " WHERE claude_session_id = 'lived'",
    )
    assert len(lived) == before[0][0] == 1
    assert rows(worker, "SELECT past FROM sdk_sessions ORDER BY claude_session_id") == [(0,), (1,)]


def test_a_forgotten_session_does_not_come_back_by_its_transcript(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "dropped")
    transcripts.session(tmp_path / "projects", "kept")
    imported(worker, "--from", str(tmp_path))
    cli(worker, "forget", "--session", "dropped", "--yes")
    again = imported(worker, "--from", str(tmp_path))
    assert (again["barred"], again["known"], again["imported"]) == (1, 1, 0)
    assert rows(worker, "SELECT claude_session_id FROM sdk_sessions") == [("kept",)]


@pytest.mark.parametrize("by", ["a pause", "its environment"])
def test_a_session_that_was_not_to_be_seen_is_left_alone(worker: Path, tmp_path: Path, by: str) -> None:
    transcripts.session(tmp_path / "projects", "paused")
    transcripts.session(tmp_path / "projects", "missed")
    if by == "a pause":
        cli(worker, "off")
    env = {"CLAUDE_MEM_OFF": "1"} if by == "its environment" else {}
    hooks.run(worker, payloads.prompt("Turn 0 of paused", "paused", "p-1"), more=env)
    if by == "a pause":
        cli(worker, "on")
    told = imported(worker, "--from", str(tmp_path))
    assert (told["barred"], told["imported"]) == (1, 1)
    assert rows(worker, "SELECT claude_session_id FROM sdk_sessions") == [("missed",)]


def test_nothing_of_an_excluded_project_is_imported(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "settings.json").write_text(json.dumps({"CLAUDE_MEM_EXCLUDED_PROJECTS": ["/home/u/secret*"]}))
    transcripts.session(tmp_path / "projects", "hidden", cwd="/home/u/secrets")
    transcripts.session(tmp_path / "projects", "open")
    with workers.running(data):
        imported(data, "--from", str(tmp_path / "projects"))
        assert rows(data, "SELECT claude_session_id FROM sdk_sessions") == [("open",)]


def test_a_session_of_the_past_that_goes_on_is_one_of_today(worker: Path, tmp_path: Path) -> None:
    transcripts.session(tmp_path / "projects", "resumed")
    imported(worker, "--from", str(tmp_path / "projects"))
    assert rows(worker, "SELECT past, offline FROM sdk_sessions") == [(1, 1)]
    hooks.run(worker, payloads.prompt("And now the tests", "resumed", "p-9"))
    workers.drained(worker)
    assert rows(worker, "SELECT past, offline, status FROM sdk_sessions") == [(0, 0, "active")]
    assert imported(worker, "--from", str(tmp_path / "projects"))["live"] == 1


def test_an_old_session_does_not_displace_a_newer_one(worker: Path, tmp_path: Path) -> None:
    repo = tmp_path / "shop"
    repo.mkdir()
    for payload in (
        payloads.prompt("Fix the login", "now", "p-1", cwd=str(repo)),
        payloads.bash("t1", "npm test", "all passed", session="now", cwd=str(repo)),
        payloads.stop("The login works again.", "now"),
    ):
        hooks.run(worker, payload)
    workers.settled(worker)
    transcripts.session(tmp_path / "projects", "old", day="2026-03-01", cwd=str(repo))
    imported(worker, "--from", str(tmp_path / "projects"))
    told = subprocess.run(
        [*transcripts.words()[:-1], "context", "--project", "shop"],
        env=transcripts.environment(worker),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    last = told[told.index("Last session") :]
    assert last.index("Fix the login") < last.index("2026-03-01")
    listed = json.loads(
        subprocess.run(
            [*transcripts.words()[:-1], "sessions", "--json"],
            env=transcripts.environment(worker),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert [each["session_id"] for each in listed["items"]] == ["now", "old"]


def test_private_turns_and_secrets_stay_out_each_time_it_is_told(worker: Path, tmp_path: Path) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    path = transcripts.session(
        tmp_path / "projects",
        "p",
        said=[
            "<private>the merger</private>",
            f"use {secret} to log in",
            "plain words",
            "/mem what was that",
        ],
    )
    for _ in range(2):
        imported(worker, "--from", str(tmp_path / "projects"))
        path.write_bytes(path.read_bytes() + b'{"type":"mode"}\n')
        held = json.dumps(dump(worker / "claude-mem.db"))
        assert "merger" not in held
        assert secret not in held
        assert "plain words" in held
        assert "what was that" not in held
        prompts = rows(worker, "SELECT private, prompt IS NULL FROM user_prompts ORDER BY prompt_number")
        assert prompts == [(1, 1), (0, 0), (0, 0)]
        # What the tools of a private turn did is not there either; of the next turn it is.
        uses = [
            use for (use,) in rows(worker, "SELECT tool_use_id FROM pending_messages WHERE tool_use_id > ''")
        ]
        assert not [use for use in uses if use.startswith(("toolu_p_0_", "toolu_p_3_"))]
        assert [use for use in uses if use.startswith("toolu_p_1_")]
    assert not (worker / "private").exists() or not any((worker / "private").iterdir())


def test_a_line_nobody_can_read_is_counted_and_shown(worker: Path, tmp_path: Path) -> None:
    path = transcripts.session(tmp_path / "projects", "torn")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*whole[:3], b'{"type": "user", broken\n', *whole[3:], whole[-1][:40]]))
    said = backfill(worker, "--from", str(tmp_path / "projects"), "--yes").stdout
    assert "2 lines could not be read:" in said
    assert f"{path}:4: not JSON" in said
    assert f"{path}:{len(whole) + 2}: cut off in the middle" in said
    assert rows(worker, "SELECT count(*) FROM user_prompts") == [(2,)]


def test_without_a_worker_one_is_started(tmp_path: Path) -> None:
    data = tmp_path / "data"
    transcripts.session(tmp_path / "projects", "a")
    env = {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port()), "CLAUDE_MEM_PROVIDER": "offline"}
    try:
        said = backfill(data, "--from", str(tmp_path / "projects"), "--yes", env=env).stdout
    finally:
        workers.finish(data)
    assert "Imported 1 session: " in said
    assert "Ask for it: claude-mem search" in said


def test_a_folder_that_is_not_there_is_said(worker: Path, tmp_path: Path) -> None:
    assert "There is no" in backfill(worker, "--from", str(tmp_path / "nowhere"), code=2).stderr
    home = {"HOME": str(tmp_path)}
    assert "--from DIR" in backfill(worker, code=1, env=home).stderr


def test_an_interrupted_import_says_how_far_it_came_and_goes_on(worker: Path, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    for number in range(30):
        transcripts.session(folder, f"s{number:02}", day=f"2026-05-{number + 1:02}", turns=6, filling=20_000)
    process = subprocess.Popen(
        transcripts.words("--from", str(folder), "--yes"),
        env=transcripts.environment(worker),
        stderr=subprocess.PIPE,
        text=True,
    )
    workers.until(lambda: rows(worker, "SELECT count(*) FROM sdk_sessions")[0][0] > 0, "the first is in")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted after" in said
    assert "run it again to go on" in said
    told = imported(worker, "--from", str(folder))
    assert told["known"] + told["imported"] == 30
    assert told["known"] > 0
    assert rows(worker, "SELECT count(*) FROM sdk_sessions WHERE status = 'completed'") == [(30,)]


REPLY = "<observation><type>feature</type><title>Asked a model</title></observation>"


def test_no_model_is_asked_about_the_past_unless_it_is_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    transcripts.session(folder, "a", day="2026-03-01")
    with (
        ModelServer([Say(REPLY)]) as server,
        workers.running(tmp_path / "data", **workers.asking(server.url)) as data,
    ):
        imported(data, "--from", str(folder))
        assert rows(data, "SELECT DISTINCT provider FROM observations") == [("offline",)]
        assert not server.requests
        transcripts.session(folder, "b", day="2026-04-01")
        imported(data, "--from", str(folder), "--provider", "auto")
        assert server.requests
        providers = rows(
            data,
            "SELECT DISTINCT provider FROM observations o JOIN sdk_sessions s ON s.id = o.session_id"
            " WHERE claude_session_id = 'b'",
        )
        assert providers == [("anthropic:scripted",)]


def test_what_batching_saved_counts_tool_uses_of_long_ago_when_a_model_was_asked_about_them_now(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "projects"
    transcripts.session(folder, "a", day="2026-03-01")
    with (
        ModelServer([Say(REPLY)]) as server,
        workers.running(tmp_path / "data", **workers.asking(server.url)) as data,
    ):
        imported(data, "--from", str(folder), "--provider", "auto")
        cost = Worker(data).get("/api/cost", days=7)
        uses = rows(data, "SELECT count(*) FROM pending_messages WHERE tool_name IS NOT NULL")
        assert (cost["batching"]["tool_uses"],) == uses[0] > (0,)


def test_a_run_stops_at_its_budget_and_the_next_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    for number in range(4):
        transcripts.session(folder, f"s{number}", day=f"2026-03-0{number + 1}", turns=1)
    with (
        ModelServer([Say(REPLY)]) as server,
        workers.running(tmp_path / "data", **workers.asking(server.url)) as data,
    ):
        said = backfill(
            data, *("--from", str(folder), "--yes", "--provider", "auto", "--budget-tokens", "1"), code=1
        ).stdout
        assert "The budget is spent" in said
        assert "3 sessions left" in said
        assert rows(data, "SELECT claude_session_id FROM sdk_sessions") == [("s3",)]
        backfill(data, *("--from", str(folder), "--yes", "--provider", "auto", "--budget-tokens", "1000000"))
        assert rows(data, "SELECT count(*) FROM sdk_sessions") == [(4,)]
        refused = backfill(data, "--from", str(folder), "--budget-usd", "1", code=2)
        assert "Offline costs nothing" in refused.stderr
