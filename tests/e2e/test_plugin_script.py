"""The hooks of the repository's plugin: a script that finds the program, and never fails its client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness import hook_process, workers

from claude_mem import __version__
from claude_mem.hook import paths

SCRIPT = Path(__file__).resolve().parents[2] / "plugin/bin/claude-mem"
START = {"session_id": "s1", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"}
OURS = Path(sys.executable).with_name("claude-mem")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "bin").mkdir()
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin/bin").symlink_to(SCRIPT.parent)
    yield tmp_path
    workers.finish(tmp_path / ".claude-mem")


def run(
    home: Path, verb: str, payload: object = START, script: Path = SCRIPT, **env: str
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "XDG"))}
    port = str(workers.free_port())
    ours = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "CLAUDE_MEM_WORKER_PORT": port}
    return subprocess.run(
        ["sh", str(script), verb],
        input=json.dumps(payload),
        env=clean | ours | {"CLAUDE_MEM_PROVIDER": "offline"} | env,
        capture_output=True,
        text=True,
        timeout=workers.PATIENCE_S,
        check=False,
    )


def alone(home: Path) -> Path:
    """The plugin without its repository, as the client copies it."""
    folder = home / "cache/mem/0.1.0/bin"
    folder.mkdir(parents=True)
    (folder / "claude-mem").write_bytes(SCRIPT.read_bytes())
    return folder / "claude-mem"


def test_the_program_is_found_on_the_path_and_in_the_usual_places(home: Path) -> None:
    script = alone(home)
    for place in ("bin", ".local/bin", ".local/share/uv/tools/claude-mem-py/bin"):
        link = home / place / "claude-mem"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(OURS)
        done = run(home, "context", script=script, CLAUDE_MEM_DATA_DIR=str(home / "other"))
        assert (done.returncode, done.stderr) == (0, ""), place
        assert json.loads(done.stdout)["continue"] is True
        link.unlink()
    workers.finish(home / "other")


def test_another_program_of_that_name_is_not_taken_for_ours(home: Path) -> None:
    theirs = home / "bin/claude-mem"
    theirs.write_text("#!/bin/sh\ntouch ran\n")
    theirs.chmod(0o755)
    done = run(home, "context", script=alone(home))
    assert done.returncode == 0
    assert "make install" in json.loads(done.stdout)["systemMessage"]
    assert not Path("ran").exists()


@pytest.mark.parametrize("verb", ["context", "hook", "compact", "setup"])
def test_a_hook_exits_0_and_prints_nothing_invalid_whatever_is_broken(home: Path, verb: str) -> None:
    script, data = alone(home), home / ".claude-mem"
    data.mkdir(mode=0o700)
    broken = home / "broken"
    broken.write_text("#!/nowhere/python\nfrom claude_mem.cli import main\n")
    broken.chmod(0o755)
    for noted in (f"{broken}\n{SCRIPT.parents[2] / 'src'}\n", "", "/gone\n/gone\n", "one line"):
        (data / paths.PROGRAM).write_text(noted)
        done = run(home, verb, script=script)
        assert done.returncode == 0
        assert not done.stdout or json.loads(done.stdout)
    (home / "bin/claude-mem").symlink_to(broken)
    assert run(home, verb, script=script).returncode == 0


def test_what_the_worker_noted_is_used_without_a_search(home: Path) -> None:
    data = home / ".claude-mem"
    data.mkdir(mode=0o700)
    machine = hook_process.MACHINE
    (data / paths.PROGRAM).write_text(f"{machine.interpreter}\n{machine.package}\n")
    done = run(home, "context", script=alone(home))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["continue"] is True
    workers.until((data / "claude-mem.db").exists, "the event started a worker")


def test_a_plugin_of_another_version_is_told_once_and_by_setup_each_time(home: Path) -> None:
    (home / "bin/claude-mem").symlink_to(OURS)
    old = alone(home)
    old.write_text(old.read_text().replace(f"version={__version__}", "version=0.0.9"))
    said = json.loads(run(home, "context", script=old).stdout)["systemMessage"]
    assert "0.0.9" in said
    assert __version__ in said
    assert "systemMessage" not in json.loads(run(home, "context", script=old).stdout)
    setup = START | {"hook_event_name": "Setup", "trigger": "init"}
    for _ in range(2):
        assert "0.0.9" in json.loads(run(home, "setup", setup, script=old).stdout)["systemMessage"]
    assert "systemMessage" not in json.loads(run(home, "setup", setup).stdout)


def test_an_installed_hook_of_another_version_leads_to_repair(data: Path) -> None:
    command = hook_process.command("context")
    assert command[-1] == __version__
    done = subprocess.run(
        [*command[:-1], "0.0.9"],
        input=json.dumps(START).encode(),
        env=hook_process.environment(data),
        capture_output=True,
        check=True,
    )
    said = json.loads(done.stdout)["systemMessage"]
    assert "claude-mem repair" in said
    assert "0.0.9" in said
    workers.finish(data)
