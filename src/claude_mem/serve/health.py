"""The worker's health: figures for `/health`, `/api/queue` and Prometheus, and banners for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from msgspec import structs

from claude_mem.api.system import (
    Banner,
    Health,
    JobRow,
    MemoryUse,
    Pauses,
    QueueFigures,
    QueuePage,
    QueueQuery,
    RecallProgress,
    WorkerState,
)
from claude_mem.hook.notices import age
from claude_mem.model.errors import StoreError
from claude_mem.model.jobs import Job
from claude_mem.serve import pause_switches
from claude_mem.serve.services import PROTOCOL, Running, Services, resident_bytes

# The worker's status in figures: `/health`, `/api/queue`, and `/metrics` in Prometheus' text format.


COUNTERS = ("accepted", "duplicate", "set_aside")
"""Always there, at 0 before anything was counted: a rate needs a first point."""
OCCASIONS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Likewise."""
VECTORS = ("on", "off", "unavailable")


def queue_figures(services: Services) -> QueueFigures:
    """Raises StoreError, OSError."""
    figures, now = services.store.queue.figures(), services.clock()
    oldest = figures.oldest_ready_at
    return QueueFigures(
        spooled=services.spooled()[0],
        ready=figures.ready,
        leased=figures.leased,
        parked=figures.parked,
        done=figures.done,
        oldest_age_ms=0 if oldest is None else max(0, now - oldest),
    )


def worker_health(running: Running) -> Health:
    """Always an answer: a store that cannot be read is what the caller wants to hear about."""
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
        hung_asks=running.hung_asks(),
        observer=services.observer_state(),
        recall=_progress(services),
    )


def _progress(services: Services) -> RecallProgress | None:
    """None: how far recall is cannot be read now; what is wrong then is told above."""
    with suppress(StoreError, OSError):
        return services.recall_progress()
    return None


