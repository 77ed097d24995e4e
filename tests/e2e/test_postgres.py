"""A worker whose memories are in PostgreSQL: captured by hooks, found by commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Mem
from tests.harness.postgres import new_database


def test_what_hooks_capture_is_found_in_postgresql_by_another_machine(data: Path, tmp_path: Path) -> None:
    url = new_database()
    with workers.running(data, CLAUDE_MEM_DATABASE_URL=url, CLAUDE_MEM_VECTORS="off"):
        mem = Mem(data, CLAUDE_MEM_DATABASE_URL=url)
        for payload in (
            payloads.prompt("why does the heron test fail?"),
            payloads.bash("u1", "make heron", "egret missing"),
            payloads.stop("The heron needs an egret."),
        ):
            hook_process.run(data, payload)
        workers.until(lambda: "heron" in mem("search", "heron", "egret", code=None).stdout, "found")
        assert not list(data.glob("*.db"))
    with workers.running(tmp_path / "elsewhere", CLAUDE_MEM_DATABASE_URL=url, CLAUDE_MEM_VECTORS="off"):
        other = Mem(tmp_path / "elsewhere", CLAUDE_MEM_DATABASE_URL=url)
        assert "heron" in other("search", "heron", "egret").stdout


def test_backups_are_left_to_pg_dump(data: Path) -> None:
    data.mkdir(mode=0o700)
    mem = Mem(data, CLAUDE_MEM_DATABASE_URL=new_database())
    for command in (["backup"], ["restore", "--yes"]):
        assert "pg_dump" in mem(*command, code=1).stderr


@pytest.mark.prove
def test_a_server_that_is_not_there_is_named_without_its_password(data: Path) -> None:
    data.mkdir(mode=0o700)
    mem = Mem(data, CLAUDE_MEM_DATABASE_URL="postgresql://me:hunter2@127.0.0.1:1/memory")
    done = mem("doctor", code=None)
    assert "hunter2" not in done.stdout + done.stderr
    assert "127.0.0.1" in done.stdout


def test_without_the_setting_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; import claude_mem.wiring.worker_services, claude_mem.store.sqlite; "
        "print([name for name in sys.modules if 'psycopg' in name or 'store.postgres' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.prove
def test_what_one_machine_forgets_leaves_what_another_has_prepared(data: Path, tmp_path: Path) -> None:
    url, elsewhere, cwd = new_database(), tmp_path / "elsewhere", tmp_path / "shop"
    cwd.mkdir()
    settings = {"CLAUDE_MEM_DATABASE_URL": url, "CLAUDE_MEM_VECTORS": "off"}
    with workers.running(data, **settings), workers.running(elsewhere, **settings):
        mem = Mem(data, CLAUDE_MEM_DATABASE_URL=url)
        at_work = json.dumps(json.loads(payloads.prompt("hello")) | {"cwd": str(cwd)}).encode()
        hook_process.run(data, at_work)
        mem("remember", "The heron needs an egret.", cwd=cwd)
        workers.until(lambda: _prepared(elsewhere, "egret"), "the other machine has prepared it")
        mem("forget", "1", "--yes", cwd=cwd)
        workers.until(lambda: not _prepared(elsewhere, "egret"), "it is gone there")


def _prepared(data: Path, word: str) -> bool:
    files = (data / "context").glob("*")
    return any(word in file.read_text(errors="replace") for file in files if file.is_file())
