"""Writes one event as one durable file.

The envelope is joined to the payload's own bytes, so that an innocent payload is never parsed:

    {"v":1,"by":"<version>","id":"<name>","at":<epoch ms>,"event":"PostToolUse","payload":{…}}
"""

from __future__ import annotations

import posix

from claude_mem import __version__
from claude_mem.capture import ledger, places, stdin

VERSION = 1
SUFFIX = ".json"


def put(event: bytes, payload: bytes, now_ns: int) -> str:
    """Spool `payload` and return its name once it would survive a power cut."""
    size = len(payload) + 128
    try:
        time = ledger.admit(size, now_ns)
    except FileNotFoundError:
        _make_room()
        time = ledger.admit(size, now_ns)
    name = f"{time:020d}-{posix.getpid()}-{posix.urandom(2).hex()}"
    head = b'{"v":%d,"by":"%s","id":"%s","at":%d,"event":"%s","payload":' % (
        VERSION,
        __version__.encode(),
        name.encode(),
        now_ns // 1_000_000,
        event,
    )
    temporary, final = f"{places.SPOOL}/.{name}.tmp", f"{places.SPOOL}/{name}{SUFFIX}"
    try:
        _write(temporary, head + payload + b"}\n")
        try:
            _sync(temporary)
            posix.rename(temporary, final)
            _sync(places.SPOOL)  # without this a power cut can forget the rename
        except stdin.Late:
            # The disk is slow, not broken. An event a power cut may take beats one that is surely lost.
            _finish(temporary, final)
    except BaseException:
        # Not accepted: leave neither a file nor its weight in the ledger.
        _forget(temporary, final, size)
        raise
    return name


def _finish(temporary: str, final: str) -> None:
    try:
        posix.rename(temporary, final)
    except FileNotFoundError:
        posix.stat(final)  # already renamed


def _make_room() -> None:
    from claude_mem.capture import drops

    try:
        posix.mkdir(places.SPOOL, 0o700)
    except FileExistsError:
        pass
    drops.prepare()  # now, while there is room for it


def _write(path: str, content: bytes) -> None:
    fd = posix.open(
        path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600
    )
    try:
        view = memoryview(content)
        while view:
            view = view[posix.write(fd, view) :]
    finally:
        posix.close(fd)


def _sync(path: str) -> None:
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    try:
        posix.fsync(fd)
    finally:
        posix.close(fd)


def _forget(temporary: str, final: str, size: int) -> None:
    for path in (temporary, final):
        try:
            posix.unlink(path)
        except OSError:
            pass
    try:
        ledger.discharge(1, size)
    except OSError:
        pass
