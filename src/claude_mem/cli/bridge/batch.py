"""Takes several messages that came as one list apart, and puts their answers together again."""

from __future__ import annotations

import json


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


def split(line: bytes) -> Batch | None:
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
