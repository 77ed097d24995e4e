"""The command line as a tree: every noun adds its own branch."""

from __future__ import annotations

import argparse
import shutil
import textwrap

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
    open_,
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
from claude_mem.cli.command import Commands, Parser, help_of

RECALL = (search, timeline, show, sessions, file, context, remember, pin, forget)
DAILY = (
    *(install, *RECALL, open_, off, on, doctor, stats, projects, backfill, adopt, export, import_),
    *(backup, restore, gc, worker, queue, demo, version),
)
PLUMBING = (hooks, mcp, statusline, slash, token)
NOUNS = (*DAILY, *PLUMBING)
NAME = 12  # columns


def build() -> argparse.ArgumentParser:
    parser = Parser(
        prog="claude-mem",
        usage="claude-mem [-h] [--version] COMMAND ...",
        description="What your coding agent did, remembered.",
        epilog=(
            "Exit codes: 0 ok, 1 something is wrong, 2 usage, 130 interrupted.\n"
            "Data goes to standard output, talk to standard error.\n\n"
            "Example:\n  claude-mem doctor"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"claude-mem {__version__}")
    parser.set_defaults(run=lambda _: help_of(parser))
    below = parser.add_subparsers(prog="claude-mem", metavar="COMMAND", help=argparse.SUPPRESS)
    daily, plumbing = Commands(below), Commands(below)
    for noun in DAILY:
        noun.add(daily)
    for noun in PLUMBING:
        noun.add(plumbing)
    for verb in HOOK_VERBS:
        if verb != "context":  # typed by a person it is a command of its own
            hooks.add_verb(plumbing, verb)
    parser.add_argument_group("commands", _listed(daily.purposes))
    parser.add_argument_group(
        "run by Claude Code, and for those who wire it by hand", _listed(plumbing.purposes)
    )
    return parser


def _listed(purposes: dict[str, str]) -> str:
    """argparse has one heading for all commands; people need two."""
    room = max(40, shutil.get_terminal_size().columns - NAME - 4)
    lines = []
    for name, purpose in purposes.items():
        first, *rest = textwrap.wrap(purpose, room, break_on_hyphens=False)
        lines += [f"{name:<{NAME}}{first}", *(" " * NAME + line for line in rest)]
    return "\n".join(lines)
