"""How an event is written on the wire, and the mark by which a listener takes the stream up again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from claude_mem.model.refs import MemoryKind

MEDIA_TYPE = "text/event-stream"

_CURSOR = re.compile(r"p(\d{1,12})-o(\d{1,12})-s(\d{1,12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last memory of each kind somebody was told of. Written `p8-o12-s3`: an event's id."""

    prompt: int = 0
    observation: int = 0
    summary: int = 0

    def __str__(self) -> str:
        return f"p{self.prompt}-o{self.observation}-s{self.summary}"

    @classmethod
    def parse(cls, text: str) -> Cursor | None:
        found = _CURSOR.fullmatch(text)
        return cls(*map(int, found.groups())) if found else None

    def of(self, kind: MemoryKind) -> int:
        return int(getattr(self, kind))

    def at(self, kind: MemoryKind, id: int) -> Cursor:
        return replace(self, **{kind: id})


def event(name: str, cursor: Cursor, told: Mapping[str, object]) -> bytes:
    """Its name is in the data too, for clients that hear all events by one ear."""
    said = json.dumps({"type": name, **told}, ensure_ascii=False, separators=(",", ":"))
    return f"id: {cursor}\nevent: {name}\ndata: {said}\n\n".encode("utf-8", "replace")
