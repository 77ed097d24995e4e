"""Says whether Claude Code runs our hooks, and whether they are those of this claude-mem."""

from __future__ import annotations

from dataclasses import dataclass

from claude_mem.cli.doctor.finding import Finding
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class Connected:
    how: tuple[str, ...]  # each connection there is, in words
    current: bool = True  # an install would change nothing


def look(chosen: Settings) -> Connected:
    from claude_mem import __version__
    from claude_mem.cli.install import edge, found, place, plan
    from claude_mem.cli.install.plan import Wanted

    connections = found.connections(chosen)
    wanted = [
        plan.plan(
            each.place, Wanted(each.made.plugin, False, False), place.texts(), __version__, edge.read
        ).is_empty
        for each in connections
    ]
    return Connected(tuple(each.made.mode for each in connections), all(wanted))


def is_connected(chosen: Settings) -> bool:
    """What cannot be read is `doctor`'s to tell."""
    from claude_mem.cli.install import found

    try:
        return bool(found.connections(chosen))
    except (ClaudeMemError, OSError):
        return True


def judge(fact: Connected) -> list[Finding]:
    how = " and ".join(fact.how)
    if not how:
        says = "Claude Code is not connected, as far as its settings for you and for this directory say"
        stops = "Claude Code is not connected"
        return [Finding("client", "bad", says, next="claude-mem install", stops=stops)]
    if not fact.current:
        says = f"connected {how}, but not as this version on this machine would be"
        return [Finding("client", "warn", says, next="claude-mem install")]
    return [Finding("client", "ok", f"Claude Code is connected {how}")]
