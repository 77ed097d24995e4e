"""Forgetting outside the database: in its copies, in exported files, and in spool files that could not be
read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from claude_mem.store.sqlite.copies import Copies, ExportedFiles
from claude_mem.store.sqlite.forget import plain, spellings
from claude_mem.store.values import CopyReport, ForgetRequest

ContentTest = Callable[[bytes], bool]


class OtherCopies:
    """`copying`: held while a copy of the database is made, so that none is made of what is being
    forgotten. `unread` and `remove_unread`: the paths of spool files that could not be read and pass a test
    of their content."""

    def __init__(
        self,
        *,
        copies: Copies,
        exports: ExportedFiles,
        unread: Callable[[ContentTest], list[str]],
        remove_unread: Callable[[ContentTest], list[str]],
        place: Callable[[str], Path],
        copying: threading.Lock,
    ) -> None:
        self._copies, self._exports, self._copying = copies, exports, copying
        self._unread, self._remove_unread, self._place = unread, remove_unread, place

    def look(self, wanted: ForgetRequest) -> list[CopyReport]:
        with self._copying:
            return [
                *self._copies.look(wanted),
                *self._exports.look(wanted),
                *self._spooled(wanted, self._unread, "holds"),
            ]

    def forget(self, wanted: ForgetRequest, *, exports: bool) -> list[CopyReport]:
        with self._copying:
            done = self._copies.forget(wanted)
        written = self._exports.forget(wanted) if exports else self._exports.look(wanted)
        return [*done, *written, *self._spooled(wanted, self._remove_unread, "removed")]

    def _spooled(
        self, wanted: ForgetRequest, find: Callable[[ContentTest], list[str]], done: str
    ) -> list[CopyReport]:
        test = _content_test(wanted)
        return [CopyReport(str(self._place(path)), "spool", done) for path in find(test)] if test else []


def _content_test(wanted: ForgetRequest) -> ContentTest | None:
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
