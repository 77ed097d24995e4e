"""The commands that Claude Code runs, as they appear in help: `claude-mem hooks`, `mcp`, `context`, and the
hook verbs."""

from __future__ import annotations

import argparse

from claude_mem.agents import TITLES, launcher
from claude_mem.cli import filter_flags, output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, Commands
from claude_mem.cli.output import clean
from claude_mem.hook.spool_writer import AGENT

PAYLOADS = {
    "new": '"prompt":"Fix the parser"',
    "save": '"tool_name":"Bash","tool_response":"ok"',
    "summary": '"last_assistant_message":"Done."',
    "cleanup": '"reason":"other"',
    "hook": '"hook_event_name":"Stop"',
}
SOURCES = ("startup", "resume", "clear", "compact")


def add(commands: Commands) -> None:
    hooks = commands.add("hooks", run=_run_hooks, json=False)
    which = f"for which agent (default: {AGENT})"
    hooks.argument("--agent", "NAME", which, choices=tuple(TITLES), default=AGENT)
    for verb, payload in PAYLOADS.items():
        _add_verb(commands, verb, payload)
    commands.add("mcp", run=_run_mcp, json=False)
    context = commands.add("context", run=_run_context)
    filter_flags.project(context)
    how = "how the session starts (default: startup)"
    context.add_argument("--source", choices=SOURCES, default="startup", help=how)


def _add_verb(commands: Commands, verb: str, payload: str) -> None:
    def run(_: argparse.Namespace) -> int:
        """Reads one JSON object from stdin, records it and prints the hook's response. Always exits 0, so the
        agent is never blocked; `claude-mem doctor` reports what failed.
        """
        # Nothing was piped in. Even so 0: to a client, 2 would mean that we block its agent.
        parser.print_help()
        return OK

    example = f'echo \'{{"session_id":"s1",{payload}}}\' |\n  claude-mem {verb}'
    parser = commands.add(verb, example=example, run=run, json=False)
    parser.argument("--agent", "NAME", f"the agent that runs the hook (default: {AGENT})", default=AGENT)


def _run_hooks(args: argparse.Namespace) -> int:
    """Use this to edit your settings by hand; `claude-mem install` writes them for you. Each hook is a short
    process that always exits 0.

    Example:
      claude-mem hooks > hooks.json
    """
    from claude_mem.agents import catalog

    output.print_json(catalog.load(args.agent).hooks(launcher.this_machine()))
    return OK


def _run_mcp(_: argparse.Namespace) -> int:
    """A coding agent runs this and gets the tools search, timeline, get_observations, get_session,
    file_history, remember and forget. The worker answers requests, and is started if it is not running. In a
    terminal, this prints the entry to add to the agent's settings.

    Example:
      claude-mem mcp > mcp.json
    """
    # Nobody types JSON-RPC: a user who starts it in a terminal wants to know how to use it.
    server = launcher.STDIO | launcher.mcp_server(launcher.this_machine())
    output.print_json({"mcpServers": {launcher.SERVER: server}})
    return OK


def _run_context(args: argparse.Namespace) -> int:
    """In a terminal, with a flag, or with no input (</dev/null) it prints the context. Otherwise it is the
    SessionStart hook: it reads one JSON object from stdin, records it, prints the hook's response and always
    exits 0.

    Example:
      claude-mem context
      claude-mem context --project shop --json
      echo '{"session_id":"s1","source":"startup"}' | claude-mem context
    """
    where = {"project": args.project} if args.project else {"cwd": filter_flags.here()}
    found = request("GET", "/api/context/inject", {**where, "source": args.source, "format": "json"})
    return output.result(args, found, clean(str(found["plain"])).rstrip())
