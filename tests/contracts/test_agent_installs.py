"""Every agent's files: an install adds to them, an uninstall leaves them as they were."""

from __future__ import annotations

import json
import sys
import tomllib
from argparse import Namespace
from pathlib import Path

import pytest
from tests.contracts.agent_payloads import (
    SENT,
)
from tests.harness import hook_process

from claude_mem.agents import CLAUDE_CODE, NOT_RUN, TITLES, catalog, launcher
from claude_mem.agents.connection import InstallOptions
from claude_mem.agents.file_changes import Journal
from claude_mem.cli.install import chosen_agents

# Installing and uninstalling.

INSTALLED = [name for name in TITLES if name != CLAUDE_CODE]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "CLINE_DIR", "CLINE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


THEIRS = {
    ".codex/hooks.json": '{ "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n',
    ".codex/config.toml": 'model = "o9"  # mine\n\n[mcp_servers.other]\ncommand = "x"',
    ".gemini/settings.json": '{\n\t"theme": "Ä",\n\t"hooks": {"disabled": ["x"]}\n}',
    ".qwen/settings.json": '{"mcpServers": {"other": {"command": "x"}}}',
    ".factory/settings.json": '{"model": "x", "hooks": {"Stop": []}}\r\n',
    ".factory/mcp.json": "{}",
    ".copilot/mcp-config.json": '{"mcpServers": {}}\n',
    ".copilot/hooks/mine.json": '{"version": 1, "hooks": {}}',
    ".cline/hooks/PreToolUse.sh": "#!/bin/sh\nexit 0\n",
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "true"}]}}',
    ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"other": {"command": "x"}}}',
    ".config/amp/settings.json": '{"amp.notifications.enabled": false}',
    ".config/opencode/opencode.json": '{"$schema": "x", "mcp": {"other": {"type": "local"}}}',
}


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def install(agent: str, data: Path) -> None:
    prepared = catalog.installer(agent).prepare(data, None, InstallOptions("user"))
    with Journal() as journal:
        prepared.connect(journal)


def uninstall(agent: str, data: Path) -> None:
    for connection in catalog.installer(agent).connections(data, None):
        with Journal() as journal:
            connection.disconnect(journal, connection.undo_plan())


@pytest.mark.parametrize("agent", INSTALLED)
@pytest.mark.parametrize("has_files", [False, True])
@pytest.mark.parametrize("where", [".claude-mem", 'Jörg\'s "own"'])
def test_an_uninstall_leaves_every_file_as_it_was(
    home: Path, agent: str, has_files: bool, where: str
) -> None:
    if has_files:
        for name, text in THEIRS.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(text.encode())
    before, data = snapshot(home), home / where
    install(agent, data)
    (connection,) = catalog.installer(agent).connections(data, None)
    assert connection.is_current
    assert connection.data_dir == data
    once = snapshot(home)
    assert catalog.installer(agent).prepare(data, None, InstallOptions("user")).plan.is_empty
    install(agent, data)
    assert snapshot(home) == once
    uninstall(agent, data)
    assert snapshot(home) == before
    assert not catalog.installer(agent).connections(data, None)


