"""Turns facts into findings. Pure: every fault is tested without breaking anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from claude_mem.cli import output
from claude_mem.cli.commands import pause
from claude_mem.cli.doctor import memory_checks
from claude_mem.cli.doctor.facts import (
    Configuration,
    Connected,
    Database,
    Directory,
    Disk,
    Facts,
    Finding,
    Interpreter,
    Queue,
    Spool,
    Unknown,
    Worker,
    bad,
    ok,
    warn,
)
from claude_mem.cli.doctor.gather import NETWORK
from claude_mem.cli.status import NO_DISK
from claude_mem.hook import notices
from claude_mem.serve.pause_switches import Paused
from claude_mem.settings import resolution

T = TypeVar("T")

SLOW_START_MS = 150.0  # a shim or a sleeping disk; the plain interpreter takes about 10
LOW_DISK = 512 << 20
DRAINED_WITHIN_S = 60.0
OLD_BACKUP_S = 3 * 86_400.0
WEEK = 7
UNUSED, UNUSED_BYTES = 0.4, 64 << 20
"""More than the worker lets lie, and enough to matter."""
LONG_LOG = 256 << 20
"""Several times what it is cut back to: somebody has been reading for long."""
WEEKS_LEFT = 4.0
GC, LOGS, RESTART = "claude-mem gc", "claude-mem worker logs", "claude-mem worker restart"
NEXT_FOR_SETTING = {
    "bad": f"fix it, then: {RESTART}",
    "unknown": f"rename it or remove it, then: {RESTART}",
    "theirs": None,
}


def judge(facts: Facts) -> list[Finding]:
    return [
        last_event(facts),
        *_judged("client", facts.connected, judge_connection),
        *_judged("interpreter", facts.interpreter, _interpreter),
        *_judged("directory", facts.directory, _directory),
        *_judged("settings", facts.configuration, _configuration),
        *_judged("pause", facts.paused, judge_pause),
        *_judged("worker", facts.worker, _worker),
        *_judged("spool", facts.spool, _spool),
        *_judged("database", facts.database, _database),
        *judge_growth(facts),
        *memory_checks.judge_observing(facts),
        *_judged("recall", facts.recall, memory_checks.judge_recall),
        *_judged("drops", facts.drops, _drops),
        *_judged("disk", facts.disk, _disk),
    ]


def _judged(check: str, fact: T | Unknown, judged: Callable[[T], Iterator[Finding]]) -> Iterator[Finding]:
    if isinstance(fact, Unknown):
        yield warn(check, f"could not be checked: {fact.why}")
    else:
        yield from judged(fact)


def why_not(findings: list[Finding]) -> str | None:
    """Why nothing is recorded; None when it is. A broken thing says more than that nothing came."""
    return next((finding.stops for finding in reversed(findings) if finding.stops), None)


def why_unobserved(findings: list[Finding]) -> str | None:
    """Why nothing recorded becomes memory; None when it does. What is named last is nearest to the cause."""
    return next((finding.hinders for finding in reversed(findings) if finding.hinders), None)


def is_wrong(findings: list[Finding]) -> bool:
    return any(finding.level == "bad" for finding in findings)


def last_event(facts: Facts) -> Finding:
    ages = getattr(facts.spool, "newest_age_s", None), getattr(facts.database, "last_event_age_s", None)
    if known := [age for age in ages if age is not None]:
        return ok("last event", f"{notices.age(min(known))} ago")
    if isinstance(facts.spool, Unknown) or isinstance(facts.database, Unknown):
        return warn("last event", "unknown")
    if getattr(facts.connected, "how", ()):
        return ok("last event", "none yet", "start a new session of Claude Code")
    step = "claude-mem install, then start a new session"
    return bad("last event", "none received", step, stops="no hook has run yet")


def judge_connection(fact: Connected) -> Iterator[Finding]:
    how = " and ".join(fact.how)
    if not how:
        says = "Claude Code is not connected, according to its user and project settings"
        yield bad("client", says, "claude-mem install", stops="Claude Code is not connected")
    elif not fact.current:
        says = f"connected {how}, but not as this version would connect it"
        yield warn("client", says, "claude-mem install")
    else:
        yield ok("client", f"Claude Code is connected {how}")


def _interpreter(fact: Interpreter) -> Iterator[Finding]:
    says = f"{fact.path} (Python {fact.version}, SQLite {fact.sqlite})"
    if isinstance(fact.start_ms, Unknown):
        yield warn("interpreter", f"{says}; could not measure its start: {fact.start_ms.why}")
    elif fact.start_ms > SLOW_START_MS or "/shims/" in fact.path:
        says = f"{says} takes {fact.start_ms:.0f} ms to start, which delays every hook"
        step = "install with the interpreter itself, not a version manager's shim: make install"
        yield warn("interpreter", says, step)
    else:
        yield ok("interpreter", f"{says}, starts in {fact.start_ms:.0f} ms")


def _directory(fact: Directory) -> Iterator[Finding]:
    path = fact.path

    def wrong(says: str, step: str, stops: str | None = None) -> Finding:
        return bad("directory", f"{path} {says}", step, stops=stops and f"{path} {stops}")

    if fact.obstacle:
        step = "check that the parent folder exists and is writable, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(fact.obstacle, step, fact.obstacle)
    elif not fact.exists:
        yield ok("directory", f"{path} does not exist yet; the first hook creates it")
    elif not fact.is_directory:
        yield wrong("is not a directory", f"move it away: mv {path} {path}.old", "is not a directory")
    elif fact.owner != fact.me:
        says = f"belongs to user {fact.owner}, not to you ({fact.me})"
        step = f"sudo chown -R {fact.me} {path}, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(says, step, "belongs to another user")
    else:
        found = []
        if not fact.writable:
            step = f"chmod u+rwx {path}; make sure that its file system is not read-only"
            found.append(wrong("is not writable", step, "is not writable"))
        if fact.foreign:
            says = f"contains files of other users: {', '.join(fact.foreign)}"
            found.append(wrong(says, f"sudo chown -R {fact.me} {path}"))
        if fact.open_count:
            more = ", …" if fact.open_count > len(fact.open_to_others) else ""
            says = f"can be read by others: {', '.join(fact.open_to_others)}{more}"
            found.append(wrong(says, f"chmod -R go= {path}"))
        if fact.filesystem and fact.filesystem.startswith(NETWORK):
            says = f"{path} is on a network file system ({fact.filesystem}): locks may be unreliable"
            found.append(warn("directory", says, "set CLAUDE_MEM_DATA_DIR to a local disk"))
        on = f" on {fact.filesystem}" if fact.filesystem else ""
        yield from found or [ok("directory", f"{path}{on}, accessible only by you")]


def _configuration(fact: Configuration) -> Iterator[Finding]:
    for each in resolution.summarized(fact.warnings):
        yield warn("settings", each.says, NEXT_FOR_SETTING[each.kind])
    if fact.off:
        says = f"{fact.off} is set in this shell"
        yield bad("settings", says, f"unset {fact.off}", stops=says)
    elif not fact.warnings:
        yield ok("settings", "valid")


def judge_pause(fact: Paused) -> Iterator[Finding]:
    if fact.everything is not None:
        says = f"paused since {pause.date_of(fact.everything)}"
        yield bad("pause", says, "claude-mem on", stops=f"it is {says}")
    elif fact.sessions:
        (newest, since), *_ = fact.sessions
        many = output.plural(len(fact.sessions), "session")
        says = f"{many} paused; the most recent, {newest}, since {pause.date_of(since)}"
        yield ok("pause", says, f"to resume it: claude-mem on --session {newest}")


def _worker(fact: Worker) -> Iterator[Finding]:
    who = f"pid {fact.pid}" if fact.pid else "a process"
    match fact.state:
        case "stopped":
            says, step = "not running; the next hook starts it", "claude-mem worker start"
            yield warn("worker", says, step, hinders="the worker is not running")
        case "starting":
            says = f"{who} is starting: it is opening the database. Hooks keep recording to the spool"
            yield ok("worker", says)
        case "hung":
            says = f"{who} holds the lock but does not answer. Hooks keep recording to the spool"
            yield bad("worker", says, RESTART, hinders="the worker does not answer")
        case _:
            yield from _running(fact, who)


def _running(fact: Worker, who: str) -> Iterator[Finding]:
    if fact.trouble:
        yield bad("worker", f"running ({who}), but not accepting events: {fact.trouble}", LOGS)
    elif fact.version != fact.ours:
        says = f"{who} runs version {fact.version}; version {fact.ours} is installed"
        yield warn("worker", says, RESTART)
    else:
        yield ok("worker", f"running ({who}, version {fact.version})")
    if fact.mishaps:
        failures = output.plural(fact.mishaps, "failure")
        yield warn("mishaps", f"{failures} since it started; it recovered", LOGS)
    if fact.hung_asks:
        requests = output.plural(fact.hung_asks, "hook request")
        yield warn("asks", f"{requests} never returned; prompts may get no memory", RESTART)
    if fact.hook_socket_answers is True:
        yield ok("socket", "hook.sock answers")
    else:
        why = f": {fact.hook_socket_answers.why}" if isinstance(fact.hook_socket_answers, Unknown) else ""
        says = f"no answer on hook.sock{why}; events wait in the spool until the worker polls it"
        yield bad("socket", says, RESTART)
    if fact.port is None:
        says = "no port on 127.0.0.1 is free; hooks and this command use the sockets instead"
        yield warn("port", says, LOGS)
    elif fact.port == fact.wanted_port:
        yield ok("port", f"127.0.0.1:{fact.port}")
    else:
        says = f"127.0.0.1:{fact.port}; {fact.wanted_port} was in use when the worker started"
        yield warn("port", says, f"to try that port again: {RESTART}")


def _spool(fact: Spool) -> Iterator[Finding]:
    says = f"{output.plural(fact.files, 'event')} waiting, {output.size(fact.bytes)}"
    if fact.files >= fact.most_files > 0 or fact.bytes >= fact.most_bytes > 0:
        stops = "the spool is full and no worker drains it"
        yield bad("spool", f"full: {says}", f"{RESTART}; then see: {LOGS}", stops=stops)
    elif fact.oldest_age_s is not None and fact.oldest_age_s > DRAINED_WITHIN_S:
        says = f"{says}, the oldest waiting for {notices.age(fact.oldest_age_s)}"
        yield warn("spool", says, "claude-mem worker start")
    else:
        yield ok("spool", f"{says} (limit {fact.most_files:,} or {output.size(fact.most_bytes)})")
    if fact.aside:
        says = f"{output.plural(fact.aside, 'file')} could not be read; kept in spool/aside"
        yield warn("set aside", says, "inspect them; delete what you do not need")


def _database(fact: Database) -> Iterator[Finding]:
    if fact.problem:
        yield bad("database", fact.problem, "claude-mem restore", hinders="the database cannot be used")
    elif not fact.exists:
        yield ok("database", "does not exist yet; the worker creates it")
    elif fact.schema != fact.known_schema:
        says = f"schema {fact.schema}; the worker upgrades it to {fact.known_schema} when it starts"
        yield warn("database", says, RESTART)
    else:
        state = "intact" if fact.checked else "too large to check here"
        yield ok("database", f"schema {fact.schema}, {output.size(fact.bytes)}, {state}")
    if fact.figures:
        yield from _queue(fact.figures)
    if fact.newest_backup_age_s is None:
        yield ok("backups", "none yet; the worker makes one daily")
    else:
        says = f"{fact.backups:,}, the newest from {notices.age(fact.newest_backup_age_s)} ago"
        is_old = fact.newest_backup_age_s > OLD_BACKUP_S
        yield warn("backups", says, "claude-mem backup") if is_old else ok("backups", says)


def _queue(fact: Queue) -> Iterator[Finding]:
    age = fact.oldest_age_s
    oldest = "" if age is None else f" (the oldest waiting for {notices.age(age)})"
    yield ok("queue", f"{fact.ready:,} ready{oldest}, {fact.leased:,} leased, {fact.done:,} done")
    if fact.parked:
        failed = output.plural(fact.parked, "event")
        yield warn("parked", f"{failed} failed and parked", "claude-mem queue list")


def judge_growth(facts: Facts) -> Iterator[Finding]:
    """Whether the database grows within bounds: what it takes, how fast, what lies unused in it."""
    fact = facts.database
    if not isinstance(fact, Database) or fact.free is None or not fact.bytes:
        return
    share = fact.free / fact.bytes
    weekly = None if fact.grows is None else fact.grows * WEEK
    rate = "" if weekly is None else f", {'-' if weekly < 0 else ''}{output.size(abs(weekly))} a week"
    says = f"{output.size(fact.bytes)}{rate}, {share:.0%} free".replace("%", " %")
    left = None
    if weekly and weekly > 0 and isinstance(facts.disk, Disk) and facts.disk.total:
        left = facts.disk.free / weekly
    if share > UNUSED and fact.free > UNUSED_BYTES:
        yield warn("growth", f"{says}: more than is reclaimed automatically", GC)
    elif fact.log > LONG_LOG:
        says = f"{says}; its log has grown to {output.size(fact.log)} because a reader keeps it open"
        yield warn("growth", says, RESTART)
    elif left is not None and left < WEEKS_LEFT:
        step = f"free some space, or lower CLAUDE_MEM_EVIDENCE_MB, then: {GC}"
        yield warn("growth", f"{says}: the disk will be full in {left:.1f} weeks", step)
    else:
        yield ok("growth", says)


def _drops(counts: dict[str, int]) -> Iterator[Finding]:
    lost = {reason: count for reason, count in counts.items() if count}
    if lost:
        says = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in lost.items())
        yield warn("drops", f"{output.plural(sum(lost.values()), 'event')} lost: {says}")
    else:
        yield ok("drops", "none")


def _disk(fact: Disk) -> Iterator[Finding]:
    says = f"{output.size(fact.free)} free of {output.size(fact.total)}"
    if not fact.total:
        yield warn("disk", "its file system does not report its size")
    elif fact.free < NO_DISK:
        yield bad("disk", f"full: {says}", "free some space", stops="the disk is full")
    elif fact.free < LOW_DISK:
        yield warn("disk", says, "free some space soon")
    else:
        yield ok("disk", says)
