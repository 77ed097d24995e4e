"""Which session a pause is about, and since when it holds, in the words of the command line."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from claude_mem.cli.commands import UsageError
from claude_mem.model.jobs import OPEN_STATUSES
from claude_mem.serve import control, pause_switches
from claude_mem.serve.pause_switches import Paused, look

__all__ = ["SESSION_VARIABLE", "Paused", "look", "pause", "resume", "when", "which"]

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Set by the client for whatever it runs."""
WITHIN_S = 1.0


def pause(data_dir: Path, session: str | None = None) -> bool:
    """Pause everything (None), or a session; False: it was."""
    return _seen(data_dir, changed=pause_switches.pause(data_dir, session))


def resume(data_dir: Path, session: str | None = None) -> bool:
    """End a pause of everything (None), or of a session; False: there was none."""
    return _seen(data_dir, changed=pause_switches.resume(data_dir, session))


def _seen(data_dir: Path, *, changed: bool) -> bool:
    """The worker looks now, so that whoever has the viewer open sees it. It holds without: hooks look too.
    Nothing is asked of it but a look: were it late, it could undo what was switched since."""
    if changed:
        with suppress(OSError):
            control.request(data_dir, "GET", "/api/status", deadline_s=WITHIN_S)
    return changed


def still_open(data_dir: Path, sessions: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """Without those of which the worker knows that they have ended. One that is not running is not asked."""
    found: list[tuple[str, float]] = []
    for index, (session, since) in enumerate(sessions):
        path = f"/sessions/{quote(session, safe='', errors='replace')}/status"
        try:
            code, told = control.request(data_dir, "GET", path, deadline_s=WITHIN_S)
        except OSError:
            return [*found, *sessions[index:]]
        if code != 200 or told.get("status") in OPEN_STATUSES:
            found.append((session, since))
    return found


def which(named: str | None) -> str | None:
    """The session that `--session` names: None for none, empty for the one we run in. Raises UsageError."""
    if named is None:
        return None
    session = named or os.environ.get(SESSION_VARIABLE, "")
    if not session:
        raise UsageError(f"say which session: --session ID. ({SESSION_VARIABLE} is not set here.)")
    return session


def when(since: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
