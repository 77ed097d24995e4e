"""Reads the spool for the worker: in order, each file once; unreadable files are set aside. The envelope is
described in `hook/spool_writer.py`."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence

from claude_mem.hook import paths, pause, spool_writer
from claude_mem.hook.json_text import integer
from claude_mem.hook.spool_writer import AGENT, FLAGS, PRIVATE, SCRUB_AGAIN, SUFFIX, VERSION
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import SpooledEvent

STALE_TEMPORARY_S = 600
BEING_WRITTEN_S = 30  # a hook has ten seconds for all it does
ABANDONED_S = 90 * 24 * 3600
TRANSIENT = (errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Temporary errors: the file is gone, or the machine is short of memory or descriptors. It is read later."""
MOST_BYTES = 32 << 20  # far more than a hook writes; a larger file is not ours


class Spool:
    """The spool of the data directory that is the working directory."""

    def names(self) -> list[str]:
        """All spooled files, oldest first: their names are times."""
        try:
            return sorted(name for name in os.listdir(paths.SPOOL) if name.endswith(SUFFIX))
        except FileNotFoundError:
            return []

    def measure(self) -> tuple[int, int]:
        """How many files are waiting, and their total size, by listing them."""
        sizes = []
        for name in self.names():
            try:
                sizes.append(os.lstat(f"{paths.SPOOL}/{name}").st_size)
            except FileNotFoundError:
                continue  # drained in the meantime
        return len(sizes), sum(sizes)

    def read(self, name: str) -> SpooledEvent:
        """Reads an event. Raises EventUnreadable if it is not valid, FileNotFoundError if it is gone, OSError
        if it cannot be read now."""
        content = _read_regular_file(f"{paths.SPOOL}/{name}")
        try:
            envelope = json.loads(content.decode(errors="replace"), strict=False, parse_int=integer)
        except (ValueError, RecursionError) as error:
            raise EventUnreadable(f"not JSON: {error}") from error
        match envelope:
            case {"v": int(version), **_rest} if version > VERSION:
                raise EventUnreadable(
                    f"written by a newer version (envelope {version}, this one knows {VERSION})"
                )
            case {
                "v": int(version),
                "id": str(id),
                "at": int(at),
                "event": str(event),
                "payload": dict(payload),
            }:
                fields = _version_1_fields(payload) if version == 1 else envelope
                flags, context, by = fields.get("flags"), fields.get("context"), envelope.get("by")
                flags = flags if isinstance(flags, list) else []
                return SpooledEvent(
                    name,
                    len(content),
                    id,
                    at,
                    event,
                    payload,
                    by=by if isinstance(by, str) else None,
                    agent=str(fields.get("agent") or AGENT),
                    private=PRIVATE.decode() in flags,
                    scrub_again=SCRUB_AGAIN.decode() in flags,
                    context=context if isinstance(context, str) else None,
                )
        raise EventUnreadable("not an event's envelope")

    def remove(self, done: Sequence[SpooledEvent]) -> None:
        """Removes committed events from the spool and its ledger. A file that is already gone was removed by
        its hook, which could not sync it and has corrected the ledger."""
        removed = [spooled for spooled in done if _unlink(f"{paths.SPOOL}/{spooled.name}")]
        spool_writer.discharge(len(removed), sum(spooled.size for spooled in removed))

    def set_aside(self, name: str) -> None:
        """Moves an unreadable file out of the spool."""
        os.makedirs(paths.ASIDE, mode=0o700, exist_ok=True)
        size = os.lstat(f"{paths.SPOOL}/{name}").st_size
        target = f"{paths.ASIDE}/{name}"
        while os.path.lexists(target):
            target += "-again"
        os.rename(f"{paths.SPOOL}/{name}", target)
        spool_writer.discharge(1, size)

    def unreadable(self, matches: Callable[[bytes], bool]) -> list[str]:
        """The paths of matching files that were set aside, or left half-written some time ago."""
        found = []
        for folder, suffix in ((paths.ASIDE, ""), (paths.SPOOL, ".tmp")):
            try:
                names = [name for name in os.listdir(folder) if name.endswith(suffix)]
            except FileNotFoundError:
                continue
            for name in sorted(names):
                try:
                    path = f"{folder}/{name}"
                    is_being_written = suffix and time.time() - os.lstat(path).st_mtime < BEING_WRITTEN_S
                    if not is_being_written and matches(_read_regular_file(path)):
                        found.append(path)
                except (EventUnreadable, FileNotFoundError):
                    continue
        return found

    def remove_unreadable(self, matches: Callable[[bytes], bool]) -> list[str]:
        """Removes the files that `unreadable` finds, and returns their paths."""
        removed = self.unreadable(matches)
        for path in removed:
            _unlink(path)
        return removed

    def tidy(self, now_s: float) -> int:
        """Removes what killed hooks left half-written, and what is long abandoned: files that were set aside,
        and the markers and switches of old sessions. Returns how many."""
        return sum(_unlink(path) for path in self.stale(now_s))

    def stale(self, now_s: float) -> list[str]:
        """The paths that `tidy` removes."""
        found = []
        for path, age_s in _removable():
            try:
                if now_s - os.lstat(path).st_mtime > age_s:
                    found.append(path)
            except FileNotFoundError:
                continue  # its hook finished it in the meantime
        return found


def _version_1_fields(payload: dict[str, object]) -> dict[str, object]:
    """Takes our own fields out of the payload, where envelopes of version 1 had them."""
    flags = [flag.decode() for flag in FLAGS if payload.pop(f"claude_mem_{flag.decode()}", False) is True]
    return {"flags": flags, "context": payload.pop("claude_mem_context", None)}


def _unlink(path: str) -> bool:
    """False if it was already gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _removable() -> Iterator[tuple[str, int]]:
    """Paths, and for how many seconds each may be kept."""
    for directory, suffix, age_s in (
        (paths.SPOOL, ".tmp", STALE_TEMPORARY_S),
        (paths.ASIDE, "", ABANDONED_S),
        (paths.PRIVATE, "", ABANDONED_S),
        (paths.OFF, "", ABANDONED_S),
        (paths.TURN_MARKERS, "", ABANDONED_S),
        (paths.SKIPPED_SESSIONS, "", ABANDONED_S),  # the client keeps its transcripts for a month
    ):
        if os.path.isdir(directory):
            for entry in os.scandir(directory):
                if entry.path == pause.ALL:
                    continue  # it lasts until the user ends the pause
                if entry.name.endswith(suffix) and not entry.is_dir(follow_symlinks=False):
                    yield entry.path, age_s


def _read_regular_file(path: str) -> bytes:
    """Reads a regular file; not a link or a pipe, which other programs could have put there."""
    try:
        content = paths.content(path, MOST_BYTES + 1, paths.NO_LINKS)
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        raise EventUnreadable(f"cannot be read: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise EventUnreadable(f"larger than {MOST_BYTES} bytes")
    return content
