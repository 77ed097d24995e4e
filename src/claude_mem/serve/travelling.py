"""Memory that travels, over HTTP: records out as a stream of lines, and lines in as records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from claude_mem.serve import asked, message
from claude_mem.serve.endpoint import LINES, Call
from claude_mem.serve.refusal import Refusal

PIECE = 64 << 10  # bytes sent at a time
MOST_LINES = 1_000


async def export(call: Call) -> Response:
    if call.request.method == "HEAD":
        return Response(media_type=LINES)
    query, narrowing = asked.text(call.query, "q"), asked.narrowing(call.query)
    records = await asyncio.to_thread(asked.desk(call).export, query, narrowing)
    return StreamingResponse(_pieces(records), media_type=LINES)


async def take_lines(call: Call) -> Response:
    """A line that cannot be read is told by its number, and the others are taken all the same."""
    own = call.query["own"] is True
    done = await asyncio.to_thread(absorbed, call.lines or b"", partial(asked.desk(call).absorb, own=own))
    call.running.tell_change()
    return JSONResponse(done)


def absorbed(raw: bytes, absorb: Callable[[list[dict[str, object]]], dict[str, Any]]) -> dict[str, Any]:
    lines = raw.split(b"\n")
    if len(lines) > MOST_LINES + 1:
        raise Refusal(400, "too_many", f"At most {MOST_LINES:,} lines at a time; send them in parts.")
    records: list[dict[str, object]] = []
    places: list[int] = []
    refused: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            records.append(message.parse(line, "It"))
        except Refusal as why:
            refused.append((number, str(why)))
        else:
            places.append(number)
    done = absorb(records)
    refused += [(places[each["index"]], each["message"]) for each in done["refused"]]
    return {"taken": done["taken"], "known": done["known"], "refused": sorted(refused)}


def line(record: Mapping[str, Any]) -> bytes:
    """As it stands in a file: the same record is always the same bytes."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _pieces(records: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    """A thread is asked for each, so not for every line."""
    gathered = bytearray()
    for record in records:
        gathered += line(record)
        if len(gathered) >= PIECE:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)
