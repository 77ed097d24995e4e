"""`claude-mem repair`: each fault that a program can mend is mended, and the rest is named with who must."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_hung_worker import hanging, holder
from tests.harness import workers
from tests.harness.claude import Claude

from claude_mem import __version__
from claude_mem.agents.claude_code import registration


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Claude]:
    """A home to which claude-mem is connected, without Claude Code: its settings alone say so."""
    made = Claude(tmp_path)
    (made.commands() / "claude").unlink()
    made.connect()
    yield made
    made.end()


def repair(home: Claude, *more: str) -> tuple[int, dict[str, dict[str, Any]], list[str]]:
    """The exit code, the outcomes by their check, and the checks that are still bad."""
    done = home.mem("repair", "--json", *more, check=False)
    found = json.loads(done.stdout)
    return (
        done.returncode,
        {each["check"]: each for each in found["outcomes"]},
        [each["check"] for each in found["left"]],
    )


def hooks_file(home: Claude) -> Path:
    return home.config / "claude-mem" / registration.PLUGIN_ROOT / "hooks/hooks.json"


def test_a_sound_install_has_nothing_to_repair(home: Claude) -> None:
    assert home.mem("repair").stdout == "Nothing to repair.\n"


def test_hooks_that_point_nowhere_and_a_lost_mcp_entry_are_written_anew(home: Claude) -> None:
    sound = hooks_file(home).read_text()
    server = hooks_file(home).parents[1] / ".mcp.json"
    hooks_file(home).write_text(sound.replace("python", "gone-python").replace(__version__, "0.0.1"))
    server.unlink()
    code, planned, _ = repair(home, "--dry-run")
    assert (code, planned["client"]["state"]) == (0, "planned")
    assert not server.exists()
    code, outcomes, left = repair(home)
    assert (code, outcomes["client"]["state"], left) == (0, "fixed", [])
    assert hooks_file(home).read_text() == sound
    assert server.exists()


def test_without_a_plugin_a_lost_hook_and_a_lost_server_come_back(tmp_path: Path) -> None:
    home = Claude(tmp_path)
    (home.commands() / "claude").unlink()
    home.connect("--settings")
    settings, servers = home.config / "settings.json", home.home / ".claude.json"
    before = json.loads(settings.read_text())
    without = {event: groups for event, groups in before["hooks"].items() if event != "PostToolUse"}
    settings.write_text(json.dumps(before | {"hooks": without}))
    servers.write_text("{}")
    assert repair(home)[1]["client"]["state"] == "fixed"
    assert json.loads(settings.read_text())["hooks"].keys() == before["hooks"].keys()
    assert "claude-mem" in json.loads(servers.read_text())["mcpServers"]
    home.end()


def test_what_only_the_user_may_change_is_left_to_him(home: Claude) -> None:
    settings = home.config / "settings.json"
    found = json.loads(settings.read_text())
    settings.write_text(json.dumps(found | {"enabledPlugins": {registration.PLUGIN_ID: False}}))
    code, outcomes, _ = repair(home)
    assert (code, outcomes["client"]["state"]) == (1, "manual")
    assert f"claude plugin enable {registration.PLUGIN_ID}" in outcomes["client"]["remedy"]
    settings.write_text("{ not JSON")
    code, outcomes, _ = repair(home)
    assert (code, outcomes["client"]["state"]) == (1, "manual")
    assert settings.read_text() == "{ not JSON"
    settings.unlink()
    (home.data / "install.json").unlink()
    code, outcomes, _ = repair(home)
    assert (code, outcomes["client"]["remedy"]) == (1, "claude-mem install")


def test_a_record_that_cannot_be_read_is_kept_aside(home: Claude) -> None:
    record = home.data / "install.json"
    record.write_text("[")
    repair(home)
    assert record.with_name("install.json.damaged").read_text() == "["
    assert repair(home)[0] == 0


def test_permissions_are_tightened(home: Claude) -> None:
    (home.data / "spool").mkdir(exist_ok=True)
    (home.data / "spool").chmod(0o755)
    home.data.chmod(0o750)
    assert repair(home)[1]["directory"]["state"] == "fixed"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home.data, home.data / "spool")} == {0o700}


def test_damaged_settings_keep_their_exclusions_and_ask_no_model(home: Claude) -> None:
    file = home.data / "settings.json"
    damaged = '{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["~/secret/*"], "CLAUDE_MEM_PROVIDER": anthropic}'
    file.write_text(damaged)
    assert repair(home)[1]["settings"]["state"] == "fixed"
    found = json.loads(file.read_text())
    assert found["CLAUDE_MEM_EXCLUDED_PROJECTS"] == ["~/secret/*"]
    assert found["CLAUDE_MEM_PROVIDER"] == "offline"
    assert (home.data / "settings.json.damaged").read_text() == damaged
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "settings" not in repair(home)[1]


def test_the_sockets_of_a_dead_worker_are_removed_and_a_living_ones_are_not(home: Claude) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        here = Path.cwd()
        os.chdir(home.data)
        dead.bind("hook.sock")
        os.chdir(here)
    assert repair(home)[1]["socket"]["state"] == "fixed"
    assert not (home.data / "hook.sock").exists()
    home.mem("worker", "start")
    assert repair(home)[1] == {}
    assert (home.data / "hook.sock").exists()


def test_a_file_in_the_place_of_the_contexts_is_moved_away(home: Claude) -> None:
    (home.data / "context").write_text("not a folder")
    assert repair(home)[1]["context"]["state"] == "fixed"
    assert not (home.data / "context").is_file()


def test_a_worker_that_hangs_is_restarted(home: Claude) -> None:
    with hanging(home.data) as pid:
        (home.data / "hang").unlink()
        (home.data / "hang").touch()
        code, outcomes, left = repair(home)
        assert (code, outcomes["worker"]["state"], left) == (0, "fixed", [])
        assert holder(home.data) not in (pid, None)
        workers.finish(home.data)
