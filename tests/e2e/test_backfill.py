"""`claude-mem backfill`: what was done before anybody listened becomes memory, once, whatever happens."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.worker_client import Worker
from tests.e2e import transcripts
from tests.e2e.transcripts import backfill
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Done, Mem
from tests.harness.database_dump import dump
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all who only bring sessions of their own."""
    with workers.running(tmp_path_factory.mktemp("backfill") / "data") as data:
        yield data


@dataclass(frozen=True)
class Past:
    """A folder of transcripts, and of what a worker knows only what became of them: to each test it is as if
    there were no others."""

    data: Path
    folder: Path
    prefix: str

    def name(self, session: str) -> str:
        return f"{self.prefix}{session}"

    def session(self, session: str, **more: Any) -> Path:
        return transcripts.session(self.folder, self.name(session), **more)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Sessions are called as the test calls them."""
        with closing(sqlite3.connect(f"file:{self.data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
            columns = [name for _, name, *_ in db.execute("PRAGMA main.table_info(sdk_sessions)")]
            own = f"substr(claude_session_id, {len(self.prefix) + 1}) AS claude_session_id"
            listed = ", ".join(own if name == "claude_session_id" else name for name in columns)
            db.execute(
                f"CREATE TEMP VIEW sdk_sessions AS SELECT {listed} FROM main.sdk_sessions"
                f" WHERE claude_session_id LIKE '{self.prefix}%'"
            )
            for table in ("user_prompts", "pending_messages", "observations"):
                db.execute(
                    f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table}"
                    f" WHERE session_id IN (SELECT id FROM temp.sdk_sessions)"
                )
            return db.execute(query).fetchall()

    def backfill(self, *arguments: str, **more: Any) -> Done:
        return backfill(self.data, "--from", str(self.folder), *arguments, **more)

    def imported(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.backfill(*arguments, "--yes", "--json").stdout)
        return found


NUMBERS = count(1)


@pytest.fixture
def past(worker: Path, tmp_path: Path) -> Past:
    return Past(worker, tmp_path / "projects", f"t{next(NUMBERS):03}-")


needs_real = pytest.mark.skipif(
    not transcripts.REAL.is_dir(), reason=f"THE NINE REAL TRANSCRIPTS ARE NOT AT {transcripts.REAL}"
)


@pytest.mark.prove  # `make test` proves the same of made-up sessions
@needs_real
def test_nine_real_sessions_are_imported_whole_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    folder = transcripts.real(tmp_path / "projects" / "omp")
    with workers.running(tmp_path / "data") as data:
        past = Past(data, folder, "")
        first = past.imported()
        assert (first["imported"], first["unreadable"]["count"]) == (9, 0)
        assert first["events"]["fresh"] > 500
        once = dump(data / "claude-mem.db")
        assert once["observations"]
        assert once["session_summaries"]
        assert {row["status"] for row in once["sdk_sessions"]} == {"completed"}

        again = past.imported()
        assert (again["imported"], again["known"]) == (0, 9)
        assert dump(data / "claude-mem.db") == once

        # The same told anew, from a copy that counts as changed: every event is known by its name.
        for file in folder.iterdir():
            file.write_bytes(file.read_bytes() + b'{"type":"mode"}\n')
        told = past.imported()
        assert (told["imported"], told["events"]["fresh"]) == (9, 0)
        after = dump(data / "claude-mem.db")
    for row in (*once["sdk_sessions"], *after["sdk_sessions"]):
        row.pop("seal")
    assert after == once


def test_times_numbers_and_branches_are_those_of_then_and_a_second_time_changes_nothing(past: Past) -> None:
    path = past.session("old", day="2026-03-01")
    assert past.imported()["imported"] == 1
    assert past.rows(
        "SELECT status, branch, commit_sha, created_at, prompt_counter, completed_at FROM sdk_sessions"
    ) == [("completed", "main", None, "2026-03-01T04:00:00.000Z", 2, "2026-03-01T04:00:15.000Z")]
    assert past.rows("SELECT prompt_number, created_at FROM user_prompts ORDER BY 1") == [
        (1, "2026-03-01T04:00:00.000Z"),
        (2, "2026-03-01T04:00:08.000Z"),
    ]
    ((earliest, latest),) = past.rows("SELECT min(created_at), max(created_at) FROM observations")
    assert "2026-03-01T04:00:00.000Z" < earliest <= latest <= "2026-03-01T04:00:15.000Z"

    once = dump(past.data / "claude-mem.db")
    again = past.imported()
    assert (again["imported"], again["known"]) == (0, 1)
    assert dump(past.data / "claude-mem.db") == once
    path.write_bytes(path.read_bytes() + b'{"type":"mode"}\n')  # it counts as changed, and tells the same
    told = past.imported()
    assert (told["imported"], told["events"]["fresh"]) == (1, 0)
    after = dump(past.data / "claude-mem.db")
    for row in (*once["sdk_sessions"], *after["sdk_sessions"]):
        row.pop("seal")
    assert after == once


def test_sessions_of_directories_that_are_gone_are_of_the_repository_they_were_in(past: Past) -> None:
    gone, worker = "/home/u/gone/parcel", Worker(past.data)
    known = worker.get("/api/stats")["projects"]
    for number, cwd in enumerate(
        (gone, f"{gone}/.worktrees/3", f"{gone}/web/src", f"{gone}.worktrees/topic", "/home/u/gone/other")
    ):
        past.session(f"s{number}", cwd=cwd, day=f"2026-07-{10 + number}", turns=1, uses=1)
    moving = past.session("s5", cwd=gone, day="2026-07-20", turns=1, uses=1)
    first, *rest = moving.read_text().splitlines(keepends=True)
    moved = "".join(rest).replace(f'"cwd":"{gone}"', f'"cwd":"{gone}/docs"')
    moving.write_text(first + moved)
    assert past.imported()["imported"] == 6
    found = worker.get("/api/projects/overview")["items"]
    assert {
        (each["name"], each["root"], each["sessions"])
        for each in found
        if each["root"].startswith("/home/u/gone")
    } == {("parcel", gone, 5), ("other", "/home/u/gone/other", 1)}
    assert worker.get("/api/stats")["projects"] == known + 2


def test_what_is_shown_first_costs_nothing_and_changes_nothing(past: Past) -> None:
    past.session("a", day="2026-03-01")
    past.session("b", day="2026-05-01", cwd="/home/u/shop")
    shown = past.backfill("--dry-run").stdout
    assert "2 sessions, 2026-03-01 to 2026-05-01" in shown
    assert "/home/u/shop: 1 session" in shown
    assert "offline (chosen): " in shown
    assert "anthropic" in shown
    assert "about 4 calls" in shown
    data = json.loads(past.backfill("--dry-run", "--json").stdout)
    assert (data["sessions"], data["estimates"][0]["usd"]) == (2, 0.0)
    assert "--yes" in past.backfill(code=2).stderr
    assert past.rows("SELECT count(*) FROM sdk_sessions") == [(0,)]


def test_only_what_was_asked_for_is_imported(past: Past) -> None:
    past.session("a", day="2026-03-01")
    past.session("b", day="2026-05-01", cwd="/home/u/shop")
    past.session("c", day="2026-06-01", cwd="/home/u/shop/web")
    past.imported("--project", "/home/u/shop", "--since", "2026-05-15")
    assert past.rows("SELECT claude_session_id FROM sdk_sessions") == [("c",)]
    past.imported("--project", "shop")
    assert past.rows("SELECT claude_session_id FROM sdk_sessions ORDER BY id") == [("c",), ("b",)]
    past.imported()
    assert past.rows("SELECT claude_session_id FROM sdk_sessions ORDER BY id") == [("c",), ("b",), ("a",)]


def test_a_session_captured_as_it_happened_is_left_alone(past: Past) -> None:
    past.session("lived")
    past.session("missed")
    hook_process.run(past.data, payloads.prompt("Turn 0 of lived", past.name("lived"), "p-1"))
    workers.drained(past.data)
    before = past.rows("SELECT count(*) FROM pending_messages")
    told = past.imported()
    assert (told["live"], told["imported"]) == (1, 1)
    lived = past.rows(
        "SELECT event_id FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
        " WHERE claude_session_id = 'lived'"
    )
    assert len(lived) == before[0][0] == 1
    assert past.rows("SELECT past FROM sdk_sessions ORDER BY claude_session_id") == [(0,), (1,)]


def test_a_forgotten_session_does_not_come_back_by_its_transcript(past: Past) -> None:
    past.session("dropped")
    past.session("kept")
    past.imported()
    Mem(past.data)("forget", "--session", past.name("dropped"), "--yes")
    again = past.imported()
    assert (again["barred"], again["known"], again["imported"]) == (1, 1, 0)
    assert past.rows("SELECT claude_session_id FROM sdk_sessions") == [("kept",)]


@pytest.mark.parametrize("by", ["a pause", "its environment"])
def test_a_session_that_was_not_to_be_seen_is_left_alone(past: Past, by: str) -> None:
    past.session("paused")
    past.session("missed")
    seen, env = payloads.prompt("Turn 0 of paused", past.name("paused"), "p-1"), {"CLAUDE_MEM_OFF": "1"}
    if by == "a pause":
        Mem(past.data)("off")
        try:
            hook_process.run(past.data, seen)
        finally:
            Mem(past.data)("on")
    else:
        hook_process.run(past.data, seen, more=env)
    told = past.imported()
    assert (told["barred"], told["imported"]) == (1, 1)
    assert past.rows("SELECT claude_session_id FROM sdk_sessions") == [("missed",)]


def test_nothing_of_an_excluded_project_is_imported(data: Path, tmp_path: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "settings.json").write_text(json.dumps({"CLAUDE_MEM_EXCLUDED_PROJECTS": ["/home/u/secret*"]}))
    past = Past(data, tmp_path / "projects", "")
    past.session("hidden", cwd="/home/u/secrets")
    past.session("open")
    with workers.running(data):
        past.imported()
        assert past.rows("SELECT claude_session_id FROM sdk_sessions") == [("open",)]


def test_a_session_of_the_past_that_goes_on_is_one_of_today(past: Past) -> None:
    past.session("resumed")
    past.imported()
    assert past.rows("SELECT past, offline FROM sdk_sessions") == [(1, 1)]
    hook_process.run(past.data, payloads.prompt("And now the tests", past.name("resumed"), "p-9"))
    workers.drained(past.data)
    assert past.rows("SELECT past, offline, status FROM sdk_sessions") == [(0, 0, "active")]
    assert past.imported()["live"] == 1


def test_an_old_session_does_not_displace_a_newer_one(past: Past, tmp_path: Path) -> None:
    repo, now, mem = tmp_path / past.name("shop"), past.name("now"), Mem(past.data)
    repo.mkdir()
    for payload in (
        payloads.prompt("Fix the login", now, "p-1", cwd=str(repo)),
        payloads.bash("t1", "npm test", "all passed", session=now, cwd=str(repo)),
        payloads.stop("The login works again.", now),
    ):
        hook_process.run(past.data, payload)
    done = "SELECT count(*) FROM pending_messages WHERE state = 'done'"
    workers.until(lambda: past.rows(done) == [(3,)], "the newer one is memory")
    past.session("old", day="2026-03-01", cwd=str(repo))
    past.imported()
    told = mem("context", "--project", repo.name).stdout
    last, asked, *_ = told[told.index("Last session") :].splitlines()
    assert "2026-03-01" not in last
    assert "Fix the login" in asked
    listed = mem.json("sessions", "--project", repo.name)["items"]
    assert [each["session_id"] for each in listed] == [now, past.name("old")]


def test_private_turns_and_secrets_stay_out_each_time_it_is_told(past: Past) -> None:
    secret, id = "AKIA" + "IOSFODNN7EXAMPLQ", past.name("p")
    said = ["<private>the merger</private>", f"use {secret} to log in", "plain words", "/mem what was that"]
    path, marks = past.session("p", said=said), marked(past.data)
    for _ in range(2):
        past.imported()
        path.write_bytes(path.read_bytes() + b'{"type":"mode"}\n')
        held = json.dumps(dump(past.data / "claude-mem.db"))
        assert "merger" not in held
        assert secret not in held
        assert "plain words" in held
        assert "what was that" not in held
        prompts = past.rows("SELECT private, prompt IS NULL FROM user_prompts ORDER BY prompt_number")
        assert prompts == [(1, 1), (0, 0), (0, 0)]
        # What the tools of a private turn did is not there either; of the next turn it is.
        uses = past.rows("SELECT tool_use_id FROM pending_messages WHERE tool_use_id > ''")
        assert not [use for (use,) in uses if use.startswith((f"toolu_{id}_0_", f"toolu_{id}_3_"))]
        assert [use for (use,) in uses if use.startswith(f"toolu_{id}_1_")]
    assert marked(past.data) == marks


def marked(data: Path) -> set[str]:
    """The sessions of which private turns are noted."""
    return {path.name for path in (data / "private").glob("*")}


def test_a_line_nobody_can_read_is_counted_and_shown(past: Past) -> None:
    path = past.session("torn")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*whole[:3], b'{"type": "user", broken\n', *whole[3:], whole[-1][:40]]))
    said = past.backfill("--yes").stdout
    assert "2 lines could not be read:" in said
    assert f"{path}:4: not JSON" in said
    assert f"{path}:{len(whole) + 2}: cut off in the middle" in said
    assert past.rows("SELECT count(*) FROM user_prompts") == [(2,)]


def test_without_a_worker_one_is_started(data: Path, tmp_path: Path) -> None:
    past = Past(data, tmp_path / "projects", "")
    past.session("a")
    env = {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port()), "CLAUDE_MEM_PROVIDER": "offline"}
    try:
        said = past.backfill("--yes", env=env, process=True).stdout
    finally:
        workers.finish(data)
    assert "Imported 1 session: " in said
    assert "claude-mem search" in said


def test_a_folder_that_is_not_there_is_said(worker: Path, tmp_path: Path) -> None:
    assert "does not exist" in backfill(worker, "--from", str(tmp_path / "nowhere"), code=2).stderr
    home = {"HOME": str(tmp_path)}
    assert "--from DIR" in backfill(worker, code=1, env=home).stderr


@pytest.mark.prove  # `make test` interrupts an import, in test_export_import.py
def test_an_interrupted_import_says_how_far_it_came_and_goes_on(past: Past) -> None:
    for number in range(30):
        past.session(f"s{number:02}", day=f"2026-05-{number + 1:02}", turns=6, filling=20_000)
    process = subprocess.Popen(
        transcripts.words("--from", str(past.folder), "--yes"),
        env=transcripts.environment(past.data),
        stderr=subprocess.PIPE,
        text=True,
    )
    workers.until(lambda: past.rows("SELECT count(*) FROM sdk_sessions")[0][0] > 0, "the first is in")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted after" in said
    assert "run it again" in said
    told = past.imported()
    assert told["known"] + told["imported"] == 30
    assert told["known"] > 0
    assert past.rows("SELECT count(*) FROM sdk_sessions WHERE status = 'completed'") == [(30,)]


REPLY = "<observation><type>feature</type><title>Asked a model</title></observation>"


@pytest.fixture
def asking(data: Path, tmp_path: Path) -> Iterator[tuple[Past, ModelServer]]:
    """A worker of the test's own, which may ask a model."""
    with ModelServer([Say(REPLY)]) as server, workers.running(data, **workers.asking(server.url)):
        yield Past(data, tmp_path / "projects", ""), server


