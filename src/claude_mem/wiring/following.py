"""Puts the watch over transcripts together with whom their events are told to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from claude_mem.agents.claude_code import transcript_watch
from claude_mem.atomic_write import write_file
from claude_mem.privacy.private_turns import Turns
from claude_mem.settings import Settings
from claude_mem.wiring.past import Retelling

log = logging.getLogger("claude_mem")

MARKS = "watch.json"


class Following:
    """`drain` takes in what hooks have reported: a session that has hooks is known before it is watched."""

    def __init__(self, settings: Settings, past: Retelling, drain: Callable[[], int]) -> None:
        self._past, self._drain = past, drain
        self._path = settings.place(MARKS)
        self._watch = transcript_watch.Watch(
            [Path(folder).expanduser() for folder in settings.watch], self._marks()
        )
        self._turns: dict[Path, Turns] = {}
        self._begun = False

    def step(self) -> bool:
        """Whether anything was new."""
        grown = self._watch.grown()
        if grown:
            while self._drain():
                pass
        fresh = 0
        for path in grown:
            turns = self._turns.setdefault(path, Turns())
            try:
                for piece in self._watch.news(path):
                    fresh += self._past.tell(piece, turns, offline=False)["fresh"]
            except OSError as error:
                log.warning("%s cannot be read: %s", path, error.strerror)
        if grown or not self._begun:
            self._begun = True
            write_file(self._path, transcript_watch.write_marks(self._watch.marks()))
        return fresh > 0

    def _marks(self) -> dict[str, transcript_watch.Mark] | None:
        with suppress(OSError, ValueError, AttributeError, TypeError):
            return transcript_watch.read_marks(self._path.read_bytes())
        return None
