"""Installed and removed with the real client: what it says of us, what it runs, and what it leaves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.home_snapshot import BOOKKEEPING, picture
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

from claude_mem.agents import launcher
from claude_mem.agents.claude_code import registration

USERS = (
    '{\n\t"model": "sonnet",\n\t"hooks": {"Stop": [{"hooks": '
    '[{"type": "command", "command": "touch \\"$HOME/stopped\\""}]}]}\n}'
)
ONCE = {"SessionStart": 1, "UserPromptSubmit": 1, "PreToolUse": 1, "PostToolUse": 1, "Stop": 1}
NOTHING: dict[str, int] = {}
AS_PLUGIN = f"plugin:{launcher.PLUGIN}:{launcher.SERVER}"


def work(claude: Claude, config: Path | None = None) -> tuple[Ran, Request]:
    """A session that writes a file; how it went, and the first that the model was asked."""
    write = Use("Write", {"file_path": str(claude.project / "a.py"), "content": "A = 1\n"})
    with ModelServer(Playing([Say("Writing.", uses=(write,)), Say("Done.")])) as server:
        env = {"CLAUDE_CONFIG_DIR": str(config)} if config else {}
        ran = claude.run(server, "Make a.py.", cwd=None, **env)
    assert (ran.code, ran.result) == (0, "Done.")
    return ran, server.requests[0]


def ours(ran: Ran) -> dict[str, int]:
    """How many hooks of ours the client ran for each event: those that answer as ours do."""
    answered = [
        line["hook_event"]
        for line in ran.lines
        if line.get("subtype") == "hook_response" and '"suppressOutput"' in line["stdout"]
    ]
    return dict(Counter(answered))


def servers(ran: Ran) -> list[str]:
    """The MCP servers a session has, connected by then or about to be."""
    init = next(line for line in ran.lines if line.get("subtype") == "init")
    return [server["name"] for server in init["mcp_servers"]]


def starts(claude: Claude) -> int:
    """How many sessions' starts are kept."""
    claude.settle()
    ((count,),) = claude.rows("SELECT count(*) FROM pending_messages WHERE kind = 'session_start'")
    return int(count)


@pytest.fixture
def users(bare: Claude) -> Claude:
    """A home in which the client was used before, with settings of the user's own."""
    bare.commands()
    (bare.config / "settings.json").write_text(USERS)
    return bare


def test_the_plugin_is_valid_and_the_clients_own_commands_switch_it_and_remove_it(users: Claude) -> None:
    before = picture(users.home, *BOOKKEEPING)
    users.connect()
    made = users.config / "claude-mem"
    for folder in (made, made / registration.PLUGIN_ROOT):
        assert "Validation passed" in users.client("plugin", "validate", str(folder)).stdout
    (shown,) = json.loads(users.client("plugin", "list", "--json").stdout)
    assert (shown["id"], shown["enabled"], shown["scope"]) == (registration.PLUGIN_ID, True, "user")
    ran, _ = work(users)
    assert ours(ran) == ONCE
    assert servers(ran) == [AS_PLUGIN]
    assert "✔ Connected" in users.client("mcp", "list").stdout
    assert starts(users) == 1

    users.client("plugin", "disable", registration.PLUGIN_ID)
    ran, asked = work(users)
    assert (ours(ran), servers(ran)) == (NOTHING, [])
    assert "claude-mem" not in read(asked)
    users.client("plugin", "enable", registration.PLUGIN_ID)
    ran, asked = work(users)
    assert ours(ran) == ONCE
    assert "<claude-mem-context>" in read(asked)
    assert starts(users) == 2

    users.client("plugin", "uninstall", registration.PLUGIN_ID)
    users.client("plugin", "marketplace", "remove", registration.MARKETPLACE)
    assert "Traceback" not in users.mem("uninstall", "--yes").stderr
    assert (users.config / "settings.json").read_text() == USERS
    assert users.mem("uninstall", "--yes").stdout == "Not connected to any agent.\n"
    after = picture(users.home, *BOOKKEEPING, ".claude-mem", "stopped", "parcel/a.py", *OF_SESSIONS)
    assert after == before


OF_SESSIONS = (".claude/projects", ".claude/sessions", ".claude/session-env", ".claude/shell-snapshots")
"""What any session leaves in a home."""


