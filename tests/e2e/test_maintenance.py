"""Keeping house as a person does: projects listed, renamed, merged and removed; what is forgotten gone from
the whole data directory; room given back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Done, Mem

from claude_mem.serve import control

CANARY = "zarquonvex"
GIT = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


def mem(data: Path, *words: str, code: int = 0) -> Done:
    return Mem(data, COLUMNS="140")(*words, code=code)


def as_data(data: Path, *words: str) -> Any:
    return json.loads(mem(data, *words, "--json").stdout)


def work(data: Path, cwd: Path, session: str, word: str) -> None:
    """A short session."""
    for event in (
        payloads.start(session, cwd=str(cwd)),
        payloads.prompt(f"please look at {word}", session, cwd=str(cwd)),
        payloads.bash(
            "toolu_1", f"grep -r {word} src", f"src/{word}.py: {word}", session=session, cwd=str(cwd)
        ),
        json.dumps(json.loads(payloads.stop(f"I looked at {word}.", session)) | {"cwd": str(cwd)}).encode(),
        json.dumps(json.loads(payloads.end(session)) | {"cwd": str(cwd)}).encode(),
    ):
        hook_process.run(data, event)
    workers.settled(data)


def repository(path: Path, remote: str = "") -> Path:
    path.mkdir(parents=True)
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", f"the first of {path.name}"),
        *([("remote", "add", "origin", remote)] if remote else []),
    ):
        subprocess.run(["git", *GIT, *words], cwd=path, check=True, capture_output=True)
    return path


def named(data: Path) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in as_data(data, "projects")["items"]}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Path]:
    with workers.running(tmp_path / "data") as data:
        yield data


def test_projects_are_listed_renamed_merged_and_removed(house: Path, tmp_path: Path) -> None:
    old, shop, scratch = tmp_path / "old-shop", tmp_path / "shop", tmp_path / "scratch"
    for number, place in enumerate((old, shop, scratch)):
        place.mkdir()
        work(house, place, f"s-{number}", ("heron", "crane", "stork")[number])
    listed = named(house)
    assert {name: item["sessions"] for name, item in listed.items()} == {
        "old-shop": 1,
        "shop": 1,
        "scratch": 1,
    }
    assert all(item["characters"] > 50 for item in listed.values())
    table = mem(house, "projects").stdout
    assert re.search(rf"^shop +\d+ s +1 +\d+ +\d+ B  {re.escape(str(shop))}$", table, re.MULTILINE)

    tried = mem(house, "projects", "merge", "old-shop", "shop", "--dry-run").stdout
    assert tried.startswith(f"old-shop [{old}] (1 session,")
    refused = mem(house, "projects", "merge", "old-shop", "shop", code=2)
    assert "--yes" in refused.stderr
    assert len(named(house)) == 3, "nothing was merged yet"
    mem(house, "projects", "merge", "old-shop", "shop", "--yes")
    assert {name: item["sessions"] for name, item in named(house).items()} == {"shop": 2, "scratch": 1}
    found = as_data(house, "search", "heron", "--project", "shop")["items"]
    assert found
    assert {result["project"] for result in found} == {"shop"}
    work(house, old, "s-later", "egret")
    assert named(house)["shop"]["sessions"] == 3, "what comes later under its key is the other's, too"

    assert mem(house, "projects", "rename", "shop", "the shop").stdout == "shop is now the shop.\n"
    assert set(named(house)) == {"the shop", "scratch"}
    found = {result["project"] for result in as_data(house, "search", "heron")["items"]}
    assert "the shop" in found
    assert "shop" not in found

    assert "would be deleted" in mem(house, "projects", "remove", "scratch", "--dry-run").stdout
    assert set(named(house)) == {"the shop", "scratch"}
    mem(house, "projects", "remove", "scratch", "--yes")
    assert set(named(house)) == {"the shop"}
    assert "'scratch'" in mem(house, "projects", "remove", "scratch", "--yes", code=2).stderr
    assert "No project" in mem(house, "projects", "merge", "scratch", "shop", "--yes", code=1).stderr


def test_projects_that_drifted_apart_are_noticed_and_the_command_works(house: Path, tmp_path: Path) -> None:
    before = repository(tmp_path / "shop")
    work(house, before, "s-1", "heron")
    subprocess.run(
        ["git", "remote", "add", "origin", "https://git.example/acme/shop.git"], cwd=before, check=True
    )
    inside = before / "src"  # where a directory belongs is remembered for a moment; this one is new
    inside.mkdir()
    work(house, inside, "s-2", "crane")
    hinted = mem(house, "projects").stderr
    assert f"both are in {before}" in hinted
    (command,) = re.findall(r"claude-mem (projects merge .+)$", hinted, re.MULTILINE)
    mem(house, *command.split(), "--yes")
    (project,) = named(house).values()
    assert (project["key"], project["sessions"]) == ("git.example/acme/shop", 2)
    assert mem(house, "projects").stderr == ""


@pytest.mark.prove
def test_a_directory_that_was_moved_is_recognised_by_its_commit(house: Path, tmp_path: Path) -> None:
    before = repository(tmp_path / "shop")
    work(house, before, "s-1", "heron")
    after = tmp_path / "elsewhere" / "store"
    after.parent.mkdir()
    shutil.move(before, after)
    work(house, after, "s-2", "crane")
    hinted = mem(house, "projects").stderr
    assert f"{before} is gone, and its last commit is in {after}" in hinted
    assert "  (directory gone) /" in mem(house, "projects").stdout


@pytest.mark.prove
def test_a_clone_that_was_moved_is_the_same_project_under_its_new_name(house: Path, tmp_path: Path) -> None:
    remote = "https://git.example/acme/shop.git"
    before = repository(tmp_path / "shop", remote)
    work(house, before, "s-1", "heron")
    after = tmp_path / "store"
    shutil.move(before, after)

    def is_told() -> bool:  # on a busy machine the worker's answer comes too late at times
        return "Memory of store" in str(hook_process.run(house, payloads.start("s-2", cwd=str(after))).json)

    workers.until(is_told, "the session is told what the other place knew")
    (project,) = as_data(house, "projects")["items"]
    assert (project["name"], project["root"], project["is_there"]) == ("store", str(after), True)
    mem(house, "projects", "rename", "store", "by hand")
    third = tmp_path / "third"
    shutil.move(after, third)
    hook_process.run(house, payloads.start("s-3", cwd=str(third)))
    (project,) = as_data(house, "projects")["items"]
    assert (project["name"], project["root"]) == ("by hand", str(third))


def holding(place: Path, word: str = CANARY) -> list[str]:
    """Every file below a place in which the word stands."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [str(path.relative_to(place)) for path in files if word.encode() in path.read_bytes().lower()]


