"""The second time: changed since, upgraded, moved elsewhere, found without a record, taken back."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from tests.e2e.install.install_home import ONE_EACH, USERS, our_hooks, parsed, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture

from claude_mem.agents import launcher
from claude_mem.agents.claude_code import registration

pytestmark = pytest.mark.prove


def test_what_the_user_changed_since_is_kept_when_it_is_uninstalled(home: Claude) -> None:
    settings(home).write_text(USERS)
    home.connect("--settings", "--statusline")
    found = parsed(home)
    found["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "since"}]})
    settings(home).write_text(json.dumps({"permissions": {"allow": ["Bash"]}} | found))
    (home.config / "commands/mem.md").write_text("my own words")
    said = home.mem("uninstall", "--yes").stderr
    own = json.loads(USERS)
    own["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "since"}]})
    assert parsed(home) == {"permissions": {"allow": ["Bash"]}} | own
    assert (home.config / "commands/mem.md").read_text() == "my own words"
    assert any("commands/mem.md" in line and "changed" in line for line in said.splitlines())


@pytest.mark.parametrize("how", [(), ("--settings",)])
def test_without_the_record_what_is_ours_is_found(home: Claude, how: tuple[str, ...]) -> None:
    settings(home).write_text(USERS)
    home.connect(*how)
    shutil.rmtree(home.data)
    home.mem("uninstall", "--yes")
    assert parsed(home) == json.loads(USERS)
    assert list(home.config.iterdir()) == [settings(home)]
    assert json.loads((home.home / ".claude.json").read_text()) == {} if how else True
    home.connect(*how)
    shutil.rmtree(home.data)
    home.connect(*how)
    home.mem("uninstall", "--yes")
    assert parsed(home) == json.loads(USERS)
    assert list(home.config.iterdir()) == [settings(home)]


@pytest.mark.parametrize("how", [(), ("--settings",)])
def test_it_is_found_again_without_the_variables_it_was_installed_with(
    home: Claude, how: tuple[str, ...]
) -> None:
    config, data = home.home / "profile", home.home / 'Jörg\'s "memory" $HOME'
    before = picture(home.home)
    home.mem("install", "--yes", *how, CLAUDE_MEM_DATA_DIR=str(data), CLAUDE_CONFIG_DIR=str(config))
    assert (config / "settings.json").exists()
    assert "Not connected" in home.mem("uninstall", "--yes").stdout  # another profile's is another's
    home.mem("uninstall", "--yes", CLAUDE_CONFIG_DIR=str(config))
    assert picture(home.home) == before
    home.mem("install", "--yes", *how, CLAUDE_MEM_DATA_DIR=str(data), CLAUDE_CONFIG_DIR=str(config))
    home.mem("uninstall", "--yes", CLAUDE_MEM_DATA_DIR=str(data))
    assert picture(home.home) == before


def test_another_data_directory_takes_the_place_of_the_first(home: Claude) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home)
    home.connect("--settings")
    elsewhere = home.home / "elsewhere"
    said = home.mem("install", "--yes", "--settings", CLAUDE_MEM_DATA_DIR=str(elsewhere)).stderr
    assert "Currently connected by settings (user); that is removed first" in said
    assert our_hooks(parsed(home)) == ONE_EACH
    assert not home.data.exists()
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


def test_hooks_of_an_older_install_are_replaced_and_never_come_back(home: Claude) -> None:
    old = {"type": "command", "command": "/old/python", "args": ["/old/claude_mem/capture/hook.py", "hook"]}
    own = {"type": "command", "command": "mine"}
    older = {"hooks": {"Stop": [{"hooks": [own, old]}], "SessionStart": [{"hooks": [old]}]}}
    settings(home).write_text(json.dumps(older))
    server = {"command": "/old/python", "args": ["/old/claude_mem/cli/bridge/stdio.py"]}
    (home.home / ".claude.json").write_text(json.dumps({"mcpServers": {"claude-mem": server}, "n": 1}))
    home.connect("--settings")
    assert our_hooks(parsed(home)) == ONE_EACH
    assert "/old/" not in settings(home).read_text() + (home.home / ".claude.json").read_text()
    home.mem("uninstall", "--yes")
    assert parsed(home) == {"hooks": {"Stop": [{"hooks": [own]}]}}
    assert json.loads((home.home / ".claude.json").read_text()) == {"n": 1}


@pytest.mark.parametrize("how", [(), ("--settings",)])
def test_an_upgrade_brings_everything_up_to_date_once(home: Claude, how: tuple[str, ...]) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home)
    home.connect(*how, "--statusline")
    now = picture(home.home)
    for path in (settings(home), *(home.config / "claude-mem").rglob("*.*"), home.home / ".claude.json"):
        if path.is_file():  # as an interpreter that is gone wrote it
            path.write_text(path.read_text().replace(f'"{home_python()}"', '"/gone/python"'))
    record = home.data / "install.json"
    record.write_text(record.read_text().replace(f'\\"{home_python()}\\"', '\\"/gone/python\\"'))
    if not how:
        (home.config / "claude-mem/plugins/mem/skills/dropped.md").write_text("of an older version")
    assert picture(home.home) != now
    home.connect(*how)
    assert picture(home.home, ".claude-mem/install.json") == {
        path: seen for path, seen in now.items() if path != ".claude-mem/install.json"
    }
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


def home_python() -> str:
    return launcher.this_machine().interpreter


def test_it_is_in_one_place_at_a_time(home: Claude) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home)
    project = home.project / ".claude/settings.json"
    home.connect("--settings")
    home.connect("--settings", "--scope", "project")
    assert our_hooks(parsed(home)) == dict.fromkeys(json.loads(USERS)["hooks"], 0)
    assert our_hooks(json.loads(project.read_text())) == ONE_EACH
    home.connect()
    assert not project.exists()
    assert parsed(home)["enabledPlugins"] == {registration.PLUGIN_ID: True}
    home.connect("--settings")
    assert our_hooks(parsed(home)) == ONE_EACH
    assert "enabledPlugins" not in parsed(home)
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


def test_a_project_is_left_from_wherever_it_is_asked(home: Claude) -> None:
    before = picture(home.home)
    home.connect("--settings", "--scope", "project")
    away = subprocess.run(
        [str(home.commands() / "claude-mem"), "uninstall", "--yes"],
        env=home.environment(),
        cwd=home.home,
        capture_output=True,
        check=False,
    )
    assert away.returncode == 0
    assert picture(home.home) == before
