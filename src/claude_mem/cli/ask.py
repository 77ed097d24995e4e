"""Asks the running worker over its socket; what it refuses, or that nobody answers, is said in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from claude_mem import settings
from claude_mem.cli import loading, say
from claude_mem.cli.commands import UsageError
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.serve import control

DEADLINE_S = 15.0
RECALL_WITHIN_S = 60.0
"""A first search may load a model."""
SLOWLY_S = 1800.0
"""What reads or rewrites all there is, and every backup of it."""


PIECE = 64 << 10


def ask(method: str, path: str, body: object = None) -> dict[str, Any]:
    try:
        return _asked(method, path, body, DEADLINE_S)
    except _NobodyAnswers:
        raise ClaudeMemError("The worker is not running. Run: claude-mem worker start") from None


def recall(
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    body: object = None,
    *,
    within_s: float = RECALL_WITHIN_S,
) -> dict[str, Any]:
    """As `ask`; but the worker is started if none is there."""
    path = _with_query(path, query or {})
    try:
        return _asked(method, path, body, within_s)
    except _NobodyAnswers:
        pass
    with say.patiently("Starting the worker ..."):
        control.start(loading.load().data_dir)
    try:
        return _asked(method, path, body, within_s)
    except _NobodyAnswers:
        raise ClaudeMemError("The worker does not stay up. Look at: claude-mem worker logs") from None


def recalled_lines(path: str, query: Mapping[str, object]) -> Iterator[bytes]:
    """As `recall`, of an answer that is read line by line while it comes."""
    recall("GET", "/health")  # it is there, or is started
    path = _with_query(path, query)
    try:
        with control.streamed(settings.data_directory(), "GET", path, deadline_s=RECALL_WITHIN_S) as response:
            if response.status >= 400:
                _refuse(response.status, control.as_object(response.read()))
            rest = b""
            while piece := response.read1(PIECE):
                *lines, rest = (rest + piece).split(b"\n")
                yield from (line + b"\n" for line in lines)
    except TimeoutError:
        raise WorkerHung(control.status(settings.data_directory()).pid) from None
    except ConnectionError:
        raise ClaudeMemError("The worker ended before all was told. Try again.") from None


def part(text: str) -> str:
    """One part of a path, whatever it holds."""
    return quote(text, safe="", errors="replace")


def _with_query(path: str, query: Mapping[str, object]) -> str:
    said = {name: value for name, value in query.items() if value not in (None, "", [])}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


class _NobodyAnswers(Exception):
    pass


def _asked(method: str, path: str, body: object, within_s: float) -> dict[str, Any]:
    data_dir = settings.data_directory()  # whatever settings.json holds
    try:
        status, answer = control.request(data_dir, method, path, body, deadline_s=within_s)
    except TimeoutError:
        raise WorkerHung(control.status(data_dir).pid) from None
    except OSError:
        raise _NobodyAnswers from None
    if status >= 400:
        _refuse(status, answer)
    return answer


def _refuse(status: int, answer: Mapping[str, object]) -> NoReturn:
    error = answer.get("error")
    error = error if isinstance(error, dict) else {"message": answer}
    if error.get("code") == "no_route":
        raise ClaudeMemError("The worker is of another version. Run: claude-mem worker restart")
    if status == 400:
        raise UsageError(str(error["message"]))
    raise ClaudeMemError(str(error["message"]))
