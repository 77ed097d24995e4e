"""What a scripted model server says, byte for byte, in the protocol that it was asked in: Anthropic's
Messages, OpenAI's Chat Completions and Responses, Google's generateContent; each plain or streaming."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType

from tests.harness.model_protocols import chat, gemini, messages, responses
from tests.harness.model_script import Request, Say


def _of(request: Request) -> ModuleType:
    if request.speaks_openai:
        return chat
    if request.path.partition("?")[0].endswith("/responses"):
        return responses
    return gemini if "enerateContent" in request.path else messages


def plain(step: Say, request: Request) -> bytes:
    return json.dumps(_of(request).answer(step, request)).encode()


def stream(step: Say, request: Request) -> Iterator[bytes]:
    yield from _of(request).stream(step, request)


def error(type: str, request: Request) -> bytes:
    error = {"type": type, "message": "the script says so"}
    shaped = (
        {"type": "error", "error": error} if _of(request) is messages else {"error": error | {"code": type}}
    )
    return json.dumps(shaped).encode()
