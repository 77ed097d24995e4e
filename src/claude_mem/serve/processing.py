"""Keeps `activity.flag`, the little file that status lines and spinners watch."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from starlette.responses import JSONResponse, Response

from claude_mem.capture import places
from claude_mem.serve import whole
from claude_mem.serve.endpoint import Call
from claude_mem.serve.refusal import Refusal


async def put(call: Call) -> Response:
    flag: dict[str, object] = {"active": call.body["isProcessing"]}
    if call.body["project"] is not None:
        flag["project"] = call.body["project"]
    flag["timestamp"] = call.running.parts.clock()
    try:
        await asyncio.to_thread(whole.write, _path(call), json.dumps(flag).encode())
    except OSError as error:
        message = f"activity.flag cannot be written: {error.strerror}."
        raise Refusal(503, "unavailable", message, headers={"Retry-After": "5"}) from error
    return JSONResponse({"status": "ok", "isProcessing": flag["active"]})


async def get(call: Call) -> Response:
    flag = await asyncio.to_thread(_read, _path(call))
    return JSONResponse(
        {
            "isProcessing": flag.get("active") is True,
            "project": flag.get("project"),
            "timestamp": flag.get("timestamp"),
        }
    )


def _path(call: Call) -> Path:
    return call.running.parts.settings.place(places.ACTIVITY)


def _read(path: Path) -> dict[str, object]:
    try:
        flag = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return flag if isinstance(flag, dict) else {}
