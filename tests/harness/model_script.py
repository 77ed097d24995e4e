"""The steps of a scripted model server, and what it was asked."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def _tool_use_id() -> str:
    return f"toolu_{uuid.uuid4().hex[:24]}"


@dataclass(frozen=True, slots=True)
class Use:
    """A tool that the model wants to be used."""

    name: str
    input: Mapping[str, Any]
    id: str = field(default_factory=_tool_use_id)


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this text, and with tools to be used, in the protocol and the manner (plain, streaming)
    that was asked for."""

    text: str
    uses: tuple[Use, ...] = ()
    input_tokens: int = 1000
    cache_write_tokens: int = 100
    cached_tokens: int = 200
    output_tokens: int = 50
    stop_reason: str = ""  # "": what fits
    usage: bool = True  # False: leave the usage out, as some local servers do


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with an error, shaped as the protocol does it."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "error_of_the_script"


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer 200 with these bytes: malformed JSON, HTML, nothing at all."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Cut:
    """Begin as Say would, and close the connection half-way."""

    text: str = "half of this is lost"


@dataclass(frozen=True, slots=True)
class StreamError:
    """Begin a stream, then send an error in it; asked for a plain answer, send that error under a 200."""

    type: str = "overloaded_error"


@dataclass(frozen=True, slots=True)
class Drip:
    """Answer so slowly that it never ends: a byte every so often, of the headers or of the body."""

    every_s: float = 0.05
    of: str = "body"  # or "headers"


class Reset:
    """Reset the connection (RST) instead of answering."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Say nothing until `server.release()`, or until the server closes; in a streaming answer, nothing more
    after these words."""

    after: str = ""


Step = Say | Status | Raw | Cut | StreamError | Drip | Reset | Hang


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case; of a secret only that it was there: "<secret>"
    body: dict[str, Any]
    size: int  # bytes of the body

    @property
    def speaks_openai(self) -> bool:
        return "/chat/completions" in self.path

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream")) or ":streamGenerateContent" in self.path


Script = Sequence[Step] | Callable[[Request], Step]
