"""Answers how the worker is: `/health`, `/api/queue` and `/metrics`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import JSONResponse, PlainTextResponse, Response

from claude_mem.model.errors import StoreError
from claude_mem.model.jobs import Job, JobState, QueueFigures
from claude_mem.serve import metrics
from claude_mem.serve.endpoint import Call
from claude_mem.serve.parts import Parts
from claude_mem.serve.running import PROTOCOL, Running, resident_bytes

PAGE = 50
"""How many jobs are listed when nobody says."""


async def health(call: Call) -> Response:
    return JSONResponse(await asyncio.to_thread(_health, call.running))


async def queue(call: Call) -> Response:
    state, limit, after = call.query["state"], call.query["limit"], call.query["after"]
    page = await asyncio.to_thread(
        _queue,
        call.running,
        JobState(str(state or JobState.PARKED)),
        limit if isinstance(limit, int) else PAGE,
        after if isinstance(after, int) else 0,
    )
    return JSONResponse(page)


async def scrape(call: Call) -> Response:
    text = await asyncio.to_thread(metrics.text, call.running)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _health(running: Running) -> dict[str, object]:
    """Always an answer: a store that cannot be read is what the caller wants to hear about."""
    parts = running.parts
    trouble, active, queue = running.trouble, None, None
    try:
        active = parts.store.count_open()
        queue = _glance(parts.store.figures(), parts.spooled()[0], parts.clock())
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    return {
        "status": "degraded" if trouble else "ok",
        "reason": trouble,
        "port": running.port,
        "pid": running.pid,
        "uptime": round(running.uptime_s, 3),
        "memory": {"rss": resident_bytes()},
        "version": parts.version,
        "protocol": PROTOCOL,
        "activeSessions": active,
        "queue": queue,
        "mishaps": dict(running.mishaps),
        "hungAsks": running.hung_asks(),
        "observer": parts.observing(),
        "recall": _recall(parts),
    }


def _recall(parts: Parts) -> dict[str, object] | None:
    """None: nobody recalls, or how far it is cannot be read now; what is wrong then is told above."""
    with suppress(StoreError, OSError):
        return parts.recalling() or None
    return None


def _glance(figures: QueueFigures, spooled: int, now: int) -> dict[str, object]:
    return {
        "spooled": spooled,
        "ready": figures.ready,
        "leased": figures.leased,
        "parked": figures.parked,
        "done": figures.done,
        "oldestAgeMs": age_ms(figures, now),
    }


def age_ms(figures: QueueFigures, now: int) -> int:
    """How long the oldest ready event has waited; 0 when none does."""
    return 0 if figures.oldest_ready_at is None else max(0, now - figures.oldest_ready_at)


def _queue(running: Running, state: JobState, limit: int, after: int) -> dict[str, object]:
    parts = running.parts
    files, size = parts.spooled()
    jobs = parts.store.jobs(state, limit, after)
    return {
        **_glance(parts.store.figures(), files, parts.clock()),
        "spooledBytes": size,
        "lastEventAt": parts.store.last_event_at(),
        "counters": parts.store.counters(),
        "drops": parts.drops(),
        "state": state,
        "jobs": [_row(job, reason) for job, reason in jobs],
        "next": jobs[-1][0].id if len(jobs) == limit else None,
    }


def _row(job: Job, reason: str | None) -> dict[str, object]:
    """What and why, never the text of it."""
    return {
        "id": job.id,
        "kind": job.event.kind,
        "claudeSessionId": job.event.session,
        "promptNumber": job.prompt_number,
        "toolName": job.event.tool.name if job.event.tool else None,
        "at": job.event.at,
        "attempts": job.attempts,
        "reason": reason,
    }
