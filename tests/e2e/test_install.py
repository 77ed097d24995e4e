"""`claude-mem install` and `uninstall`, as a hostile home meets them. The client itself is in client/."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from claude_mem.capture import places
from claude_mem.clients.claude_code import connection, plugin
from claude_mem.testing.claude import Claude
from claude_mem.testing.homes import picture

USERS = (
    '{\n\t"model": "sonnet",\n\t"ünïcode": "日本 \U0001f600",\n\t"hooks": {\n'
    '\t\t"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "mine"}]}],\n'
    '\t\t"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]},'
    ' {"matcher": "Edit", "hooks": []}]\n\t},\n\t"env": {"B": "2", "A": "1"}\n}'
)
THEIRS = {"type": "command", "command": "bun /x/worker-service.cjs hook"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Claude]:
    """A home without Claude Code."""
    made = Claude(tmp_path)
    (made.commands() / "claude").unlink()
    yield made
    made.end()


def client(home: Claude, script: str) -> Path:
    """A client that does what a line of shell says; all it is asked is in the file that is returned."""
    asked = home.home / "bin/asked"
    path = home.home / "bin/claude"
    path.write_text(f"#!/bin/sh\necho \"$@\" >> '{asked}'\n{script}\n")
    path.chmod(0o755)
    asked.touch()
    return asked


def settings(home: Claude) -> Path:
    return home.config / "settings.json"


def parsed(home: Claude) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(settings(home).read_text("utf-8-sig"))
    return found


def our_hooks(found: dict[str, Any]) -> dict[str, int]:
    """How many hooks of ours each event has."""
    return {
        event: sum(connection.is_ours(hook) for group in groups for hook in group.get("hooks", []))
        for event, groups in found.get("hooks", {}).items()
    }


ONE_EACH = dict.fromkeys([*connection.RECORDED, *connection.ASKED], 1)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{\n  "a": 1,\n}', "line 3, column 1"),
        (b"[]", "must hold a JSON object, not list"),
        (b'{"hooks": {"Stop": "x"}}', "hooks.Stop must be a list"),
        (b'{"hooks": {"Stop": [{"hooks": null}]}}', "hooks.Stop must be a list"),
        (b'{"enabledPlugins": 5}', "enabledPlugins must be an object"),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (b"null", "must hold a JSON object"),
    ],
)
def test_settings_that_cannot_be_read_are_refused_and_left_alone(
    home: Claude, text: bytes, said: str
) -> None:
    settings(home).write_bytes(text)
    before = picture(home.home)
    for arguments in (["install"], ["uninstall"]):
        refused = home.mem(*arguments, "--yes", check=False)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
    assert picture(home.home) == before


def test_what_is_too_large_or_no_file_at_all_is_refused(home: Claude) -> None:
    with settings(home).open("wb") as file:
        file.truncate(65 << 20)
    assert "too large to be settings" in home.mem("install", "--yes", check=False).stderr
    settings(home).unlink()
    settings(home).mkdir()
    refused = home.mem("install", "--yes", check=False)
    assert (refused.returncode, refused.stderr) == (1, f"claude-mem: Is a directory: {settings(home)}\n")
    assert not home.data.exists()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" \n",
        b'\xef\xbb\xbf{"model": "sonnet"}',
        b'{"half": "\\ud83d"}',
        b'{\r\n    "model": "sonnet"\r\n}\r\n',
        b'{"hooks": {}, "enabledPlugins": {}}',
        b'{"hooks":{"Stop":[],"SessionStart":[{"hooks":[]}]}}',
        b'{"big": "' + b"x" * 5_000_000 + b'"}',
    ],
    ids=["empty", "blank", "bom", "surrogate", "crlf", "empty sections", "empty events", "big"],
)
def test_unusual_settings_are_connected_and_restored_to_the_byte(home: Claude, text: bytes) -> None:
    settings(home).write_bytes(text)
    home.connect("--settings")
    assert our_hooks(parsed(home)) == ONE_EACH
    home.connect()
    assert parsed(home)["enabledPlugins"] == {plugin.ID: True}
    home.mem("uninstall", "--yes")
    assert settings(home).read_bytes() == text


def test_a_link_that_leads_nowhere_is_followed_and_left(home: Claude) -> None:
    settings(home).symlink_to(home.home / "dotfiles/claude.json")
    before = picture(home.home)
    home.connect("--settings")
    assert our_hooks(json.loads((home.home / "dotfiles/claude.json").read_text())) == ONE_EACH
    home.mem("uninstall", "--yes")
    assert picture(home.home, "dotfiles") == before
    assert not (home.home / "dotfiles/claude.json").exists()


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
    assert "commands/mem.md was changed since, and stays." in said


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
    assert "not connected" in home.mem("uninstall", "--yes").stdout  # another profile's is another's
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
    assert "It is connected by settings (user) now; that is taken back first" in said
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
    return connection.here().interpreter


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
    assert parsed(home)["enabledPlugins"] == {plugin.ID: True}
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


def test_a_client_that_refuses_finds_everything_as_it_was(home: Claude) -> None:
    settings(home).write_text(USERS)
    asked = client(home, 'case "$2" in install) echo "unknown command" >&2; exit 1;; esac')
    before = picture(home.home, "bin/asked")
    refused = home.mem("install", "--yes", check=False)
    assert refused.returncode == 1
    assert "Claude Code refused `claude plugin install" in refused.stderr
    assert "unknown command" in refused.stderr
    assert "Everything is as it was before." in refused.stderr
    assert asked.read_text().splitlines()[-1] == f"plugin marketplace remove {plugin.MARKETPLACE}"
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
    assert asked.read_text().count(f"plugin install {plugin.ID}") >= 1
    home.mem("uninstall", "--yes")
    assert picture(home.home, "bin") == before


def test_killed_while_it_is_taken_back_it_is_taken_back_the_next_time(home: Claude) -> None:
    settings(home).write_text(USERS)
    client(home, "exit 0")
    before = picture(home.home, "bin")
    home.connect("--settings")
    servers = {"mcpServers": {"claude-mem": connection.server(connection.here())}}
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
        assert "Another claude-mem install is at work; waiting for it" in second.stdout.readline()
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


def test_another_claude_mem_is_taken_over_and_given_back(home: Claude) -> None:
    other = {
        "enabledPlugins": {"claude-mem@thedotmack": True, "other@x": True},
        "hooks": {"Stop": [{"hooks": [THEIRS, {"type": "command", "command": "mine"}]}]},
    }
    settings(home).write_text(json.dumps(other))
    before = picture(home.home)
    said = home.mem("install", "--yes", "--settings").stderr
    assert "take over from another claude-mem (claude-mem@thedotmack, 1 hook); --beside leaves it on" in said
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
    for name in (places.DATABASE, places.BESIDE):
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
    with closing(sqlite3.connect(home.data / places.DATABASE)) as database:
        database.execute("CREATE TABLE theirs (id INTEGER)")
    home.connect()
    said = home.mem("uninstall", "--yes").stdout
    assert "beside that of another program" in said
    assert "rm -r" not in said


def test_wrong_settings_of_our_own_keep_nobody_from_leaving(home: Claude) -> None:
    home.connect()
    (home.data / "settings.json").write_text('{"CLAUDE_MEM_NONSENSE": 1}')
    assert home.mem("install", "--yes", check=False).returncode == 2
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
    assert f"{mine} is your own and stays as it is." in said
    assert "You have a status line already" in said
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
    assert connection.is_our_server(json.loads(servers.read_text())["mcpServers"]["claude-mem"])
    assert "asks in this project whether to use the MCP server" in said
    changed = json.loads(servers.read_text())
    changed["mcpServers"]["since"] = {}
    servers.write_text(json.dumps(changed))
    home.mem("uninstall", "--yes")
    left = json.loads(servers.read_text())["mcpServers"]
    assert left == {"claude-mem": {"command": "mine"}, "b": {"command": "b"}, "since": {}}
    assert picture(home.home, "parcel/.mcp.json") == {
        path: seen for path, seen in before.items() if path != "parcel/.mcp.json"
    }
