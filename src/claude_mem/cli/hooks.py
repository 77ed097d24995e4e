"""`claude-mem hooks`: the hooks a client must be told about; and the help of the verbs they run."""

from __future__ import annotations

import argparse

from claude_mem.cli import say
from claude_mem.cli.command import Commands
from claude_mem.clients.claude_code import connection

VERBS = {
    "context": ("record a session's start (SessionStart)", '"source":"startup"'),
    "new": ("record a prompt (UserPromptSubmit)", '"prompt":"Fix the parser"'),
    "save": (
        "record a tool's use (PostToolUse)",
        '"tool_name":"Bash","tool_response":"ok"',
    ),
    "summary": ("record the end of a turn (Stop)", '"last_assistant_message":"Done."'),
    "cleanup": ("record a session's end (SessionEnd)", '"reason":"other"'),
    "hook": ("record whatever hook_event_name says", '"hook_event_name":"Stop"'),
}


def add(commands: Commands) -> None:
    commands.add(
        "hooks",
        "print the hooks for Claude Code's settings.json, with this interpreter's path",
        more=(
            "For those who keep their settings by hand; `claude-mem install` writes them for\n"
            "you. "
            "Each hook is one short process that always leaves with 0."
        ),
        example="claude-mem hooks > hooks.json",
        run=_run,
    )


def add_verb(commands: Commands, verb: str) -> None:
    purpose, payload = VERBS[verb]
    parser = commands.add(
        verb,
        f"hook: {purpose}",
        more=(
            "Reads one JSON object on standard input, records it, prints a hook's answer.\n"
            "Always exits 0: whatever breaks, the agent goes on; `claude-mem doctor` tells."
        ),
        example=f'echo \'{{"session_id":"s1",{payload}}}\' |\n  claude-mem {verb}',
        run=lambda _: _help(parser),
    )


def _run(_: argparse.Namespace) -> int:
    say.data({"hooks": connection.hooks(connection.here())})
    return 0


def _help(parser: argparse.ArgumentParser) -> int:
    """Nothing was piped in. Even so 0: to a client, 2 would mean that we block its agent."""
    parser.print_help()
    return 0
