"""The hook's connection to the worker: wakes it, starts one if there is none, and queries it.

    {"type":"wake","version":…}                        nothing comes back, and nothing is waited for
    {"type":"ask","version":…,"event":…,"payload":…}   ->   {"type": "answer", "context": "…"}
    {"type":"command",…}: see `slash_command`          ->   the same

Asking wakes it, too: what was spooled before is drained. What it says is a JSON string that goes into the
hook's answer without being parsed; it is checked first, so that what the client reads is valid whatever a
damaged file or a confused worker holds.
"""

from __future__ import annotations

import posix
import time

from claude_mem import __version__
from claude_mem.hook import paths, spool_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket


START_AT_MOST_EVERY_S = 5
SILENT_S = 20
"""A worker that has answered nobody for so long is looked into (serve/replacement.py decides)."""


def wake(executable: str) -> None:
    if not poke():
        start(executable)


def poke() -> bool:
    """Send one line; False when nobody listens. A worker that is busy or stopped still counts as there."""
    import _socket  # half the price of `socket`

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(paths.HOOK_SOCK)
        sock.send(b'{"type":"wake","version":"%s"}\n' % __version__.encode())
    except BlockingIOError:
        note_silence()  # its backlog is full: it has plenty to wake up to, or never will
    except OSError:
        return False
    finally:
        sock.close()
    return True


def note_silence() -> None:
    """The worker is there and did not answer in time. When nobody was answered for a while, a new one is
    started that takes its place, if it hangs."""
    import sys

    try:
        since = posix.stat(paths.SILENT).st_mtime
    except OSError:
        since = 0.0
    silent_s = time.time() - since
    if 0 <= silent_s < SILENT_S:
        return
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
    fd = posix.open(paths.SILENT, flags, 0o600)
    posix.utime(fd)  # from here on it counts anew
    posix.close(fd)
    if since and silent_s > 0:
        start(sys.executable, "--replace")


def _heard() -> None:
    try:
        posix.unlink(paths.SILENT)
    except OSError:
        pass  # it was not silent


def start(executable: str, *more: str) -> None:
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
        posix.execve(executable, [*worker_command(executable, from_hook=True), *more], environ)
    finally:
        posix._exit(127)


def worker_command(executable: str, *, from_hook: bool) -> list[str]:
    """-E, -P: neither the project's PYTHONPATH nor a `json.py` in its folder may reach the worker."""
    command = [executable, "-E", "-P", "-m", "claude_mem.worker"]
    return [*command, "--from-hook"] if from_hook else command


def _is_my_turn() -> bool:
    fd = posix.open(
        paths.START_STAMP, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600
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
        posix.mkdir(paths.LOGS, 0o700)
    except FileExistsError:
        pass
    nothing = posix.open("/dev/null", posix.O_RDWR)
    log = posix.open(
        paths.START_LOG, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW, 0o600
    )
    posix.dup2(nothing, 0)
    posix.dup2(log, 1)
    posix.dup2(log, 2)


MOST_ANSWER = 60 << 10  # 10,000 characters, all that the client takes, each spelled \uXXXX
_ANSWER_HEAD = b'{"continue": true, "suppressOutput": true, "hookSpecificOutput": {"hookEventName": "%s", '
_ANSWER_CONTEXT = b'"additionalContext": %s}}\n'


def answer_with(event: bytes, string: bytes) -> bytes | None:
    """A hook's answer that shows the model what the JSON string says; None when there is nothing to show."""
    from claude_mem.hook import json_peek

    if string == b'""' or not json_peek.is_string(string, MOST_ANSWER):
        return None
    return _ANSWER_HEAD % event + _ANSWER_CONTEXT % string


def checked_answer(event: bytes, line: bytes) -> bytes | None:
    """The line, if it is what `answer_with` would have made."""
    string = line.removeprefix(_ANSWER_HEAD % event + b'"additionalContext": ').removesuffix(b"}}\n")
    return line if answer_with(event, string) == line else None


WITHIN_S = 0.3
TOOL_WITHIN_S = 0.15  # asked before every tool that touches a file
MOST_LINE = MOST_ANSWER + 64
ASK = b'{"type":"ask","version":"%s","event":"%s","payload":%s}\n'
OPENING = b'{"type": "answer", "context": '
CLOSING = b"}\n"


class NobodyListens(Exception):
    """There is no worker."""


def may_be_asked(flags: tuple[bytes, ...]) -> bool:
    """Not about what is private, nor with what was scrubbed without the user's own rules."""
    return spool_writer.PRIVATE not in flags and spool_writer.SCRUB_AGAIN not in flags


def ask(event: bytes, payload: bytes, within_s: float, *, answers: bytes = b"") -> bytes | None:
    """The hook's answer that shows what the worker says; None when it says nothing, nonsense, or too late.
    `answers`: the event that the answer is to, if that is another. Raises NobodyListens."""
    # A line break between JSON's tokens is a blank like any other; inside a string there is none.
    said = exchange(ASK % (__version__.encode(), event, payload.replace(b"\n", b" ")), within_s)
    return None if said in (b"", b'""') else _ANSWER_HEAD % (answers or event) + _ANSWER_CONTEXT % said


def exchange(line: bytes, within_s: float) -> bytes:
    """What the worker says, as a JSON string; empty when it says nonsense, or too late. Raises
    NobodyListens."""
    import _socket

    deadline = time.monotonic() + within_s
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(within_s)
        try:
            sock.connect(paths.HOOK_SOCK)
        except BlockingIOError:
            note_silence()  # its backlog is full
            return b""
        except OSError as error:
            raise NobodyListens from error
        sock.sendall(line)
        said = _hear(sock, deadline)
    except TimeoutError:
        note_silence()
        return b""
    except OSError:
        return b""  # hung up on
    finally:
        sock.close()
    _heard()
    if not said.startswith(OPENING) or not said.endswith(CLOSING):
        return b""
    from claude_mem.hook import json_peek

    string = said[len(OPENING) : -len(CLOSING)]
    return string if json_peek.is_string(string, MOST_ANSWER) else b""


def _hear(sock: socket, deadline: float) -> bytes:
    """One line, or what there is of it. Raises OSError past the deadline, also for a line that drips in."""
    said = b""
    while not said.endswith(b"\n") and len(said) <= MOST_LINE:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        part = sock.recv(MOST_LINE)
        if not part:
            break
        said += part
    return said
