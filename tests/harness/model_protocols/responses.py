"""OpenAI's Responses API, as Codex reads it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.harness.model_script import Request, Say


def _items(step: Say, request: Request) -> list[dict[str, Any]]:
    """Tools without a schema take text (`Use("apply_patch", {"input": …})`), the others JSON."""
    plain = {tool.get("name") for tool in request.body.get("tools", []) if tool.get("type") == "custom"}
    output_text = {"type": "output_text", "text": step.text, "annotations": []}
    items: list[dict[str, Any]] = []
    if step.text:
        items.append({"type": "message", "id": _id("msg"), "role": "assistant", "content": [output_text]})
    for use in step.uses:
        call = {"id": _id("fc"), "call_id": use.id, "name": use.name, "status": "completed"}
        if use.name == "tool_search":
            items.append(
                call | {"type": "tool_search_call", "execution": "client", "arguments": dict(use.input)}
            )
        elif use.name in plain:
            items.append(call | {"type": "custom_tool_call", "input": use.input["input"]})
        else:
            items.append(call | {"type": "function_call", "arguments": json.dumps(dict(use.input))})
    return items


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"


def answer(step: Say, request: Request) -> dict[str, Any]:
    total = step.input_tokens + step.cached_tokens
    return {
        "id": _id("resp"),
        "object": "response",
        "status": "completed",
        "model": request.body.get("model", "scripted"),
        "output": _items(step, request),
        "usage": {
            "input_tokens": total,
            "input_tokens_details": {"cached_tokens": step.cached_tokens},
            "output_tokens": step.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total + step.output_tokens,
        },
    }


def stream(step: Say, request: Request) -> Iterator[bytes]:
    whole = answer(step, request)

    def event(name: str, **data: Any) -> bytes:
        return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()

    yield event("response.created", response=whole | {"output": [], "status": "in_progress", "usage": None})
    for index, item in enumerate(whole["output"]):
        yield event("response.output_item.added", output_index=index, item=item)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole)
