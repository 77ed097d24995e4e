"""A home to install into: its settings, and a client that does what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.claude import Claude

from claude_mem.agents import launcher
from claude_mem.agents.claude_code import registration

USERS = (
    '{\n\t"model": "sonnet",\n\t"ünïcode": "日本 \U0001f600",\n\t"hooks": {\n'
    '\t\t"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "mine"}]}],\n'
    '\t\t"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]},'
    ' {"matcher": "Edit", "hooks": []}]\n\t},\n\t"env": {"B": "2", "A": "1"}\n}'
)


THEIRS = {"type": "command", "command": "bun /x/worker-service.cjs hook"}


def client(home: Claude, script: str) -> Path:
    """A client that does what a line of shell says; all it is asked is in the file that is returned."""
    asked = home.home / "bin/asked"
    path = home.home / "bin/claude"
    path.write_text(f"#!/bin/sh\necho \"$@\" >> '{asked}'\n{script}\n")
    path.chmod(0o755)
    asked.touch()
    return asked


def settings(home: Claude) -> Path:
    return home.config / "settings.json"


def parsed(home: Claude) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(settings(home).read_text("utf-8-sig"))
    return found


def our_hooks(found: dict[str, Any]) -> dict[str, int]:
    """How many hooks of ours each event has."""
    return {
        event: sum(launcher.is_our_hook(hook) for group in groups for hook in group.get("hooks", []))
        for event, groups in found.get("hooks", {}).items()
    }


ONE_EACH = dict.fromkeys([*registration.RECORDED, *registration.RECALLED, *registration.CHECKED], 1)
