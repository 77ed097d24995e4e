"""Decides what the viewer's banner says: whether recording goes on, and if not, why and what helps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from starlette.responses import JSONResponse, Response

from claude_mem.model.age import age
from claude_mem.model.errors import StoreError
from claude_mem.serve import asked, pausing
from claude_mem.serve.endpoint import Call
from claude_mem.serve.figures import age_ms
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running

BEHIND_MS = 60 * 60 * 1000
"""Turns are gathered for minutes; what waits an hour is held up."""
MANY_SPOOLED = 1_000


@dataclass(frozen=True, slots=True)
class Banner:
    code: str
    level: Literal["info", "warning", "error"]
    message: str
    fix: str


async def status(call: Call) -> Response:
    return await _told(call.running)


async def record(call: Call) -> Response:
    """Pause or resume, as `claude-mem off` and `on` do."""
    data_dir, session = call.running.parts.settings.data_dir, asked.text(call.body, "session") or None
    if len(session or "") > 200:
        raise Refusal(400, "bad_field", "session is longer than 200 characters.", field="session")
    change = pausing.pause if call.body["paused"] is True else pausing.resume
    try:
        await asyncio.to_thread(change, data_dir, session)
    except OSError as error:
        raise Refusal(503, "unavailable", f"The switch cannot be set: {error.strerror}.") from None
    return await _told(call.running)


async def _told(running: Running) -> Response:
    """How it stands. Whoever listens hears that it is another than at the last look, whoever made it so."""
    found = await asyncio.to_thread(_status, running)
    now = (found["recording"], found["paused"])
    before, running.recording = running.recording, now
    if before is not None and before != now:
        running.tell_correction("recording", ())
    return JSONResponse(found)


def _status(running: Running) -> dict[str, object]:
    """Always an answer: what cannot be read is what the banner is for."""
    parts, trouble = running.parts, running.trouble
    queue: dict[str, Any] = {}
    drops: Mapping[str, int] = {}
    try:
        figures = parts.store.figures()
        queue = {
            "spooled": parts.spooled()[0],
            "ready": figures.ready,
            "leased": figures.leased,
            "parked": figures.parked,
            "done": figures.done,
            "oldestAgeMs": age_ms(figures, parts.clock()),
        }
        drops = parts.drops()
    except (StoreError, OSError) as error:
        trouble = trouble or str(error)
    paused = pausing.look(parts.settings.data_dir)
    observer = parts.observing()
    # An event is proof, wherever the agent keeps its settings; and transcripts are followed without hooks.
    connected = running.heard or parts.follow is not None or parts.is_connected()
    found = banners(trouble, paused, observer, queue, drops, parts.clock(), connected=connected)
    is_off = trouble or not connected
    return {
        "recording": "paused" if paused.everything is not None else "off" if is_off else "on",
        "banners": [asdict(each) for each in found],
        "paused": {
            "since": int(paused.everything * 1000) if paused.everything is not None else None,
            "sessions": [session for session, _ in paused.sessions],
        },
        "queue": queue or None,
        "observer": observer | {"working": bool(queue.get("leased"))},
        "version": parts.version,
        "port": running.port,
    }


def banners(
    trouble: str | None,
    paused: pausing.Paused,
    observer: Mapping[str, object],
    queue: Mapping[str, Any],
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
    late, spooled = queue.get("oldestAgeMs", 0), queue.get("spooled", 0)
    if (late > BEHIND_MS or spooled > MANY_SPOOLED) and not reason and not observer.get("paused"):
        told = f"Behind: {_many(queue.get('ready', 0) + spooled)} waiting, the oldest for {age(late / 1000)}."
        found.append(Banner("behind", "warning", told, "claude-mem doctor"))
    if parked := queue.get("parked"):
        told = f"{_many(parked)} given up on after several attempts, and kept."
        found.append(Banner("parked", "warning", told, "claude-mem queue retry"))
    if lost := sum(drops.values()):
        why = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in drops.items() if count)
        told = f"{_many(lost)} could not be kept: {why}."
        found.append(Banner("dropped", "info", told, "claude-mem doctor"))
    return found


def _many(events: int) -> str:
    return "1 event" if events == 1 else f"{events:,} events"
