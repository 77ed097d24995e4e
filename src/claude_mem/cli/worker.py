"""`claude-mem worker start|stop|restart|status|run|logs`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from claude_mem import settings
from claude_mem.cli import loading, logs, say
from claude_mem.cli.commands import OK, WRONG, Commands, help_of, json_flag
from claude_mem.hook import notices, paths

if TYPE_CHECKING:
    from claude_mem.cli.status import Status

STATES = {
    "running": "The worker is running",
    "starting": "The worker is starting, and opens its database first",
    "stopped": "The worker is not running (the next hook starts it)",
    "hung": "The worker holds its lock but does not answer; run: claude-mem worker restart",
}


def add(commands: Commands) -> None:
    parser = commands.add(
        "worker",
        more="There is one per data directory, and hooks start it by themselves.",
        example="claude-mem worker status",
        run=lambda _: help_of(parser),
    )
    verbs = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    for name, purpose, run in (
        ("start", "start the worker, and wait until it answers", _start),
        ("stop", "stop the worker between two jobs; what is spooled and queued stays", _stop),
        ("restart", "stop the worker, also one that hangs, and start it again", _restart),
    ):
        json_flag(verbs.add(name, purpose, example=f"claude-mem worker {name}", run=run))
    json_flag(
        verbs.add(
            "status",
            "say whether the worker runs, and what waits for it",
            more="Exits 1 unless it is running.",
            example="claude-mem worker status --json",
            run=_status,
        )
    )
    foreground = verbs.add(
        "run",
        "be the worker, in the foreground",
        more="This is what `start` and the hooks run. Ctrl-C stops it between two jobs.",
        example="claude-mem worker run",
        run=_run,
    )
    foreground.add_argument(
        "--from-hook", action="store_true", help="leave quietly if another worker is there"
    )
    logs_of = verbs.add(
        "logs", "print the worker's log", example="claude-mem worker logs -n 100 -f", run=_logs
    )
    logs_of.add_argument("-n", type=_lines, default=20, metavar="N", help="how many of the last lines (20)")
    logs_of.add_argument("-f", action="store_true", help="go on printing as lines are written")


def _start(args: argparse.Namespace) -> int:
    from claude_mem.serve import control

    data_dir = loading.load().data_dir
    with say.patiently("Starting the worker ..."):
        control.start(data_dir)
    return _report(args)


def _stop(args: argparse.Namespace) -> int:
    from claude_mem.serve import control

    data_dir = settings.data_directory()  # a worker can be stopped whatever settings.json holds
    with say.patiently("Waiting for the worker to finish its job ..."):
        was_running = control.stop(data_dir)
    if args.json:
        say.data({"state": "stopped", "was_running": was_running})
    else:
        print("Stopped." if was_running else "The worker was not running.")
    return OK


def _restart(args: argparse.Namespace) -> int:
    from claude_mem.serve import control

    data_dir = loading.load().data_dir
    with say.patiently("Restarting the worker ..."):
        control.stop(data_dir)
        control.start(data_dir)
    return _report(args)


def _status(args: argparse.Namespace) -> int:
    return _report(args)


def _report(args: argparse.Namespace) -> int:
    from claude_mem.cli import status

    now = status.look(settings.Settings(data_dir=settings.data_directory()))
    if args.json:
        say.data(now.as_data())
    else:
        print(describe(now))
    return OK if now.state == "running" else WRONG


def describe(now: Status) -> str:
    lines = [
        STATES[now.state]
        + (f" (pid {now.pid}, port {now.port}, version {now.version})." if now.port else ".")
    ]
    if now.uptime_s is not None:
        lines.append(f"  up for   {notices.age(now.uptime_s)}")
    lines.append(f"  spooled  {now.spooled:,}")
    for name, count in (
        ("ready", now.ready),
        ("leased", now.leased),
        ("parked", now.parked),
        ("done", now.done),
    ):
        lines.append(f"  {name:<8} " + ("unknown" if count is None else f"{count:,}"))
    if now.oldest_age_s is not None:
        lines.append(f"  oldest   {notices.age(now.oldest_age_s)}")
    if now.paused_s is not None:
        lines.append(
            f"  paused   for {notices.age(now.paused_s)}: nothing is recorded. Resume: claude-mem on"
        )
    return "\n".join(lines)


def _run(args: argparse.Namespace) -> int:
    from claude_mem import worker

    return worker.run(from_hook=args.from_hook)


def _logs(args: argparse.Namespace) -> int:
    from claude_mem.serve import worker_log

    log = settings.data_directory() / paths.LOGS / worker_log.LOG_NAME
    for line in logs.last(log, args.n):
        print(line)
    if args.f:
        for text in logs.follow(log):
            print(text, end="", flush=True)
    return OK


def _lines(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
