"""`claude-mem adopt` for somebody who comes from the TypeScript claude-mem: its database and its settings are
in the place that is ours, and its program perhaps still runs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness import claude_mem_ts_data, hook_process, payloads, workers
from tests.harness.claude_mem_ts_data import Incumbent
from tests.harness.commands import Mem, command
from tests.harness.home_snapshot import picture

from claude_mem.cli.backfill import scan

DEADLINE_S = 60
MANY = 6_000
SECRET = "ghp_" + "a1B2" * 9
THEIRS = ("claude-mem.db", "claude-mem.db-wal", "settings.json")
TYPICAL = {"project": 1, "session": 2, "prompt": 2, "observation": 2, "summary": 1}


class Newcomer(Mem):
    """Somebody who has a home, and in it perhaps a database of the other program."""

    def __init__(self, home: Path, data: Path) -> None:
        super().__init__(data, HOME=str(home), CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
        self.home, self.data = home, data

    def theirs(self) -> dict[str, bytes]:
        return {name: (self.data / name).read_bytes() for name in THEIRS if (self.data / name).exists()}


def arriving(root: Path) -> Newcomer:
    data = root / "home" / ".claude-mem"
    data.mkdir(parents=True, mode=0o700)
    return Newcomer(root / "home", data)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Newcomer]:
    made = arriving(tmp_path)
    yield made
    workers.finish(made.data)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Somebody whose own worker runs already. Each test adopts of its own."""
    made = arriving(tmp_path_factory.mktemp("settled"))
    with workers.running(made.data, HOME=str(made.home)):
        yield made


@pytest.fixture
def living(mem: Newcomer) -> Iterator[Incumbent]:
    """Its program runs: what it wrote last is in its log alone."""
    (mem.data / "settings.json").write_text('{"CLAUDE_MEM_CHROMA_ENABLED": "true"}')
    with claude_mem_ts_data.made(mem.data / "claude-mem.db") as their:
        their.typical()
        yield their


def test_its_memory_is_found_by_search_and_its_files_stay_as_they_were(
    mem: Newcomer, living: Incumbent
) -> None:
    living.observation("The cart is kept in a cookie", narrative=f"signed with {SECRET}")
    before = mem.theirs()
    assert set(before) == set(THEIRS)
    done = json.loads(mem("adopt", "--yes", "--json", process=True).stdout)
    assert done["taken"] == TYPICAL | {"observation": 3}
    assert (done["refused"], done["reasons"]) == (0, [])
    assert done["retyped"] == [{"theirs": "security_alert", "ours": "discovery", "count": 1}]
    assert done["left"] == 1, "a raw tool use"
    found = mem("search", "cart cookie", "--project", "shop")
    assert "The cart is kept in a cookie" in found.stdout
    assert mem.theirs() == before
    assert (mem.data / "claude-mem-py.db").exists()
    assert SECRET.encode() not in (mem.data / "claude-mem-py.db").read_bytes()
    again = mem.json("adopt", "--yes")
    assert (again["taken"], again["known"]) == ({}, TYPICAL | {"observation": 3})
    living.observation("The till beeps")
    said = mem("adopt", "--yes")
    assert "Imported: 1 observation." in said.stdout
    assert "was not changed" in said.stderr


def test_events_and_backups_go_to_our_own_database(mem: Newcomer, living: Incumbent) -> None:
    before = mem.theirs()
    with workers.running(mem.data, HOME=str(mem.home)):
        hook_process.run(mem.data, payloads.bash("toolu_1"))
        workers.drained(mem.data)
        mem("backup")
    findings = mem.json("doctor", code=None)["findings"]
    said = {finding["check"]: finding["says"] for finding in findings}
    assert said["settings"] == "1 setting of another claude-mem is ignored: CLAUDE_MEM_CHROMA_ENABLED"
    assert said["database"].startswith("schema")
    assert mem.theirs() == before
    assert living.path.name == "claude-mem.db"


def test_a_dry_run_tells_what_is_there_and_starts_nothing(mem: Newcomer, living: Incumbent) -> None:
    before = picture(mem.home)
    done = mem.json("adopt", "--dry-run")
    assert done["read"] == TYPICAL
    assert "taken" not in done
    said = mem("adopt", "--dry-run")
    assert "1 project, 2 sessions, 2 observations, 1 summary, 2 prompts would be imported" in said.stdout
    assert "Type security_alert became discovery: 1." in said.stdout
    assert picture(mem.home) == before
    assert living.path.exists()


