"""Whether Claude Code can be asked, seen without running it or reading a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_mem.providers import claude_process


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A claude that only knows its version."""
    file = tmp_path / "claude"
    file.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    file.chmod(0o755)
    return file


def test_a_token_for_claude_code_is_a_login_and_a_key_for_anything_is_none(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert claude_process.logged_in(home | {"CLAUDE_CODE_OAUTH_TOKEN": "t"})
    assert not claude_process.logged_in(home | {"CLAUDE_CODE_OAUTH_TOKEN": ""})
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        assert not claude_process.logged_in(home | {name: "k"})


def test_a_key_reaches_the_child_only_where_claude_code_has_no_login_of_its_own(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k", "CLAUDECODE": "1", "PATH": "/bin"}
    assert claude_process.environment(environ).keys() == {"HOME", "ANTHROPIC_API_KEY", "PATH"}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/.credentials.json").touch()
    assert claude_process.environment(environ).keys() == {"HOME", "PATH"}


def test_an_account_of_the_console_is_a_login(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"primaryApiKey": "k"}')
    assert claude_process.logged_in({"HOME": str(tmp_path)}, platform="linux")


def test_it_is_found_where_its_installer_puts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(claude_process, "PLACES", ("~/.local/bin/claude",))
    assert claude_process.find() is None
    place = tmp_path / ".local/bin/claude"
    place.parent.mkdir(parents=True)
    place.touch(mode=0o755)
    assert claude_process.find() == str(place)


def test_credentials_on_the_disk_are_a_login_and_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / ".credentials.json"
    file.parent.mkdir()
    assert not claude_process.logged_in({"HOME": str(tmp_path)}, platform="linux")
    file.mkdir()  # reading it would fail
    assert claude_process.logged_in({"HOME": str(tmp_path)}, platform="linux")


def test_another_configuration_directory_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / ".credentials.json").touch()
    environ = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert claude_process.logged_in(environ, platform="linux")


def test_on_a_mac_a_known_account_counts_for_the_keychain_cannot_be_seen(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"oauthAccount": {"emailAddress": "a@example.com"}}')
    assert claude_process.logged_in({"HOME": str(tmp_path)}, platform="darwin")
    assert not claude_process.logged_in({"HOME": str(tmp_path)}, platform="linux")


def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path, command: Path) -> None:
    assert claude_process.problem("/nowhere/claude", {"HOME": str(tmp_path)}) == claude_process.NO_COMMAND
    assert claude_process.problem(str(command), {"HOME": str(tmp_path)}) == claude_process.NO_LOGIN
    assert (
        claude_process.problem(str(command), {"HOME": str(tmp_path), "CLAUDE_CODE_OAUTH_TOKEN": "t"}) is None
    )


def test_a_recent_claude_is_recent_enough(command: Path) -> None:
    assert claude_process.too_old(str(command), deadline_s=30) is None


@pytest.mark.parametrize("says", ["2.1.247 (Claude Code)", "1.0.128 (Claude Code)", "hello", ""])
def test_a_claude_that_would_open_files_named_in_the_evidence_is_not_used(command: Path, says: str) -> None:
    command.write_text(f"#!/bin/sh\necho '{says}'\n")
    problem = claude_process.too_old(str(command), deadline_s=30)
    assert problem is not None
    assert "2.1.248 or later" in problem
