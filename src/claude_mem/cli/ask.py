"""Asks the running worker over its socket; what it refuses, or that nobody answers, is said in a sentence."""

from __future__ import annotations

from typing import Any

from claude_mem import settings
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.serve import control

DEADLINE_S = 15.0


def ask(method: str, path: str, body: object = None) -> dict[str, Any]:
    data_dir = settings.data_directory()  # whatever settings.json holds
    try:
        status, answer = control.request(data_dir, method, path, body, deadline_s=DEADLINE_S)
    except TimeoutError:
        raise WorkerHung(control.status(data_dir).pid) from None
    except OSError:
        raise ClaudeMemError("The worker is not running. Run: claude-mem worker start") from None
    if status == 404:
        raise ClaudeMemError("The worker is of another version. Run: claude-mem worker restart")
    if status >= 400:
        error = answer.get("error")
        raise ClaudeMemError(str(error["message"] if isinstance(error, dict) else answer))
    return answer
