"""The plugin installed from the repository itself, with the real client: it records, once, or says how to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.e2e.client.test_install import AS_PLUGIN, ONCE, ours, servers, starts, work
from tests.harness.claude import Claude, read
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

from claude_mem.agents.claude_code import registration
from claude_mem.hook import paths

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """As much of a clone as the client looks at."""
    folder = tmp_path / "clone"
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Makefile", folder)
    return folder


def add(claude: Claude, repository: Path) -> None:
    claude.client("plugin", "marketplace", "add", str(repository))
    claude.client("plugin", "install", registration.PLUGIN_ID)


def test_a_session_is_recorded_by_the_plugin_of_a_clone(bare: Claude, repository: Path) -> None:
    for folder in (repository, repository / "plugin"):
        assert "Validation passed" in bare.client("plugin", "validate", str(folder)).stdout
    add(bare, repository)
    for number in (1, 2):  # by a search for the program; then as the worker has noted it
        ran, asked = work(bare)
        assert ours(ran) == ONCE
        assert ran.err == ""
        assert servers(ran) == [AS_PLUGIN]
        assert {line["exit_code"] for event in ONCE for line in ran.hooks(event)} == {0}
        assert starts(bare) == number
    assert "<claude-mem-context>" in read(asked)
    assert (bare.data / paths.PROGRAM).exists()
    assert "✔ Connected" in bare.client("mcp", "list").stdout
    with ModelServer([Say("Nobody asked me.")]) as server:
        assert "Recording." in bare.run(server, "/mem:mem").result
        assert server.requests == []
    doctor = json.loads(bare.mem("doctor", "--json", check=False).stdout)
    assert f"from {repository}" in doctor["facts"]["connected"]["how"][0]
    assert doctor["recording"]


def test_without_the_program_one_line_says_how_to_get_it(bare: Claude, repository: Path) -> None:
    add(bare, repository)
    (bare.commands() / "claude-mem").unlink()
    ran, _ = work(bare)
    assert ours(ran) == {}
    assert ran.err == ""
    (start,) = ran.hooks("SessionStart")
    assert start["exit_code"] == 0
    said = json.loads(start["stdout"])["systemMessage"]
    assert f"make -C {repository} install" in said
    assert "\n" not in said
    assert not bare.data.exists()


@pytest.mark.parametrize("how", [(), ("--settings",)])
def test_beside_an_install_everything_is_recorded_and_injected_once(
    bare: Claude, repository: Path, how: tuple[str, ...]
) -> None:
    bare.connect(*how)
    bare.client("plugin", "marketplace", "add", str(repository), check=False)
    bare.client("plugin", "install", registration.PLUGIN_ID, check=False)
    ran, _ = work(bare)
    assert ours(ran) == ONCE
    assert starts(bare) == 1


def test_an_install_takes_the_place_of_the_repositorys_plugin(bare: Claude, repository: Path) -> None:
    add(bare, repository)
    bare.connect()
    ran, _ = work(bare)
    assert ours(ran) == ONCE
    assert starts(bare) == 1
    settings = json.loads((bare.config / "settings.json").read_text())
    source = settings["extraKnownMarketplaces"][registration.MARKETPLACE]["source"]
    assert source["path"] == str(bare.config / "claude-mem")
