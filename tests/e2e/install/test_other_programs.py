"""What others keep there, the user's own and another claude-mem's, stays or comes back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from tests.e2e.install.install_home import THEIRS, USERS, parsed, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture

from claude_mem.agents import launcher
from claude_mem.hook import paths

pytestmark = pytest.mark.prove


def test_another_claude_mem_is_taken_over_and_given_back(home: Claude) -> None:
    other = {
        "enabledPlugins": {"claude-mem@thedotmack": True, "other@x": True},
        "hooks": {"Stop": [{"hooks": [THEIRS, {"type": "command", "command": "mine"}]}]},
    }
    settings(home).write_text(json.dumps(other))
    before = picture(home.home)
    said = home.mem("install", "--yes", "--settings").stderr
    assert "replace another claude-mem (claude-mem@thedotmack, 1 hook); --beside keeps it enabled" in said
    found = parsed(home)
    assert found["enabledPlugins"] == {"claude-mem@thedotmack": False, "other@x": True}
    assert "worker-service" not in settings(home).read_text()
    settings(home).write_text(json.dumps(found | {"model": "since"}))
    home.mem("uninstall", "--yes")
    left = parsed(home)
    assert left["enabledPlugins"] == other["enabledPlugins"]
    assert THEIRS in [hook for group in left["hooks"]["Stop"] for hook in group["hooks"]]
    settings(home).write_text(json.dumps(other))
    assert "take over" not in home.mem("install", "--yes", "--settings", "--beside").stderr
    assert parsed(home)["enabledPlugins"] == other["enabledPlugins"]
    assert parsed(home)["hooks"]["Stop"][0] == other["hooks"]["Stop"][0]  # type: ignore[index]
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


def test_another_programs_database_is_left_alone_and_what_to_do_is_said(home: Claude) -> None:
    home.data.mkdir()
    for name in (paths.DATABASE, paths.DATABASE_IF_TAKEN):
        with closing(sqlite3.connect(home.data / name)) as database:
            database.execute("CREATE TABLE theirs (id INTEGER)")
    before = picture(home.home)
    refused = home.mem("install", "--yes", check=False)
    assert refused.returncode == 1
    assert "export CLAUDE_MEM_DATA_DIR=~/.claude-mem-py" in refused.stderr
    assert picture(home.home) == before
    home.mem("install", "--yes", CLAUDE_MEM_DATA_DIR=str(home.home / ".claude-mem-py"))
    home.mem("uninstall", "--yes")  # also without the variable, and beside that database
    assert picture(home.home) == before


def test_nobody_is_told_to_delete_what_another_program_keeps(home: Claude) -> None:
    home.connect()
    (home.data / "mine").touch()
    assert f"To delete it: rm -r {home.data}" in home.mem("uninstall", "--yes").stdout
    with closing(sqlite3.connect(home.data / paths.DATABASE)) as database:
        database.execute("CREATE TABLE theirs (id INTEGER)")
    home.connect()
    said = home.mem("uninstall", "--yes").stdout
    assert "which another program also uses" in said
    assert "rm -r" not in said


def test_wrong_settings_of_our_own_keep_nobody_from_installing_or_leaving(home: Claude) -> None:
    (home.data).mkdir(mode=0o700, exist_ok=True)
    (home.data / "settings.json").write_text("{ not JSON")
    home.connect()
    assert settings(home).exists()
    home.mem("uninstall", "--yes")
    assert not settings(home).exists()


def test_a_folder_of_the_users_in_the_data_directory_is_not_cleared(home: Claude) -> None:
    """Somebody names a directory of theirs as CLAUDE_MEM_DATA_DIR, and keeps a `plugin` folder in it."""
    theirs = home.config / "claude-mem/src/mine.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    home.connect()
    home.connect()
    home.mem("uninstall", "--yes")
    assert theirs.read_text() == "mine"


def test_a_command_and_a_status_line_of_the_users_own_stay(home: Claude) -> None:
    mine = home.config / "commands/mem.md"
    mine.parent.mkdir()
    mine.write_text("My own /mem.")
    settings(home).write_text(
        '{"statusLine": {"type": "command", "command": "my-line; claude-mem statusline"}}'
    )
    before = picture(home.home)
    said = home.mem("install", "--yes", "--statusline").stderr
    assert f"{mine} is your own file and was not changed." in said
    assert "You already have a status line" in said
    assert mine.read_text() == "My own /mem."
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


@pytest.mark.parametrize(
    ("first", "then"),
    [((), ("--settings",)), (("--settings",), ()), ((), ("--settings", "--scope", "project"))],
)
def test_the_status_line_is_kept_when_the_way_of_connecting_changes(
    home: Claude, first: tuple[str, ...], then: tuple[str, ...]
) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home)
    home.connect(*first)
    home.connect(*then)
    written = home.project / ".claude/settings.json" if "project" in then else settings(home)
    assert "statusLine" not in json.loads(written.read_text()), "nobody asked for it"
    home.connect(*first, "--statusline")
    home.connect(*then)
    assert json.loads(written.read_text())["statusLine"]["command"].endswith(" statusline")
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


def test_an_mcp_server_by_our_name_comes_back(home: Claude) -> None:
    servers = home.project / ".mcp.json"
    servers.write_text('{"mcpServers": {"claude-mem": {"command": "mine"}, "b": {"command": "b"}}}')
    before = picture(home.home)
    said = home.mem("install", "--yes", "--settings", "--scope", "project").stderr
    assert launcher.is_our_server(json.loads(servers.read_text())["mcpServers"]["claude-mem"])
    assert "asks whether to use the MCP server" in said
    changed = json.loads(servers.read_text())
    changed["mcpServers"]["since"] = {}
    servers.write_text(json.dumps(changed))
    home.mem("uninstall", "--yes")
    left = json.loads(servers.read_text())["mcpServers"]
    assert left == {"claude-mem": {"command": "mine"}, "b": {"command": "b"}, "since": {}}
    assert picture(home.home, "parcel/.mcp.json") == {
        path: seen for path, seen in before.items() if path != "parcel/.mcp.json"
    }
