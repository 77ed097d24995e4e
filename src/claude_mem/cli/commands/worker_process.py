"""`claude-mem worker start|stop|restart|status|run|logs`, `open` (the viewer) and `token`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from claude_mem import settings
from claude_mem.cli import client, output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError
from claude_mem.cli.filter_flags import up_to
from claude_mem.hook import notices, paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control
from claude_mem.serve.data_dir import pause_state
from claude_mem.settings import Settings

LOOK_EVERY_S = 0.25
QUEUE = ("ready", "leased", "parked", "done")
LABELS = {
    "spooled": "in the spool",
    "ready": "waiting",
    "leased": "in progress",
    "parked": "failed",
    "done": "done",
}


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines, also those that have been rotated away since."""
    lines: deque[str] = deque(maxlen=count)
    for path in (log.with_name(log.name + ".1"), log):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines.extend(line.rstrip("\n") for line in file)
        except FileNotFoundError:
            continue
    return list(lines)


def follow_log(log: Path, rest: Callable[[], object] = lambda: time.sleep(LOOK_EVERY_S)) -> Iterator[str]:
    """Yields what is appended from now on, indefinitely. `rest` runs between two checks."""
    from claude_mem.serve.worker_log import read_since

    _, place = read_since(log, "")
    while True:
        text, place = read_since(log, place or "")
        if text:
            yield text
        else:
            rest()


STATES = {
    "running": "The worker is running",
    "starting": "The worker is starting: it is opening the database",
    "stopped": "The worker is not running (the next hook starts it)",
    "hung": "The worker is not responding. Run: claude-mem worker restart",
}


def add(commands: Commands) -> None:
    more = "Each data directory has one worker. Hooks start it automatically."
    verbs = commands.group("worker", more=more, example="claude-mem worker status")
    verbs.add("start", "start the worker and wait until it is ready", run=_start)
    verbs.add("stop", "stop the worker after its current job; queued events are kept", run=_stop)
    verbs.add("restart", "restart the worker, even if it is not responding", run=_restart)
    verbs.add("status", "show whether the worker is running, and how long its queue is", run=_report)
    foreground = verbs.add("run", "run the worker in the foreground", run=_run, json=False)
    foreground.flag("--from-hook", "exit quietly if another worker is running")
    example = "claude-mem worker logs -n 100 -f"
    logs = verbs.add("logs", "print the worker's log", example=example, run=_logs, json=False)
    logs.argument("-n", "N", "the last N lines (default: 20)", type=up_to(10**9, least=0), default=20)
    logs.flag("-f", "follow the log")
    parser = commands.add("open", run=_run_open)
    parser.argument("what", "ID", "the memory to show, an id from `search` (12, s3, p4)", nargs="?")
    parser.flag("--print", "print the link instead of opening it", dest="only_print")
    parser.flag("--sign-out", "sign out all browsers")
    commands.add("token", run=_run_token)


def _start(args: argparse.Namespace, *, restart: bool = False) -> int:
    data_dir = client.load_settings().data_dir
    client.approve_environment(data_dir)
    with output.waiting("Restarting the worker ..." if restart else "Starting the worker ..."):
        if restart:
            control.stop(data_dir)
        control.start(data_dir)
    return _report(args)


def _restart(args: argparse.Namespace) -> int:
    return _start(args, restart=True)


def _stop(args: argparse.Namespace) -> int:
    data_dir = settings.data_directory()  # a worker can be stopped whatever settings.json holds
    with output.waiting("Waiting for the worker to finish its current job ..."):
        was_running = control.stop(data_dir)
    text = "Stopped." if was_running else "The worker was not running."
    return output.result(args, {"state": "stopped", "was_running": was_running}, text)


def _report(args: argparse.Namespace) -> int:
    """Exits 1 unless it is running.

    Example:
      claude-mem worker status --json
    """
    now = worker_report(settings.Settings(data_dir=settings.data_directory()))
    code = OK if now["state"] == "running" else WRONG
    return output.result(args, now, describe(now), code=code)


def describe(now: dict[str, Any]) -> str:
    about = f" (pid {now['pid']}, port {now['port']}, version {now['version']})" if now["port"] else ""
    rows = {"uptime": now["uptime_s"] is not None and notices.age(now["uptime_s"])}
    rows |= {label: "unknown" if now[name] is None else f"{now[name]:,}" for name, label in LABELS.items()}
    rows["oldest"] = now["oldest_age_s"] is not None and notices.age(now["oldest_age_s"])
    if now["paused_s"] is not None:
        rows["paused"] = f"for {notices.age(now['paused_s'])}: nothing is recorded. Resume: claude-mem on"
    lines = [f"  {label:<12} {figure}" for label, figure in rows.items() if figure]
    return "\n".join([f"{STATES[now['state']]}{about}.", *lines])


