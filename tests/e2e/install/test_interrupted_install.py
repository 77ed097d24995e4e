"""An install that is refused, cannot write, is killed or meets another leaves all or nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.e2e.install.install_home import ONE_EACH, USERS, client, our_hooks, parsed, settings
from tests.harness.claude import Claude
from tests.harness.home_snapshot import picture

from claude_mem.agents import launcher
from claude_mem.agents.claude_code import registration

pytestmark = pytest.mark.prove


def test_a_client_that_refuses_finds_everything_as_it_was(home: Claude) -> None:
    settings(home).write_text(USERS)
    asked = client(home, 'case "$2" in install) echo "unknown command" >&2; exit 1;; esac')
    before = picture(home.home, "bin/asked")
    refused = home.mem("install", "--yes", check=False)
    assert refused.returncode == 1
    assert "Claude Code rejected `claude plugin install" in refused.stderr
    assert "unknown command" in refused.stderr
    assert "Nothing was changed." in refused.stderr
    assert asked.read_text().splitlines()[-1] == f"plugin marketplace remove {registration.MARKETPLACE}"
    assert picture(home.home, "bin/asked") == before


def test_a_client_that_refuses_another_way_leaves_the_first_one_connected(home: Claude) -> None:
    settings(home).write_text(USERS)
    client(home, 'case "$1" in plugin) exit 1;; esac')
    home.connect("--settings")
    connected = picture(home.home, "bin/asked")
    refused = home.mem("install", "--yes", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert picture(home.home, "bin/asked") == connected


def test_where_a_file_cannot_be_written_everything_is_as_it_was(home: Claude) -> None:
    settings(home).write_text(USERS)
    (home.config / "skills").write_text("a file where a folder should be")
    before = picture(home.home)
    refused = home.mem("install", "--yes", "--settings", check=False)
    assert refused.returncode == 1
    assert "skills" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert picture(home.home) == before


def test_settings_that_are_read_only_are_not_written(home: Claude, tmp_path: Path) -> None:
    settings(home).write_text(USERS)
    settings(home).chmod(0o444)
    assert "it is read-only" in unprivileged(home, "install", "--yes", "--settings")
    assert settings(home).read_text() == USERS
    settings(home).chmod(0o644)
    home.config.chmod(0o555)
    assert "cannot be written: Permission denied" in unprivileged(home, "install", "--yes", "--settings")
    assert settings(home).read_text() == USERS
    assert not home.data.exists()
    home.config.chmod(0o755)
    assert "Ready." in unprivileged(home, "install", "--yes", "--settings")


def unprivileged(home: Claude, *arguments: str) -> str:
    """What it says to a user who is not root, for whom nothing is read-only."""
    keep = [] if os.geteuid() else ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run(
        [*keep, str(home.commands() / "claude-mem"), *arguments],
        env=home.environment(),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stdout
    return done.stdout


@pytest.mark.parametrize("after", ["marketplace", "install"])
def test_killed_in_the_middle_it_is_completed_or_taken_back(home: Claude, after: str) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home, "bin")
    kill = f'case "$*" in "plugin {after}"*) kill -9 $PPID;; esac'
    client(home, kill)
    assert home.mem("install", "--yes", check=False).returncode == -9
    client(home, "exit 0")
    assert picture(home.home, "bin") != before
    home.mem("uninstall", "--yes")
    assert picture(home.home, "bin") == before
    client(home, kill)
    assert home.mem("install", "--yes", check=False).returncode == -9
    asked = client(home, "exit 0")
    assert "Connected to Claude Code." in home.mem("install", "--yes").stdout
    assert asked.read_text().count(f"plugin install {registration.PLUGIN_ID}") >= 1
    home.mem("uninstall", "--yes")
    assert picture(home.home, "bin") == before


def test_killed_while_it_is_taken_back_it_is_taken_back_the_next_time(home: Claude) -> None:
    settings(home).write_text(USERS)
    client(home, "exit 0")
    before = picture(home.home, "bin")
    home.connect("--settings")
    servers = {"mcpServers": {"claude-mem": launcher.STDIO | launcher.mcp_server(launcher.this_machine())}}
    (home.home / ".claude.json").write_text(json.dumps(servers))
    client(home, "kill -9 $PPID")
    assert home.mem("uninstall", "--yes", check=False).returncode == -9
    assert our_hooks(parsed(home)) == ONE_EACH
    client(home, f"echo '{{}}' > '{home.home}/.claude.json'")
    home.mem("uninstall", "--yes")
    assert picture(home.home, "bin", ".claude.json") == before


def test_two_at_once_are_one_after_the_other(home: Claude) -> None:
    settings(home).write_text(USERS)
    before = picture(home.home, "bin")
    go = home.home / "bin/go"
    os.mkfifo(go)
    client(home, f"case \"$2 $3\" in 'marketplace add') read word < '{go}';; esac")
    first = begun(home, "install", "--yes")
    with go.open("w") as gate:  # opens when the first has come to ask the client
        second = begun(home, "install", "--yes", "--settings")
        assert second.stdout
        assert "Waiting for another claude-mem install" in second.stdout.readline()
        gate.write("go\n")
    for process in (first, second):
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert our_hooks(parsed(home)) == ONE_EACH
    home.mem("uninstall", "--yes")
    assert picture(home.home, "bin") == before


def begun(home: Claude, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(home.commands() / "claude-mem"), *arguments],
        env=home.environment(),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
