"""The command line's HTTP client for the worker: sends a request, and starts a worker if none answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.commands import UsageError
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.serve import control
from claude_mem.settings import Settings, worker_environment

WITHIN_S = 60.0
"""A first search may load a model."""
SLOW_S = 1800.0
"""For a request that reads or rewrites all of the database, and every backup of it."""
CHUNK = 64 << 10
NO_DATABASE = "There is no database yet. The worker creates it: claude-mem worker start"
PAGE = 100  # as many as the worker lists at a time

_warned: set[str] = set()


def load_settings() -> Settings:
    """The settings; those with bad values are reported on stderr, once."""
    found = settings.load()
    for each in found.warnings:
        # Unknown names are reported by `doctor`: they may be another program's.
        if each.message not in _warned and (each.kind == "bad" or each.suggestion):
            _warned.add(each.message)
            output.message(f"claude-mem: {each.message}")
    return found


def approve_environment(data_dir: Path) -> bool:
    """The worker may use this command's environment. Returns whether anything of it is new."""
    found = worker_environment.unapproved(os.environ, data_dir)
    approved = worker_environment.approve(os.environ, data_dir)
    if approved:
        output.message(f"The worker may use these, as set here: {', '.join(approved)}.")
    elif found:
        output.message(
            f"Not for the worker, because this is an agent's session: {', '.join(found)}. "
            "Run this in a terminal."
        )
    return bool(approved)


class WorkerRefused(ClaudeMemError):
    """The worker refused a request; `code` is its reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class BadRequest(WorkerRefused, UsageError):
    """The worker rejected a parameter: what the user typed is invalid."""


def request(
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    body: object = None,
    *,
    starts: int = 1,
    within_s: float = WITHIN_S,
) -> dict[str, Any]:
    """The worker's answer. `starts`: how often a worker is started if none answers. Raises ClaudeMemError."""
    path = _with_query(path, query or {})
    data_dir = settings.data_directory()  # whatever settings.json holds
    for starts_left in reversed(range(starts + 1)):
        try:
            status, answer = control.request(data_dir, method, path, body, deadline_s=within_s)
        except TimeoutError:
            hung = WorkerHung(control.status(data_dir).pid)
            # The change may have been made already, so only reads are repeated.
            if method != "GET" or not starts_left or not _replaced(data_dir):
                raise hung from None
        except OSError:
            if starts_left:
                with output.waiting("Starting the worker ..."):
                    control.start(load_settings().data_dir)
            continue
        if status >= 400:
            _refuse(status, answer)
        return answer
    if not starts:
        raise ClaudeMemError("The worker is not running. Run: claude-mem worker start")
    raise ClaudeMemError("The worker keeps exiting. See its log: claude-mem worker logs")


def slow_request(sentence: str, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Like `request`, for slow requests: in the meantime, prints the sentence."""
    with output.waiting(sentence):
        return request(method, path, body=body, within_s=SLOW_S)


def _replaced(data_dir: Path) -> bool:
    """Replaces a worker that does not respond, if it may be ended."""
    from claude_mem.serve import replacement

    with output.waiting("The worker is not responding. Restarting it ..."):
        if not isinstance(replacement.take_place(data_dir), int):
            return False
        control.start(load_settings().data_dir)
    return True


def stream_lines(path: str, query: Mapping[str, object]) -> Iterator[bytes]:
    """Like `request`, for a response that is read line by line as it arrives."""
    request("GET", "/health")  # it is running, or is started
    path = _with_query(path, query)
    try:
        with control.streamed(settings.data_directory(), "GET", path, deadline_s=WITHIN_S) as response:
            if response.status >= 400:
                _refuse(response.status, control.as_object(response.read()))
            rest = b""
            while piece := response.read1(CHUNK):
                *lines, rest = (rest + piece).split(b"\n")
                yield from (line + b"\n" for line in lines)
    except TimeoutError:
        raise WorkerHung(control.status(settings.data_directory()).pid) from None
    except ConnectionError:
        raise ClaudeMemError("The worker stopped before it sent everything. Try again.") from None


def pages(path: str, query: Mapping[str, object], *, starts: int = 1) -> Iterator[dict[str, Any]]:
    """Every item of a list, page by page."""
    offset = 0
    while True:
        page = request("GET", path, {**query, "limit": PAGE, "offset": offset}, starts=starts)
        yield from page["items"]
        offset += len(page["items"])
        if not page["hasMore"]:
            return


def quoted(text: str) -> str:
    """Percent-encodes one segment of a path, whatever it contains."""
    return quote(text, safe="", errors="replace")


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _refuse(status: int, answer: Mapping[str, object]) -> NoReturn:
    found = answer.get("error")
    error = found if isinstance(found, dict) else {"message": answer}
    code, message = str(error.get("code")), str(error["message"])
    if code == "no_route":
        message = "The running worker is a different version. Run: claude-mem worker restart"
    raise (BadRequest if status == 400 else WorkerRefused)(message, code)