def _run(args: argparse.Namespace) -> int:
    """Press Ctrl-C to stop it after its current job."""
    from claude_mem import worker

    if not args.from_hook:
        client.approve_environment(settings.data_directory())
    return worker.run(from_hook=args.from_hook)


def _logs(args: argparse.Namespace) -> int:
    from claude_mem.serve import worker_log

    log = settings.data_directory() / paths.LOGS / worker_log.LOG_NAME
    for line in last_lines(log, args.n):
        print(line)
    if args.f:
        for text in follow_log(log):
            print(text, end="", flush=True)
    return OK


def worker_report(settings: Settings) -> dict[str, Any]:
    """From the worker itself while it runs, else from the files in the data directory. None: not known."""
    from claude_mem.wiring import database

    worker = control.status(settings.data_dir)
    health: dict[str, Any] = dict(worker.health or {})
    queue, recall = health.get("queue") or {}, health.get("recall") or {}
    unindexed, unembedded = (recall.get(name, {}).get("waiting") for name in ("index", "vectors"))
    if not queue:
        seen = database.survey(settings)
        figures, unindexed, unembedded = seen.figures, seen.unindexed, seen.unembedded
        if figures is not None:
            queue = asdict(figures)
            if figures.oldest_ready_at is not None:
                queue["oldestAgeMs"] = time.time() * 1000 - figures.oldest_ready_at
    paused_at = pause_state(settings.data_dir).everything
    return {
        "state": worker.state,
        "pid": worker.pid,
        "port": worker.port,
        "version": worker.version,
        "uptime_s": health.get("uptime"),
        "spooled": sum(1 for _ in settings.data_path(paths.SPOOL).glob("*.json")),
        **{name: queue.get(name) for name in QUEUE},
        "oldest_age_s": queue["oldestAgeMs"] / 1000 if queue.get("oldestAgeMs") else None,
        "unindexed": unindexed,
        "unembedded": unembedded,
        "paused_s": None if paused_at is None else max(0.0, time.time() - paused_at),
    }


def _run_open(args: argparse.Namespace) -> int:
    """The link works once, within a minute; the browser then stays signed in for a month. Starts the worker
    if it is not running. Without a display, or with --print, it prints the link instead.

    Example:
      claude-mem open
      claude-mem open 123
      claude-mem open --print
      claude-mem open --sign-out
    """
    from claude_mem.cli.install import is_connected
    from claude_mem.model.refs import Ref

    if args.sign_out:
        answer = request("POST", "/api/signout", body={"everywhere": True})
        text = f"Signed out {output.plural(answer['browsers'], 'browser')}."
        return output.result(args, answer, text)
    ref = Ref.parse(args.what) if args.what else None
    if args.what and ref is None:
        raise UsageError(f"Invalid memory id {args.what!r}; expected something like 12 or s3.")
    answer = request("POST", "/api/signin", body={})
    link = f"{answer['link']}#/observation/{ref}" if ref else answer["link"]
    if args.json:
        output.print_json(answer | {"link": link})
        return OK
    if args.only_print or not _opened(link):
        print(link)
    else:
        output.message(f"The viewer is open in your browser: http://127.0.0.1:{answer['port']}/")
    if not is_connected(settings.Settings(settings.data_directory())):
        output.message("No coding agent is connected, so nothing new is recorded. Run: claude-mem install")
    return OK


def _opened(link: str) -> bool:
    """Only in a window: a text browser would take over the terminal, and runs no scripts."""
    import webbrowser

    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    )
    if not has_screen:
        return False
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False


def _run_token(args: argparse.Namespace) -> int:
    r"""The worker creates it at its first start. It gives access to all your memory.

    Example:
      curl -H "Authorization: Bearer $(claude-mem token)" \
           http://127.0.0.1:37777/api/queue
    """
    from claude_mem.serve.data_dir import read_token

    token = read_token(settings.data_directory() / paths.TOKEN)
    if token is None:
        raise ClaudeMemError("There is no token yet; the worker creates it. Run: claude-mem worker start")
    return output.result(args, {"token": token}, token)
