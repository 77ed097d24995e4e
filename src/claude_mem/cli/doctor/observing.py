"""Judges whether what was captured becomes memory: who observes, what holds it up, what is left to spend."""

from __future__ import annotations

from claude_mem.cli.doctor.facts import Database, Facts, Observing, Unknown, Worker
from claude_mem.cli.doctor.finding import Finding
from claude_mem.hook import notices

OFFLINE = "offline"


def judge(facts: Facts) -> list[Finding]:
    if isinstance(facts.observing, Unknown):
        return [Finding("observer", "warn", f"could not be looked at: {facts.observing.why}")]
    chosen = facts.observing
    worker = facts.worker if isinstance(facts.worker, Worker) else None
    database = facts.database if isinstance(facts.database, Database) else None
    asks = worker.observer if worker and worker.observer else chosen.provider
    return [
        _observer(chosen, worker),
        *_paused(worker),
        *_mode(chosen),
        *([] if asks == OFFLINE or database is None else _budget(chosen, database, worker)),
        *_last(database),
    ]


def _observer(chosen: Observing, worker: Worker | None) -> Finding:
    said = f"{chosen.provider}: {chosen.why}"
    if worker is None or worker.observer in (None, chosen.provider):
        return Finding("observer", "ok", said)
    return Finding(
        "observer",
        "warn",
        f"the worker observes with {worker.observer}; from here it would be {said}",
        next="if that is what you want: claude-mem worker restart",
    )


def _paused(worker: Worker | None) -> list[Finding]:
    if worker is None or not worker.paused:
        return []
    return [
        Finding(
            "paused",
            "bad",
            worker.paused,
            next="when that is done: claude-mem queue retry",
            hinders=worker.paused.rstrip("."),
        )
    ]


def _mode(chosen: Observing) -> list[Finding]:
    if chosen.mode_problem is None:
        return []
    return [
        Finding(
            "mode",
            "warn",
            chosen.mode_problem,
            next="correct it, then: claude-mem worker restart",
        )
    ]


def _budget(chosen: Observing, database: Database, worker: Worker | None) -> list[Finding]:
    if database.spent_tokens is None or database.spent_usd is None:
        return []
    tokens, most_tokens = database.spent_tokens, chosen.daily_tokens
    usd, most_usd = database.spent_usd, chosen.daily_usd
    says = (
        f"{tokens:,}{f' of {most_tokens:,}' if most_tokens else ''} tokens and "
        f"${usd:,.2f}{f' of ${most_usd:,.2f}' if most_usd else ''} spent today"
    )
    if (most_tokens and tokens >= most_tokens) or (most_usd and usd >= most_usd):
        return [
            Finding(
                "budget",
                "warn",
                f"{says}: that is all. Until midnight UTC the offline observer takes over",
                next="for more: CLAUDE_MEM_DAILY_TOKENS, CLAUDE_MEM_DAILY_USD; claude-mem worker restart",
            )
        ]
    if worker is not None and worker.spent_up:
        return [
            Finding(
                "budget",
                "warn",
                f"{says}. {worker.spent_up} The offline observer took over",
                next="for more: CLAUDE_MEM_SESSION_TOKENS, CLAUDE_MEM_SESSION_USD; claude-mem worker restart",
            )
        ]
    return [Finding("budget", "ok", says)]


def _last(database: Database | None) -> list[Finding]:
    if database is None or database.figures is None:
        return []
    age = database.last_observation_age_s
    return [Finding("remembered", "ok", "nothing yet" if age is None else f"the last {notices.age(age)} ago")]
