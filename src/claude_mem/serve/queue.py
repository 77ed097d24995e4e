"""Does what a person wants done about work that was given up: `/api/queue/retry` and `/api/queue/drop`."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal

MOST_IDS = 10_000
LARGEST_ID = 2**63 - 1  # of SQLite


async def retry(call: Call) -> Response:
    ids = _ids(call)
    resumed = await asyncio.to_thread(call.running.parts.resume, ids)
    call.running.tell_news()  # now, not when the pump would have looked again
    return JSONResponse({"status": "ok", "resumed": resumed})


async def drop(call: Call) -> Response:
    ids = _ids(call) or []
    return JSONResponse({"status": "ok", "dropped": await asyncio.to_thread(call.running.parts.drop, ids)})


def _ids(call: Call) -> list[int] | None:
    """Each once, in their order; None: none were named."""
    ids = call.body["ids"]
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(_is_id(each) for each in ids):
        raise Refusal(400, "bad_field", "ids is not an array of jobs' ids.", field="ids")
    if len(ids) > MOST_IDS:
        raise Refusal(400, "bad_field", f"ids holds more than {MOST_IDS} ids.", field="ids")
    return list(dict.fromkeys(ids))


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_ID