@pytest.mark.parametrize("agent", INSTALLED)
def test_an_install_from_another_path_in_between_changes_nothing_about_that(
    home: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in THEIRS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    before, data = snapshot(home), home / ".claude-mem"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/another/venv/bin/python")
        install(agent, data)
    once = snapshot(home)
    install(agent, data)
    assert snapshot(home) != once
    (connection,) = catalog.installer(agent).connections(data, None)
    undo = connection.undo_plan()
    uninstall(agent, data)
    assert snapshot(home) == before
    assert undo.is_exact


@pytest.mark.parametrize("agent", INSTALLED)
def test_what_was_changed_since_the_install_stays_and_what_is_ours_goes(home: Path, agent: str) -> None:
    data = home / ".claude-mem"
    install(agent, data)
    for file in [file for file in home.rglob("*.json") if launcher.SERVER in file.read_text()]:
        if file.parent == data or file.name == "claude-mem.json":
            continue
        kept = json.loads(file.read_text()) | {"mine": 1}
        file.write_text(json.dumps(kept))
    for toml in home.rglob("*.toml"):
        toml.write_text(f'mine = 1\n{toml.read_text()}\n[other]\nx = "[y]"\n')
    uninstall(agent, data)
    left = [file for file in home.rglob("*") if file.is_file()]
    for file in left:
        assert launcher.SERVER not in file.read_text()
        assert "mine" in file.read_text()
    assert not catalog.installer(agent).connections(data, None)


@pytest.mark.parametrize("agent", INSTALLED)
def test_hooks_are_found_and_removed_without_a_record(home: Path, agent: str) -> None:
    data = home / "elsewhere"
    install(agent, data)
    next(data.glob("install-*")).unlink()
    (connection,) = catalog.installer(agent).connections(home / ".claude-mem", None)
    assert connection.data_dir == data
    uninstall(agent, home / ".claude-mem")
    assert not [file for file in home.rglob("*") if file.is_file() and launcher.SERVER in file.read_text()]


@pytest.mark.parametrize("agent", INSTALLED)
def test_a_file_that_cannot_be_read_is_left_and_named(home: Path, agent: str) -> None:
    for part in catalog.load(agent).parts(hook_process.MACHINE):  # type: ignore[misc]  # all but Claude Code have some
        if part.path.suffix in (".json", ".toml") and part.path.name != "claude-mem.json":
            part.path.parent.mkdir(parents=True, exist_ok=True)
            part.path.write_text("{ // mine\n")
            with pytest.raises(Exception, match=part.path.name):
                install(agent, home / ".claude-mem")
            assert part.path.read_text() == "{ // mine\n"
            return


@pytest.mark.parametrize("agent", SENT)
def test_an_agent_is_found_by_its_command_or_its_folder(
    home: Path, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    described = catalog.load(agent)
    assert not described.is_there()
    package = tmp_path / "lib/package"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.2.3"}')
    (package / "main").write_text("")
    (package / "main").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / described.program).symlink_to(package / "main")
    assert described.is_there()
    assert described.version() == "1.2.3"
    (tmp_path / "bin" / described.program).unlink()
    described.home().mkdir(parents=True)
    assert described.is_there()
    assert described.version() is None


def test_codexs_own_tables_are_as_before_even_without_a_record(home: Path) -> None:
    theirs = 'model = "o9"  # mine\n\n[mcp_servers.other]\ncommand = "x"\n'
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(theirs)
    data = home / ".claude-mem"
    install("codex", data)
    next(data.glob("install-*")).unlink()
    uninstall("codex", data)
    assert (home / ".codex/config.toml").read_text() == theirs


def test_a_users_own_line_in_codexs_table_of_ours_survives_an_update(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = home / ".claude-mem", home / ".codex/config.toml"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/another/venv/bin/python")
        install("codex", data)
    other = '\n[mcp_servers.other]\ncommand = "x"\n'
    file.write_text(f"{file.read_text()}startup_timeout_sec = 30\n{other}")
    install("codex", data)
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert servers["claude-mem"]["startup_timeout_sec"] == 30
    assert servers["claude-mem"]["command"] == sys.executable
    assert servers["other"] == {"command": "x"}
    uninstall("codex", data)
    assert tomllib.loads(file.read_text()) == {"mcp_servers": {"other": {"command": "x"}}}


def test_settings_with_comments_of_an_agent_that_is_not_connected_hinder_nobody(home: Path) -> None:
    file = home / ".config/zed/settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{ // mine\n  "theme": "One",\n}')
    known = catalog.connections(home / ".claude-mem", lambda _: None)
    assert (known.found, known.unreadable) == ([], [])


def test_connections_are_found_from_a_working_directory_that_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("codex", home / ".claude-mem")
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    known = catalog.connections(home / ".claude-mem", lambda _: None)
    assert ([agent.name for agent, _ in known.found], known.unreadable) == (["codex"], [])


def test_an_agent_that_was_never_run_is_connected_only_by_name(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".codex").mkdir()
    found = chosen_agents(Namespace(agent=None, scope="user"))
    assert [agent.name for agent in found if (home / f".{agent.name}").exists()] == ["codex"]
    assert not {agent.name for agent in found} & {*NOT_RUN}
    (named,) = chosen_agents(Namespace(agent=["cursor"], scope="user"))
    assert named.name == "cursor"


def test_cursors_hooks_of_others_stay_when_ours_go(home: Path) -> None:
    data, file = home / ".claude-mem", home / ".cursor/hooks.json"
    install("cursor", data)
    wants = json.loads(file.read_text())
    wants["hooks"]["stop"].append({"command": "true"})
    file.write_text(json.dumps(wants))
    uninstall("cursor", data)
    assert json.loads(file.read_text()) == {"version": 1, "hooks": {"stop": [{"command": "true"}]}}