def test_no_model_is_asked_about_the_past_unless_it_is_wanted(asking: tuple[Past, ModelServer]) -> None:
    past, server = asking
    past.session("a", day="2026-03-01")
    past.imported()
    assert past.rows("SELECT DISTINCT provider FROM observations") == [("offline",)]
    assert not server.requests
    past.session("b", day="2026-04-01")
    past.imported("--provider", "auto")
    assert server.requests
    assert past.rows(
        "SELECT DISTINCT provider FROM observations o JOIN sdk_sessions s ON s.id = o.session_id"
        " WHERE claude_session_id = 'b'"
    ) == [("anthropic:scripted",)]


@pytest.mark.prove
def test_what_batching_saved_counts_tool_uses_of_long_ago_when_a_model_was_asked_about_them_now(
    asking: tuple[Past, ModelServer],
) -> None:
    past, _ = asking
    past.session("a", day="2026-03-01")
    past.imported("--provider", "auto")
    cost = Worker(past.data).get("/api/cost", days=7)
    uses = past.rows("SELECT count(*) FROM pending_messages WHERE tool_name IS NOT NULL")
    assert (cost["batching"]["tool_uses"],) == uses[0] > (0,)


def test_a_run_stops_at_its_budget_and_the_next_goes_on(asking: tuple[Past, ModelServer]) -> None:
    past, _ = asking
    for number in range(4):
        past.session(f"s{number}", day=f"2026-03-0{number + 1}", turns=1)
    said = past.backfill("--yes", "--provider", "auto", "--budget-tokens", "1", code=1).stdout
    assert "The budget is spent" in said
    assert "3 sessions left" in said
    assert past.rows("SELECT claude_session_id FROM sdk_sessions") == [("s3",)]
    past.backfill("--yes", "--provider", "auto", "--budget-tokens", "1000000")
    assert past.rows("SELECT count(*) FROM sdk_sessions") == [(4,)]
    assert "--provider auto" in past.backfill("--budget-usd", "1", code=2).stderr


def test_another_agents_sessions_are_imported_as_its_own_and_once(worker: Path, tmp_path: Path) -> None:
    recorded = Path(__file__).parents[1] / "fixtures/agents/codex/transcript.jsonl"
    file = tmp_path / "2026/11/18/rollout-2026-11-18T10-39-54.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(recorded.read_bytes())

    def imported() -> dict[str, Any]:
        done = backfill(worker, "--agent", "codex", "--from", str(tmp_path), "--yes", "--json")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert imported()["imported"] == 1
    with closing(sqlite3.connect(f"file:{worker / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        ((id, name),) = db.execute("SELECT id, claude_session_id FROM sdk_sessions WHERE client = 'codex'")
        (prompts,) = db.execute("SELECT prompt FROM user_prompts WHERE session_id = ?", (id,))
        files = db.execute("SELECT files_modified FROM observations WHERE session_id = ?", (id,)).fetchall()
    assert name == "codex:01a1ee3d-de7e-7c93-aeab-697f038781e5"
    assert prompts == ("Fix the postage of heavy parcels.",)
    assert any("postage.py" in (each or "") for (each,) in files)
    assert imported()["imported"] == 0
