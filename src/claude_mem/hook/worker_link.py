"""The hook's connection to the worker: wakes it, starts one if there is none, and queries it.

    {"type":"wake","version":…}                        nothing comes back, and nothing is waited for
    {"type":"ask","version":…,"event":…,"payload":…}   ->   {"type": "answer", "context": "…"}
    {"type":"command",…}: see `slash_command`          ->   the same

A query also wakes the worker, so that it drains the spool. Its answer is a JSON string, which is copied into
the hook's answer without parsing it. It is checked first, so that the client always gets valid JSON.
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
"""A worker that has not answered for this long may be replaced (serve/replacement.py decides)."""


def wake(executable: str) -> None:
    if not send_wake():
        start(executable)


def send_wake() -> bool:
    """Sends one line; False if nobody is listening. A worker that is busy or suspended still counts."""
    import _socket  # half the price of `socket`

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(paths.HOOK_SOCK)
        sock.send(b'{"type":"wake","version":"%s"}\n' % __version__.encode())
    except BlockingIOError:
        note_silence()  # its backlog is full: it is very busy, or hangs
    except OSError:
        return False
    finally:
        sock.close()
    return True


def note_silence() -> None:
    """The worker did not answer in time. If it has not answered for a while, starts another one, which
    replaces it if it hangs."""
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
    posix.utime(fd)  # the silence is counted from now
    posix.close(fd)
    if since and silent_s > 0:
        start(sys.executable, "--replace")


def _clear_silence() -> None:
    try:
        posix.unlink(paths.SILENT)
    except OSError:
        pass  # it was not silent


def start(executable: str, *more: str) -> None:
    """Starts a worker that outlives this process; all hooks together start at most one every few seconds."""
    if not executable or not _is_my_turn():
        return
    if posix.fork():
        return
    try:
        posix.setsid()  # the client kills its hooks' process group
        _detach_from_client()
        # An absolute path: a relative one was relative to the client's directory.
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
        # A stamp far in the future means that the clock was set back; one slightly ahead is another hook's.
        if stamp.st_size and abs(time.time() - stamp.st_mtime) < START_AT_MOST_EVERY_S:
            return False
        posix.pwrite(fd, b"started by a hook\n", 0)
        posix.utime(fd)
    except (BlockingIOError, PermissionError):
        return False  # another hook is starting one right now
    finally:
        posix.close(fd)
    return True


def _detach_from_client() -> None:
    """Closes our copies of the hook's pipes: the client waits until every copy is closed."""
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
    """A hook's answer that shows the model this JSON string; None if it is empty or not valid."""
    from claude_mem.hook import json_text

    if string == b'""' or not json_text.is_string(string, MOST_ANSWER):
        return None
    return _ANSWER_HEAD % event + _ANSWER_CONTEXT % string


def checked_answer(event: bytes, line: bytes) -> bytes | None:
    """The line, if `answer_with` would have produced exactly that."""
    string = line.removeprefix(_ANSWER_HEAD % event + b'"additionalContext": ').removesuffix(b"}}\n")
    return line if answer_with(event, string) == line else None


WITHIN_S = 0.3
TOOL_WITHIN_S = 0.15  # queried before every tool that touches a file
MOST_LINE = MOST_ANSWER + 64
QUERY = b'{"type":"ask","version":"%s","event":"%s","payload":%s}\n'
OPENING = b'{"type": "answer", "context": '
CLOSING = b"}\n"


class NobodyListens(Exception):
    """No worker is running."""


def may_query(flags: tuple[bytes, ...]) -> bool:
    """Whether a payload with these flags may be sent to the worker: not a private one, nor one that was
    scrubbed without the user's own rules."""
    return spool_writer.PRIVATE not in flags and spool_writer.SCRUB_AGAIN not in flags


def query(event: bytes, payload: bytes, within_s: float, *, answers: bytes = b"") -> bytes | None:
    """The hook's answer with the worker's context; None if that is empty, invalid or too late. `answers`: the
    event to be answered, if it differs. Raises NobodyListens."""
    # A line break between JSON tokens is whitespace; a string cannot contain one.
    reply = exchange(QUERY % (__version__.encode(), event, payload.replace(b"\n", b" ")), within_s)
    return None if reply in (b"", b'""') else _ANSWER_HEAD % (answers or event) + _ANSWER_CONTEXT % reply


def exchange(line: bytes, within_s: float) -> bytes:
    """The worker's answer as a JSON string; empty if it is invalid or too late. Raises NobodyListens."""
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
        reply = _read_line(sock, deadline)
    except TimeoutError:
        note_silence()
        return b""
    except OSError:
        return b""  # the worker hung up
    finally:
        sock.close()
    _clear_silence()
    if not reply.startswith(OPENING) or not reply.endswith(CLOSING):
        return b""
    from claude_mem.hook import json_text

    string = reply[len(OPENING) : -len(CLOSING)]
    return string if json_text.is_string(string, MOST_ANSWER) else b""


def _read_line(sock: socket, deadline: float) -> bytes:
    """One line, or as much as arrived. Raises TimeoutError at the deadline, however slowly the line
    arrives."""
    reply = b""
    while not reply.endswith(b"\n") and len(reply) <= MOST_LINE:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        part = sock.recv(MOST_LINE)
        if not part:
            break
        reply += part
    return reply
