"""Findings about the database, the queue, the observer, recall and the team: why nothing becomes memory or is
shared. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from claude_mem.cli import output
from claude_mem.cli.doctor.checks import LOGS, RESTART, Finding, bad, ok, warn
from claude_mem.cli.doctor.directory_facts import Disk
from claude_mem.cli.doctor.facts import (
    Configuration,
    Facts,
    ObserverFacts,
    RecallFacts,
    SpoolFacts,
    Unknown,
    WorkerFacts,
)
from claude_mem.hook import notices
from claude_mem.vectors.embedders import RECOMMENDED, STATIC

if TYPE_CHECKING:
    from claude_mem.api.sharing import SharingStatus
    from claude_mem.model.jobs import QueueFigures
    from claude_mem.store.values import Survey

KEY_ENDS_SOON_S = 14 * 86_400
JOIN = "ask an admin for a new key, then: claude-mem join URL"
OLD_BACKUP_S = 3 * 86_400.0
WEEK = 7
WEEKS_LEFT = 4.0
UNUSED, UNUSED_BYTES = 0.4, 64 << 20  # more than the worker leaves free, and enough to matter
LONG_LOG = 256 << 20  # several times what it is cut back to: somebody has been reading for long

GC = "claude-mem gc"
FULL_TEXT = "Search uses full text only"
VECTORS_OFF = "or turn vectors off: CLAUDE_MEM_VECTORS=off"
BUILTIN = "or store them in the database: CLAUDE_MEM_VECTORS=builtin"
RETRIED = "it is retried every 30 seconds"
BETTER = (
    "A sentence model (MiniLM, 90 MB) finds slightly more: in tests, a right session was in the top five "
    "for 97.4% of questions, versus 96.8% with static"
)


def judge_database(survey: Survey, facts: Facts) -> Iterator[Finding]:
    now = facts.now
    if survey.problem:
        yield bad("database", survey.problem, "claude-mem restore", hinders="the database cannot be used")
    elif not survey.exists:
        yield ok("database", "does not exist yet; the worker creates it")
    elif survey.schema != survey.known_schema:
        message = f"schema {survey.schema}; the worker upgrades it to {survey.known_schema} when it starts"
        yield warn("database", message, RESTART)
    else:
        state = "intact" if survey.checked else "too large to check here"
        yield ok("database", f"schema {survey.schema}, {output.size(survey.bytes)}, {state}")
    if (queue := survey.figures) is not None:
        yield _queue(queue, facts)
        if queue.fallback:
            many = output.plural(queue.fallback, "event")
            message = f"the model's replies for {many} could not be read; the offline observer took over"
            step = "to list them: claude-mem queue list. After you set another model: claude-mem queue retry"
            yield warn("unreadable", message, step)
        if queue.parked > queue.fallback:
            failed = output.plural(queue.parked - queue.fallback, "event")
            yield warn("parked", f"{failed} failed and parked", "claude-mem queue list")
    if survey.on_server:
        yield ok("backups", "the database server's; for a copy, use pg_dump")
    elif survey.newest_backup_at is None:
        yield ok("backups", "none yet; the worker makes one daily")
    else:
        age = now - survey.newest_backup_at / 1000
        message = f"{survey.backups:,}, the newest from {notices.age(age)} ago"
        yield warn("backups", message, "claude-mem backup") if age > OLD_BACKUP_S else ok("backups", message)


def _queue(queue: QueueFigures, facts: Facts) -> Finding:
    """The queue as the worker reports it, including backfilled events; without a worker, from the
    database."""
    worker, configuration, since = facts.worker, facts.configuration, queue.oldest_ready_at
    age_s = 0.0 if since is None else max(0.0, facts.now - since / 1000)
    oldest = "" if since is None else f" (the oldest for {notices.age(age_s)})"
    if isinstance(worker, WorkerFacts) and worker.state == "running":
        alert = worker.queue_alert
    elif isinstance(configuration, Configuration):
        waiting = queue.ready + (facts.spool.files if isinstance(facts.spool, SpoolFacts) else 0)
        from claude_mem.serve.health import queue_alert  # all of the worker: only where none answers

        alert = queue_alert(waiting, age_s * 1000, configuration.alert_events, configuration.alert_minutes)
    else:
        alert = None
    if alert is None:
        return ok(
            "queue", f"{queue.ready:,} waiting{oldest}, {queue.leased:,} in progress, {queue.done:,} done"
        )
    step = f"see {LOGS}; if it is only slow, raise that setting, then: {RESTART}"
    return bad("queue", alert.rstrip("."), step)


def judge_growth(facts: Facts) -> Iterator[Finding]:
    """Reports the size of the database, its growth, and its unused space."""
    survey = facts.database
    if isinstance(survey, Unknown) or survey.room is None or not survey.bytes:
        return
    free, log, share = survey.room.free, survey.room.log, survey.room.free / survey.bytes
    weekly = None if survey.grows is None else survey.grows * WEEK
    rate = "" if weekly is None else f", {'-' if weekly < 0 else ''}{output.size(abs(weekly))} a week"
    message = f"{output.size(survey.bytes)}{rate}, {share:.0%} free".replace("%", " %")
    left = None
    if weekly and weekly > 0 and isinstance(facts.disk, Disk) and facts.disk.total:
        left = facts.disk.free / weekly
    if share > UNUSED and free > UNUSED_BYTES:
        yield warn("growth", f"{message}, more than is reclaimed automatically", GC)
    elif log > LONG_LOG:
        message = f"{message}; its log has grown to {output.size(log)} because a reader keeps it open"
        yield warn("growth", message, RESTART)
    elif left is not None and left < WEEKS_LEFT:
        step = f"free some space, or lower CLAUDE_MEM_EVIDENCE_MB, then: {GC}"
        yield warn("growth", f"{message}: the disk will be full in {left:.1f} weeks", step)
    else:
        yield ok("growth", message)


def judge_observer(observer: ObserverFacts, facts: Facts) -> Iterator[Finding]:
    worker = WorkerFacts("unknown") if isinstance(facts.worker, Unknown) else facts.worker
    survey = None if isinstance(facts.database, Unknown) else facts.database
    message = f"{observer.provider}: {observer.why}"
    if worker.observer in (None, observer.provider) and observer.lacks:
        step = "fix that, or choose another observer: claude-mem install --observer NAME"
        # A running worker reports this itself, and may have a key that is not set here.
        hinders = None if worker.state == "running" else observer.lacks.rstrip(".")
        yield warn("observer", f"{message}. {observer.lacks}", step, hinders=hinders)
    elif worker.observer in (None, observer.provider):
        yield ok("observer", message)
    else:
        message = f"the worker uses {worker.observer}; with the current settings it would use {message}"
        yield warn("observer", message, f"to apply the current settings: {RESTART}")
    if worker.paused:
        step = "fix it, then: claude-mem queue retry"
        yield bad("paused", worker.paused, step, hinders=worker.paused.rstrip("."))
    if observer.mode_problem is not None:
        yield warn("mode", observer.mode_problem, f"fix it, then: {RESTART}")
    if survey and survey.spent_today and (worker.observer or observer.provider) != "offline":
        yield _budget(observer, survey.spent_today.tokens, survey.spent_today.usd, worker)
    if survey and survey.figures is not None:
        at = survey.last_observation_at
        age = "nothing yet" if at is None else f"last one {notices.age(facts.now - at / 1000)} ago"
        yield ok("observed", age)


def _budget(observer: ObserverFacts, tokens: int, usd: float, worker: WorkerFacts) -> Finding:
    most_tokens, most_usd = observer.daily_tokens, observer.daily_usd
    message = (
        f"{tokens:,}{f' of {most_tokens:,}' if most_tokens else ''} tokens and "
        f"${usd:,.2f}{f' of ${most_usd:,.2f}' if most_usd else ''} spent today"
    )
    if (most_tokens and tokens >= most_tokens) or (most_usd and usd >= most_usd):
        message, which = (
            f"{message}: the budget is used up. The offline observer takes over until midnight UTC",
            "DAILY",
        )
    elif worker.spent_up:
        message, which = f"{message}. {worker.spent_up} The offline observer took over", "SESSION"
    else:
        return ok("budget", message)
    return warn(
        "budget", message, f"raise CLAUDE_MEM_{which}_TOKENS or CLAUDE_MEM_{which}_USD, then: {RESTART}"
    )


def judge_recall(fact: RecallFacts) -> Iterator[Finding]:
    if fact.unindexed is not None:
        yield _index(fact, fact.unindexed)
    yield _vectors(fact)
    if fact.configured != "off":
        yield _embedder(fact)
    if not fact.context_exists:
        yield ok("context", "not pre-rendered yet; new sessions get it from the worker")
    elif fact.context_writable:
        yield ok("context", "pre-rendered for new sessions")
    else:
        message = f"{fact.context} is not writable: new sessions get stale context, or none"
        yield bad("context", message, f"rename it: mv {fact.context} {fact.context}.old; then: {RESTART}")
    if fact.injected is not None:
        times = f"memory was injected into sessions {output.plural(fact.injected, 'time')}"
        yield ok("injected", times if fact.injected else "nothing yet")


def _index(fact: RecallFacts, unindexed: int) -> Finding:
    behind = f"{output.plural(unindexed, 'row')} not indexed yet"
    if not unindexed:
        return ok("index", "up to date")
    if not fact.from_worker:
        return ok("index", f"{behind}; the worker catches up when it runs")
    if fact.unindexed_before is None or unindexed < fact.unindexed_before:
        return ok("index", f"{behind}, catching up")
    return warn("index", f"{behind}, not catching up", f"see {LOGS}; if it shows no errors: {RESTART}")


def _embedder(fact: RecallFacts) -> Finding:
    if fact.embedder != STATIC:
        return ok("embedder", fact.embedder)
    return ok("embedder", f"static. {BETTER}", f"to upgrade: claude-mem embedder use {RECOMMENDED}")


def _vectors(fact: RecallFacts) -> Finding:
    is_chroma = fact.configured == "chroma"
    if fact.configured == "off" and fact.vectors in (None, "off"):
        return ok("vectors", f"off (CLAUDE_MEM_VECTORS). {FULL_TEXT}")
    if fact.vectors == "off":
        message = f"off in the worker; the current setting is {fact.configured}. {FULL_TEXT}"
        return warn("vectors", message, RESTART)
    # A missing package is known without a worker, and is more helpful than the failure it causes.
    if not fact.has_model:
        message = f"the package wordllama (the embedding model) is not installed. {FULL_TEXT}"
        return warn("vectors", message, f"reinstall claude-mem: make install; {VECTORS_OFF}")
    if is_chroma and not fact.has_chroma:
        step = f"in a clone: make install EXTRAS=chroma; {BUILTIN}"
        return warn("vectors", f"the package chromadb is not installed. {FULL_TEXT}", step)
    if fact.vectors == "unavailable":
        message = f"unavailable: {fact.trouble or 'the worker gave no reason.'} {FULL_TEXT} for now"
        step = f"{RETRIED}; {BUILTIN if is_chroma else VECTORS_OFF}"
        if fact.embedder != STATIC and not is_chroma:
            step = f"{RETRIED}; or go back to the static model: claude-mem embedder use {STATIC}"
        if is_chroma and fact.chroma_url:
            step = f"check that Chroma is reachable at {fact.chroma_url}; {RETRIED}"
        return warn("vectors", message, step)
    where = f"at {fact.chroma_url}" if fact.chroma_url else "in chroma/"
    message = "stored in the database" if fact.configured == "builtin" else f"stored by Chroma, {where}"
    if fact.configured == "builtin" and fact.pgvector is not None:
        message = f"{message}; pgvector: {fact.pgvector}"
    if fact.unembedded:
        many = output.plural(fact.unembedded, "memory")
        message = f"{message}; {many} without a vector yet, found by full text only"
    return ok("vectors", message)


def judge_team(found: SharingStatus | None, now_s: float) -> Iterator[Finding]:
    """`now_s`: seconds since the epoch."""
    if found is None or not found.joined:
        return
    member = f"{found.member} on {found.machine}"
    if found.stopped is not None:
        yield warn("team", f"{member}: {found.stopped}", JOIN)
    elif found.failing_since is not None:
        ago = notices.age(now_s - found.failing_since / 1000)
        message = f"{member}: no exchange for {ago}. {found.error} Hooks, search and recall work without it"
        yield warn("team", message, "claude-mem team")
    else:
        last = found.last_exchange_at
        exchanged = f"last exchange {notices.age(now_s - last / 1000)} ago" if last else "no exchange yet"
        waiting = sum(each.memories for each in found.waiting)
        many = f", {output.plural(waiting, 'memory', 'memories')} waiting" if waiting else ""
        yield ok("team", f"{member}: {exchanged}{many}")
    if found.held:
        count = output.plural(sum(each.memories for each in found.held), "memory")
        message = (
            f"others want to delete {count} that you shared, also on this machine: waiting for your consent"
        )
        yield warn("team", message, "claude-mem team")
    if found.expires_at is not None and found.expires_at / 1000 - now_s < KEY_ENDS_SOON_S:
        left = max(0, int((found.expires_at / 1000 - now_s) // 86_400))
        yield warn("team key", f"this machine's key expires in {output.plural(left, 'day')}", JOIN)
