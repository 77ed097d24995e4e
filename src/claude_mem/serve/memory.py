"""Changes memory because somebody asks for it: save, forget, import."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from claude_mem.serve import asked
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.travelling import take_lines

LONGEST_TEXT = 100_000
MOST_RECORDS = 1_000


async def save(call: Call) -> Response:
    text = asked.text(call.body, "text")
    if len(text) > LONGEST_TEXT:
        raise Refusal(400, "bad_field", f"text is longer than {LONGEST_TEXT:,} characters.", field="text")
    given = {name: value for name, value in call.body.items() if name != "text" and value is not None}
    saved = await asyncio.to_thread(asked.desk(call).remember, text, given)
    call.running.tell_change()
    return JSONResponse(saved)


async def forget(call: Call) -> Response:
    """It cannot be taken back, so it takes two words: a selection alone only tells what would go."""
    body, refs = call.body, asked.refs(call.body)
    confirmed = body["confirm"] is True
    if body["dry_run"] is False and not confirmed:
        message = "confirm must be true: what is forgotten does not come back."
        raise Refusal(400, "missing_field", message, field="confirm")
    selection: dict[str, object] = {"refs": refs} if refs else {}
    for name in ("session", "project", "file", "since", "until", "text"):
        if value := asked.text(body, name):
            selection[name] = value
    if not selection:
        raise Refusal(400, "missing_field", "Nothing is selected: say at least ids.", field="ids")
    dry_run = body["dry_run"] is True or not confirmed
    exports = body["exports"] is True
    gone = await asyncio.to_thread(asked.desk(call).forget, selection, dry_run=dry_run, exports=exports)
    if not dry_run:
        if call.running.parts.correcting is not None:
            await asyncio.to_thread(call.running.parts.correcting.forgot)
        # Of a session or a project it is not known here which went: whoever listens reads all again.
        call.running.tell_correction("forget" if selection == {"refs": refs} else "all", refs)
    return JSONResponse(gone)


async def take_in(call: Call) -> Response:
    if call.lines is not None:
        return await take_lines(call)
    records = call.body["records"]
    assert isinstance(records, list)
    if len(records) > MOST_RECORDS:
        message = f"records holds more than {MOST_RECORDS:,}; send them in parts."
        raise Refusal(400, "bad_field", message, field="records")
    if not all(isinstance(record, dict) for record in records):
        raise Refusal(400, "bad_field", "records is not an array of objects.", field="records")
    imported = await asyncio.to_thread(asked.desk(call).take_in, records)
    call.running.tell_change()
    return JSONResponse(imported)
