"""Corrects memory because a person says so: edit, pin, mark wrong, merge; and takes each back for a while."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from claude_mem.ports.correcting import Correcting
from claude_mem.ports.desk import Data
from claude_mem.serve import asked
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal

EDITABLE = ("title", "subtitle", "narrative", "facts", "concepts", "type")


async def edit(call: Call) -> Response:
    """What is not named stays as it is: what was named is read from the body itself, where null empties."""
    (ref,) = asked.refs({"ids": [call.body["id"]]})
    named = await call.named()
    given = {name: call.body[name] for name in EDITABLE if name in named}
    edited = await asyncio.to_thread(_correcting(call).edit, ref, given)
    found = await asyncio.to_thread(asked.desk(call).details, [edited["ref"]])
    call.running.tell_correction("edit", [edited["ref"]])
    return JSONResponse({"result": next(iter(found["results"]), None), "undo": edited["undo"]})


async def pin(call: Call) -> Response:
    refs, pinned = _refs(call), call.body["pinned"] is not False
    return _changed(call, "pin", await asyncio.to_thread(_correcting(call).pin, refs, pinned=pinned))


async def mark_wrong(call: Call) -> Response:
    refs, wrong = _refs(call), call.body["wrong"] is not False
    return _changed(call, "wrong", await asyncio.to_thread(_correcting(call).mark_wrong, refs, wrong=wrong))


async def merge(call: Call) -> Response:
    (into,) = asked.refs({"ids": [call.body["into"]]})
    merged = await asyncio.to_thread(_correcting(call).merge, into, _refs(call))
    call.running.tell_correction("merge", [merged["into"], *merged["merged"]])
    return JSONResponse(merged)


async def undo(call: Call) -> Response:
    undone = await asyncio.to_thread(_correcting(call).undo, call.id)
    call.running.tell_correction("undo", undone["refs"])
    return JSONResponse(undone)


def _changed(call: Call, what: str, answer: Data) -> Response:
    if not answer["results"]:
        raise Refusal(404, "not_found", "Nothing is remembered under these ids.")
    call.running.tell_correction(what, [each["ref"] for each in answer["results"]])
    return JSONResponse(answer)


def _refs(call: Call) -> list[str]:
    refs = asked.refs(call.body)
    if not refs:
        raise Refusal(400, "missing_field", "ids is empty.", field="ids")
    return refs


def _correcting(call: Call) -> Correcting:
    found = call.running.parts.correcting
    if found is None:
        raise Refusal(503, "unavailable", "This worker only captures; it recalls nothing.")
    return found
