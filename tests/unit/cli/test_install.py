"""What a person is told at the end; and an install for several agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands import Mem

from claude_mem.agents import catalog
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


def test_a_command_of_claude_codes_is_named_only_where_that_is_connected() -> None:
    for slash in (True, False):
        told = " ".join(install.next_steps(HERE, "offline", slash=slash))
        assert ("/mem" in told) is slash


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


APPROVED = ("environment.json", "place")


def files(home: Path) -> dict[str, bytes]:
    """But what was approved of the environment: that stays with the memory."""
    found = (file for file in home.rglob("*") if file.is_file() and file.name not in APPROVED)
    return {str(file.relative_to(home)): file.read_bytes() for file in found}


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


def test_an_agent_whose_file_cannot_be_read_is_left_out_and_the_others_are_connected(
    machine: Mem, tmp_path: Path
) -> None:
    theirs = '{ // mine\n  "theme": "dark",\n}'
    (tmp_path / ".qwen/settings.json").write_text(theirs)
    before = files(tmp_path)
    done = machine("install", "--yes", "--json", "--observer", "offline")
    told = json.loads(done.stdout)
    assert (told["agents"], told["left_out"]) == (["codex", "gemini"], ["qwen"])
    assert ".qwen/settings.json" in done.stderr
    assert (tmp_path / ".qwen/settings.json").read_text() == theirs
    machine("doctor", code=None)
    machine("repair", "--yes", code=None)
    machine("uninstall", "--yes")
    assert files(tmp_path) == before


def test_an_agent_that_was_named_and_cannot_be_connected_fails_the_install_but_not_the_others(
    machine: Mem, tmp_path: Path
) -> None:
    (tmp_path / ".qwen/settings.json").write_text("{ // mine\n}")
    before = files(tmp_path)
    refused = machine("install", "--yes", "--agent", "qwen", "--observer", "offline", code=1)
    assert ".qwen/settings.json" in refused.stderr
    assert files(tmp_path) == before
    named = ("--agent", "qwen", "--agent", "codex")
    done = machine("install", "--yes", "--json", "--observer", "offline", *named, code=1)
    assert json.loads(done.stdout)["agents"] == ["codex"]
    assert (tmp_path / ".codex/hooks.json").exists()


def test_an_agent_whose_file_cannot_be_written_is_left_as_it_was_and_the_others_are_connected(
    machine: Mem, tmp_path: Path
) -> None:
    folder = tmp_path / ".codex/hooks.json"
    folder.symlink_to(tmp_path / ".codex/config.toml/hooks.json")  # no folder, so nothing can be made there
    done = machine("install", "--yes", "--json", "--observer", "offline")
    told = json.loads(done.stdout)
    assert (told["agents"], told["left_out"]) == (["gemini", "qwen"], ["codex"])
    assert (tmp_path / ".codex/config.toml").read_text() == CONTENT[".codex/config.toml"]


def test_a_connected_agents_file_that_became_unreadable_is_named_and_the_others_are_disconnected(
    machine: Mem, tmp_path: Path
) -> None:
    machine("install", "--yes", "--observer", "offline")
    broken = tmp_path / ".qwen/settings.json"
    broken.write_text(f"// mine\n{broken.read_text()}")
    kept = broken.read_text()
    report = json.loads(machine("doctor", "--json", code=None).stdout)
    (problem,) = report["facts"]["connected"]["problems"]
    assert problem.startswith("Qwen Code: ")
    assert len(report["facts"]["connected"]["how"]) == 3
    done = machine("uninstall", "--yes", code=1)
    assert ".qwen/settings.json" in done.stderr
    assert broken.read_text() == kept
    assert (tmp_path / ".gemini/settings.json").read_text() == CONTENT[".gemini/settings.json"]
    assert not (tmp_path / ".codex/hooks.json").exists()


def test_claude_codes_settings_that_became_unreadable_are_reported_by_doctor(tmp_path: Path) -> None:
    mem = Mem(tmp_path / ".claude-mem", cwd=tmp_path, HOME=str(tmp_path), PATH=str(tmp_path / "bin"))
    mem("install", "--yes", "--settings", "--observer", "offline")
    (tmp_path / ".claude/settings.json").write_text("{ not JSON")
    report = json.loads(mem("doctor", "--json", code=None).stdout)
    (problem,) = report["facts"]["connected"]["problems"]
    assert problem.startswith("Claude Code: ")


def test_a_file_of_a_user_where_our_hooks_belong_is_left_and_the_agent_not_called_connected(
    machine: Mem, tmp_path: Path
) -> None:
    for name in (".copilot/hooks/claude-mem.json", ".config/opencode/plugin/claude-mem.js"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")
        done = machine("install", "--yes", "--json", "--observer", "offline")
        assert name in done.stderr
    assert json.loads(done.stdout)["left_out"] == ["copilot", "opencode"]
    assert json.loads(done.stdout)["agents"] == ["codex", "gemini", "qwen"]


def test_a_file_of_ours_that_a_user_replaced_is_reported_by_doctor(machine: Mem, tmp_path: Path) -> None:
    machine("install", "--yes", "--observer", "offline", "--agent", "copilot")
    (tmp_path / ".copilot/hooks/claude-mem.json").write_text("{}")
    report = json.loads(machine("doctor", "--json", code=None).stdout)
    (problem,) = report["facts"]["connected"]["problems"]
    assert ".copilot/hooks/claude-mem.json" in problem


def test_a_server_of_the_users_by_our_name_stays_and_is_named(machine: Mem, tmp_path: Path) -> None:
    (tmp_path / ".codex/config.toml").write_text('[mcp_servers.claude-mem]\ncommand = "mine"\n')
    (tmp_path / ".gemini/settings.json").write_text('{"mcpServers": {"claude-mem": {"command": "mine"}}}')
    before = files(tmp_path)
    done = json.loads(machine("install", "--yes", "--json", "--observer", "offline").stdout)
    assert [".codex" in text or ".gemini" in text for text in done["warnings"]] == [True, True]
    assert json.loads((tmp_path / ".gemini/settings.json").read_text())["mcpServers"] == {
        "claude-mem": {"command": "mine"}
    }
    report = json.loads(machine("doctor", "--json", code=None).stdout)
    assert len(report["facts"]["connected"]["problems"]) == 2
    machine("uninstall", "--yes")
    assert files(tmp_path) == before


def test_codexs_servers_in_an_inline_table_stay_and_its_hooks_are_connected(
    machine: Mem, tmp_path: Path
) -> None:
    theirs = 'mcp_servers = { a = { command = "x" } }\n'
    (tmp_path / ".codex/config.toml").write_text(theirs)
    done = json.loads(machine("install", "--yes", "--json", "--observer", "offline").stdout)
    assert done["agents"] == ["codex", "gemini", "qwen"]
    (warning,) = done["warnings"]
    assert "config.toml" in warning
    assert (tmp_path / ".codex/config.toml").read_text() == theirs
    assert (tmp_path / ".codex/hooks.json").exists()


def test_another_claude_mem_in_an_agents_hooks_is_named(machine: Mem, tmp_path: Path) -> None:
    theirs = {"type": "command", "command": "bun /x/worker-service.cjs hook gemini-cli context"}
    hooks = {"hooks": {"SessionStart": [{"hooks": [theirs]}]}}
    (tmp_path / ".gemini/settings.json").write_text(json.dumps(hooks))
    done = json.loads(machine("install", "--yes", "--json", "--observer", "offline").stdout)
    (warning,) = done["warnings"]
    assert ".gemini/settings.json" in warning
    machine("uninstall", "--yes")
    assert json.loads((tmp_path / ".gemini/settings.json").read_text()) == hooks


def test_settings_are_called_as_before_only_if_they_are(machine: Mem, tmp_path: Path) -> None:
    machine("install", "--yes", "--observer", "offline")
    changed = tmp_path / ".gemini/settings.json"
    changed.write_text(json.dumps(json.loads(changed.read_text()) | {"mine": 1}))
    assert "were restored" not in machine("uninstall", "--yes").stdout
    machine("install", "--yes", "--observer", "offline")
    assert "were restored" in machine("uninstall", "--yes").stdout


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
    for words in ("Codex by ", "Factory droid by ", catalog.limits(catalog.load("droid"))):
        assert words
        assert words in said
    nexts = [finding["next"] for finding in client if finding["next"]]
    assert nexts == ["claude-mem install --agent gemini", "claude-mem install --agent qwen"]
    assert [finding["level"] for finding in client[:2]] == ["ok", "ok"]
    assert report["facts"]["connected"]["outdated"] == []


@pytest.mark.parametrize(
    ("typed", "name"), [("Codex", "codex"), ("gemini-cli", "gemini"), ("Factory droid", "droid")]
)
def test_an_agent_may_be_named_as_people_call_it(machine: Mem, typed: str, name: str) -> None:
    done = json.loads(machine("install", "--dry-run", "--json", "--agent", typed).stdout)
    assert any(catalog.load(name).home().name in file for file in done["files"])
    assert machine("install", "--dry-run", "--agent", "nobody", code=None).returncode == 2


def test_a_flag_that_is_only_for_claude_code_is_not_ignored_silently(machine: Mem) -> None:
    assert "--statusline" in machine("install", "--dry-run", "--agent", "codex", "--statusline").stderr
    assert "--statusline" not in machine("install", "--dry-run", "--agent", "codex").stderr
