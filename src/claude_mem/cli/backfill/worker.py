"""Asks the worker while it takes in the past: started if it is not there, and again if it ends meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from claude_mem import settings
from claude_mem.cli import loading, say
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.serve import control

WITHIN_S = 120.0
ATTEMPTS = 4
AT_ONCE = 500


class BeginAgain(Exception):
    """The worker that heard the beginning is not the one that was told the rest."""


def tell(lines: bytes, *, offline: bool, story: str | None = None, part: str | None = None) -> dict[str, Any]:
    """Taken in and durable on return. Raises BeginAgain."""
    said = {"offline": str(offline).lower(), "story": story, "part": part}
    return _asked("POST", "/api/backfill", said, lines)


def progress(since: int) -> dict[str, Any]:
    return _asked("GET", "/api/backfill", {"since": str(since)})


def known(sessions: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for some in _some(sessions):
        found |= _asked("POST", "/api/backfill/known", {}, {"sessions": list(some)})["sessions"]
    return found


def health() -> dict[str, Any]:
    return _asked("GET", "/health", {})


def _some(sessions: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(sessions), AT_ONCE):
        yield sessions[start : start + AT_ONCE]


def _asked(method: str, path: str, query: dict[str, str | None], body: object = None) -> dict[str, Any]:
    said = urlencode({name: value for name, value in query.items() if value is not None})
    path = f"{path}?{said}" if said else path
    data_dir = settings.data_directory()
    for _ in range(ATTEMPTS):
        try:
            status, answer = control.request(data_dir, method, path, body, deadline_s=WITHIN_S)
        except TimeoutError:
            raise WorkerHung(control.status(data_dir).pid) from None
        except OSError:
            with say.patiently("Starting the worker ..."):
                control.start(loading.load().data_dir)
            continue
        return _answered(status, answer)
    raise ClaudeMemError("The worker does not stay up. Look at: claude-mem worker logs")


def _answered(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    if status < 400:
        return answer
    error = answer.get("error")
    error = error if isinstance(error, dict) else {"message": answer}
    match error.get("code"):
        case "not_from_the_start":
            raise BeginAgain
        case "no_route":
            raise ClaudeMemError("The worker is of another version. Run: claude-mem worker restart")
    raise ClaudeMemError(str(error["message"]))