def test_each_event_is_recorded_once_whichever_way_it_is_connected(users: Claude) -> None:
    before = picture(users.home, *BOOKKEEPING)
    expected = {
        (): (AS_PLUGIN, ""),
        ("--scope", "project"): (AS_PLUGIN, ""),
        ("--settings", "--scope", "project"): (launcher.SERVER, "Pending approval"),
        ("--settings",): (launcher.SERVER, "✔ Connected"),
    }
    for number, (how, (server, status)) in enumerate(expected.items(), 1):
        users.connect(*how)
        ran, _ = work(users)
        assert (how, ours(ran), servers(ran), ran.err) == (how, ONCE, [server], "")
        assert not status or status in users.client("mcp", "list").stdout
        assert starts(users) == number
    assert (users.home / "stopped").exists()  # the user's own hook ran all the time
    assert users.client("plugin", "list", "--json").stdout.strip() == "[]"
    users.mem("uninstall", "--yes")
    assert launcher.SERVER not in json.loads((users.home / ".claude.json").read_text())["mcpServers"]
    after = picture(users.home, *BOOKKEEPING, ".claude-mem", "stopped", "parcel/a.py", *OF_SESSIONS)
    assert after == before


def test_a_client_that_comes_later_finds_it_connected(users: Claude) -> None:
    client = users.commands() / "claude"
    real = client.readlink()
    client.unlink()
    said = users.mem("install", "--yes").stdout
    assert said.startswith("Ready. Claude Code is not installed yet")
    client.symlink_to(real)
    ran, _ = work(users)
    assert ours(ran) == ONCE
    assert servers(ran) == [AS_PLUGIN]
    assert users.mem("install", "--yes").stdout.startswith("Connected to Claude Code already.")
    users.mem("uninstall", "--yes")
    assert ours(work(users)[0]) == NOTHING
    assert (users.config / "settings.json").read_text() == USERS


@pytest.mark.parametrize("how", [(), ("--settings",)])
def test_an_odd_data_directory_and_configuration_are_known_to_later_sessions(
    tmp_path: Path, how: tuple[str, ...]
) -> None:
    odd = tmp_path / 'Jörg\'s "old" $HOME & co (1)'
    odd.mkdir()
    claude = Claude(odd)
    claude.data = claude.home / 'my "memory\'s" $PATH ü'
    config = claude.home / "profile ü"
    try:
        where = {"CLAUDE_MEM_DATA_DIR": str(claude.data), "CLAUDE_CONFIG_DIR": str(config)}
        claude.mem("install", "--yes", *how, check=True, **where)
        ran, _ = work(claude, config)
        assert ours(ran) == ONCE
        assert "✔ Connected" in claude.client("mcp", "list", CLAUDE_CONFIG_DIR=str(config)).stdout
        assert starts(claude) == 1
        assert not (claude.home / ".claude-mem").exists()
        with ModelServer([Say("Nobody asked me.")]) as server:
            assert "Recording." in claude.run(server, "/mem", CLAUDE_CONFIG_DIR=str(config)).result
        claude.mem("uninstall", "--yes", CLAUDE_CONFIG_DIR=str(config))
        assert not (config / "settings.json").exists()
    finally:
        claude.end()


def test_an_mcp_server_by_our_name_that_the_client_keeps_comes_back(users: Claude) -> None:
    mine = (
        "mcp",
        "add-json",
        "--scope",
        "user",
        "claude-mem",
        '{"type":"stdio","command":"/bin/mine","args":[]}',
    )
    users.client(*mine)
    users.connect("--settings")
    assert launcher.is_our_server(kept(users))
    users.mem("uninstall", "--yes")
    assert kept(users) == json.loads(mine[-1])


def kept(claude: Claude) -> object:
    return json.loads((claude.home / ".claude.json").read_text())["mcpServers"]["claude-mem"]


def test_a_memory_whose_program_is_gone_is_in_nobodys_way(users: Claude) -> None:
    """The package first, as `pip uninstall` leaves it; then its interpreter, as a deleted venv does."""
    users.connect()
    hooks = users.config / "claude-mem" / registration.PLUGIN_ROOT / "hooks/hooks.json"
    whole = hooks.read_text()
    here = launcher.this_machine()
    hooks.write_text(whole.replace(f"'{here.package}'", "'/gone'"))
    ran, _ = work(users)
    assert ran.err == ""
    assert [line["exit_code"] for event in ONCE for line in ran.hooks(event)] == [0] * (len(ONCE) + 1)
    (start,) = ran.hooks("SessionStart")
    assert "claude-mem is not recording" in json.loads(start["stdout"])["systemMessage"]

    hooks.write_text(whole.replace(f'"{here.interpreter}"', '"/gone/python"'))
    ran, _ = work(users)  # with the same result
    outcomes = {line["outcome"] for event in ONCE for line in ran.hooks(event)}
    assert outcomes == {"error", "success"}  # said, and the user's own hook ran
    hooks.write_text(whole)
    users.mem("uninstall", "--yes")
    assert (users.config / "settings.json").read_text() == USERS
