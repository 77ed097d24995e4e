"""The hooks and the server as they are told to the client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process, payloads

from claude_mem import __version__
from claude_mem.agents import launcher
from claude_mem.agents.claude_code import registration
from claude_mem.agents.launcher import Machine
from claude_mem.hook import plugin_check

SRC = str(Path(registration.__file__).resolve().parents[3])
ODD = '/home/Jörg\'s "old" \\ $HOME/${X}/memory'


def run(machine: Machine, verb: str, payload: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = launcher.hook_command(machine, verb)
    return subprocess.run(
        command, input=payload, env={"HOME": "/nonexistent", **env}, capture_output=True, check=False
    )


def entries(made: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    assert set(made) == {*registration.RECORDED, *registration.RECALLED, *registration.CHECKED}
    return [entry for (group,) in made.values() for entry in group["hooks"]]


def test_the_plugin_has_one_hook_for_every_event_without_a_shell() -> None:
    for entry in entries(registration.plugin_hooks(Machine("/py", "/package", None))):
        assert (entry["type"], entry["command"], entry["timeout"]) == ("command", "/py", 10)
        assert isinstance(entry["args"], list)
        assert launcher.is_our_hook(entry)
        assert not registration.is_foreign_hook(entry)


def test_in_settings_that_other_agents_read_a_hook_is_a_command_and_nothing_else() -> None:
    for entry in entries(registration.hooks(Machine("/py", "/package", None))):
        assert set(entry) == {"type", "command", "timeout"}
        assert launcher.is_our_hook(entry)
        assert not registration.is_foreign_hook(entry)


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_hook_for_a_shell_runs_whatever_its_paths_are_called(tmp_path: Path, shell: str) -> None:
    odd = tmp_path / 'Jörg\'s "old" $HOME `x` \\ (1)'
    odd.mkdir()
    interpreter = odd / "python $1"
    interpreter.symlink_to(sys.executable)
    (odd / "src").symlink_to(SRC)
    told = odd / "memory"
    line = launcher.hook_line(Machine(str(interpreter), str(odd / "src"), str(told)))
    with hook_process.starting_no_worker(told):
        ran = subprocess.run(
            [shell, "-c", line],
            input=payloads.stop("Bye."),
            env={"HOME": "/nonexistent"},
            capture_output=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert len(list((told / "spool").glob("*-*"))) == 1
    assert launcher.data_dir_of({"command": line}) == str(told)


def test_a_hook_for_a_shell_leaves_with_0_without_its_interpreter() -> None:
    line = launcher.hook_line(Machine("/gone/python", SRC, None))
    ran = subprocess.run(["sh", "-c", line], input=b"{}", capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("agent", "verb", "member"),
    [
        ("claude-code", "context", "systemMessage"),
        ("codex", "context", "systemMessage"),
        ("gemini", "context", "systemMessage"),
        ("qwen", "context", "systemMessage"),
        ("droid", "context", "systemMessage"),
        ("cursor", "context", "additional_context"),
        ("copilot", "sessionStart", "additionalContext"),
        ("goose", "SessionStart", "banner"),
    ],
)
@pytest.mark.parametrize("what", ["interpreter", "package"])
def test_a_sessions_start_says_in_the_agents_words_that_the_program_is_gone(
    agent: str, verb: str, member: str, what: str
) -> None:
    gone = Machine("/gone/python", SRC, None) if what == "interpreter" else None
    line = launcher.hook_line(gone or Machine(sys.executable, "/gone/src", None), verb, agent)
    ran = subprocess.run(["sh", "-c", line], input=b"{}", capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    (said,) = json.loads(ran.stdout).items()
    assert said[0] == member
    assert "claude-mem" in said[1]


def test_the_hook_of_the_repositorys_plugin_leaves_with_0_where_its_folder_is_not_known() -> None:
    (group,) = registration.portable_hooks()["Stop"]
    line = group["hooks"][0]["command"]
    ran = subprocess.run(["sh", "-c", line], env={"HOME": "/nonexistent"}, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_hook_records_where_it_was_told_when_it_was_installed(tmp_path: Path) -> None:
    told = tmp_path / 'Jörg\'s "own"'
    with hook_process.listening(told):  # it starts no worker
        ran = run(Machine(sys.executable, SRC, str(told)), "hook", payloads.stop("Bye."))
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert len(list((told / "spool").glob("*-*"))) == 1


def test_a_sessions_own_data_directory_comes_first(tmp_path: Path) -> None:
    told, own = tmp_path / "told", tmp_path / "own"
    machine = Machine(sys.executable, SRC, str(told))
    with hook_process.listening(own):
        run(machine, "hook", payloads.stop("Bye."), CLAUDE_MEM_DATA_DIR=str(own))
    assert not told.exists()
    assert len(list((own / "spool").glob("*-*"))) == 1


@pytest.mark.parametrize("broken", ["gone", "half gone", "half written"])
def test_without_its_program_a_hook_leaves_in_silence_and_the_start_says_why(
    tmp_path: Path, broken: str
) -> None:
    capture = tmp_path / "claude_mem/hook"
    if broken != "gone":
        capture.mkdir(parents=True)
        (capture / "entry.py").write_text("def mai" if broken == "half written" else "")
    machine = Machine(sys.executable, str(tmp_path), None)
    hook = run(machine, "hook", payloads.stop("Bye."))
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b"")
    start = run(machine, "context", payloads.payload("SessionStart"))
    assert (start.returncode, start.stderr) == (0, b"")
    assert "claude-mem is not recording" in json.loads(start.stdout)["systemMessage"]


@pytest.mark.parametrize("data_dir", [None, "/srv/memory", ODD, os.fsdecode(b"/srv/\xff")])
def test_a_hook_says_where_it_records(data_dir: str | None) -> None:
    (group,) = registration.hooks(Machine("/py", "/package", data_dir))["Stop"]
    assert launcher.data_dir_of(group["hooks"][0]) == data_dir


def test_hooks_of_older_installs_are_ours_and_a_users_are_not() -> None:
    old = {"type": "command", "command": "/py", "args": ["-I", "-S", "/x/claude_mem/capture/hook.py", "hook"]}
    assert launcher.is_our_hook(old)
    for own in (
        {"command": "claude_mem/capture/hook.py"},
        {"command": "x", "args": "claude_mem/capture/hook.py"},
        {"command": "x", "args": [5, None, "hook.py"]},
        "claude_mem/capture/hook.py",
        None,
    ):
        assert not launcher.is_our_hook(own)


def test_the_server_knows_the_data_directory_only_if_it_is_not_the_default() -> None:
    assert "env" not in launcher.mcp_server(Machine("/py", "/package", None))
    server = launcher.mcp_server(Machine("/py", "/package", "/srv/memory"))
    assert server["env"] == {"CLAUDE_MEM_DATA_DIR": "/srv/memory"}
    assert launcher.is_our_server(server)
    assert not launcher.is_our_server({"command": "claude-mem", "args": ["mcp"]})


@pytest.mark.parametrize(
    "command",
    [
        'node "${CLAUDE_PLUGIN_ROOT}/scripts/bun-runner.js" start',
        'bun "${CLAUDE_PLUGIN_ROOT}/scripts/worker-service.cjs" hook',
        "bun ~/.claude/plugins/marketplaces/thedotmack/claude-mem/scripts/context-hook.js",
        "npx claude-mem hook claude-code observation",
    ],
)
def test_the_hooks_of_the_other_claude_mem_are_known(command: str) -> None:
    assert registration.is_foreign_hook({"type": "command", "command": command})
    assert (
        registration.foreign_hooks(
            {"hooks": {"Stop": [{"hooks": [{"command": command}, {"command": "true"}]}]}}
        )
        == 1
    )


def test_the_other_claude_mems_plugin_is_known_while_it_is_switched_on() -> None:
    on = {
        "claude-mem@thedotmack": True,
        "claude-mem@off": False,
        registration.PLUGIN_ID: True,
        "claude-memo@x": True,
    }
    assert registration.foreign_plugins({"enabledPlugins": on}) == ["claude-mem@thedotmack"]


def test_every_text_of_the_plugin_is_filled_in_and_its_name_is_one_the_client_allows() -> None:
    texts = {
        ".claude-plugin/plugin.json": '{"description": "D"}',
        "a.md": f'sh "{registration.PORTABLE}" x',
        "bin/claude-mem": "#!/bin/sh",
    }
    made = registration.marketplace(texts, Machine("/py", "/package", None), "/bin/claude-mem", "1.2")
    assert made["plugins/mem/a.md"] == "/bin/claude-mem x"
    assert not any("bin/" in path for path in made)  # its hooks name the program themselves
    assert json.loads(made[".claude-plugin/marketplace.json"])["plugins"][0]["source"] == "./plugins/mem"
    assert not launcher.PLUGIN.startswith("claude")


ROOT = Path(__file__).resolve().parents[3]


def test_the_repositorys_plugin_is_of_this_version_and_names_nothing_of_a_machine() -> None:
    offer = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    (plugin,) = offer["plugins"]
    manifest = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text())
    script = (ROOT / "plugin/bin/claude-mem").read_text()
    assert (offer["name"], plugin["name"]) == (registration.MARKETPLACE, launcher.PLUGIN)
    assert plugin["version"] == manifest["version"] == __version__
    assert f"\nversion={__version__}\n" in script
    hooks = json.loads((ROOT / "plugin/hooks/hooks.json").read_text())
    assert hooks == {"description": manifest["description"], "hooks": registration.portable_hooks()}
    assert (plugin_check.PLUGIN_ID, plugin_check.MARK.decode()) == (registration.PLUGIN_ID, launcher.MARK)
