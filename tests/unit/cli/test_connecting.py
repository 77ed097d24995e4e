"""Doctor says whether Claude Code is connected, and what to do if not."""

from pathlib import Path

import pytest

from claude_mem.agents.claude_code import hooks as claude_code_hooks
from claude_mem.agents.claude_code import settings_file
from claude_mem.cli.doctor.connecting import Connected, judge
from claude_mem.settings import Settings
from claude_mem.worker import LOOK_EVERY_S, ConnectionCheck


def test_an_unconnected_client_is_named_with_the_command_that_connects_it() -> None:
    (finding,) = judge(Connected(()))
    assert (finding.level, finding.next) == ("bad", "claude-mem install")
    assert finding.stops == "Claude Code is not connected"


def test_a_connection_of_another_version_or_place_is_to_be_made_anew() -> None:
    (finding,) = judge(Connected(("as a plugin (user)",), current=False))
    assert (finding.level, finding.next) == ("warn", "claude-mem install")


def test_a_connection_is_told_with_how_it_was_made() -> None:
    (finding,) = judge(Connected(("by settings (project)",)))
    assert (finding.level, finding.says) == ("ok", "Claude Code is connected by settings (project)")


def test_who_asks_often_is_told_soon_after_and_reads_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    now = 0.0
    is_connected = ConnectionCheck(Settings(tmp_path / "data"), lambda: now)
    assert not is_connected()
    hooks = settings_file.with_hooks({}, claude_code_hooks.hooks(claude_code_hooks.here()))
    (tmp_path / "settings.json").write_text(settings_file.written(hooks, ""))
    assert not is_connected()
    now = LOOK_EVERY_S
    assert is_connected()
    (tmp_path / "settings.json").write_text("{ not JSON")  # doctor tells of it
    now += LOOK_EVERY_S
    assert is_connected()
