"""`claude-mem hooks`: the hooks a client must be told about; and the help of the verbs they run."""

from __future__ import annotations

import argparse

from claude_mem.agents.claude_code import hooks
from claude_mem.cli import say
from claude_mem.cli.commands import Commands

PAYLOADS = {
    "new": '"prompt":"Fix the parser"',
    "save": '"tool_name":"Bash","tool_response":"ok"',
    "summary": '"last_assistant_message":"Done."',
    "cleanup": '"reason":"other"',
    "hook": '"hook_event_name":"Stop"',
}


def add(commands: Commands) -> None:
    commands.add(
        "hooks",
        more=(
            "For those who edit their settings by hand; `claude-mem install` writes them for\n"
            "you. Each hook is a short process that always exits 0."
        ),
        example="claude-mem hooks > hooks.json",
        run=_run,
    )
    for verb, payload in PAYLOADS.items():
        _add_verb(commands, verb, payload)


def _add_verb(commands: Commands, verb: str, payload: str) -> None:
    parser = commands.add(
        verb,
        more=(
            "Reads one JSON object from stdin, records it and prints the hook's answer.\n"
            "Always exits 0, so that the agent is never blocked; `claude-mem doctor` reports\n"
            "what failed."
        ),
        example=f'echo \'{{"session_id":"s1",{payload}}}\' |\n  claude-mem {verb}',
        run=lambda _: _help(parser),
    )


def _run(_: argparse.Namespace) -> int:
    say.data({"hooks": hooks.hooks(hooks.here())})
    return 0


def _help(parser: argparse.ArgumentParser) -> int:
    """Nothing was piped in. Even so 0: to a client, 2 would mean that we block its agent."""
    parser.print_help()
    return 0
