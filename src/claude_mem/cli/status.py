"""How the worker and its queue stand: from its own mouth while it runs, else from what lies on the disk."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from claude_mem import wiring
from claude_mem.cli import pause
from claude_mem.hook import paths
from claude_mem.serve import control
from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class Status:
    state: str  # running, starting, stopped, hung
    pid: int | None
    port: int | None
    version: str | None
    uptime_s: float | None
    spooled: int
    ready: int | None  # None, this and the next: there is no database, or it cannot be read
    leased: int | None
    parked: int | None
    done: int | None
    oldest_age_s: float | None  # of the oldest event that waits in the queue
    unindexed: int | None = None  # rows that full text does not find yet, at most
    unembedded: int | None = None  # memories without a vector, at most
    paused_s: float | None = None  # how long nothing has been recorded because the user says so

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def look(settings: Settings) -> Status:
    worker = control.status(settings.data_dir)
    health: dict[str, Any] = dict(worker.health or {})
    queue = health.get("queue") or {}
    recall = health.get("recall") or {}
    unindexed, unembedded = (recall.get(name, {}).get("waiting") for name in ("index", "vectors"))
    if not queue:
        seen = wiring.survey(settings)
        figures, unindexed, unembedded = seen.figures, seen.unindexed, seen.unembedded
        if figures is not None:
            queue = asdict(figures)
            if figures.oldest_ready_at is not None:
                queue["oldestAgeMs"] = time.time() * 1000 - figures.oldest_ready_at
    return Status(
        state=worker.state,
        pid=worker.pid,
        port=worker.port,
        version=worker.version,
        uptime_s=health.get("uptime"),
        spooled=_spooled(settings),
        ready=queue.get("ready"),
        leased=queue.get("leased"),
        parked=queue.get("parked"),
        done=queue.get("done"),
        oldest_age_s=queue["oldestAgeMs"] / 1000 if queue.get("oldestAgeMs") else None,
        unindexed=unindexed,
        unembedded=unembedded,
        paused_s=_paused(settings),
    )


def _paused(settings: Settings) -> float | None:
    since = pause.look(settings.data_dir).everything
    return None if since is None else max(0.0, time.time() - since)


def _spooled(settings: Settings) -> int:
    try:
        return sum(path.suffix == ".json" for path in settings.place(paths.SPOOL).iterdir())
    except FileNotFoundError:
        return 0
