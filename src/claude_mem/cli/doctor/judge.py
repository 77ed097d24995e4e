"""Turns facts into findings. Pure: every fault is tested without breaking anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from claude_mem.cli import say
from claude_mem.cli.doctor import connecting, directory, growth, observing, pausing, recall
from claude_mem.cli.doctor.facts import (
    Configuration,
    Database,
    Disk,
    Facts,
    Interpreter,
    Queue,
    Spool,
    Unknown,
    Worker,
)
from claude_mem.cli.doctor.finding import Finding
from claude_mem.cli.glance import NO_DISK
from claude_mem.hook import notices
from claude_mem.settings import resolution

T = TypeVar("T")

SLOW_START_MS = 150.0  # a shim or a sleeping disk; the plain interpreter takes about 10
LOW_DISK = 512 << 20
DRAINED_WITHIN_S = 60.0
OLD_BACKUP_S = 3 * 86_400.0
NEXT_FOR_SETTING = {
    "bad": "correct it, then: claude-mem worker restart",
    "unknown": "rename it or remove it, then: claude-mem worker restart",
    "theirs": None,
}


def judge(facts: Facts) -> list[Finding]:
    return [
        last_event(facts),
        *_judged("client", facts.connected, connecting.judge),
        *_judged("interpreter", facts.interpreter, _interpreter),
        *_judged("directory", facts.directory, directory.judge),
        *_judged("settings", facts.configuration, _configuration),
        *_judged("pause", facts.paused, pausing.judge),
        *_judged("worker", facts.worker, _worker),
        *_judged("spool", facts.spool, _spool),
        *_judged("database", facts.database, _database),
        *growth.judge(facts),
        *observing.judge(facts),
        *_judged("recall", facts.recall, recall.judge),
        *_judged("drops", facts.drops, _drops),
        *_judged("disk", facts.disk, _disk),
    ]


def _judged(check: str, fact: T | Unknown, judged: Callable[[T], list[Finding]]) -> list[Finding]:
    if isinstance(fact, Unknown):
        return [Finding(check, "warn", f"could not be looked at: {fact.why}")]
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
        "none has ever arrived",
        next="claude-mem install, then start a new session",
        stops="no hook has reported anything yet",
    )


def _interpreter(fact: Interpreter) -> list[Finding]:
    says = f"{fact.path} (Python {fact.version}, SQLite {fact.sqlite})"
    if isinstance(fact.start_ms, Unknown):
        return [Finding("interpreter", "warn", f"{says}; its start could not be timed: {fact.start_ms.why}")]
    if fact.start_ms > SLOW_START_MS or "/shims/" in fact.path:
        return [
            Finding(
                "interpreter",
                "warn",
                f"{says} takes {fact.start_ms:.0f} ms to start, and every hook waits for it",
                next="install with the interpreter itself, not with a version manager's shim: make install",
            )
        ]
    return [Finding("interpreter", "ok", f"{says}, starts in {fact.start_ms:.0f} ms")]


def _configuration(fact: Configuration) -> list[Finding]:
    found = [
        Finding("settings", "warn", each.says, next=NEXT_FOR_SETTING[each.kind])
        for each in resolution.summed(fact.warnings)
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
        says = f"{who} is starting, and opens the database first; hooks go on, into the spool"
        return [Finding("worker", "ok", says)]
    if fact.state == "hung":
        says = f"{who} holds the lock but does not answer; hooks go on, into the spool"
        step = "claude-mem worker restart"
        return [Finding("worker", "bad", says, next=step, hinders="the worker does not answer")]
    found = []
    if fact.trouble:
        says = f"running ({who}), but takes nothing in: {fact.trouble}"
        found.append(Finding("worker", "bad", says, next="claude-mem worker logs"))
    elif fact.version != fact.ours:
        says = f"{who} runs version {fact.version}, installed is {fact.ours}"
        found.append(Finding("worker", "warn", says, next="claude-mem worker restart"))
    else:
        found.append(Finding("worker", "ok", f"running ({who}, version {fact.version})"))
    if fact.mishaps:
        says = f"{say.many(fact.mishaps, 'failure')} since it started; it went on"
        found.append(Finding("mishaps", "warn", says, next="claude-mem worker logs"))
    if fact.hung_asks:
        says = f"{say.many(fact.hung_asks, 'question')} of hooks did not return; prompts may get no memory"
        found.append(Finding("asks", "warn", says, next="claude-mem worker restart"))
    return found + _reached(fact)


def _reached(fact: Worker) -> list[Finding]:
    found = []
    if fact.hook_socket_answers is True:
        found.append(Finding("socket", "ok", "hook.sock answers"))
    else:
        why = f": {fact.hook_socket_answers.why}" if isinstance(fact.hook_socket_answers, Unknown) else ""
        says = f"nobody answers on hook.sock{why}; events wait in the spool until the worker looks by itself"
        found.append(Finding("socket", "bad", says, next="claude-mem worker restart"))
    if fact.port is None:
        says = "no port on 127.0.0.1 could be had; hooks and this command use the sockets and go on"
        found.append(Finding("port", "warn", says, next="claude-mem worker logs"))
    elif fact.port == fact.wanted_port:
        found.append(Finding("port", "ok", f"127.0.0.1:{fact.port}"))
    else:
        says = f"127.0.0.1:{fact.port}; {fact.wanted_port} was taken when the worker started"
        found.append(Finding("port", "warn", says, next="if you need that one: claude-mem worker restart"))
    return found


def _spool(fact: Spool) -> list[Finding]:
    found = []
    full = fact.files >= fact.most_files > 0 or fact.bytes >= fact.most_bytes > 0
    says = f"{say.many(fact.files, 'event')} waiting, {say.size(fact.bytes)}"
    if full:
        found.append(
            Finding(
                "spool",
                "bad",
                f"full: {says}",
                next="claude-mem worker restart; then look at: claude-mem worker logs",
                stops="the spool is full and no worker drains it",
            )
        )
    elif fact.oldest_age_s is not None and fact.oldest_age_s > DRAINED_WITHIN_S:
        says = f"{says}, the oldest for {notices.age(fact.oldest_age_s)}"
        found.append(Finding("spool", "warn", says, next="claude-mem worker start"))
    else:
        limit = f"{fact.most_files:,} or {say.size(fact.most_bytes)}"
        found.append(Finding("spool", "ok", f"{says} (limit {limit})"))
    if fact.aside:
        says = f"{say.many(fact.aside, 'file')} could not be read and were kept in spool/aside"
        found.append(Finding("set aside", "warn", says, next="look at them; delete what you do not need"))
    return found


def _database(fact: Database) -> list[Finding]:
    return [*_file(fact), *_queue(fact.figures), _backups(fact)]


def _file(fact: Database) -> list[Finding]:
    if fact.problem:
        hinders = "the database cannot be used"
        return [Finding("database", "bad", fact.problem, next="claude-mem restore", hinders=hinders)]
    if not fact.exists:
        return [Finding("database", "ok", "not there yet; the worker makes it")]
    if fact.schema != fact.known_schema:
        says = f"schema {fact.schema}; the worker brings it to {fact.known_schema} when it starts"
        return [Finding("database", "warn", says, next="claude-mem worker restart")]
    state = "sound" if fact.checked else "too large to be read through here"
    return [Finding("database", "ok", f"schema {fact.schema}, {say.size(fact.bytes)}, {state}")]


def _queue(fact: Queue | None) -> list[Finding]:
    if fact is None:
        return []
    oldest = f" (the oldest for {notices.age(fact.oldest_age_s)})" if fact.oldest_age_s is not None else ""
    found = [
        Finding("queue", "ok", f"{fact.ready:,} ready{oldest}, {fact.leased:,} leased, {fact.done:,} done")
    ]
    if fact.parked:
        says = f"{say.many(fact.parked, 'event')} given up for now"
        found.append(Finding("parked", "warn", says, next="claude-mem queue list"))
    return found


def _drops(counts: dict[str, int]) -> list[Finding]:
    lost = {reason: count for reason, count in counts.items() if count}
    if not lost:
        return [Finding("drops", "ok", "none")]
    says = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in lost.items())
    return [Finding("drops", "warn", f"{say.many(sum(lost.values()), 'event')} could not be kept: {says}")]


def _backups(fact: Database) -> Finding:
    if fact.newest_backup_age_s is None:
        return Finding("backups", "ok", "none yet; the worker makes one a day")
    says = f"{fact.backups:,}, the newest from {notices.age(fact.newest_backup_age_s)} ago"
    if fact.newest_backup_age_s > OLD_BACKUP_S:
        return Finding("backups", "warn", says, next="claude-mem backup")
    return Finding("backups", "ok", says)


def _disk(fact: Disk) -> list[Finding]:
    if not fact.total:
        return [Finding("disk", "warn", "its file system does not say how large it is")]
    says = f"{say.size(fact.free)} free of {say.size(fact.total)}"
    if fact.free < NO_DISK:
        return [Finding("disk", "bad", f"full: {says}", next="make room", stops="the disk is full")]
    if fact.free < LOW_DISK:
        return [Finding("disk", "warn", says, next="make room soon")]
    return [Finding("disk", "ok", says)]
