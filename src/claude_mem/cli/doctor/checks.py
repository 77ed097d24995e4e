"""Turns facts into findings. Pure: every fault is tested without breaking anything."""

from __future__ import annotations

from collections.abc import Callable
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
)
from claude_mem.cli.doctor.gather import NETWORK
from claude_mem.cli.status import NO_DISK
from claude_mem.hook import notices
from claude_mem.serve.pause_switches import Paused
from claude_mem.settings import resolution

WEEK = 7
UNUSED, UNUSED_BYTES = 0.4, 64 << 20
"""More than the worker lets lie, and enough to matter."""
LONG_LOG = 256 << 20
"""Several times what it is cut back to: somebody has been reading for long."""
WEEKS_LEFT = 4.0
GC = "claude-mem gc"


def judge_growth(facts: Facts) -> list[Finding]:
    fact = facts.database
    if not isinstance(fact, Database) or fact.free is None or not fact.bytes:
        return []
    share = fact.free / fact.bytes
    weekly = None if fact.grows is None else fact.grows * WEEK
    rate = "" if weekly is None else f", {_signed(weekly)} a week"
    says = f"{output.size(fact.bytes)}{rate}, {share:.0%} free".replace("%", " %")
    if share > UNUSED and fact.free > UNUSED_BYTES:
        return [Finding("growth", "warn", f"{says}: more than is reclaimed automatically", next=GC)]
    if fact.log > LONG_LOG:
        says = f"{says}; its log has grown to {output.size(fact.log)} because a reader keeps it open"
        return [Finding("growth", "warn", says, next="claude-mem worker restart")]
    if weekly and weekly > 0 and isinstance(facts.disk, Disk) and facts.disk.total:
        left = facts.disk.free / weekly
        if left < WEEKS_LEFT:
            step = f"free some space, or lower CLAUDE_MEM_EVIDENCE_MB, then: {GC}"
            return [
                Finding("growth", "warn", f"{says}: the disk will be full in {left:.1f} weeks", next=step)
            ]
    return [Finding("growth", "ok", says)]


def _signed(bytes_: float) -> str:
    return output.size(bytes_) if bytes_ >= 0 else f"-{output.size(-bytes_)}"


def judge_pause(fact: Paused) -> list[Finding]:
    if fact.everything is not None:
        says = f"paused since {pause.date_of(fact.everything)}"
        return [Finding("pause", "bad", says, next="claude-mem on", stops=f"it is {says}")]
    if not fact.sessions:
        return []
    (newest, since), *_ = fact.sessions
    many = output.plural(len(fact.sessions), "session")
    says = f"{many} paused; the most recent, {newest}, since {pause.date_of(since)}"
    return [Finding("pause", "ok", says, next=f"to resume it: claude-mem on --session {newest}")]


def judge_connection(fact: Connected) -> list[Finding]:
    how = " and ".join(fact.how)
    if not how:
        says = "Claude Code is not connected, according to its user and project settings"
        stops = "Claude Code is not connected"
        return [Finding("client", "bad", says, next="claude-mem install", stops=stops)]
    if not fact.current:
        says = f"connected {how}, but not as this version would connect it"
        return [Finding("client", "warn", says, next="claude-mem install")]
    return [Finding("client", "ok", f"Claude Code is connected {how}")]


def judge_directory(fact: Directory) -> list[Finding]:
    def bad(says: str, step: str, stops: str | None = None) -> Finding:
        return Finding(
            "directory", "bad", f"{fact.path} {says}", next=step, stops=stops and f"{fact.path} {stops}"
        )

    if fact.obstacle:
        step = "check that the parent folder exists and is writable, or set CLAUDE_MEM_DATA_DIR"
        return [bad(fact.obstacle, step, fact.obstacle)]
    if not fact.exists:
        return [Finding("directory", "ok", f"{fact.path} does not exist yet; the first hook creates it")]
    if not fact.is_directory:
        step = f"move it away: mv {fact.path} {fact.path}.old"
        return [bad("is not a directory", step, "is not a directory")]
    if fact.owner != fact.me:
        step = f"sudo chown -R {fact.me} {fact.path}, or set CLAUDE_MEM_DATA_DIR"
        return [bad(f"belongs to user {fact.owner}, not to you ({fact.me})", step, "belongs to another user")]
    found = []
    if not fact.writable:
        step = f"chmod u+rwx {fact.path}; make sure that its file system is not read-only"
        found.append(bad("is not writable", step, "is not writable"))
    if fact.foreign:
        step = f"sudo chown -R {fact.me} {fact.path}"
        found.append(bad(f"contains files of other users: {', '.join(fact.foreign)}", step))
    if fact.open_count:
        names = ", ".join(fact.open_to_others) + (", …" if fact.open_count > len(fact.open_to_others) else "")
        found.append(bad(f"can be read by others: {names}", f"chmod -R go= {fact.path}"))
    if fact.filesystem and fact.filesystem.startswith(NETWORK):
        found.append(
            Finding(
                "directory",
                "warn",
                f"{fact.path} is on a network file system ({fact.filesystem}): locks may be unreliable",
                next="set CLAUDE_MEM_DATA_DIR to a local disk",
            )
        )
    on = f" on {fact.filesystem}" if fact.filesystem else ""
    return found or [Finding("directory", "ok", f"{fact.path}{on}, accessible only by you")]


