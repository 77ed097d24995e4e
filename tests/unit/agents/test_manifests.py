"""What registries and plugin managers read of us has the fields that their documentation requires.

Their schemas are not downloaded: the rules are those of the MCP registry's schema of 2025-12-11, of
cursor/plugins, of Codex's plugin specification and of Copilot CLI's plugin reference.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from claude_mem import __version__
from claude_mem.agents.claude_code import agent

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "plugin"
CODEX, CURSOR, COPILOT = ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json", "plugin.json"
COMMON = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
KNOWN = {
    CODEX: COMMON | {"skills", "hooks", "mcpServers", "apps", "interface"},
    CURSOR: COMMON
    | {"displayName", "publisher", "logo", "category", "tags", "commands", "agents", "skills", "rules"}
    | {"hooks", "variables", "mcpServers"},  # it allows no others
    COPILOT: COMMON
    | {"category", "tags", "agents", "skills", "commands", "hooks", "mcpServers", "lspServers"},
}


def loaded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_a_plugins_manifest_is_named_versioned_and_has_no_field_that_its_agent_does_not_know(
    name: str,
) -> None:
    manifest = loaded(PLUGIN / name)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert len(manifest["name"]) <= 64
    assert manifest["version"] == __version__
    assert 0 < len(manifest["description"]) <= 1024
    assert set(manifest) <= KNOWN[name]
    assert set(manifest["author"]) == {"name"}
    assert all(isinstance(word, str) for word in manifest["keywords"])


@pytest.mark.parametrize("name", KNOWN)
def test_what_a_manifest_names_is_in_the_plugin(name: str) -> None:
    manifest = loaded(PLUGIN / name)
    named = [manifest["hooks"], manifest["mcpServers"], *_listed(manifest["skills"])]
    for path in named:
        assert name == COPILOT or path.startswith("./")
        assert (PLUGIN / path).resolve().is_relative_to(PLUGIN)
        assert (PLUGIN / path).exists(), path
    (server,) = loaded(PLUGIN / manifest["mcpServers"])["mcpServers"].values()
    assert (server["command"], server["args"]) == ("claude-mem", ["mcp"])


@pytest.mark.parametrize("name", KNOWN)
def test_no_other_agent_runs_the_hooks_that_are_claude_codes(name: str) -> None:
    assert loaded(PLUGIN / loaded(PLUGIN / name)["hooks"])["hooks"] == {}


def test_only_the_manifest_is_in_codexs_folder() -> None:
    assert [path.name for path in (PLUGIN / ".codex-plugin").iterdir()] == ["plugin.json"]


def test_the_plugin_that_an_install_makes_for_claude_code_has_nothing_of_the_others() -> None:
    texts = agent.plugin_texts()
    assert ".claude-plugin/plugin.json" in texts
    assert "hooks/hooks.json" in texts
    assert not {*KNOWN, "mcp.json", "hooks/none.json"} & {*texts}


def test_the_registrys_entry_is_complete_and_of_this_version() -> None:
    entry = loaded(ROOT / "server.json")
    assert re.fullmatch(r"https://static\.modelcontextprotocol\.io/schemas/[\d-]{10}/.*", entry["$schema"])
    assert {"name", "description", "version"} <= set(entry)
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 3 <= len(entry["name"]) <= 200
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    (package,) = entry["packages"]
    assert {"registryType", "identifier", "transport"} <= set(package)
    assert package["registryType"] == "pypi"
    assert package["transport"] == {"type": "stdio"}
    assert entry["version"] == package["version"] == __version__
    assert [each["value"] for each in package["packageArguments"]] == ["mcp"]


def test_the_registry_can_see_that_the_package_is_ours_and_run_it() -> None:
    entry, project = loaded(ROOT / "server.json"), tomllib.loads((ROOT / "pyproject.toml").read_text())
    (package,) = entry["packages"]
    assert package["identifier"] == project["project"]["name"]
    assert package["identifier"] in project["project"]["scripts"]  # what uvx runs
    assert f"mcp-name: {entry['name']} " in (ROOT / project["project"]["readme"]).read_text("utf-8")


def _listed(paths: str | list[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else paths
