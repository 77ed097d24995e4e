"""`claude-mem mcp`: the help of it. What runs is `cli/bridge`, before any of this is imported."""

from __future__ import annotations

import argparse

from claude_mem.agents.claude_code import hooks
from claude_mem.cli import say
from claude_mem.cli.commands import OK, Commands


def add(commands: Commands) -> None:
    commands.add(
        "mcp",
        more=(
            "For a coding agent to run: it asks memory with search, timeline,\n"
            "get_observations, get_session, file_history, remember and forget. The worker\n"
            "answers, and is started if it is down. Typed in a terminal it prints what to put\n"
            "into a client's settings."
        ),
        example="claude-mem mcp > mcp.json",
        run=_run,
    )


def _run(_: argparse.Namespace) -> int:
    """Nobody types JSON-RPC: who starts it from a terminal wants to know how it is used."""
    say.data({"mcpServers": {hooks.SERVER: hooks.server(hooks.here())}})
    return OK
