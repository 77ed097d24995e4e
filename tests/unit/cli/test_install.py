"""What a person is told at the end; and an install for several agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands import Mem

from claude_mem.cli import install
from claude_mem.settings import Settings

HERE = Settings(data_dir=Path.home() / ".claude-mem")


@pytest.mark.parametrize("provider", ["claude", "anthropic", "openai", "offline"])
@pytest.mark.parametrize("client", [True, False])
def test_five_lines_name_the_provider_and_what_it_may_cost(provider: str, client: bool) -> None:
    told = install.next_steps(HERE, provider, missing="" if client else "Claude Code")
    assert [line.split()[0] for line in told] == ["Next", "Data", "Pause", "Model", "Undo"]
    assert max(len(line) for line in told) <= 120
    assert provider in told[3]
    assert "free" in told[3]
    assert ("$2.00 a day" in told[3]) is (provider != "offline")
    assert ("install Claude Code" in told[0]) is not client


def test_a_limit_that_is_not_there_is_not_promised() -> None:
    no_dollars = Settings(data_dir=HERE.data_dir, daily_usd=0)
    assert "at most 2,000,000 tokens a day" in install.next_steps(no_dollars, "claude")[3]
    none = Settings(data_dir=HERE.data_dir, daily_usd=0, daily_tokens=0)
    assert "no daily limit" in install.next_steps(none, "claude")[3]


def test_another_data_directory_is_named_and_that_its_variable_is_needed() -> None:
    told = install.next_steps(Settings(data_dir=Path("/srv/memory")), "offline")[1]
    assert "/srv/memory" in told
    assert "CLAUDE_MEM_DATA_DIR" in told
    assert "CLAUDE_MEM_DATA_DIR" not in install.next_steps(HERE, "offline")[1]


# Several agents on one machine.

CONTENT = {
    ".codex/config.toml": 'model = "o9"\n',
    ".gemini/settings.json": '{"theme": "dark"}\n',
    ".qwen/settings.json": "{}",
}


@pytest.fixture
def machine(tmp_path: Path) -> Mem:
    """A user of three agents, none of which is on the PATH."""
    for name, text in CONTENT.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return Mem(tmp_path / ".claude-mem", cwd=tmp_path, HOME=str(tmp_path), PATH=str(tmp_path / "bin"))


def files(home: Path) -> dict[str, bytes]:
    return {str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*") if file.is_file()}


def test_an_install_finds_the_agents_shows_what_it_changes_and_connects_them_all(
    machine: Mem, tmp_path: Path
) -> None:
    before = files(tmp_path)
    shown = json.loads(machine("install", "--dry-run", "--json").stdout)
    assert files(tmp_path) == before
    for name in ("codex/hooks.json", "codex/config.toml", "gemini/settings.json", "qwen/settings.json"):
        assert str(tmp_path / f".{name}") in shown["files"]
    done = json.loads(machine("install", "--yes", "--json", "--observer", "offline").stdout)
    assert done["agents"] == ["codex", "gemini", "qwen"]
    assert "trust" in " ".join(done["needs"])
    assert not (tmp_path / ".claude").exists()
    again = json.loads(machine("install", "--yes", "--json").stdout)
    assert (again["changed"], again["needs"]) == (False, [])
    machine("uninstall", "--yes")
    assert files(tmp_path) == before


def test_agents_may_be_named_and_one_may_be_disconnected_alone(machine: Mem, tmp_path: Path) -> None:
    before = files(tmp_path)
    named = ("--agent", "codex", "--agent", "cline")
    done = json.loads(machine("install", "--yes", "--json", "--observer", "offline", *named).stdout)
    assert done["agents"] == ["codex", "cline"]
    assert (tmp_path / ".cline/hooks/PreToolUse.sh").stat().st_mode & 0o100
    machine("uninstall", "--yes", "--agent", "codex")
    left = files(tmp_path)
    assert {name: left[name] for name in before} == before
    assert ".codex/hooks.json" not in left
    assert ".cline/hooks/PreToolUse.sh" in left
    machine("uninstall", "--yes")
    assert files(tmp_path) == before


def test_who_is_connected_is_told_apart_from_who_is_not_installed_yet(machine: Mem, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/codex").write_text("#!/bin/sh\n")
    (tmp_path / "bin/codex").chmod(0o755)
    told = machine("install", "--yes", "--observer", "offline").stdout.splitlines()[0]
    assert told.startswith("Connected to Codex. Gemini CLI and Qwen Code are not installed yet")
    assert machine("install", "--yes").stdout.startswith("Connected to Codex already.")


def test_if_one_agent_cannot_be_connected_none_is(machine: Mem, tmp_path: Path) -> None:
    (tmp_path / ".qwen/settings.json").write_text("{ // mine\n}")
    before = files(tmp_path)
    refused = machine("install", "--yes", "--observer", "offline", code=None)
    assert refused.returncode != 0
    assert ".qwen/settings.json" in refused.stderr
    assert files(tmp_path) == before


def test_only_claude_code_can_be_connected_in_a_project(machine: Mem, tmp_path: Path) -> None:
    refused = machine("install", "--yes", "--agent", "codex", "--scope", "project", code=None)
    assert refused.returncode != 0
    assert "Codex" in refused.stderr


def test_without_any_agent_claude_code_is_connected_for_when_it_is_installed(tmp_path: Path) -> None:
    mem = Mem(tmp_path / ".claude-mem", cwd=tmp_path, HOME=str(tmp_path), PATH=str(tmp_path / "bin"))
    done = json.loads(mem("install", "--yes", "--json", "--observer", "offline").stdout)
    assert (done["agents"], done["client"]) == (["claude-code"], None)


def test_doctor_lists_each_agent_what_it_cannot_be_shown_and_who_is_not_connected(machine: Mem) -> None:
    named = ("--agent", "codex", "--agent", "droid")
    machine("install", "--yes", "--observer", "offline", *named)
    report = json.loads(machine("doctor", "--json", code=None).stdout)
    client = [finding for finding in report["findings"] if finding["check"] == "client"]
    said = "\n".join(finding["says"] for finding in client)
    for words in ("Codex by ", "Factory droid by ", "Factory droid shows its model no memory at a prompt"):
        assert words in said
    nexts = [finding["next"] for finding in client if finding["next"]]
    assert nexts == ["claude-mem install --agent gemini", "claude-mem install --agent qwen"]
    assert report["facts"]["connected"]["current"]
