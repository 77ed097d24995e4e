"""OpenAI's Chat Completions, as Copilot CLI, Qwen Code, droid, Cline and our own provider read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.harness.model_script import Request, Say


def _usage(step: Say) -> dict[str, Any]:
    prompt = step.input_tokens + step.cache_write_tokens + step.cached_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": step.output_tokens,
        "total_tokens": prompt + step.output_tokens,
        "prompt_tokens_details": {"cached_tokens": step.cached_tokens},
    }


def _message(step: Say) -> dict[str, Any]:
    calls = [
        {
            "index": index,
            "id": use.id,
            "type": "function",
            "function": {"name": use.name, "arguments": json.dumps(dict(use.input))},
        }
        for index, use in enumerate(step.uses)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    return message | ({"tool_calls": calls} if calls else {})


def _reason(step: Say) -> str:
    return step.stop_reason or ("tool_calls" if step.uses else "stop")


def answer(step: Say, request: Request) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": _reason(step), "message": _message(step)}
    usage = {"usage": _usage(step)} if step.usage else {}
    return _head(request, "chat.completion") | {"choices": [choice]} | usage


def _head(request: Request, kind: str) -> dict[str, Any]:
    model = request.body.get("model", "scripted")
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1_700_000_000, "model": model}


def stream(step: Say, request: Request) -> Iterator[bytes]:
    head = _head(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _data(head | {"choices": [choice]})

    yield chunk(_message(step))
    yield chunk({}, _reason(step))
    if step.usage:
        yield _data(head | {"choices": [], "usage": _usage(step)})
    yield b"data: [DONE]\n\n"


def _data(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()
