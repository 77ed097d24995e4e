"""Notes what sessions were told, behind the back of whoever waits for the answer."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from claude_mem.model.errors import ClaudeMemError
from claude_mem.ports.keeping import Injection, Keeping

log = logging.getLogger("claude_mem")


class Notes:
    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="notes")

    def note(self, injection: Injection) -> None:
        self._thread.submit(self._write, injection)

    def shown_at_start(self, session: str, stamp: str, at: int) -> None:
        """A hook showed a session what was rendered under this stamp."""
        rendering = self._keeping.rendering(stamp)
        if rendering is not None:
            refs, tokens = rendering
            self.note(Injection(session, "SessionStart", refs, tokens, at))

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _write(self, injection: Injection) -> None:
        try:
            self._keeping.note_injection(injection)
        except ClaudeMemError:
            log.exception("what a session was told is not noted")
