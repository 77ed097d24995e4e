"""What a person is told once it is connected: five lines, and nothing that is not true here."""

from __future__ import annotations

from pathlib import Path

from claude_mem.models import registry
from claude_mem.settings import Settings


def lines(chosen: Settings, provider: str, *, client: bool) -> list[str]:
    begin = "start a new session" if client else "install Claude Code and start a session"
    is_default = chosen.data_dir == Path.home() / ".claude-mem"
    look = "/mem in a session, or claude-mem search" + (
        "" if is_default else ", with CLAUDE_MEM_DATA_DIR set"
    )
    return [
        f"Next    {begin}: it is remembered. Sessions from before: claude-mem backfill.",
        f"Data    {_short(chosen.data_dir)}, yours alone. Look: {look}.",
        "Pause   claude-mem off, and on again; one session: /mem off in it, or CLAUDE_MEM_OFF=1 before it.",
        f"Model   {_cost(chosen, provider)}",
        "Undo    claude-mem uninstall; memory stays. Is all well? claude-mem doctor",
    ]


def _cost(chosen: Settings, provider: str) -> str:
    if provider == "offline":
        return "none, which is free: observed offline. To have one: CLAUDE_MEM_PROVIDER; claude-mem doctor"
    whose = registry.BY_NAME[provider].whose
    limits = [f"{chosen.daily_tokens:,} tokens"] if chosen.daily_tokens else []
    limits += [f"${chosen.daily_usd:.2f}"] if chosen.daily_usd else []
    if not limits:  # 0 is none
        return f"{whose} ({provider}), with no daily limit: you set CLAUDE_MEM_DAILY_TOKENS and _USD to 0."
    return f"{whose} ({provider}): at most {' or '.join(limits)} a day, then offline, which is free."


def _short(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
