"""Every command in a process of its own says what it says in ours, so most tests may use ours."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts import worker_client
from tests.e2e import transcripts
from tests.harness import claude_mem_ts_data
from tests.harness.commands import Mem

from claude_mem.cli import HOOK_VERBS
from claude_mem.cli.commands import COMMANDS

OTHERWISE = {
    "demo": "test_demo.py",
    "mcp": "test_mcp.py",
    "statusline": "test_statusline.py",
    "restore": "test_cli.py",  # it ends the worker
    "server": "test_team_server_setup.py",
    **dict.fromkeys(("join", "leave", "share", "unshare", "team"), "test_team.py"),
}
"""Those that are always a process, or too much for here, and where they are one."""


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mem]:
    root = tmp_path_factory.mktemp("processes")
    with worker_client.remembering(root / "data") as worker:
        yield Mem(worker.data, root, HOME=str(root), COLUMNS="80", PATH="/usr/bin:/bin")


def questions(mem: Mem, into: Path) -> list[tuple[str, ...]]:
    """Of every command one that can be run again and again."""
    (ref, *_) = (found["ref"] for found in mem.json("search", "login")["items"])
    transcripts.session(into / "projects", "told")
    claude_mem_ts_data.typical(into / "theirs.db")
    (into / "lines.jsonl").write_text(mem("export", "--project", "mill").stdout)
    return [
        ("version",),
        ("install", "--settings", "--dry-run"),
        ("uninstall", "--dry-run"),
        ("search", "login"),
        ("timeline", ref),
        ("show", ref),
        ("sessions",),
        ("file", "src/login.py"),
        ("context", "--project", "shop"),
        ("remember", "The till beeps.", "--project", "shop"),
        ("pin", ref),
        ("forget", ref, "--dry-run"),
        ("open", "--print"),
        ("off",),
        ("on",),
        ("doctor",),
        ("stats",),
        ("projects",),
        ("repair", "--dry-run"),
        ("backfill", "--from", str(into / "projects"), "--dry-run"),
        ("adopt", str(into / "theirs.db"), "--dry-run"),
        ("export", "--project", "shop"),
        ("import", "--dry-run", str(into / "lines.jsonl")),
        ("backup",),
        ("gc", "--dry-run"),
        ("worker", "status"),
        ("worker", "logs", "-n", "1"),
        ("queue", "list"),
        ("config", "list"),
        ("embedder", "status"),
        ("help",),
        ("completion", "bash"),
        ("hooks",),
        ("slash",),
        ("token",),
    ]


@pytest.mark.prove  # one process each; `make test` has some of them in the other files
def test_each_command_says_the_same_in_a_process_of_its_own(
    mem: Mem, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    asked = questions(mem, tmp_path)
    hooks = {verb for verb in HOOK_VERBS if verb != "context"}
    assert {words[0] for words in asked} | OTHERWISE.keys() == COMMANDS.keys() - hooks
    for words in asked:
        with subtests.test(" ".join(words[:2])):
            mem(*words, code=None)  # it changes something at most once
            here = mem(*words, code=None)
            there = mem(*words, code=None, process=True)
            assert (there.returncode, shape(there.stdout)) == (here.returncode, shape(here.stdout))
            assert shape(there.stderr) == shape(here.stderr)


def shape(said: str) -> str:
    """Without what another moment says otherwise: times, numbers, one-time links, what is waited for."""
    kept = " ".join(line for line in said.splitlines() if not line.endswith(" ..."))
    return " ".join(re.sub(r"once=\S+|\d[\d.,:T-]*Z?( (s|min|h|d|[KMG]?i?B)\b)?", "#", kept).split())
