"""The command line. One file per noun.

A hook run as a command (`claude-mem save`) is still a hook, so it is dispatched before anything else is
imported. So are `claude-mem mcp`, which a client runs once per session, and `claude-mem statusline`, which it
runs often.
"""

from __future__ import annotations

import posix
import sys

HOOK_VERBS = ("context", "new", "save", "summary", "cleanup", "hook")
PLUGIN_VERBS = ("context", "hook", "compact", "setup")
"""The verbs of the plugin's own script (`plugin/bin/claude-mem`), which passes its version."""
INTERRUPTED = 130  # as a shell has it: 128 + SIGINT


def main(argv: list[str] | None = None) -> int:
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # at any time, also while half of the command is still being imported
        return INTERRUPTED


def _main(arguments: list[str]) -> int:
    match arguments:
        case [verb, "--agent", agent, "--plugin", version] if verb in PLUGIN_VERBS:
            from claude_mem.hook.entry import main as hook

            hook(verb, agent, version)  # does not return
    if arguments and arguments[0] in HOOK_VERBS and not _is_typed(arguments):
        from claude_mem.hook.entry import main as hook

        hook(arguments[0], *(arguments[2:3] if arguments[1:2] == ["--agent"] else ()))  # does not return
    if arguments == ["mcp"] and not posix.isatty(0):
        from claude_mem.cli.bridge import main as bridge

        bridge()  # does not return
    if arguments == ["statusline"]:
        from claude_mem.cli.status import main as statusline

        return statusline()
    from claude_mem.cli.commands import run

    return run(arguments)


def _is_typed(arguments: list[str]) -> bool:
    """Whether a person started the hook: its stdin is a terminal, or it is `context` with options or without
    a payload."""
    is_query = arguments[0] == "context" and (arguments[1:2] not in ([], ["--agent"]) or _is_device(0))
    return is_query or "-h" in arguments or "--help" in arguments or posix.isatty(0)


def _is_device(fd: int) -> bool:
    """Such as /dev/null, which scripts and schedulers give; clients give a pipe, a socket or a file."""
    import stat

    try:
        return stat.S_ISCHR(posix.fstat(fd).st_mode)
    except OSError:  # it is closed
        return False
