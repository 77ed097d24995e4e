"""What `claude-mem install` does, asks and says, in a home without surprises."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import closing

import pytest
from tests.e2e.installing.homes import ONE_EACH, USERS, client, our_hooks, parsed, settings

from claude_mem.clients.claude_code import plugin
from claude_mem.testing.claude import Claude
from claude_mem.testing.homes import picture


def test_the_users_settings_are_merged_and_restored_to_the_byte(home: Claude) -> None:
    kept = home.home / "dotfiles/claude.json"
    kept.parent.mkdir()
    kept.write_text(USERS, encoding="utf-8")
    kept.chmod(0o640)
    settings(home).symlink_to(kept)
    before = picture(home.home)
    home.connect("--settings")
    found, own = parsed(home), json.loads(USERS)
    assert our_hooks(found) == ONE_EACH
    assert list(found) == list(own)
    assert found["hooks"]["Stop"][0] == own["hooks"]["Stop"][0]
    assert found["hooks"]["PostToolUse"][:2] == own["hooks"]["PostToolUse"]
    assert {key: found[key] for key in own if key != "hooks"} == {k: own[k] for k in own if k != "hooks"}
    assert kept.read_text("utf-8").startswith('{\n\t"model": "sonnet",\n\t"ünïcode": "日本 \U0001f600",')
    assert (settings(home).is_symlink(), kept.stat().st_mode & 0o777) == (True, 0o640)
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before


@pytest.mark.parametrize("how", [(), ("--settings",), ("--settings", "--scope", "project")])
def test_a_second_install_changes_no_byte_and_an_uninstall_leaves_none(
    home: Claude, how: tuple[str, ...]
) -> None:
    before = picture(home.home)
    home.connect(*how)
    once = picture(home.home)
    assert once != before
    again = home.mem("install", "--yes", *how)
    assert "nothing would change" in home.mem("install", "--dry-run", *how).stdout
    assert picture(home.home) == once
    assert again.stderr == ""
    assert again.stdout.startswith("Ready already.")
    home.mem("uninstall", "--yes")
    assert picture(home.home) == before
    assert home.mem("uninstall", "--yes").stdout == "It is not connected to Claude Code.\n"
    assert picture(home.home) == before


def test_a_dry_run_shows_every_change_and_makes_none(home: Claude) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home)
    by_settings = home.mem("install", "--dry-run", "--settings")
    assert '+\t\t\t\t\t\t"timeout": 10' in by_settings.stdout
    assert f"--- {settings(home)}" in by_settings.stdout
    assert picture(home.home) == before
    client(home, "exit 1")
    before = picture(home.home)
    as_plugin = home.mem("install", "--dry-run")
    assert f"run claude plugin install {plugin.ID} --scope user" in as_plugin.stdout
    assert f"new file {home.config}/claude-mem/plugins/mem/hooks/hooks.json" in as_plugin.stdout
    assert picture(home.home) == before
    client(home, "exit 0")
    home.connect("--settings")
    connected = picture(home.home)
    moving = home.mem("install", "--dry-run").stdout
    assert '-\t\t\t\t\t\t"timeout": 10' in moving
    assert f"run claude plugin install {plugin.ID} --scope user" in moving
    leaving = home.mem("uninstall", "--dry-run").stdout
    assert f"remove {home.config}/commands/mem.md" in leaving
    assert picture(home.home) == connected


def test_nobody_is_there_to_be_asked_and_nothing_is_done(home: Claude) -> None:
    before = picture(home.home)
    refused = home.mem("install", check=False)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert picture(home.home) == before
    home.connect()
    connected = picture(home.home)
    assert home.mem("uninstall", check=False).returncode == 2
    assert picture(home.home) == connected


def test_at_a_terminal_the_user_is_asked_and_may_say_no(home: Claude) -> None:
    before = picture(home.home)
    code, said = answered(home, b"no\n", "install")
    assert code == 1
    assert "Connect claude-mem to Claude Code? [y/N]" in said
    assert "Nothing was changed." in said
    assert picture(home.home) == before
    assert answered(home, b"y\n", "install")[0] == 0
    assert picture(home.home) != before
    assert answered(home, b"\n", "uninstall")[0] == 1
    code, said = answered(home, b"y\n", "install", "--settings")  # asked once, though much is to be done
    assert (code, said.count("[y/N]")) == (0, 1)
    assert answered(home, b"y\n", "uninstall")[0] == 0
    assert picture(home.home) == before


def answered(home: Claude, answer: bytes, *arguments: str) -> tuple[int, str]:
    """A command at a terminal, with an answer typed ahead."""
    ours, theirs = pty.openpty()
    with closing(os.fdopen(ours, "wb", buffering=0)) as typed:
        process = subprocess.Popen(
            [str(home.commands() / "claude-mem"), *arguments],
            env=home.environment(),
            cwd=home.project,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        os.close(theirs)
        typed.write(answer)
        out, _ = process.communicate(timeout=60)
    return process.returncode, out.decode()


def test_as_data_nothing_but_data_is_printed(home: Claude) -> None:
    for arguments in (
        ["install", "--dry-run"],
        ["install", "--yes"],
        ["install", "--yes"],
        ["install", "--yes", "--settings"],
        ["uninstall", "--dry-run"],
        ["uninstall", "--yes"],
        ["uninstall", "--yes"],
    ):
        assert set(json.loads(home.mem(*arguments, "--json").stdout)) >= {"files", "removed", "commands"}
    refused = home.mem("install", "--json", check=False)
    assert (refused.returncode, refused.stdout) == (2, "")


def test_a_user_is_told_in_five_lines_what_is_true(home: Claude) -> None:
    told = home.mem("install", "--yes").stdout.splitlines()
    assert len(told) == 6
    assert "not installed yet" in told[0]
    assert "~/.claude-mem" in told[2]
    assert "claude-mem off" in told[3]
    assert "free" in told[4]
    asks = home.mem("install", "--yes", CLAUDE_MEM_PROVIDER="anthropic", CLAUDE_MEM_DAILY_USD="0.5").stdout
    assert "(anthropic): at most 2,000,000 tokens or $0.50 a day" in asks


def test_who_opens_the_viewer_unconnected_is_told_that_nothing_new_will_come(home: Claude) -> None:
    home.mem("worker", "start")  # which may take a moment, and then says so
    said = home.mem("open", "--print")
    assert said.stdout.startswith("http://127.0.0.1:")
    assert said.stderr == "Claude Code is not connected, so nothing new is recorded: claude-mem install\n"
    assert home.mem("open", "--json").stderr == ""
    home.connect("--settings")
    assert home.mem("open", "--print").stderr == ""
