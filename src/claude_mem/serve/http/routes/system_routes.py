"""Routes for the worker itself: health, metrics, queue, recording, logs, backfill, MCP, and stopping it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from starlette.responses import PlainTextResponse, Response

from claude_mem.api import system as api
from claude_mem.api.fields import Error
from claude_mem.files import read_object, write_file
from claude_mem.hook import paths
from claude_mem.model.errors import NotFromTheStart
from claude_mem.model.structs import replace
from claude_mem.serve import mcp, mcp_tools, worker_log
from claude_mem.serve.data_dir import pause_recording, resume_recording
from claude_mem.serve.health import prometheus, queue_page, worker_health, worker_state
from claude_mem.serve.http.router import Answer, Call, Routes, ok, respond
from claude_mem.serve.mcp_tools import ToolServer
from claude_mem.serve.requests import Refusal

MOST_LINES = 5_000
WENT_WRONG = "Something went wrong; see the worker's log: claude-mem worker logs"

routes = Routes()


@routes.get("/health", "The worker's health.")
def health(call: Call) -> api.Health:
    return worker_health(call.running)


@routes.get(
    "/metrics",
    "The same figures for Prometheus.",
    Answer(200, "Prometheus' text format.", media_type="text/plain"),
)
def metrics(call: Call) -> Response:
    text = prometheus(call.running)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.post(
    "/api/admin/shutdown",
    "Stop the worker between jobs.",
    Answer(202, "It stops.", api.Stopping),
    socket_only=True,
)
def shut_down(call: Call) -> Response:
    call.running.stop()
    return respond(api.Stopping("stopping", call.running.pid), 202)


# -- The queue --


@routes.get("/api/queue", "The queue's figures, what was dropped, and a page of jobs with their reasons.")
def queue(call: Call, query: api.QueueQuery) -> api.QueuePage:
    return queue_page(call.running, query)


@routes.post(
    "/api/restart",
    "Restart the worker between jobs, so that changed settings take effect.",
    Answer(202, "It stops, and another one starts.", api.Stopping),
)
def restart(call: Call) -> Response:
    call.running.handing_over_to = call.running.handing_over_to or "itself"
    return shut_down(call)


@routes.post(
    "/api/queue/retry",
    "Retry parked jobs and reset their attempts. If calls to the model were paused, they resume immediately.",
)
def retry(call: Call, body: api.RetryRequest) -> api.RetryAnswer:
    ids = None if body.ids is None else list(dict.fromkeys(body.ids))
    resumed = call.services.observing.resume(ids)
    call.running.notify_queued()  # now, not when the pump would have looked again
    return api.RetryAnswer("ok", resumed)


@routes.post(
    "/api/queue/drop", "Drop parked jobs permanently, without an observation. Their events stay as evidence."
)
def drop(call: Call, body: api.DropRequest) -> api.DropAnswer:
    return api.DropAnswer("ok", call.services.store.queue.drop(list(dict.fromkeys(body.ids))))


# -- activity.flag, which status lines and spinners watch --


@routes.post("/api/processing", "Set or clear activity.flag, which status lines watch.")
def set_processing(call: Call, body: api.ProcessingRequest) -> api.ProcessingSet:
    flag: dict[str, object] = {"active": body.is_processing}
    if body.project is not None:
        flag["project"] = call.services.intake.cleaned(body.project)
    flag["timestamp"] = call.services.clock()
    try:
        write_file(_flag(call), json.dumps(flag).encode())
    except OSError as error:
        message = f"activity.flag cannot be written: {error.strerror}."
        raise Refusal(503, "unavailable", message, headers={"Retry-After": "5"}) from error
    return api.ProcessingSet("ok", body.is_processing)


@routes.get("/api/processing", "Read activity.flag.")
def get_processing(call: Call) -> api.ProcessingFlag:
    flag = read_object(_flag(call))
    return api.ProcessingFlag(flag.get("active") is True, flag.get("project"), flag.get("timestamp"))


def _flag(call: Call) -> Path:
    return call.services.settings.data_path(paths.ACTIVITY)


# -- Recording and logs --


@routes.get("/api/status", "Whether recording is on and, if not, why and how to fix it.")
def status(call: Call) -> api.WorkerState:
    return _state(call)


@routes.post("/api/recording", "Pause or resume recording: all of it, or a session's.")
def record(call: Call, body: api.RecordingRequest) -> api.WorkerState:
    """Pauses or resumes recording, like `claude-mem off` and `on`."""
    change = pause_recording if body.paused else resume_recording
    try:
        change(call.services.settings.data_dir, body.session or None)
    except OSError as error:
        raise Refusal(503, "unavailable", f"The switch cannot be set: {error.strerror}.") from None
    return _state(call)


def _state(call: Call) -> api.WorkerState:
    """The worker's state. Listeners of the stream are notified if it has changed."""
    found = worker_state(call.running)
    now = (found.recording, found.paused)
    before, call.running.recording = call.running.recording, now
    if before is not None and before != now:
        call.running.announce("recording", ())
    return found


@routes.get("/api/logs", "The end of the worker's log, or newer records.")
def logs(call: Call, query: api.LogsQuery) -> api.LogsAnswer:
    del call
    return worker_log.tail(Path(paths.LOGS) / worker_log.LOG_NAME, query.after, query.level, query.limit)


# -- Backfill --


@routes.post(
    "/api/backfill",
    "Import past events from transcripts.",
    ok(api.BackfillTaken),
    Answer(409, "The first part went to another worker. Start over.", Error),
    takes_lines=True,
)
def backfill(call: Call, body: api.PastEvent | None, query: api.BackfillParams) -> object:
    raw = call.lines or b"" if body is None else msgspec.json.encode(body)
    if raw.count(b"\n") > MOST_LINES:
        raise Refusal(400, "too_many", f"At most {MOST_LINES:,} lines at a time; send them in parts.")
    if (query.story is None) != (query.part is None):
        raise Refusal(400, "missing_field", "`story` and `part` must be used together.", field="part")
    try:
        taken = call.services.past_intake.take(raw, offline=query.offline, story=query.story, part=query.part)
    except NotFromTheStart:
        raise Refusal(409, "not_from_the_start", "The first part is unknown here. Start over.") from None
    call.running.notify_queued()
    return taken


@routes.get("/api/backfill", "How many past events are still to be observed, and what they have cost.")
def backfill_progress(call: Call, query: api.BackfillQuery) -> api.BackfillProgress:
    found = call.services.store.events.progress(int(query.since or 0))
    paused = call.services.observing.state().get("paused")
    return replace(found, paused=paused)


@routes.post("/api/backfill/known", "Which of these sessions are known, and how they were captured.")
def backfill_known(call: Call, body: api.KnownRequest) -> api.KnownAnswer:
    found = call.services.past_intake.known(body.sessions)
    return api.KnownAnswer({session: found.get(session) for session in body.sessions})


# -- MCP --


def _tool_server(call: Call) -> ToolServer:
    recall = call.recall
    return ToolServer(
        state=call.running,
        version=call.services.version,
        tools=mcp_tools.TOOLS,
        went_wrong=WENT_WRONG,
        memory=recall.memory,
        remember=recall.writer.remember,
        forget=lambda request, dry_run: recall.deleter.forget(request, dry_run=dry_run),
    )


mcp.add_route(routes, _tool_server)
