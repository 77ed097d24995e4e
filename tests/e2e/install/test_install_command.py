"""What `claude-mem install` does, asks and says, in a home without surprises."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import closing

import pytest
from tests.e2e.install.install_home import USERS, client, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture

from claude_mem.agents.claude_code import registration

pytestmark = pytest.mark.prove


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
    assert f"run claude plugin install {registration.PLUGIN_ID} --scope user" in as_plugin.stdout
    assert f"new file {home.config}/claude-mem/plugins/mem/hooks/hooks.json" in as_plugin.stdout
    assert picture(home.home) == before
    client(home, "exit 0")
    home.connect("--settings")
    connected = picture(home.home)
    moving = home.mem("install", "--dry-run").stdout
    assert '-\t\t\t\t\t\t"timeout": 10' in moving
    assert f"run claude plugin install {registration.PLUGIN_ID} --scope user" in moving
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
    assert (
        said.stderr == "No coding agent is connected, so nothing new is recorded. Run: claude-mem install\n"
    )
    assert home.mem("open", "--json").stderr == ""
    home.connect("--settings")
    assert home.mem("open", "--print").stderr == ""
