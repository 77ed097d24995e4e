"""Findings about the client, the data directory, the worker and the spool: why nothing is recorded.

Pure, so that every fault can be tested without causing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from claude_mem import __version__
from claude_mem.cli import output
from claude_mem.cli.commands import on_off
from claude_mem.cli.doctor.directory_facts import DataDirectory, Disk
from claude_mem.cli.doctor.facts import (
    Configuration,
    Connected,
    Facts,
    Interpreter,
    SpoolFacts,
    Unknown,
    WorkerFacts,
)
from claude_mem.cli.status import NO_DISK
from claude_mem.hook import notices
from claude_mem.serve.data_dir import PauseState
from claude_mem.settings import resolution

SLOW_START_MS = 150.0  # a shim or a sleeping disk; the plain interpreter takes about 10
LOW_DISK = 512 << 20
DRAINED_WITHIN_S = 60.0
MOST_IGNORED = 5
NETWORK = "nfs cifs smb 9p drvfs afs ceph gluster lustre fuse.sshfs fuse.rclone"

LOGS, RESTART = "claude-mem worker logs", "claude-mem worker restart"
NEXT_FOR_SETTING = {
    "bad": f"fix it, then: {RESTART}",
    "unknown": f"rename it or remove it, then: {RESTART}",
    "theirs": None,
}


class Finding(Struct, frozen=True):
    check: str
    level: Literal["ok", "warn", "bad"]
    says: str
    next: str | None = None
    stops: str | None = None  # why nothing is recorded
    hinders: str | None = None  # why nothing that is recorded becomes memory


def ok(check: str, message: str, next: str | None = None) -> Finding:
    return Finding(check, "ok", message, next)


def warn(check: str, message: str, next: str | None = None, *, hinders: str | None = None) -> Finding:
    return Finding(check, "warn", message, next, hinders=hinders)


def bad(
    check: str, message: str, next: str, *, stops: str | None = None, hinders: str | None = None
) -> Finding:
    return Finding(check, "bad", message, next, stops, hinders)


def last_event(facts: Facts) -> Finding:
    spooled, stored = (
        getattr(facts.spool, "newest_age_s", None),
        getattr(facts.database, "last_event_at", None),
    )
    ages = [spooled, None if stored is None else facts.now - stored / 1000]
    if known := [age for age in ages if age is not None]:
        return ok("last event", f"{notices.age(min(known))} ago")
    if isinstance(facts.spool, Unknown) or isinstance(facts.database, Unknown):
        return warn("last event", "unknown")
    if getattr(facts.connected, "how", ()):
        return ok("last event", "none yet", "start a new session")
    step = "claude-mem install, then start a new session"
    return bad("last event", "none received", step, stops="no hook has run yet")


def judge_connection(fact: Connected) -> Iterator[Finding]:
    if not fact.how and not fact.problems:  # whose files cannot be read may be connected
        message = "no coding agent is connected, according to their user and project settings"
        yield bad("client", message, "claude-mem install", stops="no coding agent is connected")
    for how in fact.how:
        if how in fact.outdated:
            yield warn("client", f"connected: {how}, but outdated", "claude-mem repair")
        else:
            yield ok("client", f"connected: {how}")
    for message in fact.problems:
        yield warn("client", message)
    for message in fact.limits:
        yield ok("client", message)
    for title, name in fact.others if fact.how else ():
        yield ok("client", f"{title} is installed, but not connected", f"claude-mem install --agent {name}")


def judge_interpreter(fact: Interpreter) -> Iterator[Finding]:
    message = f"{fact.path} (Python {fact.version}, SQLite {fact.sqlite})"
    if fact.start_ms > SLOW_START_MS or "/shims/" in fact.path:
        message = f"{message} takes {fact.start_ms:.0f} ms to start, which delays every hook"
        step = "reinstall with the real interpreter instead of a version manager's shim: make install"
        yield warn("interpreter", message, step)
    else:
        yield ok("interpreter", f"{message}, starts in {fact.start_ms:.0f} ms")


def judge_directory(fact: DataDirectory) -> Iterator[Finding]:
    path = fact.path

    def wrong(message: str, step: str, stops: str | None = None) -> Finding:
        return bad("directory", f"{path} {message}", step, stops=stops and f"{path} {stops}")

    if fact.obstacle:
        step = "make sure the parent folder exists and is writable, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(fact.obstacle, step, fact.obstacle)
    elif not fact.exists:
        yield ok("directory", f"{path} does not exist yet; the first hook creates it")
    elif not fact.is_directory:
        yield wrong("is not a directory", f"rename it: mv {path} {path}.old", "is not a directory")
    elif fact.owner != fact.me:
        message = f"belongs to user {fact.owner}, not to you ({fact.me})"
        step = f"sudo chown -R {fact.me} {path}, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(message, step, "belongs to another user")
    else:
        found = []
        if not fact.writable:
            step = f"chmod u+rwx {path}; make sure its file system is not read-only"
            found.append(wrong("is not writable", step, "is not writable"))
        if fact.foreign:
            message = f"contains files that belong to other users: {', '.join(fact.foreign)}"
            found.append(wrong(message, f"sudo chown -R {fact.me} {path}"))
        if fact.open_count:
            more = ", …" if fact.open_count > len(fact.open_to_others) else ""
            message = f"can be read by others: {', '.join(fact.open_to_others)}{more}"
            found.append(wrong(message, f"chmod -R go= {path}"))
        if fact.filesystem and fact.filesystem.startswith(tuple(NETWORK.split())):
            message = f"{path} is on a network file system ({fact.filesystem}): locks may be unreliable"
            found.append(warn("directory", message, "set CLAUDE_MEM_DATA_DIR to a local disk"))
        on = f" on {fact.filesystem}" if fact.filesystem else ""
        yield from found or [ok("directory", f"{path}{on}, accessible only by you")]


def judge_settings(fact: Configuration) -> Iterator[Finding]:
    for each in resolution.summarized(fact.warnings):
        yield warn("settings", each.message, NEXT_FOR_SETTING[each.kind])
    if fact.off:
        message = f"{fact.off} is set in this shell"
        yield bad("settings", message, f"unset {fact.off}", stops=message)
    elif not fact.warnings:
        yield ok("settings", "valid")
    if fact.missed:
        few, more = ", ".join(fact.missed[:MOST_IGNORED]), ", …" if fact.missed[MOST_IGNORED:] else ""
        message = (
            f"the worker does not use {few}{more} of the environment: a repository's settings can set it"
        )
        yield warn("environment", message, f"if it is yours, in a terminal where it is set: {RESTART}")


def judge_pause(fact: PauseState) -> Iterator[Finding]:
    if fact.everything is not None:
        message = f"paused since {on_off.date_of(fact.everything)}"
        yield bad("pause", message, "claude-mem on", stops=f"it has been {message}")
    elif fact.sessions:
        (newest, since), *_ = fact.sessions
        many = output.plural(len(fact.sessions), "session")
        message = f"{many} paused; the most recent, {newest}, since {on_off.date_of(since)}"
        yield ok("pause", message, f"to resume it: claude-mem on --session {newest}")


def judge_worker(fact: WorkerFacts) -> Iterator[Finding]:
    process = f"pid {fact.pid}" if fact.pid else "a process"
    match fact.state:
        case "stopped":
            yield _stopped(fact.start_problem)
        case "starting":
            message = f"{process} is starting: it is opening the database. Hooks still record to the spool"
            yield ok("worker", message)
        case "hung":
            message = f"{process} is not responding. Hooks still record to the spool"
            if fact.is_left is None:
                message += " and restart it if it stays silent"
            elif fact.is_left == "stopped":
                message += ". It was stopped by a signal or a debugger, so it is not restarted automatically"
            yield bad("worker", message, RESTART, hinders="the worker is not responding")
        case _:
            yield from _running(fact, process)


def _stopped(start_problem: str | None) -> Finding:
    step = "claude-mem worker start"
    if start_problem is None:
        return warn(
            "worker", "not running; the next hook starts it", step, hinders="the worker is not running"
        )
    message = f"the worker did not start: {start_problem}"
    return bad("worker", message, f"fix it, then: {step}", hinders=message)


def _running(fact: WorkerFacts, process: str) -> Iterator[Finding]:
    if fact.trouble:
        yield bad("worker", f"running ({process}), but not accepting events: {fact.trouble}", LOGS)
    elif fact.version != __version__:
        message = f"{process} runs version {fact.version}; version {__version__} is installed"
        yield warn("worker", message, RESTART)
    else:
        yield ok("worker", f"running ({process}, version {fact.version})")
    if fact.mishaps:
        failures = output.plural(fact.mishaps, "failure")
        yield warn("mishaps", f"{failures} since it started; it recovered", LOGS)
    if fact.hung_queries:
        requests = output.plural(fact.hung_queries, "hook request")
        yield warn("asks", f"{requests} never returned; prompts may get no memories", RESTART)
    if fact.hook_socket_problem is None:
        yield ok("socket", "hook.sock answers")
    else:
        message = "events wait in the spool until the worker polls it"
        yield bad("socket", f"no answer on hook.sock: {fact.hook_socket_problem}; {message}", RESTART)
    if fact.port is None:
        message = "no free port on 127.0.0.1: the viewer does not work; hooks and commands use sockets"
        yield warn("port", message, LOGS)
    elif fact.port == fact.configured_port:
        yield ok("port", f"127.0.0.1:{fact.port}")
    else:
        message = f"127.0.0.1:{fact.port}; {fact.configured_port} was in use when the worker started"
        yield warn("port", message, f"to try that port again: {RESTART}")


def judge_spool(fact: SpoolFacts) -> Iterator[Finding]:
    message = f"{output.plural(fact.files, 'event')} waiting, {output.size(fact.bytes)}"
    if fact.files >= fact.most_files > 0 or fact.bytes >= fact.most_bytes > 0:
        stops = "the spool is full and no worker is draining it"
        yield bad("spool", f"full: {message}", f"{RESTART}; then see: {LOGS}", stops=stops)
    elif fact.oldest_age_s is not None and fact.oldest_age_s > DRAINED_WITHIN_S:
        message = f"{message}, the oldest waiting for {notices.age(fact.oldest_age_s)}"
        yield warn("spool", message, "claude-mem worker start")
    else:
        yield ok("spool", f"{message} (limit {fact.most_files:,} or {output.size(fact.most_bytes)})")
    if fact.aside:
        message = f"{output.plural(fact.aside, 'file')} could not be read; moved to spool/aside"
        yield warn("set aside", message, "inspect them; delete what you do not need")


def judge_drops(counts: dict[str, int]) -> Iterator[Finding]:
    dropped = {reason: count for reason, count in counts.items() if count}
    if dropped:
        message = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items())
        yield warn("drops", f"{output.plural(sum(dropped.values()), 'event')} lost: {message}")
    else:
        yield ok("drops", "none")


def judge_disk(fact: Disk) -> Iterator[Finding]:
    message = f"{output.size(fact.free)} free of {output.size(fact.total)}"
    if not fact.total:
        yield warn("disk", "the file system does not report its size")
    elif fact.free < NO_DISK:
        yield bad("disk", f"full: {message}", "free some space", stops="the disk is full")
    elif fact.free < LOW_DISK:
        yield warn("disk", message, "free some space soon")
    else:
        yield ok("disk", message)
