"""Whether anything is recorded, and the banners that say why not and what helps."""

from __future__ import annotations

from collections.abc import Mapping

from claude_mem.api.system import Banner, Pauses, QueueFigures, WorkerState
from claude_mem.hook.notices import age
from claude_mem.model.errors import StoreError
from claude_mem.serve import pause_switches, status
from claude_mem.serve.services import Running

BEHIND_MS = 60 * 60 * 1000
"""Turns are gathered for minutes; what waits an hour is held up."""
MANY_SPOOLED = 1_000


def state(running: Running) -> WorkerState:
    """Always an answer: what cannot be read is what the banner is for."""
    services, trouble = running.services, running.trouble
    queue: QueueFigures | None = None
    drops: Mapping[str, int] = {}
    try:
        queue = status.queue_figures(services)
        drops = services.drops()
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    paused = pause_switches.look(services.settings.data_dir)
    observer = services.observing()
    # An event is proof, wherever the agent keeps its settings; and transcripts are followed without hooks.
    connected = running.heard or services.follow is not None or services.is_connected()
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
            Banner("degraded", "error", f"Nothing can be taken in just now: {trouble}", "claude-mem doctor")
        )
    if paused.everything is not None:
        since = age(max(0.0, now / 1000 - paused.everything))
        found.append(
            Banner("paused", "warning", f"Paused for {since}: nothing is recorded.", "claude-mem on")
        )
    if not connected:
        told = "Claude Code is not connected, as far as its settings show: nothing new is recorded."
        found.append(Banner("unconnected", "warning", told, "claude-mem install"))
    if reason := observer.get("paused"):
        told = f"What was recorded waits, for nobody can observe it now: {reason}"
        found.append(Banner("observer_paused", "error", told, "claude-mem queue retry"))
    if reason := observer.get("spentUp"):
        told = f"{reason} The offline observer does what it can meanwhile."
        fix = "Raise it under “The budget” in the settings. Then: claude-mem worker restart"
        found.append(Banner("out_of_budget", "warning", told, fix))
    behind = queue is not None and (queue.oldest_age_ms > BEHIND_MS or queue.spooled > MANY_SPOOLED)
    if queue is not None and behind and not reason and not observer.get("paused"):
        waiting, oldest = _many(queue.ready + queue.spooled), age(queue.oldest_age_ms / 1000)
        told = f"Behind: {waiting} waiting, the oldest for {oldest}."
        found.append(Banner("behind", "warning", told, "claude-mem doctor"))
    if queue is not None and queue.parked:
        told = f"{_many(queue.parked)} given up on after several attempts, and kept."
        found.append(Banner("parked", "warning", told, "claude-mem queue retry"))
    if lost := sum(drops.values()):
        why = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in drops.items() if count)
        told = f"{_many(lost)} could not be kept: {why}."
        found.append(Banner("dropped", "info", told, "claude-mem doctor"))
    return found


def _many(events: int) -> str:
    return "1 event" if events == 1 else f"{events:,} events"
