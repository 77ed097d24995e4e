"""The worker's health: figures for `/health`, `/api/queue` and Prometheus, and banners for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from msgspec import structs

from claude_mem.api.system import (
    Banner,
    Health,
    JobRow,
    MemoryUse,
    Pauses,
    QueuePage,
    QueueQuery,
    QueueStatus,
    RecallProgress,
    WorkerState,
)
from claude_mem.hook.notices import age
from claude_mem.model.errors import StoreError
from claude_mem.model.jobs import Job
from claude_mem.serve.data_dir import PauseState, pause_state
from claude_mem.serve.process_state import resident_bytes
from claude_mem.serve.services import PROTOCOL, Running, Services

COUNTERS = ("accepted", "duplicate", "set_aside")
"""Counters that always exist, starting at 0, because a rate needs a first point."""
OCCASIONS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Likewise."""
VECTORS = ("on", "off", "unavailable")


def queue_figures(services: Services) -> QueueStatus:
    """Raises StoreError, OSError."""
    figures, now = services.store.queue.figures(), services.clock()
    oldest, spooled = figures.oldest_ready_at, services.intake.waiting()
    age_ms = 0 if oldest is None else max(0, now - oldest)
    return QueueStatus(
        spooled=spooled,
        ready=figures.ready,
        leased=figures.leased,
        parked=figures.parked,
        fallback=figures.fallback,
        done=figures.done,
        oldest_age_ms=age_ms,
        alert=_alert(services, figures.ready + spooled, age_ms),
    )


def _alert(services: Services, waiting: int, age_ms: int) -> str | None:
    """The alert, if there is one. Backfilled events do not count, because the user expects them to wait."""
    settings = services.settings
    limits = settings.queue_alert_events, settings.queue_alert_minutes
    if limits[0] and waiting > limits[0]:
        waiting = max(0, waiting - services.store.events.progress(0).waiting)
    return queue_alert(waiting, age_ms, *limits)


def queue_alert(waiting: int, oldest_age_ms: float, most_events: int, most_minutes: int) -> str | None:
    """One sentence if more events wait, or for longer, than the settings allow; 0: no limit."""
    reasons = []
    if most_events and waiting > most_events:
        reasons.append(f"more than {most_events:,} events (CLAUDE_MEM_QUEUE_ALERT_EVENTS)")
    if most_minutes and oldest_age_ms > most_minutes * 60_000:
        reasons.append(f"longer than {most_minutes:,} minutes (CLAUDE_MEM_QUEUE_ALERT_MINUTES)")
    if not reasons:
        return None
    many = "1 event is" if waiting == 1 else f"{waiting:,} events are"
    oldest = f", the oldest for {age(oldest_age_ms / 1000)}" if oldest_age_ms else ""
    return f"{many} waiting{oldest}: {' and '.join(reasons)}."


def sample_queue(running: Running) -> None:
    """Raises StoreError, OSError."""
    found = queue_figures(running.services)
    waiting = found.spooled + found.ready + found.leased
    running.queue_history.add(running.services.clock(), waiting, found.oldest_age_ms)


def worker_health(running: Running) -> Health:
    """Always returns a result: the caller needs to know if the store cannot be read."""
    services = running.services
    trouble, active, queue = running.trouble, None, None
    try:
        active = services.store.sessions.count_open()
        queue = queue_figures(services)
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    return Health(
        status="degraded" if trouble else "ok",
        reason=trouble,
        port=running.port,
        pid=running.pid,
        uptime=round(running.uptime_s, 3),
        memory=MemoryUse(resident_bytes()),
        version=services.version,
        protocol=PROTOCOL,
        active_sessions=active,
        queue=queue,
        mishaps=dict(running.mishaps),
        hung_asks=running.hung_queries(),
        observer=services.observing.state(),
        recall=_progress(services),
    )


def _progress(services: Services) -> RecallProgress | None:
    """The progress of recall; None: it cannot be read now, and the problem is reported elsewhere."""
    with suppress(StoreError, OSError):
        return services.recall.background.progress()
    return None


