"""The JSON of messages, looked at only if it must be: batches, and answers that the worker did not give."""

from __future__ import annotations

import json
import re

from claude_mem.cli.bridge.http import MOST_BYTES, TooLong

# Takes several messages that came as one list apart, and puts their answers together again.


class Batch:
    def __init__(self, messages: list[bytes]) -> None:
        self.messages = messages
        self._open = len(messages)
        self._answers: list[bytes] = []

    def add(self, answer: bytes) -> bytes | None:
        """An answer, or none (a notification has none). Returns all of them once the last is there."""
        self._open -= 1
        self._answers += [answer] if answer else []
        if self._open:
            return None
        return b"[" + b",".join(self._answers) + b"]" if self._answers else b""


def split_batch(line: bytes) -> Batch | None:
    """None: it is no list, or one of nothing."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return (
        Batch([json.dumps(message).encode() for message in found])
        if isinstance(found, list) and found
        else None
    )


PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603

_ID = rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)'
_FIRST = re.compile(rb"\s*\{(?:\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\"\s*,)*\s*" + _ID)
_LAST = re.compile(_ID + rb"(?:\s*,\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\")*\s*\}\s*$")


def unanswered(message: bytes, sentence: str) -> bytes:
    """Nothing, where nothing is waited for."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "The message is not JSON.")
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "The message is JSON, but not an object.")
    if "id" not in found:
        return b""
    return _error(found["id"], INTERNAL_ERROR, sentence)


def refused(message: bytes, status: int, body: bytes) -> bytes:
    """The worker said something, but not in JSON-RPC."""
    try:
        sentence = json.loads(body)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        sentence = ""
    if not isinstance(sentence, str) or not sentence:
        sentence = f"claude-mem's worker responded with status {status}. See its log: claude-mem worker logs"
    return unanswered(message, sentence)


def too_long(found: TooLong) -> bytes:
    """Whose it is can be seen if its id is where clients write it: first or last."""
    match = _FIRST.match(found.head) or _LAST.search(found.tail)
    id = json.loads(match[1]) if match else None
    return _error(id, INVALID_REQUEST, f"The message is longer than {MOST_BYTES} bytes.")


def _error(id: object, code: int, sentence: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}).encode()
