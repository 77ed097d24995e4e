"""Checks whether the plugin that runs a hook matches the program, and whether a second connection also runs
hooks.

A hook's third argument is its plugin's version. If STATIC precedes it, the plugin is the repository's own,
not one that `claude-mem install` generated.
"""

from __future__ import annotations

import posix

from claude_mem import __version__
from claude_mem.hook import paths

STATIC = "static-"
PLUGIN_ID = "mem@claude-mem-py"
MARKETPLACE = "claude-mem-py"
MARK = b"from claude_mem.hook.entry import main"
MOST_BYTES = 8 << 20


def difference(plugin: str) -> str:
    """One line that says what to do; empty if both have the same version, or the plugin's is unknown."""
    version = plugin.removeprefix(STATIC)
    if not version or version == __version__:
        return ""
    text = f"claude-mem: the plugin is version {version[:20]}, but the program is version {__version__}."
    if plugin.startswith(STATIC):
        update = f"`/plugin marketplace update {MARKETPLACE}` in Claude Code"
        return f"{text} Update the older one: {update}, or `make install` in the repository."
    return f"{text} Run: claude-mem repair"


def news(plugin: str) -> str:
    """`difference`, once for each pair of versions. In the data directory."""
    text = difference(plugin)
    if text:
        try:
            if paths.content(paths.VERSION_SHOWN, 4096) == text.encode():
                return ""
        except OSError:
            pass  # shown for the first time
    return text


def mark_shown(text: str) -> None:
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC | posix.O_NOFOLLOW
    try:
        fd = posix.open(paths.VERSION_SHOWN, flags, 0o600)
        posix.write(fd, text.encode())
        posix.close(fd)
    except OSError:
        pass  # shown again rather than not at all


def is_doubled(environ: dict[bytes, bytes]) -> bool:
    """Whether hooks that `claude-mem install` connected run for this session as well: two would inject
    everything twice. What cannot be read counts as no."""
    try:
        content = paths.content(paths.data_directory(environ) + b"/install.json", MOST_BYTES)
        import json  # few have both

        record = json.loads(content)
        folder, scope = record["folder"], record["scope"]
        project = environ.get(b"CLAUDE_PROJECT_DIR", b"").decode(errors="replace")
        if scope == "project" and f"{project}/.claude" != folder:
            return False
        text = paths.content(f"{folder}/settings.json", MOST_BYTES)
        if not record["plugin"]:
            return MARK in text
        config = record.get("config") or f"{environ.get(b'HOME', b'').decode(errors='replace')}/.claude"
        settings = json.loads(text)
        source = settings["extraKnownMarketplaces"][MARKETPLACE]["source"]["path"]
        is_on = settings["enabledPlugins"].get(PLUGIN_ID) is True
        return is_on and bool(source == f"{config}/claude-mem")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
