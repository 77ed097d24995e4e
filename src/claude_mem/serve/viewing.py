"""Answers what only the viewer asks: where a memory comes from, sessions in order, projects, costs,
previews."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ParamSpec

from starlette.responses import JSONResponse, Response

from claude_mem.api.filters import Page
from claude_mem.ports.desk import Data
from claude_mem.ports.viewing import Viewing
from claude_mem.serve import asked
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal

P = ParamSpec("P")

EVENTS = 100
YEAR = 365
MONTH = 30
SIZES = ("context_characters", "context_tokens", "prompt_characters")


async def provenance(call: Call) -> Response:
    return await _told(_viewing(call).provenance, call.id)


async def events(call: Call) -> Response:
    page = Page(asked.number(call.query, "limit", EVENTS), cursor=asked.text(call.query, "cursor"))
    kinds = asked.narrowing(call.query).kinds
    return await _told(_viewing(call).events, call.id, kinds, page)


async def project(call: Call) -> Response:
    narrowing = asked.narrowing(call.query)
    _require_project(narrowing.project, narrowing.cwd)
    days = asked.number(call.query, "days", YEAR)
    return await _told(_viewing(call).project, narrowing, days=days)


async def facets(call: Call) -> Response:
    return await _told(_viewing(call).facets, asked.narrowing(call.query))


async def cost(call: Call) -> Response:
    days = asked.number(call.query, "days", MONTH)
    return await _told(_viewing(call).cost, asked.text(call.query, "project"), days=days)


async def preview(call: Call) -> Response:
    narrowing = asked.narrowing(call.body)
    _require_project(narrowing.project, narrowing.cwd)
    prompt = call.body["prompt"]
    return await _told(
        _viewing(call).preview, narrowing, prompt if isinstance(prompt, str) else "", _sizes(call.body)
    )


async def select(call: Call) -> Response:
    return await _told(
        _viewing(call).select,
        asked.text(call.body, "q"),
        asked.narrowing(call.body),
        cursor=asked.text(call.body, "cursor"),
    )


def _sizes(given: Mapping[str, object]) -> dict[str, int]:
    return {name: value for name in SIZES if isinstance(value := given.get(name), int)}


def _viewing(call: Call) -> Viewing:
    found = call.running.parts.viewing
    if found is None:
        raise Refusal(503, "unavailable", "This worker only captures; it recalls nothing.")
    return found


def _require_project(project: str, cwd: str) -> None:
    if not project and not cwd:
        raise Refusal(400, "missing_field", "project is missing, and so is cwd.", field="project")


async def _told(ask: Callable[P, Data], *args: P.args, **kwargs: P.kwargs) -> Response:
    return JSONResponse(await asyncio.to_thread(ask, *args, **kwargs))