def queue_page(running: Running, query: QueueQuery) -> QueuePage:
    services = running.services
    jobs = services.store.queue.jobs(query.state, query.limit, query.after)
    return QueuePage(
        **structs.asdict(queue_figures(services)),
        spooled_bytes=services.spooled()[1],
        last_event_at=services.store.queue.last_event_at(),
        counters=services.store.queue.counters(),
        drops=services.drops(),
        state=query.state,
        jobs=[_row(job, reason) for job, reason in jobs],
        next=jobs[-1][0].id if len(jobs) == query.limit else None,
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
    figures, counters = queue_figures(services), services.store.queue.counters()
    states = {name: getattr(figures, name) for name in ("ready", "leased", "parked", "done")}
    age_s = figures.oldest_age_ms / 1000
    counted = dict.fromkeys(COUNTERS, 0) | counters
    return "".join(
        [
            _family("queue_jobs", "gauge", "Queued events by state.", "state", states),
            _single(
                "queue_oldest_age_seconds", "gauge", "How long the oldest ready event has waited.", age_s
            ),
            _family("events_total", "counter", "Events by outcome.", "outcome", counted),
            _family("drops_total", "counter", "Events hooks could not store.", "reason", services.drops()),
            _single("spool_files", "gauge", "Events waiting in the spool.", figures.spooled),
            _single("spool_bytes", "gauge", "Bytes waiting in the spool.", services.spooled()[1]),
            _single(
                "sessions_open",
                "gauge",
                "Sessions that may still be open.",
                services.store.sessions.count_open(),
            ),
            _family(
                "mishaps_total", "counter", "Failures the worker recovered from.", "where", running.mishaps
            ),
            _single("hung_asks", "gauge", "Recall queries that did not return.", running.hung_asks()),
            _single("uptime_seconds", "gauge", "Since the worker started.", round(running.uptime_s, 3)),
            _single("resident_memory_bytes", "gauge", "Memory the worker occupies.", resident_bytes()),
            *_recall_families(services.recall_progress()),
        ]
    )


def _recall_families(found: RecallProgress) -> list[str]:
    injected = {event: {"times": 0, "tokens": 0} for event in OCCASIONS} | found.injected
    states = {state: int(state == found.vectors.state) for state in VECTORS}
    times = {event: each["times"] for event, each in injected.items()}
    tokens = {event: each["tokens"] for event, each in injected.items()}
    return [
        _single("index_waiting", "gauge", "Rows not in the full-text index yet.", found.index.waiting),
        _single("vectors_waiting", "gauge", "Memories without a vector.", found.vectors.waiting),
        _family("vectors_state", "gauge", "1 for the state the vectors are in.", "state", states),
        _single(
            "context_fresh",
            "gauge",
            "1 when what is injected at session starts is up to date.",
            int(found.context.fresh),
        ),
        _family("injections_total", "counter", "How often something was injected.", "event", times),
        _family("injected_tokens_total", "counter", "Tokens injected into sessions.", "event", tokens),
    ]


def _single(name: str, kind: str, about: str, value: float) -> str:
    return _head(name, kind, about) + f"claude_mem_{name} {value}\n"


def _family(name: str, kind: str, about: str, label: str, values: Mapping[str, float]) -> str:
    lines = (f'claude_mem_{name}{{{label}="{_escape(key)}"}} {value}\n' for key, value in values.items())
    return _head(name, kind, about) + "".join(lines)


def _head(name: str, kind: str, about: str) -> str:
    return f"# HELP claude_mem_{name} {about}\n# TYPE claude_mem_{name} {kind}\n"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


# Whether anything is recorded, and the banners that say why not and what helps.


BEHIND_MS = 60 * 60 * 1000
"""Turns are gathered for minutes; what waits an hour is held up."""
MANY_SPOOLED = 1_000


def worker_state(running: Running) -> WorkerState:
    """Always an answer: what cannot be read is what the banner is for."""
    services, trouble = running.services, running.trouble
    queue: QueueFigures | None = None
    drops: Mapping[str, int] = {}
    try:
        queue = queue_figures(services)
        drops = services.drops()
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    paused = pause_switches.look(services.settings.data_dir)
    observer = services.observer_state()
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
    paused: pause_switches.Paused,
    observer: Mapping[str, object],
    queue: QueueFigures | None,
    drops: Mapping[str, int],
    now: int,
    *,
    connected: bool = True,
) -> list[Banner]:
    """The worst first."""
    found: list[Banner] = []
    if trouble:
        found.append(
            Banner(
                "degraded", "error", f"Nothing can be recorded at the moment: {trouble}", "claude-mem doctor"
            )
        )
    if paused.everything is not None:
        since = age(max(0.0, now / 1000 - paused.everything))
        found.append(
            Banner("paused", "warning", f"Paused for {since}: nothing is recorded.", "claude-mem on")
        )
    if not connected:
        told = "Claude Code is not connected, according to its settings: nothing new is recorded."
        found.append(Banner("unconnected", "warning", told, "claude-mem install"))
    if reason := observer.get("paused"):
        told = f"Recorded events are waiting, because nothing can observe them now: {reason}"
        found.append(Banner("observer_paused", "error", told, "claude-mem queue retry"))
    if reason := observer.get("spentUp"):
        told = f"{reason} The offline observer takes over until then."
        fix = "Raise it under “The budget” in the settings. Then: claude-mem worker restart"
        found.append(Banner("out_of_budget", "warning", told, fix))
    behind = queue is not None and (queue.oldest_age_ms > BEHIND_MS or queue.spooled > MANY_SPOOLED)
    if queue is not None and behind and not reason and not observer.get("paused"):
        waiting, oldest = _many(queue.ready + queue.spooled), age(queue.oldest_age_ms / 1000)
        told = f"Behind: {waiting} waiting, the oldest for {oldest}."
        found.append(Banner("behind", "warning", told, "claude-mem doctor"))
    if queue is not None and queue.parked:
        told = f"{_many(queue.parked)} parked after several failed attempts."
        found.append(Banner("parked", "warning", told, "claude-mem queue retry"))
    if lost := sum(drops.values()):
        why = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in drops.items() if count)
        told = f"{_many(lost)} could not be stored: {why}."
        found.append(Banner("dropped", "info", told, "claude-mem doctor"))
    return found


def _many(events: int) -> str:
    return "1 event" if events == 1 else f"{events:,} events"