def test_what_is_forgotten_is_in_no_byte_of_the_data_directory_and_of_exports(
    house: Path, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    work(house, shop, "s-1", CANARY)
    work(house, shop, "s-2", "harmless")
    mem(house, "backup")
    export, journal = tmp_path / "memory.jsonl", tmp_path / "JOURNAL.md"
    mem(house, "export", "-o", str(export))
    mem(house, "export", "--markdown", "-o", str(journal))
    replaced = house / "backups" / "replaced-20260101-000000"
    replaced.mkdir(mode=0o700)
    for path in house.glob("claude-mem.db*"):
        shutil.copy(path, replaced)
    damaged = house / "backups" / "quarantine-20260101-000000"
    damaged.mkdir(mode=0o700)
    (damaged / "claude-mem.db").write_text(f"no database, but {CANARY}\n" * 9)
    aside = house / "spool" / "aside" / "00000000000000000001-1-aaaa.json"
    aside.write_text(f'{{"v": 99, "payload": "{CANARY}"}}')
    left = house / "spool" / ".00000000000000000002-1-bbbb.tmp"
    left.write_text(f'{{"v": 1, "payload": {{"prompt": "{CANARY}')
    os.utime(left, (time.time() - 100,) * 2)
    # An event that is still on its way: the worker stands still while the hook spools it.
    pid = control.status(house).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    hook_process.run(house, payloads.bash("toolu_9", f"cat {CANARY}", session="s-3", cwd=str(shop)))
    assert any((house / "spool").glob("[0-9]*.json"))
    os.kill(pid, signal.SIGCONT)

    tried = as_data(house, "forget", "--text", CANARY, "--dry-run")
    kinds = Counter(lying["kind"] for lying in tried["elsewhere"])
    assert kinds.pop("backup") >= 1  # the worker makes one of its own as it starts
    assert kinds == {"quarantine": 2, "export": 2, "spool": 2}
    assert {lying["done"] for lying in tried["elsewhere"]} == {"holds"}
    assert len(holding(house)) >= 6
    done = mem(house, "forget", "--text", CANARY.title(), "--yes")
    assert "Deleted: 1 summary, 1 prompt, 3 raw tool events." in done.stdout
    assert "--also-exports" in done.stderr
    assert f"Also found in: {export}" in done.stderr
    assert holding(house) == []
    assert holding(tmp_path) == ["JOURNAL.md", "memory.jsonl"]
    assert holding(house, "harmless"), "and what was not meant is still there"
    assert not damaged.exists()

    again = mem(house, "forget", "--text", CANARY, "--also-exports", "--yes")
    assert f"Removed from: {export}" in again.stderr
    assert f"Not removed from: {journal}" in again.stderr
    assert holding(tmp_path) == ["JOURNAL.md"]
    for backup in (house / "backups").glob("*.db"):
        with closing(sqlite3.connect(backup)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_gc_says_what_it_would_free_and_frees_it(house: Path, tmp_path: Path) -> None:
    work(house, tmp_path, "s-1", "heron")
    backups = house / "backups"
    for day in range(1, 12):
        (backups / f"claude-mem-202401{day:02}-000000.db").write_bytes(b"x" * 1000)
    context = house / "context" / "0123"
    context.parent.mkdir(exist_ok=True)
    context.write_text("old")
    marker = house / "private" / "long-over"
    marker.parent.mkdir(exist_ok=True)
    marker.write_text("")
    for path in (context, marker):
        os.utime(path, (time.time() - 200 * 86_400,) * 2)
    tried = {item["what"]: item for item in as_data(house, "gc", "--dry-run")["items"]}
    # One more day is there, if the worker has made its own by now.
    assert tried["backups"]["count"] in (4, 5)
    assert (tried["contexts"]["count"], tried["markers"]["count"]) == (1, 1)
    assert context.exists()
    assert "would be freed" in mem(house, "gc", "--dry-run").stdout
    assert "freed." in mem(house, "gc").stdout
    assert not context.exists()
    assert not marker.exists()
    assert len(list(backups.glob("*.db"))) == 7
    assert "Nothing to delete." in mem(house, "gc").stdout
    told = Mem(house)("doctor", "--json", code=None)
    growth = [one for one in json.loads(told.stdout)["findings"] if one["check"] == "growth"]
    assert growth
    assert re.fullmatch(r"[\d.]+ [KM]iB(, -?[\d.]+ \w+ a week)?, \d+ % free", growth[0]["says"])