def test_it_asks_and_without_anybody_to_ask_it_changes_nothing(mem: Newcomer, living: Incumbent) -> None:
    assert "--yes" in mem("adopt", code=2).stderr
    mem("adopt", typed="n", code=1)
    said = mem("adopt", typed="y")
    assert "Import 2 sessions, 2 observations, 1 summary, 2 prompts from" in said.stderr
    assert "Imported: 1 project, 2 sessions" in said.stdout
    assert living.path.exists()


def test_one_elsewhere_is_named_by_its_path_or_its_folder(settled: Newcomer, tmp_path: Path) -> None:
    path = claude_mem_ts_data.typical(tmp_path / "old" / "claude-mem.db")
    assert settled.json("adopt", path, "--yes")["taken"] == TYPICAL
    assert settled.json("adopt", path.parent, "--yes")["taken"] == {}
    assert (settled.data / "claude-mem.db").exists(), "nobody else has the name"


@pytest.mark.prove
def test_its_usual_place_is_looked_at_also_from_a_data_directory_elsewhere(
    mem: Newcomer, tmp_path: Path
) -> None:
    claude_mem_ts_data.typical(mem.data / "claude-mem.db")
    elsewhere = Newcomer(mem.home, tmp_path / "elsewhere")
    try:
        assert elsewhere.json("adopt", "--yes")["taken"] == TYPICAL
    finally:
        workers.finish(elsewhere.data)
    assert (elsewhere.data / "claude-mem.db").exists()
    assert [path.name for path in mem.data.iterdir()] == ["claude-mem.db"]


def test_what_is_no_such_database_is_said(mem: Newcomer, settled: Newcomer, tmp_path: Path) -> None:
    assert "No TypeScript claude-mem database found" in mem("adopt", code=1).stderr
    assert "does not exist" in mem("adopt", tmp_path / "none.db", code=None).stderr
    (tmp_path / "text.db").write_text("words")
    assert "is not a database of the TypeScript" in mem("adopt", tmp_path / "text.db", code=None).stderr
    ours = settled("adopt", settled.data / "claude-mem.db", code=1)
    assert "is not a database of the TypeScript" in ours.stderr


@pytest.mark.prove
def test_a_project_is_known_by_its_directory_or_by_the_only_one_of_its_name(
    mem: Newcomer, tmp_path: Path
) -> None:
    shop, till = tmp_path / "src" / "shop", tmp_path / "src" / "till"
    for folder, address in ((shop, "git@example.com:u/shop.git"), (till, "git@example.com:u/till.git")):
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "remote", "add", "origin", address], cwd=folder, check=True)
    with claude_mem_ts_data.made(mem.data / "claude-mem.db") as their:
        their.session()
        their.observation("In a directory that is there", files_modified=[str(shop / "cart.py")])
        their.session(2, "till")
        their.observation("Of a project that we know", 2, "till")
        their.session(3, "gone")
        their.observation("Of nobody knows where", 3, "gone")
        with workers.running(mem.data, HOME=str(mem.home)):
            hook_process.run(mem.data, payloads.bash("toolu_1", cwd=str(till)))
            workers.drained(mem.data)
            done = mem.json("adopt", "--yes")
    assert done["projects"] == {
        "shop": "example.com/u/shop",
        "till": "example.com/u/till",
        "gone": "name:gone",
    }
    assert "known by name only" in mem("adopt", "--yes").stderr


def test_the_agents_notes_of_all_projects_are_adopted_and_known_again(
    settled: Newcomer, tmp_path: Path
) -> None:
    shop = tmp_path / "src" / "my_shop"
    shop.mkdir(parents=True)
    folder = settled.home / ".claude" / "projects" / str(shop).replace("/", "-").replace("_", "-") / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Cart\nIt is kept in a cookie.\n\n- [More](more.md)\n")
    (folder / "more.md").write_text(f"# Till\nIts key is {SECRET}.\n")
    fresh = Newcomer(settled.home, tmp_path / "fresh")
    tried = fresh.json("adopt", "--notes", "--dry-run")
    assert tried["read"] == {"project": 1, "session": 1, "observation": 2}
    assert not fresh.data.exists()
    done = settled.json("adopt", "--notes", "--yes")
    assert done["taken"] == {"project": 1, "session": 1, "observation": 2}
    assert done["projects"] == {"my_shop": str(shop)}
    assert SECRET.encode() not in (settled.data / "claude-mem.db").read_bytes()
    os.utime(folder / "MEMORY.md", (1, 1))
    again = settled.json("adopt", "--notes", "--yes")
    assert again["taken"] == {}
    assert again["passed_over"] == [{"kind": "note", "why": "already imported", "count": 2}]
    (folder / "MEMORY.md").write_text("# Cart\nIt is kept in the database.\n")
    assert settled.json("adopt", "--notes", str(folder), "--yes")["taken"] == {"observation": 1}
    assert "kept in a cookie" in settled("search", "cart cookie").stdout