def queue_page(running: Running, query: QueueQuery) -> QueuePage:
    services = running.services
    jobs = services.store.queue.jobs(query.state, query.limit, query.after)
    return QueuePage(
        **structs.asdict(queue_figures(services)),
        spooled_bytes=services.intake.spool.measure()[1],
        last_event_at=services.store.queue.last_event_at(),
        counters=services.store.queue.counters(),
        drops=services.intake.drops(),
        state=query.state,
        jobs=[_row(job, reason) for job, reason in jobs],
        next=jobs[-1][0].id if len(jobs) == query.limit else None,
        history=running.queue_history.as_answer(),
    )


def _row(job: Job, reason: str | None) -> JobRow:
    return JobRow(
        id=job.id,
        kind=job.event.kind,
        claude_session_id=job.event.session,
        prompt_number=job.prompt_number,
        tool_name=job.event.tool.name if job.event.tool else None,
        at=job.event.at,
        attempts=job.attempts,
        reason=reason,
    )


def prometheus(running: Running) -> str:
    services = running.services
    figures, recall = queue_figures(services), services.recall.background.progress()
    injected = {event: {"times": 0, "tokens": 0} for event in OCCASIONS} | recall.injected
    jobs = {state: getattr(figures, state) for state in ("ready", "leased", "parked", "done")}
    outcomes = dict.fromkeys(COUNTERS, 0) | services.store.queue.counters()
    open_sessions = services.store.sessions.count_open()
    vectors = {state: int(state == recall.vectors.state) for state in VECTORS}
    times = {event: each["times"] for event, each in injected.items()}
    tokens = {event: each["tokens"] for event, each in injected.items()}
    batches, seconds = services.observing.pump.batches.figures()
    took = services.observing.pump.batches.durations()
    fresh = "1 when what is injected at session starts is up to date."
    oldest = "How long the oldest ready event has waited."
    metrics = (
        metric("queue_jobs", "Queued events by state.", jobs, "state"),
        metric("queue_oldest_age_seconds", oldest, figures.oldest_age_ms / 1000),
        metric("queue_alert", "1 when the queue is too long or too old.", int(figures.alert is not None)),
        metric("events_total", "Events by outcome.", outcomes, "outcome"),
        metric("batches_total", "Batches observed, by outcome.", batches, "outcome"),
        metric("batch_seconds_total", "Total duration of these batches.", seconds, "outcome"),
        histogram("batch_duration_seconds", "How long a batch took.", *took),
        metric("drops_total", "Events hooks could not store.", services.intake.drops(), "reason"),
        metric("spool_files", "Events waiting in the spool.", figures.spooled),
        metric("spool_bytes", "Bytes waiting in the spool.", services.intake.spool.measure()[1]),
        metric("sessions_open", "Sessions that may still be open.", open_sessions),
        metric("mishaps_total", "Failures the worker recovered from.", running.mishaps, "where"),
        metric("hung_asks", "Recall queries that did not return.", running.hung_queries()),
        metric("uptime_seconds", "Since the worker started.", round(running.uptime_s, 3)),
        metric("resident_memory_bytes", "Memory used by the worker.", resident_bytes()),
        metric("index_waiting", "Rows not in the full-text index yet.", recall.index.waiting),
        metric("vectors_waiting", "Memories without a vector.", recall.vectors.waiting),
        metric("vectors_state", "1 for the state the vectors are in.", vectors, "state"),
        metric("context_fresh", fresh, int(recall.context.fresh)),
        metric("injections_total", "How often something was injected.", times, "event"),
        metric("injected_tokens_total", "Tokens injected into sessions.", tokens, "event"),
    )
    return "".join(metrics)


