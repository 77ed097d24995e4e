"""A process's figures for Prometheus. They name no member, no project and no memory."""

from __future__ import annotations

from collections.abc import Mapping

from claude_mem.serve.health import histogram, metric, metric_of_labels
from claude_mem.serve.services import resident_bytes
from claude_mem.serve.team_server.serving import Serving


def prometheus_text(serving: Serving) -> str:
    """Queries the database: as the service. Raises StoreError."""
    figures, store = serving.figures, serving.services.store
    requests: dict[tuple[str, ...], float] = {
        (route, str(status)): count for (route, status), count in sorted(figures.requests.items())
    }
    refused: Mapping[str, float] = dict(figures.refused)
    return "".join(
        (
            metric_of_labels("server_requests_total", "Requests answered.", ("route", "status"), requests),
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
            metric("server_uptime_seconds", "Since the process started.", round(serving.uptime_s, 3)),
            metric("server_resident_memory_bytes", "Memory used by the process.", resident_bytes()),
        )
    )
