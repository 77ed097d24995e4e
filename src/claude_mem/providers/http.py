"""Calls a model over HTTP: one POST within one deadline, and the response as JSON or the failure as a
fact."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_mem.http_client import HttpAnswer, Unreached, call
from claude_mem.model.clock import Clock, now
from claude_mem.model.memory import Failure
from claude_mem.model.structs import replace
from claude_mem.providers.failure import (
    STATUS_OF_TYPE,
    Fact,
    Refused,
    Target,
    Unusable,
    classify,
)
from claude_mem.providers.registry import Prompt, Reply

if TYPE_CHECKING:
    import ssl


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    deadline_s: float,
    tls: ssl.SSLContext | None = None,
) -> HttpAnswer | Unreached:
    """Sends the JSON and reads the complete answer."""
    sent = {"Content-Type": "application/json", **headers}
    return call("POST", url, body, sent, deadline_s=deadline_s, tls=tls)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HttpModel:
    """A model that is called with one POST of JSON: its provider's file says what is sent, and reads the
    answer. Without `repr`: the headers hold the key."""

    url: str
    headers: Mapping[str, str]
    body: Callable[[Prompt, str], dict[str, Any]]
    read: Callable[[dict[str, Any], Prompt, str], Reply | Unusable]
    target: Target
    summary_model: str | None = None
    clock: Clock = now
    jitter: Callable[[], float] = random.random

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        model = (prompt.purpose == "summarize" and self.summary_model) or self.target.model
        body = json.dumps(self.body(prompt, model)).encode()
        answer = document(post(self.url, body, self.headers, deadline_s=deadline_s))
        result = self.read(answer, prompt, model) if isinstance(answer, dict) else answer
        if isinstance(result, Reply):
            return result
        target = replace(self.target, model=model)
        return classify(result, target, now=self.clock(), jitter=self.jitter())

    def close(self) -> None:
        """No connection stays open between calls."""


def document(answer: HttpAnswer | Unreached) -> dict[str, Any] | Fact:
    if isinstance(answer, Unreached):
        return answer
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if answer.status != 200:
        return Refused(answer.status, _type(error), answer.headers.get("retry-after"))
    if error:  # some gateways send the error of the server behind them under a 200 of their own
        return Refused(_status(error), _type(error), answer.headers.get("retry-after"))
    if isinstance(found, dict):
        return found
    return Unusable(_what(answer))


def count(usage: object, *path: str) -> int:
    """A number of tokens from a usage object; 0 if it is missing."""
    for name in path:
        usage = usage.get(name) if isinstance(usage, dict) else None
    return usage if isinstance(usage, int) and not isinstance(usage, bool) and usage > 0 else 0


def _type(error: object) -> str | None:
    if not isinstance(error, dict):
        return None
    names = [error.get("code"), error.get("type")]
    known = [name for name in names if isinstance(name, str) and name in STATUS_OF_TYPE]
    return next(iter(known), None) or next((name for name in names if isinstance(name, str)), None)


def _status(error: object) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 300 <= code < 600:
        return code
    return STATUS_OF_TYPE.get(_type(error) or "", 500)


def _what(answer: HttpAnswer) -> str:
    if not answer.body.strip():
        return "an empty reply"
    if answer.body.lstrip()[:1] == b"<":
        return "a web page instead of a reply (a login page, or a proxy's)"
    return "something that is not JSON"
