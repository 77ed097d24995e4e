"""OpenCode, as `agents.catalog` declares an agent. Its hooks are a plugin in JavaScript."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_installer import FilePart, data_dir_note, json_part, own_file
from claude_mem.agents.launcher import Machine, hook_command

NAME = "opencode"


def home() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(os.environ.get("OPENCODE_CONFIG_DIR") or Path(config) / "opencode")


def hooks(machine: Machine) -> dict[str, Any]:
    """The plugin's text, by its file's name."""
    command = json.dumps(hook_command(machine, "hook", NAME))
    text = Path(__file__).with_name("plugin.js").read_text("utf-8")
    return {"plugin/claude-mem.js": f"// {data_dir_note(machine)}\nconst COMMAND = {command}\n{text}"}


def parts(machine: Machine) -> list[FilePart]:
    entry = launcher.mcp_server(machine)
    server = {"type": "local", "command": [entry["command"], *entry["args"]], "enabled": True}
    server |= {"environment": entry["env"]} if "env" in entry else {}
    plugins = [own_file(home() / name, text) for name, text in hooks(machine).items()]
    return [*plugins, json_part(home() / "opencode.json", servers="mcp", server=server)]


AGENT = Agent(NAME, "opencode", home, hooks, parts)