def test_lines_of_json_from_anywhere_are_adopted_as_untrusted_text(settled: Newcomer, tmp_path: Path) -> None:
    told = {"text": "The till beeps", "project": "tills"}
    lines = [told, {"title": "Cart"}, {"nothing": 1}, ["no object"]]
    path = tmp_path / "other.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{cut of")
    done = settled.json("adopt", str(path), "--yes")
    assert done["taken"] == {"project": 2, "session": 2, "observation": 2}
    assert {(each["why"], each["count"]) for each in done["passed_over"]} == {
        ("unreadable", 2),
        ("no text", 1),
    }
    assert settled.json("adopt", str(path), "--yes")["taken"] == {}
    found, *_ = settled.json("search", "till beeps")["items"]
    assert (found["title"], found["source"]) == ("The till beeps", "external")


def test_what_the_worker_refuses_is_counted_and_said_with_its_number_and_fails_the_command(
    settled: Newcomer, tmp_path: Path
) -> None:
    late = {"text": "From the year 2999", "date": "2999-01-01T00:00:00Z"}
    lines = [{"text": "The gate squeaks", "project": "gates"}, late | {"project": "gates"}]
    path = tmp_path / "other.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    told = settled.json("adopt", path, "--yes", code=1)
    assert told["refused"] == 1
    assert told["taken"] == {"project": 1, "session": 1, "observation": 1}
    assert [each["record"] for each in told["reasons"]] == [4], "after a project, a session and the other"
    (reason,) = told["reasons"]
    assert "future" in reason["message"]
    assert reason["message"] in settled("adopt", path, "--yes", code=1).stderr


@pytest.mark.prove  # `make test` interrupts an import, in test_export_import.py
def test_interrupted_it_keeps_what_was_sent_and_goes_on_the_next_time(mem: Newcomer) -> None:
    with claude_mem_ts_data.made(mem.data / "claude-mem.db") as their:
        their.session()
        their.db.execute("BEGIN")
        for number in range(MANY):
            their.observation(f"Fact number {number}", narrative=f"{number} " * 40)
        their.db.execute("COMMIT")
    with workers.running(mem.data, HOME=str(mem.home)):
        with subprocess.Popen(
            command("adopt", "--yes"), env=mem.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            workers.until(lambda: kept(mem) > 0, "the first batch is in")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 130
        assert b"Interrupted." in said
        assert b"Traceback" not in said
        before = kept(mem)
        assert 0 < before < MANY
        done = mem.json("adopt", "--yes")
    assert done["taken"] == {"observation": MANY - before}
    assert done["known"] == {"project": 1, "session": 1, "observation": before}


def kept(mem: Newcomer) -> int:
    with closing(sqlite3.connect(f"file:{mem.data / 'claude-mem-py.db'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM observations").fetchone()[0])


def test_a_commit_is_traced_to_the_session_that_told_git_to_make_it(
    settled: Newcomer, tmp_path: Path
) -> None:
    sha, at = "abcdef01" * 5, 1_700_000_000_000
    assert scan.session_finder(str(tmp_path))(sha, "Add a cart", at) is None
    bash, output = "git commit -m 'Add a cart'", "[main abcdef01] Add a cart"
    hook_process.run(settled.data, payloads.bash("toolu_1", bash, output, session="maker", cwd=str(tmp_path)))
    hook_process.run(settled.data, payloads.stop("Committed.", session="maker"))
    workers.settled(settled.data)
    assert scan.session_finder(str(tmp_path))(sha, "Add a cart", at) == "maker"
    assert scan.session_finder(str(tmp_path))("9" * 40, "Add a cart", at) is None
