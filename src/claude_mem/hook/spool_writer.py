"""Writes each event as one durable file, and keeps count of what is waiting.

The envelope is joined to the payload's bytes, so that a payload with nothing to scrub is never parsed:

    {"v":2,"by":"<version>","agent":"claude-code","id":"<name>","at":<epoch ms>,"event":"PostToolUse",
     "flags":["private"],"context":"<stamp>","payload":{…}}

`flags` (from FLAGS) and `context` are ours, and are omitted when empty; the payload contains only what the
agent wrote. Version 1 had no agent, and had our flags inside the payload.

The ledger names the next event and limits the spool. It is one line of fixed width next to the spooled files,
changed in place under a record lock, so that it can be updated on a full disk and needs no directory listing:

    <last name's time, ns> <files> <bytes> <most files> <most bytes>

The time never runs backwards: a name is the wall clock or, if that was set back, one more than the last name.
The worker subtracts what it has drained, and writes the user's limits.
"""

from __future__ import annotations

import posix
import time

from claude_mem import __version__
from claude_mem.hook import paths, stdin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Ledger = tuple[int, int, int, int, int]


VERSION = 2
SUFFIX = ".json"
AGENT = paths.CLAUDE_CODE
"""The agent a hook belongs to if its command names none."""
PRIVATE, CUT_OFF, SCRUB_AGAIN = FLAGS = (b"private", b"cut_off", b"scrub_again")
"""PRIVATE: none of its text was stored. CUT_OFF: it was too long, or incomplete. SCRUB_AGAIN: it was scrubbed
without the user's rules."""
MOST_FILES = 200_000
MOST_BYTES = 1 << 30
WIDTH = 20
TRIES, TRY_EVERY_S = 40, 0.005


class SpoolFull(Exception):
    """The spool has reached its limit; the new event is dropped and counted."""


def parse_ledger(line: bytes) -> Ledger:
    """The five numbers; a damaged or empty line counts as a fresh ledger."""
    try:
        last, files, size, most_files, most_bytes = map(int, line.split())
    except ValueError:
        return 0, 0, 0, MOST_FILES, MOST_BYTES
    return last, files, size, most_files, most_bytes


def _change(change: Callable[[int, int, int, int, int], Ledger]) -> Ledger:
    """Changes the ledger under its lock. A process that holds that for long was suspended: then the ledger is
    only read, not updated, so that the event does not wait."""
    flags = posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW | posix.O_NONBLOCK
    folder = paths.open_folder(paths.SPOOL)
    try:
        fd = posix.open(".ledger", flags, 0o600, dir_fd=folder)
    finally:
        posix.close(folder)
    try:
        is_locked = _lock(fd)
        changed = change(*parse_ledger(posix.pread(fd, 256, 0)))
        if is_locked:
            line = b" ".join(b"%0*d" % (WIDTH, max(0, number)) for number in changed)
            posix.pwrite(fd, line + b"\n", 0)
        return changed
    finally:
        posix.close(fd)  # which unlocks it


def _lock(fd: int) -> bool:
    for _ in range(TRIES):
        try:
            posix.lockf(fd, posix.F_TLOCK, 0)
        except (BlockingIOError, PermissionError):
            time.sleep(TRY_EVERY_S)
        else:
            return True
    return False


def admit(size: int, now_ns: int) -> int:
    """Counts one more event of `size` bytes, and returns the time that names it. Raises SpoolFull."""

    def admitted(last: int, files: int, total: int, most_files: int, most_bytes: int) -> Ledger:
        if files >= most_files or total + size > most_bytes:
            raise SpoolFull
        return max(now_ns, last + 1), files + 1, total + size, most_files, most_bytes

    return _change(admitted)[0]


def discharge(files: int, size: int) -> None:
    """Subtracts events that have left the spool, or never reached it."""
    _change(lambda last, had, total, *limits: (last, had - files, total - size, *limits))


def reset_ledger(files: int, size: int, most_files: int, most_bytes: int) -> None:
    """Writes the counts found by a listing, and the current limits: killed hooks leave wrong counts
    behind."""
    _change(lambda last, *_: (last, files, size, most_files, most_bytes))


def counted_files() -> int:
    """How many files are waiting, according to the ledger."""
    try:
        return parse_ledger(paths.content(paths.LEDGER, 256, paths.NO_LINKS))[1]
    except FileNotFoundError:
        return 0


def put(
    event: bytes,
    payload: bytes,
    now_ns: int,
    *,
    agent: str = AGENT,
    flags: tuple[bytes, ...] = (),
    context: bytes = b"",
) -> str:
    """Spools `payload`, and returns its name once it would survive a power cut. `context`: the stamp of the
    context that the session was shown."""
    size = len(payload) + 128
    try:
        stamp_ns = admit(size, now_ns)
    except FileNotFoundError:
        _create_spool()
        stamp_ns = admit(size, now_ns)
    name = f"{stamp_ns:020d}-{posix.getpid()}-{posix.urandom(2).hex()}"
    head = b'{"v":%d,"by":"%s","agent":"%s","id":"%s","at":%d,"event":"%s",%s%s"payload":' % (
        VERSION,
        __version__.encode(),
        agent.encode(),
        name.encode(),
        now_ns // 1_000_000,
        event,
        b'"flags":["%s"],' % b'","'.join(flags) if flags else b"",
        b'"context":"%s",' % context if context else b"",
    )
    temporary, final = f".{name}.tmp", f"{name}{SUFFIX}"
    folder = paths.open_folder(paths.SPOOL)
    try:
        _write_file(folder, temporary, head + payload + b"}\n")
        try:
            _sync(folder, temporary)
            _rename(folder, temporary, final)
            posix.fsync(folder)  # without this a power cut can forget the rename
        except stdin.DeadlinePassed:
            # The disk is slow, not broken. An event that a power failure may lose is better than none.
            _rename_unsynced(folder, temporary, final)
    except BaseException:
        # Not accepted: leave no file, and correct the ledger.
        _discard(folder, temporary, final, size)
        raise
    finally:
        posix.close(folder)
    return name


def _rename(folder: int, temporary: str, final: str) -> None:
    posix.rename(temporary, final, src_dir_fd=folder, dst_dir_fd=folder)


def _rename_unsynced(folder: int, temporary: str, final: str) -> None:
    try:
        _rename(folder, temporary, final)
    except FileNotFoundError:
        posix.stat(final, dir_fd=folder)  # already renamed


def _create_spool() -> None:
    from claude_mem.hook import drop_counters

    try:
        posix.mkdir(paths.SPOOL, 0o700)
    except FileExistsError:
        pass
    drop_counters.prepare()  # now, while there is room for it


def _write_file(folder: int, name: str, content: bytes) -> None:
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC | posix.O_NOFOLLOW
    fd = posix.open(name, flags, 0o600, dir_fd=folder)
    try:
        view = memoryview(content)
        while view:
            view = view[posix.write(fd, view) :]
    finally:
        posix.close(fd)


def _sync(folder: int, name: str) -> None:
    fd = posix.open(name, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW, dir_fd=folder)
    try:
        posix.fsync(fd)
    finally:
        posix.close(fd)


def _discard(folder: int, temporary: str, final: str, size: int) -> None:
    for name in (temporary, final):
        try:
            posix.unlink(name, dir_fd=folder)
        except OSError:
            pass
    try:
        discharge(1, size)
    except OSError:
        pass
