"""The coding agents, one folder each: its hooks and their installation, its payloads, its transcripts.

To add an agent, add a folder (see `catalog`) and a row here.
"""

from __future__ import annotations

CLAUDE_CODE = "claude-code"

TITLES = {
    CLAUDE_CODE: "Claude Code",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "qwen": "Qwen Code",
    "droid": "Factory droid",
    "cline": "Cline",
    "cursor": "Cursor",
    "goose": "Goose",
    "windsurf": "Windsurf",
    "vscode": "VS Code Copilot",
    "kiro": "Kiro",
    "antigravity": "Antigravity",
    "amp": "Amp",
    "zed": "Zed",
}
"""Their display names, by the name in a hook's command line, the spool's envelope and `sessions.client`."""

MCP_ONLY = ("vscode", "kiro", "antigravity", "amp", "zed")
"""Agents without usable hooks: they search memory over MCP. `mcp_only` has all of them."""
NOT_RUN = ("cursor", "goose", "windsurf", *MCP_ONLY)
"""Written from their documentation and never run: connected only by name."""

FOLDERS = {name: name.replace("-", "_") for name in TITLES if name not in MCP_ONLY}


def agent_of(session: str) -> str:
    """The agent of a session's id: all but Claude Code's begin with their agent's name."""
    name = session.partition(":")[0]
    return name if name in TITLES and ":" in session else CLAUDE_CODE


def short_id(session: str) -> str:
    """The start of a session's own id, long enough to identify it. Random ids differ in their first 8
    characters. Those of Codex and others begin with the time, so that all ids of an hour would look the
    same."""
    own = session.partition(":")[2] if agent_of(session) != CLAUDE_CODE else session
    parts = own.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12]:
        return own[:16]
    return parts[0] if parts[2].startswith("4") else own[:13]
