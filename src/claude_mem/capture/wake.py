"""Tells the worker that something was spooled, and starts one if there is none. Never waits for either."""

from __future__ import annotations

import posix
import time

from claude_mem import __version__
from claude_mem.capture import places

START_AT_MOST_EVERY_S = 5


def wake(executable: str) -> None:
    if not poke():
        start(executable)


def poke() -> bool:
    """Send one line; False when nobody listens. A worker that is busy or stopped still counts as there."""
    import _socket  # half the price of `socket`

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(places.HOOK_SOCK)
        sock.send(b'{"type":"wake","version":"%s"}\n' % __version__.encode())
    except BlockingIOError:
        pass  # its backlog is full: it has plenty to wake up to
    except OSError:
        return False
    finally:
        sock.close()
    return True


def start(executable: str) -> None:
    """Start a worker that outlives this process, at most once every few seconds over all hooks."""
    if not executable or not _is_my_turn():
        return
    if posix.fork():
        return
    try:
        posix.setsid()  # the client kills its hooks' process group
        _let_go_of_the_client()
        # By its whole path: a relative one meant the directory the client was in.
        environ = posix.environ | {b"CLAUDE_MEM_DATA_DIR": posix.getcwdb()}
        posix.execve(executable, worker_command(executable, from_hook=True), environ)
    finally:
        posix._exit(127)


def worker_command(executable: str, *, from_hook: bool) -> list[str]:
    """-E, -P: neither the project's PYTHONPATH nor a `json.py` in its folder may reach the worker."""
    command = [executable, "-E", "-P", "-m", "claude_mem.worker"]
    return [*command, "--from-hook"] if from_hook else command


def _is_my_turn() -> bool:
    fd = posix.open(
        places.START_STAMP, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600
    )
    try:
        posix.lockf(fd, posix.F_TLOCK, 0)
        stamp = posix.fstat(fd)
        # A stamp far in the future is a clock that was set back; just ahead of us, it is a hook beside us.
        if stamp.st_size and abs(time.time() - stamp.st_mtime) < START_AT_MOST_EVERY_S:
            return False
        posix.pwrite(fd, b"started by a hook\n", 0)
        posix.utime(fd)
    except (BlockingIOError, PermissionError):
        return False  # another hook is starting one right now
    finally:
        posix.close(fd)
    return True


def _let_go_of_the_client() -> None:
    """The client waits until every copy of the hook's pipes is closed."""
    try:
        posix.mkdir(places.LOGS, 0o700)
    except FileExistsError:
        pass
    nothing = posix.open("/dev/null", posix.O_RDWR)
    log = posix.open(
        places.START_LOG, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW, 0o600
    )
    posix.dup2(nothing, 0)
    posix.dup2(log, 1)
    posix.dup2(log, 2)
