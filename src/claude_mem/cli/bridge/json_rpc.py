"""The JSON of messages, parsed only if it must be: batches, and answers that the worker did not give."""

from __future__ import annotations

import json
import re

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603

_ID = rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)'
_FIRST = re.compile(rb"\s*\{(?:\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\"\s*,)*\s*" + _ID)
_LAST = re.compile(_ID + rb"(?:\s*,\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\")*\s*\}\s*$")


def split_batch(line: bytes) -> list[bytes] | None:
    """The messages of a list; None: it is not a list, or an empty one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return [json.dumps(each).encode() for each in found] if isinstance(found, list) and found else None


def unanswered(message: bytes, sentence: str) -> bytes:
    """Empty for a notification."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "The message is not JSON.")
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "The message is JSON, but not an object.")
    return _error(found["id"], INTERNAL_ERROR, sentence) if "id" in found else b""


def refused(message: bytes, status: int, body: bytes) -> bytes:
    """The worker answered, but not in JSON-RPC."""
    try:
        sentence = json.loads(body)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        sentence = ""
    if not isinstance(sentence, str) or not sentence:
        sentence = f"claude-mem's worker responded with status {status}. See its log: claude-mem worker logs"
    return unanswered(message, sentence)


def too_long(head: bytes, tail: bytes, most: int) -> bytes:
    """Its id is found if it is where clients write it: first or last."""
    match = _FIRST.match(head) or _LAST.search(tail)
    id = json.loads(match[1]) if match else None
    return _error(id, INVALID_REQUEST, f"The message is longer than {most} bytes.")


def _error(id: object, code: int, sentence: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}).encode()
