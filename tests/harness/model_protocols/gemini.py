"""Google's generateContent, as Gemini CLI reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.harness.model_script import Request, Say


def answer(step: Say, request: Request) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": step.text}] if step.text else []
    parts += [
        {"functionCall": {"id": use.id, "name": use.name, "args": dict(use.input)}} for use in step.uses
    ]
    total = step.input_tokens + step.cached_tokens
    return {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"},
        ],
        "modelVersion": "scripted",
        "usageMetadata": {
            "promptTokenCount": total,
            "cachedContentTokenCount": step.cached_tokens,
            "candidatesTokenCount": step.output_tokens,
            "totalTokenCount": total + step.output_tokens,
        },
    }


def stream(step: Say, request: Request) -> Iterator[bytes]:
    yield f"data: {json.dumps(answer(step, request))}\n\n".encode()
