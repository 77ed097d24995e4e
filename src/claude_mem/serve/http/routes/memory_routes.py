"""Routes for memories: search, lists, reading in full, saving, correcting, forgetting, export and import."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from msgspec import structs
from starlette.responses import Response, StreamingResponse

from claude_mem.api import memories as api
from claude_mem.api.fields import Error
from claude_mem.api.filters import FilterRequest
from claude_mem.api.sessions import EventsAnswer, EventsQuery, SessionAnswer, SessionList
from claude_mem.recall.answers import Json
from claude_mem.serve.http.router import LINES, NOT_FOUND, Answer, Call, ReadingCall, Routes, ok
from claude_mem.serve.http.routes.sharing_routes import forget_for_team
from claude_mem.serve.requests import Refusal, absorb_lines

PIECE = 64 << 10  # bytes sent at a time

routes = Routes()

_MEMORY = {"id": ("A memory: `12` an observation, `s12` a summary, `p12` a prompt.", "12")}


# -- Reading --


@routes.get("/api/search", "Search memory. Without q: the newest.")
def search(call: ReadingCall, query: api.SearchQuery) -> api.SearchAnswer:
    return call.memory.search(query.q, query, query.page, explain=query.explain)


@routes.get(
    "/api/timeline",
    "What happened around a memory, a session, a time, or the best result of q. Default: now.",
    NOT_FOUND,
)
def timeline(call: ReadingCall, query: api.TimelineQuery) -> api.TimelineAnswer:
    memory = call.memory
    return memory.timeline(query.anchor, query, before=query.before, after=query.after, query=query.q)


@routes.get("/api/file", "A file's history across sessions.")
def file(call: ReadingCall, query: api.FileQuery) -> api.FileAnswer:
    filters = FilterRequest(project=query.project, cwd=query.cwd, wrong=query.wrong)
    return call.memory.file_history(query.path, filters, limit=query.limit)


def _add_list(kind: str) -> None:
    @routes.get(f"/api/{kind}", f"A page of {kind}, newest first.")
    def listed(call: ReadingCall, query: api.ListQuery) -> api.MemoryList:
        return call.memory.listed(kind, query, query.page)


for _kind in ("observations", "summaries", "prompts"):
    _add_list(_kind)


@routes.get("/api/sessions", "A page of sessions, newest first.")
def sessions(call: ReadingCall, query: api.ListQuery) -> SessionList:
    return call.memory.sessions(query, query.page)


@routes.get("/api/observation/{id}", "One memory in full.", ok(api.Memory), NOT_FOUND, **_MEMORY)
def observation(call: ReadingCall) -> api.FullMemory:
    for memory in call.memory.details([call.id]).results:
        return memory
    raise Refusal(404, "not_found", f"No memory with id {call.id[:40]}.")


@routes.get(
    "/api/observation/{id}/provenance",
    "Where a memory comes from, what it replaced, what replaced it, and where it was injected.",
    NOT_FOUND,
    **_MEMORY,
)
def provenance(call: ReadingCall) -> api.Provenance:
    return call.memory.provenance(call.id)


@routes.post("/api/observations/batch", "Many memories at once, in full.")
def batch(call: ReadingCall, body: api.BatchRequest) -> api.MemoriesAnswer:
    found = call.memory.details(_some(body.ids))
    if body.order_by is not None:
        found.results.sort(key=itemgetter("created_at_epoch"), reverse=body.order_by == "date_desc")
    return api.MemoriesAnswer(found.results[: body.limit], found.missing)


@routes.get(
    "/api/session/{id}",
    "One session in full, by the database's id, the agent's own id, or the start of that.",
    NOT_FOUND,
)
def session(call: ReadingCall) -> SessionAnswer:
    return call.memory.session(call.id)


@routes.get(
    "/api/session/{id}/events",
    "Everything that happened in a session, in order, a page at a time.",
    NOT_FOUND,
)
def events(call: ReadingCall, query: EventsQuery) -> EventsAnswer:
    return call.memory.events(call.id, query.kinds, query.page)


@routes.get("/api/stats", "Statistics of what is stored.", Answer(200, "Figures."))
def stats(call: Call) -> Json:
    return call.recall.background.stats()


# -- Saving and correcting --


@routes.post("/api/memory/save", "Save a memory at the user's request.")
def save(call: Call, body: api.SaveRequest) -> api.SavedAnswer:
    saved = call.recall.writer.remember(body.text, structs.asdict(body))
    call.running.notify_change()
    return saved


@routes.post("/api/memory/pin", "Pin memories, so that they are injected first, or unpin them.", NOT_FOUND)
def pin(call: Call, body: api.PinRequest) -> api.FlagAnswer:
    return _announced(call, "pin", call.recall.corrections.pin(_some(body.ids), pinned=body.pinned))


@routes.post(
    "/api/memory/wrong",
    "Mark observations wrong (stored, but never recalled), or remove the mark.",
    NOT_FOUND,
)
def mark_wrong(call: Call, body: api.WrongRequest) -> api.FlagAnswer:
    return _announced(call, "wrong", call.recall.corrections.mark_wrong(_some(body.ids), wrong=body.wrong))


@routes.post(
    "/api/memory/edit", "Edit an observation. Omitted fields stay; null or empty clears a field.", NOT_FOUND
)
def edit(call: Call, body: api.EditRequest) -> api.EditAnswer:
    ref, undo = call.recall.corrections.edit(body)
    found = call.recall.memory.details([str(ref)])
    call.running.announce("edit", [str(ref)])
    return api.EditAnswer(next(iter(found.results), None), undo)


@routes.post(
    "/api/memory/merge", "Merge duplicate observations: one stays and supersedes the others.", NOT_FOUND
)
def merge(call: Call, body: api.MergeRequest) -> api.MergeAnswer:
    merged = call.recall.corrections.merge(str(body.into), _some(body.ids))
    call.running.announce("merge", [merged.into, *merged.merged])
    return merged


@routes.post(
    "/api/undo/{id}",
    "Undo an edit, a pin, a mark or a merge. Works once, within an hour, until the worker stops.",
    NOT_FOUND,
    Answer(409, "It was changed again in the meantime. Nothing was undone.", Error),
    id=("The `token` of an `undo`.", "Zm9v"),
)
def undo(call: Call) -> api.UndoAnswer:
    undone = call.recall.corrections.undo(call.id)
    call.running.announce("undo", undone.refs)
    return undone


@routes.post(
    "/api/memory/select", "The ids of all results of a search or, without q, of a list. Changes nothing."
)
def select(call: Call, body: api.SelectRequest) -> api.SelectAnswer:
    return call.recall.memory.select(body.q, body, cursor=body.cursor)


@routes.post(
    "/api/memory/forget",
    "Permanently delete everything that matches all the filters. Without confirm: a dry run.",
    NOT_FOUND,
)
def forget(call: Call, body: api.ForgetRequest) -> api.ForgetAnswer:
    """Deletion cannot be undone, so it needs `confirm`: a selection alone only reports what would be
    deleted."""
    if body.dry_run is False and not body.confirm:
        message = "`confirm` must be true: deletion cannot be undone."
        raise Refusal(400, "missing_field", message, field="confirm")
    if body.is_empty:
        raise Refusal(400, "missing_field", "Nothing is selected: specify at least `ids`.", field="ids")
    dry_run = body.dry_run is True or not body.confirm
    if body.for_team and not dry_run and (names := call.recall.deleter.names_of_others(body)):
        forget_for_team(call, names)
    deleted = call.recall.deleter.forget(body, dry_run=dry_run)
    if not dry_run:
        # It is unknown here which memories of a session or a project were deleted, so listeners reload
        # everything.
        others = any(getattr(body, name) for name in api.FORGET_BY if name != "ids")
        call.running.announce("all" if others else "forget", _refs(body.ids))
    return deleted


# -- Export and import --


@routes.get(
    "/api/export",
    "Memory as records, one JSON object per line. Without q or a filter: everything.",
    Answer(200, "The records, the header first.", media_type=LINES),
)
def export(call: Call, query: api.ExportQuery) -> Response:
    if call.request.method == "HEAD":
        return Response(media_type=LINES)
    return StreamingResponse(_pieces(call.recall.exporter.export(query.q, query)), media_type=LINES)


@routes.post(
    "/api/import",
    "Import observations, or the records of an export; at most 1,000 at a time.",
    takes_lines=True,
)
def take_in(call: Call, body: api.ImportRequest | None, query: api.ImportQuery) -> api.ImportAnswer:
    if body is None:
        done = absorb_lines(call.lines or b"", partial(call.recall.importer.absorb, own=query.own))
    else:
        done = call.recall.writer.import_observations(body.records)
    call.running.notify_change()
    return done


def line(record: Mapping[str, Any]) -> bytes:
    """A record as a line of a file: the same record always gives the same bytes."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _pieces(records: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    """Each piece costs a thread switch, so several lines are sent at once."""
    gathered = bytearray()
    for record in records:
        gathered += line(record)
        if len(gathered) >= PIECE:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def _refs(ids: Iterable[int | str]) -> list[str]:
    """The references in order, without duplicates."""
    return list(dict.fromkeys(map(str, ids)))


def _some(ids: Iterable[int | str]) -> list[str]:
    if not (refs := _refs(ids)):
        raise Refusal(400, "missing_field", "`ids` is empty.", field="ids")
    return refs


def _announced(call: Call, what: str, changed: api.FlagAnswer) -> api.FlagAnswer:
    if not changed.results:
        raise Refusal(404, "not_found", "No memory with these ids.")
    call.running.announce(what, [each.ref for each in changed.results])
    return changed
