"""The state that the routes, streams and loops of a team server's process share, and its metrics."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate
from typing import ClassVar

from msgspec import Struct, field

from claude_mem.model.clock import Clock
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.serve.health import histogram, metric
from claude_mem.serve.process_state import ProcessState, resident_bytes
from claude_mem.serve.team_server.admission import KeyChecker
from claude_mem.store.base import Store
from claude_mem.store.team import Directory, Sharing

log = logging.getLogger("claude_mem.server")

DURATIONS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class TeamServices(Struct, frozen=True, kw_only=True):
    """The services of a team server. They may block, so they are called from threads."""

    version: str
    clock: Clock
    store: Store
    directory: Directory
    sharing: Sharing
    memory: MemoryReader
    clean: Callable[[str], str]
    """Removes from a text what must not be stored."""
    background: Mapping[str, Callable[[], bool]]
    """Work in steps, by name; False: nothing is left for now."""
    maintenance: Mapping[str, Callable[[], object]]
    """Every few minutes."""
    listen: Callable[[float], Collection[str]]
    """Waits some seconds for what any process adds to the database, and says what it was."""
    check: Callable[[], object]
    """Raises StoreError if the database cannot be used."""
    close: Callable[[], None]


class RequestFigures:
    """Requests by route and status, and their durations. Only the event loop uses it."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.refused: Counter[str] = Counter()
        self.durations = [0] * (len(DURATIONS_S) + 1)
        self.seconds = 0.0
        self.running = 0

    def note(self, route: str, status: int, took_s: float) -> None:
        self.requests[route, status] += 1
        self.seconds += took_s
        self.durations[bisect_left(DURATIONS_S, took_s)] += 1

    def cumulative(self) -> dict[str, int]:
        """How many requests took at most this long; the last value is the total."""
        bounds = (*map(str, DURATIONS_S), "+Inf")
        return dict(zip(bounds, accumulate(self.durations), strict=True))


class ServerState(ProcessState):
    """The state of a process."""

    log: ClassVar[logging.Logger] = log

    services: TeamServices
    keys: KeyChecker
    figures: RequestFigures = field(default_factory=RequestFigures)
    is_draining: bool = False
    """Whether it is about to stop: `/health` reports it, and connections are closed after their response."""


def prometheus_text(serving: ServerState) -> str:
    """For Prometheus: they name no member, no project and no memory. Queries the database: as the service.
    Raises StoreError."""
    figures, store = serving.figures, serving.services.store
    requests: dict[tuple[str, ...], float] = {
        (route, str(status)): count for (route, status), count in sorted(figures.requests.items())
    }
    refused: Mapping[str, float] = dict(figures.refused)
    return "".join(
        (
            metric("server_requests_total", "Requests answered.", requests, "route", "status"),
            metric("server_refused_total", "Requests refused before they were read.", refused, "code"),
            histogram(
                "server_request_duration_seconds",
                "How long requests took.",
                figures.cumulative(),
                round(figures.seconds, 6),
            ),
            metric("server_requests_running", "Requests in progress.", figures.running),
            metric("server_listeners", "Open /stream connections.", serving.listeners.total()),
            metric("server_mishaps_total", "Failures the server recovered from.", serving.mishaps, "where"),
            metric(
                "server_index_waiting", "Rows not in the full-text index yet.", store.statistics.unindexed()
            ),
            metric(
                "server_pgvector",
                "1 for the state of the extension pgvector.",
                {store.vectors.pgvector() or "none": 1},
                "state",
            ),
            metric("server_uptime_seconds", "Since the process started.", round(serving.uptime_s, 3)),
            metric("server_resident_memory_bytes", "Memory used by the process.", resident_bytes()),
        )
    )
