"""Answers questions about memory: one desk answers them all, and what it says is sent on as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec

from starlette.responses import JSONResponse, PlainTextResponse, Response

from claude_mem.model.refs import Ref
from claude_mem.ports.desk import Data
from claude_mem.serve import asked
from claude_mem.serve.endpoint import Call, Handler
from claude_mem.serve.refusal import Refusal

P = ParamSpec("P")

AROUND = 10
"""How many before and after the middle of a timeline when nobody says."""


async def search(call: Call) -> Response:
    query, narrowing, page = asked.text(call.query, "q"), asked.narrowing(call.query), asked.page(call.query)
    explain = call.query["explain"] is True
    return await _told(asked.desk(call).search, query, narrowing, page, explain=explain)


async def timeline(call: Call) -> Response:
    return await _told(
        asked.desk(call).timeline,
        asked.text(call.query, "anchor"),
        asked.narrowing(call.query),
        before=asked.number(call.query, "before", AROUND),
        after=asked.number(call.query, "after", AROUND),
        query=asked.text(call.query, "q"),
    )


def listing(kind: str) -> Handler:
    async def listed(call: Call) -> Response:
        return await _told(asked.desk(call).listed, kind, asked.narrowing(call.query), asked.page(call.query))

    return listed


async def observation(call: Call) -> Response:
    ref = Ref.parse(call.id)
    found = await asyncio.to_thread(asked.desk(call).details, [str(ref)]) if ref else {"results": []}
    if not found["results"]:
        raise Refusal(404, "not_found", "Nothing is remembered under that id.")
    return JSONResponse(found["results"][0])


async def batch(call: Call) -> Response:
    refs = asked.refs(call.body)
    if not refs:
        raise Refusal(400, "missing_field", "ids is empty.", field="ids")
    found = await asyncio.to_thread(asked.desk(call).details, refs)
    order, limit = call.body["orderBy"], call.body["limit"]
    results: list[dict[str, Any]] = found["results"]
    if order is not None:
        results = sorted(results, key=_when, reverse=order == "date_desc")
    if isinstance(limit, int):
        results = results[:limit]
    return JSONResponse(found | {"results": results})


async def session(call: Call) -> Response:
    return await _told(asked.desk(call).session, call.id)


async def file(call: Call) -> Response:
    limit = asked.number(call.query, "limit", asked.RESULTS)
    path = asked.text(call.query, "path")
    return await _told(asked.desk(call).file_history, path, asked.narrowing(call.query), limit=limit)


async def context(call: Call) -> Response:
    narrowing = asked.narrowing(call.query)
    if not narrowing.project and not narrowing.cwd:
        raise Refusal(400, "missing_field", "project is missing, and so is cwd.", field="project")
    found = await asyncio.to_thread(
        asked.desk(call).context,
        narrowing,
        source=asked.text(call.query, "source") or "startup",
        session=narrowing.session,
    )
    return JSONResponse(found) if call.query["format"] == "json" else PlainTextResponse(str(found["text"]))


async def stats(call: Call) -> Response:
    return await _told(asked.desk(call).stats)


async def _told(ask: Callable[P, Data], *args: P.args, **kwargs: P.kwargs) -> Response:
    return JSONResponse(await asyncio.to_thread(ask, *args, **kwargs))


def _when(result: dict[str, Any]) -> int:
    return int(result.get("created_at_epoch") or 0)
