"""`claude-mem token`."""

from __future__ import annotations

import argparse

from claude_mem import settings
from claude_mem.cli import say
from claude_mem.cli.commands import Commands, json_flag
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError


def add(commands: Commands) -> None:
    json_flag(
        commands.add(
            "token",
            more="The worker makes it when it first runs. Whoever has it can read your memory.",
            example=(
                'curl -H "Authorization: Bearer $(claude-mem token)" \\\n     http://127.0.0.1:37777/api/queue'
            ),
            run=_run,
        )
    )


def _run(args: argparse.Namespace) -> int:
    from claude_mem.serve.data_dir import read_token

    token = read_token(settings.data_directory() / paths.TOKEN)
    if token is None:
        raise ClaudeMemError("There is no token yet: the worker makes one. Run: claude-mem worker start")
    if args.json:
        say.data({"token": token})
    else:
        print(token)
    return 0
