"""Writes the worker's figures in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claude_mem.serve.running import Running, resident_bytes

COUNTERS = ("accepted", "duplicate", "set_aside")
"""Always there, at 0 before anything was counted: a rate needs a first point."""
OCCASIONS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Likewise."""
VECTORS = ("on", "off", "unavailable")


def text(running: Running) -> str:
    parts = running.parts
    figures, counters = parts.store.figures(), parts.store.counters()
    files, size = parts.spooled()
    oldest = figures.oldest_ready_at
    age_s = 0.0 if oldest is None else max(0, parts.clock() - oldest) / 1000
    states = {
        "ready": figures.ready,
        "leased": figures.leased,
        "parked": figures.parked,
        "done": figures.done,
    }
    counted = dict.fromkeys(COUNTERS, 0) | counters
    return "".join(
        [
            _family("queue_jobs", "gauge", "Queued events by state.", "state", states),
            _single(
                "queue_oldest_age_seconds", "gauge", "How long the oldest ready event has waited.", age_s
            ),
            _family("events_total", "counter", "Events by what became of them.", "outcome", counted),
            _family("drops_total", "counter", "Events hooks could not keep.", "reason", parts.drops()),
            _single("spool_files", "gauge", "Events waiting in the spool.", files),
            _single("spool_bytes", "gauge", "Bytes waiting in the spool.", size),
            _single(
                "sessions_open", "gauge", "Sessions somebody may still work in.", parts.store.count_open()
            ),
            _family("mishaps_total", "counter", "Failures the worker outlived.", "where", running.mishaps),
            _single(
                "hung_asks", "gauge", "Recall hooks' questions that did not return.", running.hung_asks()
            ),
            _single("uptime_seconds", "gauge", "Since the worker started.", round(running.uptime_s, 3)),
            _single("resident_memory_bytes", "gauge", "Memory the worker occupies.", resident_bytes()),
            *_recall(parts.recalling()),
        ]
    )


def _recall(found: Mapping[str, Any]) -> list[str]:
    if not found:
        return []
    vectors = found["vectors"]
    told = {event: {"times": 0, "tokens": 0} for event in OCCASIONS} | found["injected"]
    states = {state: int(state == vectors["state"]) for state in VECTORS}
    times = {event: each["times"] for event, each in told.items()}
    tokens = {event: each["tokens"] for event, each in told.items()}
    return [
        _single("index_waiting", "gauge", "Rows full text does not find yet.", found["index"]["waiting"]),
        _single("vectors_waiting", "gauge", "Memories without a vector.", vectors["waiting"]),
        _family("vectors_state", "gauge", "1 for the state the vectors are in.", "state", states),
        _single(
            "context_fresh",
            "gauge",
            "1 when what sessions are told at their start is up to date.",
            int(found["context"]["fresh"]),
        ),
        _family("injections_total", "counter", "How often sessions were told something.", "event", times),
        _family("injected_tokens_total", "counter", "Tokens sessions were told.", "event", tokens),
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
