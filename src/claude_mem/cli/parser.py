"""The command line as a tree: every noun adds its own branch."""

from __future__ import annotations

import argparse

from claude_mem import __version__
from claude_mem.cli import (
    HOOK_VERBS,
    adopt,
    backfill,
    backup,
    context,
    demo,
    doctor,
    export,
    file,
    forget,
    gc,
    hooks,
    import_,
    install,
    mcp,
    off,
    on,
    pin,
    projects,
    queue,
    remember,
    restore,
    search,
    sessions,
    show,
    slash,
    stats,
    statusline,
    timeline,
    token,
    version,
    worker,
)
from claude_mem.cli.command import Commands, help_of

RECALL = (search, timeline, show, sessions, file, context, remember, pin, forget)
NOUNS = (
    *(install, backfill, adopt, off, on, *RECALL, projects, export, import_, doctor, stats, worker, queue),
    *(hooks, mcp, statusline, slash, token, backup, restore, gc, demo, version),
)


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="claude-mem",
        description="What your coding agent did, remembered.",
        epilog=(
            "Exit codes: 0 ok, 1 something is wrong, 2 usage or settings, 130 interrupted.\n"
            "Data goes to standard output, talk to standard error.\n\n"
            "Example:\n  claude-mem doctor"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"claude-mem {__version__}")
    parser.set_defaults(run=lambda _: help_of(parser))
    commands = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    for noun in NOUNS:
        noun.add(commands)
    for verb in HOOK_VERBS:
        if verb != "context":  # typed by a person it is a command of its own
            hooks.add_verb(commands, verb)
    return parser