def metric(
    name: str, about: str, value: float | Mapping[str, float] | Mapping[tuple[str, ...], float], *labels: str
) -> str:
    """`labels`: what the keys of a mapping are values of."""
    name, kind = f"claude_mem_{name}", "counter" if name.endswith("_total") else "gauge"
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    if isinstance(value, Mapping):
        for key, count in value.items():
            parts = zip(labels, (key,) if isinstance(key, str) else key, strict=True)
            of = ",".join(f'{label}="{_escape(part)}"' for label, part in parts)
            lines.append(f"{name}{{{of}}} {count}")
    else:
        lines.append(f"{name} {value}")
    return "\n".join([*lines, ""])


def histogram(name: str, about: str, buckets: Mapping[str, int], total: float) -> str:
    """`buckets`: how many are at most the key; the last is all."""
    name = f"claude_mem_{name}"
    lines = [f"# HELP {name} {about}", f"# TYPE {name} histogram"]
    lines += [f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in buckets.items()]
    return "\n".join([*lines, f"{name}_sum {total}", f"{name}_count {buckets['+Inf']}", ""])


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def worker_state(running: Running) -> WorkerState:
    """Always returns a result: the banners report what cannot be read."""
    services, trouble = running.services, running.trouble
    queue: QueueStatus | None = None
    drops: Mapping[str, int] = {}
    try:
        queue = queue_figures(services)
        drops = services.intake.drops()
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    paused = pause_state(services.settings.data_dir)
    observer = services.observing.state()
    # An event is proof, wherever the agent keeps its settings; and transcripts are followed without hooks.
    connected = running.events_seen or services.follow is not None or services.is_connected()
    found = banners(trouble, paused, observer, queue, drops, services.clock(), connected=connected)
    is_off = trouble or not connected
    return WorkerState(
        recording="paused" if paused.everything is not None else "off" if is_off else "on",
        banners=found,
        paused=Pauses(
            int(paused.everything * 1000) if paused.everything is not None else None,
            [session for session, _ in paused.sessions],
        ),
        queue=queue,
        observer=observer | {"working": bool(queue and queue.leased)},
        version=services.version,
        port=running.port,
    )


def banners(
    trouble: str | None,
    paused: PauseState,
    observer: Mapping[str, object],
    queue: QueueStatus | None,
    drops: Mapping[str, int],
    now: int,
    *,
    connected: bool = True,
) -> list[Banner]:
    """The banners, most serious first."""
    found: list[Banner] = []

    def add(code: str, level: Literal["info", "warning", "error"], message: str, fix: str) -> None:
        found.append(Banner(code, level, message, fix))

    if trouble:
        add("degraded", "error", f"Recording is not possible at the moment: {trouble}", "claude-mem doctor")
    if paused.everything is not None:
        since = age(max(0.0, now / 1000 - paused.everything))
        add("paused", "warning", f"Paused for {since}: nothing is recorded.", "claude-mem on")
    if not connected:
        text = "No coding agent is connected, according to their settings, so nothing new is recorded."
        add("unconnected", "warning", text, "claude-mem install")
    if reason := observer.get("paused"):
        text = f"Recorded events are waiting, because they cannot be observed now: {reason}"
        add("observer_paused", "error", text, "claude-mem queue retry")
    if reason := observer.get("spentUp"):
        fix = "Raise it under “The budget” in the settings. Then: claude-mem worker restart"
        add("out_of_budget", "warning", f"{reason} The offline observer takes over until then.", fix)
    if queue is not None and queue.alert and not reason and not observer.get("paused"):
        add("behind", "warning", f"The queue is behind: {queue.alert}", "claude-mem doctor")
    if queue is not None and queue.fallback:
        text = (
            f"The model's replies for {_many(queue.fallback)} could not be read. Processed offline for now."
        )
        add("unreadable", "warning", text, "claude-mem queue retry")
    if queue is not None and queue.parked > queue.fallback:
        text = f"{_many(queue.parked - queue.fallback)} parked after several failed attempts."
        add("parked", "warning", text, "claude-mem queue retry")
    if dropped := sum(drops.values()):
        why = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in drops.items() if count)
        add("dropped", "info", f"{_many(dropped)} could not be stored: {why}.", "claude-mem doctor")
    return found


def _many(events: int) -> str:
    return "1 event" if events == 1 else f"{events:,} events"
