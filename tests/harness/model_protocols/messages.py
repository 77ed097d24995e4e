"""Anthropic's Messages API, as the real Claude Code and OpenCode read it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.harness.model_script import Request, Say


def _usage(step: Say) -> dict[str, int]:
    return {
        "input_tokens": step.input_tokens,
        "cache_creation_input_tokens": step.cache_write_tokens,
        "cache_read_input_tokens": step.cached_tokens,
        "output_tokens": step.output_tokens,
    }


def _content(step: Say) -> list[dict[str, Any]]:
    content = [{"type": "text", "text": step.text}] if step.text else []
    return content + [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.input)} for use in step.uses
    ]


def answer(step: Say, request: Request) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", "scripted"),
        "content": _content(step),
        "stop_reason": step.stop_reason or ("tool_use" if step.uses else "end_turn"),
        "stop_sequence": None,
        "usage": _usage(step),
    }


def event(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def stream(step: Say, request: Request) -> Iterator[bytes]:
    """The events of a streaming Messages answer."""
    message = answer(step, request)

    def say(name: str, **data: Any) -> bytes:
        return event(name, {"type": name, **data})

    begun = message | {"content": [], "stop_reason": None, "usage": _usage(step) | {"output_tokens": 1}}
    yield say("message_start", message=begun)
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield say("content_block_start", index=index, content_block=empty)
        yield say("content_block_delta", index=index, delta=delta)
        yield say("content_block_stop", index=index)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield say("message_delta", delta=ended, usage={"output_tokens": step.output_tokens})
    yield say("message_stop")