T = TypeVar("T")

SLOW_START_MS = 150.0  # a shim or a sleeping disk; the plain interpreter takes about 10
LOW_DISK = 512 << 20
DRAINED_WITHIN_S = 60.0
OLD_BACKUP_S = 3 * 86_400.0
NEXT_FOR_SETTING = {
    "bad": "fix it, then: claude-mem worker restart",
    "unknown": "rename it or remove it, then: claude-mem worker restart",
    "theirs": None,
}


def judge(facts: Facts) -> list[Finding]:
    return [
        last_event(facts),
        *_judged("client", facts.connected, judge_connection),
        *_judged("interpreter", facts.interpreter, _interpreter),
        *_judged("directory", facts.directory, judge_directory),
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


def _judged(check: str, fact: T | Unknown, judged: Callable[[T], list[Finding]]) -> list[Finding]:
    if isinstance(fact, Unknown):
        return [Finding(check, "warn", f"could not be checked: {fact.why}")]
    return judged(fact)


def why_not(findings: list[Finding]) -> str | None:
    """Why nothing is recorded; None when it is. A broken thing says more than that nothing came."""
    reasons = [finding.stops for finding in findings if finding.stops]
    return reasons[-1] if reasons else None


def why_unobserved(findings: list[Finding]) -> str | None:
    """Why nothing recorded becomes memory; None when it does. What is named last is nearest to the cause."""
    reasons = [finding.hinders for finding in findings if finding.hinders]
    return reasons[-1] if reasons else None


def is_wrong(findings: list[Finding]) -> bool:
    return any(finding.level == "bad" for finding in findings)


def last_event(facts: Facts) -> Finding:
    ages = [
        age
        for age in (
            getattr(facts.spool, "newest_age_s", None),
            getattr(facts.database, "last_event_age_s", None),
        )
        if age is not None
    ]
    if ages:
        return Finding("last event", "ok", f"{notices.age(min(ages))} ago")
    if isinstance(facts.spool, Unknown) or isinstance(facts.database, Unknown):
        return Finding("last event", "warn", "unknown")
    if getattr(facts.connected, "how", ()):
        return Finding("last event", "ok", "none yet", next="start a new session of Claude Code")
    return Finding(
        "last event",
        "bad",
        "none received",
        next="claude-mem install, then start a new session",
        stops="no hook has run yet",
    )


def _interpreter(fact: Interpreter) -> list[Finding]:
    says = f"{fact.path} (Python {fact.version}, SQLite {fact.sqlite})"
    if isinstance(fact.start_ms, Unknown):
        return [Finding("interpreter", "warn", f"{says}; could not measure its start: {fact.start_ms.why}")]
    if fact.start_ms > SLOW_START_MS or "/shims/" in fact.path:
        return [
            Finding(
                "interpreter",
                "warn",
                f"{says} takes {fact.start_ms:.0f} ms to start, which delays every hook",
                next="install with the interpreter itself, not a version manager's shim: make install",
            )
        ]
    return [Finding("interpreter", "ok", f"{says}, starts in {fact.start_ms:.0f} ms")]


def _configuration(fact: Configuration) -> list[Finding]:
    found = [
        Finding("settings", "warn", each.says, next=NEXT_FOR_SETTING[each.kind])
        for each in resolution.summarized(fact.warnings)
    ]
    if fact.off:
        says = f"{fact.off} is set in this shell"
        found.append(Finding("settings", "bad", says, next=f"unset {fact.off}", stops=says))
    return found or [Finding("settings", "ok", "valid")]


def _worker(fact: Worker) -> list[Finding]:
    who = f"pid {fact.pid}" if fact.pid else "a process"
    if fact.state == "stopped":
        return [
            Finding(
                "worker",
                "warn",
                "not running; the next hook starts it",
                next="claude-mem worker start",
                hinders="the worker is not running",
            )
        ]
    if fact.state == "starting":
        says = f"{who} is starting: it is opening the database. Hooks keep recording to the spool"
        return [Finding("worker", "ok", says)]
    if fact.state == "hung":
        says = f"{who} holds the lock but does not answer. Hooks keep recording to the spool"
        step = "claude-mem worker restart"
        return [Finding("worker", "bad", says, next=step, hinders="the worker does not answer")]
    found = []
    if fact.trouble:
        says = f"running ({who}), but not accepting events: {fact.trouble}"
        found.append(Finding("worker", "bad", says, next="claude-mem worker logs"))
    elif fact.version != fact.ours:
        says = f"{who} runs version {fact.version}; version {fact.ours} is installed"
        found.append(Finding("worker", "warn", says, next="claude-mem worker restart"))
    else:
        found.append(Finding("worker", "ok", f"running ({who}, version {fact.version})"))
    if fact.mishaps:
        says = f"{output.plural(fact.mishaps, 'failure')} since it started; it recovered"
        found.append(Finding("mishaps", "warn", says, next="claude-mem worker logs"))
    if fact.hung_asks:
        says = f"{output.plural(fact.hung_asks, 'hook request')} never returned; prompts may get no memory"
        found.append(Finding("asks", "warn", says, next="claude-mem worker restart"))
    return found + _reached(fact)


def _reached(fact: Worker) -> list[Finding]:
    found = []
    if fact.hook_socket_answers is True:
        found.append(Finding("socket", "ok", "hook.sock answers"))
    else:
        why = f": {fact.hook_socket_answers.why}" if isinstance(fact.hook_socket_answers, Unknown) else ""
        says = f"no answer on hook.sock{why}; events wait in the spool until the worker polls it"
        found.append(Finding("socket", "bad", says, next="claude-mem worker restart"))
    if fact.port is None:
        says = "no port on 127.0.0.1 is free; hooks and this command use the sockets instead"
        found.append(Finding("port", "warn", says, next="claude-mem worker logs"))
    elif fact.port == fact.wanted_port:
        found.append(Finding("port", "ok", f"127.0.0.1:{fact.port}"))
    else:
        says = f"127.0.0.1:{fact.port}; {fact.wanted_port} was in use when the worker started"
        found.append(Finding("port", "warn", says, next="to try that port again: claude-mem worker restart"))
    return found


def _spool(fact: Spool) -> list[Finding]:
    found = []
    full = fact.files >= fact.most_files > 0 or fact.bytes >= fact.most_bytes > 0
    says = f"{output.plural(fact.files, 'event')} waiting, {output.size(fact.bytes)}"
    if full:
        found.append(
            Finding(
                "spool",
                "bad",
                f"full: {says}",
                next="claude-mem worker restart; then see: claude-mem worker logs",
                stops="the spool is full and no worker drains it",
            )
        )
    elif fact.oldest_age_s is not None and fact.oldest_age_s > DRAINED_WITHIN_S:
        says = f"{says}, the oldest waiting for {notices.age(fact.oldest_age_s)}"
        found.append(Finding("spool", "warn", says, next="claude-mem worker start"))
    else:
        limit = f"{fact.most_files:,} or {output.size(fact.most_bytes)}"
        found.append(Finding("spool", "ok", f"{says} (limit {limit})"))
    if fact.aside:
        says = f"{output.plural(fact.aside, 'file')} could not be read; kept in spool/aside"
        found.append(Finding("set aside", "warn", says, next="inspect them; delete what you do not need"))
    return found


def _database(fact: Database) -> list[Finding]:
    return [*_file(fact), *_queue(fact.figures), _backups(fact)]


def _file(fact: Database) -> list[Finding]:
    if fact.problem:
        hinders = "the database cannot be used"
        return [Finding("database", "bad", fact.problem, next="claude-mem restore", hinders=hinders)]
    if not fact.exists:
        return [Finding("database", "ok", "does not exist yet; the worker creates it")]
    if fact.schema != fact.known_schema:
        says = f"schema {fact.schema}; the worker upgrades it to {fact.known_schema} when it starts"
        return [Finding("database", "warn", says, next="claude-mem worker restart")]
    state = "intact" if fact.checked else "too large to check here"
    return [Finding("database", "ok", f"schema {fact.schema}, {output.size(fact.bytes)}, {state}")]


def _queue(fact: Queue | None) -> list[Finding]:
    if fact is None:
        return []
    oldest = (
        f" (the oldest waiting for {notices.age(fact.oldest_age_s)})" if fact.oldest_age_s is not None else ""
    )
    found = [
        Finding("queue", "ok", f"{fact.ready:,} ready{oldest}, {fact.leased:,} leased, {fact.done:,} done")
    ]
    if fact.parked:
        says = f"{output.plural(fact.parked, 'event')} failed and parked"
        found.append(Finding("parked", "warn", says, next="claude-mem queue list"))
    return found


def _drops(counts: dict[str, int]) -> list[Finding]:
    lost = {reason: count for reason, count in counts.items() if count}
    if not lost:
        return [Finding("drops", "ok", "none")]
    says = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in lost.items())
    return [Finding("drops", "warn", f"{output.plural(sum(lost.values()), 'event')} lost: {says}")]


def _backups(fact: Database) -> Finding:
    if fact.newest_backup_age_s is None:
        return Finding("backups", "ok", "none yet; the worker makes one daily")
    says = f"{fact.backups:,}, the newest from {notices.age(fact.newest_backup_age_s)} ago"
    if fact.newest_backup_age_s > OLD_BACKUP_S:
        return Finding("backups", "warn", says, next="claude-mem backup")
    return Finding("backups", "ok", says)


def _disk(fact: Disk) -> list[Finding]:
    if not fact.total:
        return [Finding("disk", "warn", "its file system does not report its size")]
    says = f"{output.size(fact.free)} free of {output.size(fact.total)}"
    if fact.free < NO_DISK:
        return [Finding("disk", "bad", f"full: {says}", next="free some space", stops="the disk is full")]
    if fact.free < LOW_DISK:
        return [Finding("disk", "warn", says, next="free some space soon")]
    return [Finding("disk", "ok", says)]
