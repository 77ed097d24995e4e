"""The plugin for one machine: the texts in `plugin/`, with hooks and MCP server that name its interpreter."""

from __future__ import annotations

import json
from collections.abc import Mapping

from claude_mem.agents.claude_code import hooks
from claude_mem.agents.claude_code.hooks import Machine

NAME = "mem"  # the client reserves names that begin with "claude-" for its makers'
MARKETPLACE = "claude-mem-py"
ID = f"{NAME}@{MARKETPLACE}"
ROOT = f"plugins/{NAME}"


def marketplace(texts: Mapping[str, str], machine: Machine, command: str, version: str) -> dict[str, str]:
    """All files of a marketplace that holds the one plugin, by their paths in it."""
    own = {path: filled(text, command, version) for path, text in texts.items()}
    described = json.loads(own[".claude-plugin/plugin.json"])["description"]
    own |= {
        "hooks/hooks.json": _json({"description": described, "hooks": hooks.hooks(machine)}),
        ".mcp.json": _json({"mcpServers": {hooks.SERVER: hooks.server(machine)}}),
    }
    offered = {"name": NAME, "source": f"./{ROOT}", "version": version, "description": described}
    sold = {
        "name": MARKETPLACE,
        "description": "claude-mem, as it was installed on this machine.",
        "owner": {"name": MARKETPLACE},
        "plugins": [offered],
    }
    return {".claude-plugin/marketplace.json": _json(sold)} | {
        f"{ROOT}/{path}": text for path, text in sorted(own.items())
    }


def filled(text: str, command: str, version: str) -> str:
    """A text of `plugin/` with what only this machine knows: `command` runs claude-mem in a shell."""
    return text.replace("{{claude-mem}}", command).replace("{{version}}", version)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
