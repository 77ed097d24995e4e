"""The settings a command works with; what of them does not hold is said on standard error, once."""

from __future__ import annotations

from claude_mem import settings
from claude_mem.cli import say
from claude_mem.settings import Settings

_said: set[str] = set()


def load() -> Settings:
    found = settings.load()
    for each in found.warnings:
        # Of other names `doctor` speaks: they may be another program's.
        if each.says not in _said and (each.kind == "bad" or each.meant):
            _said.add(each.says)
            say.talk(f"claude-mem: {each.says}")
    return found
