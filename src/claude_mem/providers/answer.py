"""Reads what came over the wire into a JSON object, or into the fact that stands in its way."""

from __future__ import annotations

import json
from typing import Any

from claude_mem.providers.failure import STATUS_OF_TYPE, Fact, Refused, Unusable
from claude_mem.providers.wire import Answer, Unreached


def document(answer: Answer | Unreached) -> dict[str, Any] | Fact:
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
    """A number of tokens out of a usage object; 0 where there is none."""
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


def _what(answer: Answer) -> str:
    if not answer.body.strip():
        return "nothing at all"
    if answer.body.lstrip()[:1] == b"<":
        return "a web page instead of a reply (a login page, or a proxy's)"
    return "something that is not JSON"
