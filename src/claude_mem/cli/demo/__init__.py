"""`claude-mem demo`: replays a recorded session through the real hooks and worker, and shows the result."""

from __future__ import annotations

import argparse
import sys

from msgspec import to_builtins

from claude_mem import __version__
from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, Commands


def add(commands: Commands) -> None:
    parser = commands.add(
        "demo",
        more=(
            "Runs the real hook command and a real worker in a throwaway data directory: no\n"
            "account, no network, your own memory untouched. Leaves nothing behind."
        ),
        example="claude-mem demo",
        run=_run,
    )
    keep = "keep the directory and its worker running, so that you can look around"
    parser.add_argument("--keep", action="store_true", help=keep)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.demo import replay, report

    payloads = replay.recorded()
    show = output.message if args.json else print
    show(
        f"claude-mem {__version__}: a recorded session of {len(payloads)} events runs through the real hook\n"
        "command into a throwaway data directory. No account, no network.\n"
    )
    with replay.throwaway_directory(keep=args.keep) as data_dir:
        made = replay.play(payloads, data_dir)
        text = report.render(made, output.Paint(sys.stdout))
        output.result(to_builtins(made), text, as_json=args.json)
        if args.keep:
            show(
                "\nThe data directory is still there and its worker is running. Look around:\n\n"
                f"  export CLAUDE_MEM_DATA_DIR={data_dir}\n"
                "  claude-mem doctor\n"
                "  claude-mem timeline\n"
                "  claude-mem search why did the test fail\n\n"
                "When you are done:\n\n"
                f"  claude-mem worker stop && rm -r {data_dir.parent} && unset CLAUDE_MEM_DATA_DIR"
            )
    if not args.keep:
        show("\nThe worker was stopped and the data directory removed.")
    problems = report.problems(made)
    for problem in problems:
        output.message(f"claude-mem: the demo failed: {problem}.")
    return WRONG if problems else OK
