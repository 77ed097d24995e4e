"""One folder for each coding agent: its hooks and how they are installed, its payloads, its transcripts.

Another agent is another folder (see `base`) and a row here.
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
"""As people call them, by the name in a hook's command line, the spool's envelope and `sessions.client`."""

MCP_ONLY = ("vscode", "kiro", "antigravity", "amp", "zed")
"""Without hooks that can be used: they search memory by MCP. One file has them all."""
NOT_RUN = ("cursor", "goose", "windsurf", *MCP_ONLY)
"""Made from their documentation: connected only by name."""

FOLDERS = {name: name.replace("-", "_") for name in TITLES if name not in MCP_ONLY}


def agent_of(session: str) -> str:
    """Whose session it is: all but Claude Code's begin with their agent's name."""
    name = session.partition(":")[0]
    return name if name in TITLES and ":" in session else CLAUDE_CODE


def short_id(session: str) -> str:
    """Enough of a session's own id to name it. Random ones differ in their first 8 characters. Codex's and
    others' begin with the time, so that those of one hour would look the same."""
    own = session.partition(":")[2] if agent_of(session) != CLAUDE_CODE else session
    parts = own.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12]:
        return own[:16]
    return parts[0] if parts[2].startswith("4") else own[:13]
