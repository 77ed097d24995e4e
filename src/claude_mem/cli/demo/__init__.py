"""`claude-mem demo`: replays a recorded session through the real hooks and worker, and shows the result."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from claude_mem import __version__
from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, Commands, json_flag
from claude_mem.hook import paths

if TYPE_CHECKING:
    from claude_mem.cli.demo.report import Report
    from claude_mem.serve.control import WorkerStatus


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
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the directory and its worker running, so that you can look around",
    )
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.demo import replay, report

    payloads = replay.recorded()
    show = output.message if args.json else print
    show(
        f"claude-mem {__version__}: a recorded session of {len(payloads)} events runs through the real hook\n"
        "command into a throwaway data directory. No account, no network.\n"
    )
    with replay.throwaway_directory(keep=args.keep) as data_dir:
        made = _play(payloads, data_dir)
        if args.json:
            output.print_json(to_builtins(made))
        else:
            paint = output.Paint(sys.stdout)
            parts = (
                report.hooks(made),
                report.events(made, paint),
                report.remembered(made, paint),
                report.hidden(made, paint),
                report.cost(made),
                report.context(made),
                report.reminder(made),
                report.found(made, time.time(), paint),
                report.history(made, time.time(), paint),
            )
            print("\n\n".join(filter(None, parts)))
        if args.keep:
            show("\n" + _kept(data_dir))
    if not args.keep:
        show("\nThe worker was stopped and the data directory removed.")
    for problem in made.problems:
        output.message(f"claude-mem: the demo failed: {problem}.")
    return WRONG if made.problems else OK


def _play(payloads: list[bytes], data_dir: Path) -> Report:
    from claude_mem.cli.demo import replay, report
    from claude_mem.serve import control

    env = replay.environment(data_dir, replay.free_port())
    runs = list(replay.replay(payloads, env, data_dir))
    last = time.monotonic()

    replay.until(lambda: control.status(data_dir).state == "running", "the worker did not start", data_dir)
    replay.until(lambda: _is_drained(data_dir), "the spool was not drained", data_dir)
    drained = time.monotonic() - last
    replay.until(lambda: _is_observed(control.status(data_dir)), "some events were not observed", data_dir)
    observed = time.monotonic() - last
    kept = report.read_stored(data_dir / paths.DATABASE)
    replay.until(lambda: _is_ready(control.status(data_dir)), "the context was not rendered", data_dir)
    told = replay.recall_in_next_session(env, data_dir)
    replay.until(lambda: _is_drained(data_dir), "the spool was not drained", data_dir)
    return report.Report(
        hooks=[hook for hook, _ in runs],
        bare=[bare for _, bare in runs],
        drained_after_s=drained,
        observed_after_s=observed,
        session=kept.session,
        events=kept.events,
        observations=kept.observations,
        summaries=kept.summaries,
        recalled=told,
        search=report.search_hidden(data_dir),
    )


def _is_drained(data_dir: Path) -> bool:
    return not any((data_dir / paths.SPOOL).glob("*.json"))


def _is_observed(worker: WorkerStatus) -> bool:
    queue = (worker.health or {}).get("queue")
    return isinstance(queue, dict) and not queue["ready"] + queue["leased"]


def _is_ready(worker: WorkerStatus) -> bool:
    match (worker.health or {}).get("recall"):
        case {"index": {"waiting": 0}, "context": {"fresh": True}}:
            return True
    return False


def _kept(data_dir: Path) -> str:
    return (
        "The data directory is still there and its worker is running. Look around:\n\n"
        f"  export CLAUDE_MEM_DATA_DIR={data_dir}\n"
        "  claude-mem doctor\n"
        "  claude-mem timeline\n"
        "  claude-mem search why did the test fail\n\n"
        "When you are done:\n\n"
        f"  claude-mem worker stop && rm -r {data_dir.parent} && unset CLAUDE_MEM_DATA_DIR"
    )
