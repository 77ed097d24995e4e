"""What a person is told once it is connected: five lines, and nothing that is not true here."""

from __future__ import annotations

from pathlib import Path

from claude_mem.settings import Settings


def lines(chosen: Settings, provider: str, *, client: bool) -> list[str]:
    begin = "start a new session" if client else "install Claude Code and start a session"
    return [
        f"Next    {begin}: what it does is remembered, and the one after it is told.",
        f"Data    {_short(chosen.data_dir)}, yours alone. Look: claude-mem search WORDS, or /mem there.",
        "Pause   claude-mem off, then on; one session: /mem off in it, or CLAUDE_MEM_OFF=1 before it.",
        f"Model   {_cost(chosen, provider)}",
        "Undo    claude-mem uninstall. Is it well? claude-mem doctor",
    ]


def _cost(chosen: Settings, provider: str) -> str:
    if provider == "offline":
        return "none: observed offline, which is free. Others: claude-mem doctor, docs/observing.md"
    whose = {"claude": "your own Claude Code", "anthropic": "Anthropic's API"}.get(provider, "your endpoint")
    return (
        f"{whose} ({provider}): at most {chosen.daily_tokens:,} tokens or ${chosen.daily_usd:.2f} a day, "
        "then offline, which is free."
    )


def _short(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
