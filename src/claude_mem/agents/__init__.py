"""One folder for each coding agent: its hooks and how they are installed, its payloads, its transcripts.

Another agent is another folder (see `base`) and a row here.
"""

from __future__ import annotations

CLAUDE_CODE = "claude-code"

FOLDERS = {
    CLAUDE_CODE: "claude_code",
    "codex": "codex",
    "copilot": "copilot",
    "gemini": "gemini",
    "opencode": "opencode",
    "qwen": "qwen",
    "droid": "droid",
    "cline": "cline",
    "cursor": "cursor",
    "goose": "goose",
    "windsurf": "windsurf",
    "vscode": "mcp_only",
    "kiro": "mcp_only",
    "antigravity": "mcp_only",
    "amp": "mcp_only",
    "zed": "mcp_only",
}
"""By the name that a hook's command line, the spool's envelope and `sessions.client` have for an agent."""

NOT_RUN = ("cursor", "goose", "windsurf", *(name for name, folder in FOLDERS.items() if folder == "mcp_only"))
"""Made from their documentation: connected only by name."""

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
"""As people call them."""


def agent_of(session: str) -> str:
    """Whose session it is: all but Claude Code's begin with their agent's name."""
    name = session.partition(":")[0]
    return name if name in FOLDERS and ":" in session else CLAUDE_CODE


def short_id(session: str) -> str:
    """Enough of a session's own id to name it. Random ones differ in their first 8 characters. Codex's and
    others' begin with the time, so that those of one hour would look the same."""
    own = session.partition(":")[2] if agent_of(session) != CLAUDE_CODE else session
    parts = own.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12]:
        return own[:16]
    return parts[0] if parts[2].startswith("4") else own[:13]
