"""What a scripted model server says, byte for byte: the Messages API (plain, streaming), and OpenAI's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.harness.model_script import Request, Say


def error(type: str, request: Request) -> bytes:
    error = {"type": type, "message": "the script says so"}
    shaped = {"error": error | {"code": type}} if request.speaks_openai else {"type": "error", "error": error}
    return json.dumps(shaped).encode()


def _usage(step: Say) -> dict[str, int]:
    return {
        "input_tokens": step.input_tokens,
        "cache_creation_input_tokens": step.cache_write_tokens,
        "cache_read_input_tokens": step.cached_tokens,
        "output_tokens": step.output_tokens,
    }


def _content(step: Say) -> list[dict[str, Any]]:
    said = [{"type": "text", "text": step.text}] if step.text else []
    return said + [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.input)} for use in step.uses
    ]


def _message(step: Say, request: Request) -> dict[str, Any]:
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


def plain(step: Say, request: Request) -> bytes:
    if not request.speaks_openai:
        return json.dumps(_message(step, request)).encode()
    prompt = step.input_tokens + step.cache_write_tokens + step.cached_tokens
    answer: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "model": request.body.get("model", "scripted"),
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": step.text}}
        ],
    }
    if step.usage:
        answer["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": step.output_tokens,
            "total_tokens": prompt + step.output_tokens,
            "prompt_tokens_details": {"cached_tokens": step.cached_tokens},
        }
    return json.dumps(answer).encode()


def event(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def stream(step: Say, request: Request) -> Iterator[bytes]:
    """The events of a streaming Messages answer."""
    message = _message(step, request)

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
