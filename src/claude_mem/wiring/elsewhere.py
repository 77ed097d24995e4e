"""Where memories lie outside the database, put together: its copies, exports, and what could not be read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.queue.spool_reader import Spool
from claude_mem.settings import Settings
from claude_mem.store.sqlite.copies import Copies, ExportedFiles
from claude_mem.store.sqlite.forget import plain, spellings
from claude_mem.store.values import CopyReport, ForgetRequest


class Elsewhere:
    """`copying`: held while a copy of the database is made, so that none is made of what is being
    forgotten."""

    def __init__(self, settings: Settings, copying: threading.Lock) -> None:
        self._copies = Copies(settings.place(paths.BACKUPS), now)
        self._exports = ExportedFiles(settings.place(paths.EXPORTS))
        self._place = settings.place
        self._spool = Spool()
        self._copying = copying

    def look(self, wanted: ForgetRequest) -> list[CopyReport]:
        with self._copying:
            return [*self._copies.look(wanted), *self._exports.look(wanted), *self._looked_aside(wanted)]

    def forget(self, wanted: ForgetRequest, *, exports: bool) -> list[CopyReport]:
        with self._copying:
            done = self._copies.forget(wanted)
        written = self._exports.forget(wanted) if exports else self._exports.look(wanted)
        return [*done, *written, *self._put_aside(wanted)]

    def _looked_aside(self, wanted: ForgetRequest) -> list[CopyReport]:
        is_meant = _meant(wanted)
        paths = self._spool.aside(is_meant) if is_meant else []
        return [CopyReport(str(self._place(path)), "spool", "holds") for path in paths]

    def _put_aside(self, wanted: ForgetRequest) -> list[CopyReport]:
        is_meant = _meant(wanted)
        paths = self._spool.forget_aside(is_meant) if is_meant else []
        return [CopyReport(str(self._place(path)), "spool", "removed") for path in paths]


def _meant(wanted: ForgetRequest) -> Callable[[bytes], bool] | None:
    """Whether bytes that are no event are of what is forgotten: they name its session or its project's
    directory, or hold its words. None: by what is said it cannot be told."""
    named = {trace.session for trace in wanted.traces} if wanted.selection.refs else set()
    needles = {os.fsencode(session) for session in (*wanted.sessions, *named) if session}
    if wanted.project_root and wanted.selection.text is None:
        needles.add(os.fsencode(f"{Path(wanted.project_root)}/"))
    words = spellings(wanted.selection.text) if wanted.selection.text else set()
    if not needles and not words:
        return None

    def is_meant(content: bytes) -> bool:
        text = plain(content.decode(errors="replace")) if words else ""
        return any(needle in content for needle in needles) or any(one in text for one in words)

    return is_meant
