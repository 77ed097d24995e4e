"""Copies messages from the client to the worker and the answers back, until the client hangs up.

Each message has a thread and a deadline, so that the client is never left without an answer: not by a worker
that is down (one is started), restarted in between, or stopped.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs an enum; typeshed has no stub of this
import _thread
import posix
import select
import sys
import time

from claude_mem.cli.bridge.worker_http import HttpReply, exchange
from claude_mem.hook import paths, worker_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

ANSWER_WITHIN_S = 30.0
START_WITHIN_S = 20.0
LAST_ANSWERS_S = 5.0  # for what is still being answered when the client has closed its end
MOST_AT_ONCE = 32
MOST_BYTES = 4 << 20
ENDS = 512  # bytes of both ends of a message that is too long: its id may be in there
CHUNK = 64 << 10
LOOK_AGAIN_S = 0.02
START_AGAIN_S = 1.0

GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
HEADERS = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: application/json\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\nX-Claude-Mem-Cwd: %s\r\n%s\r\n"
)
NOT_STARTED = "claude-mem's worker did not start in time. To find out why, run: claude-mem doctor"
SILENT = "claude-mem's worker did not answer in time. Run: claude-mem worker restart"
CUT_OFF = "claude-mem's worker stopped before it answered. Check whether it took effect before you try again."


def main() -> NoReturn:
    """Never returns: exits 0 when the client hangs up."""
    _signal.signal(_signal.SIGTERM, lambda *_: posix._exit(0))
    _signal.signal(_signal.SIGINT, lambda *_: posix._exit(130))
    posix.umask(0o077)
    try:
        cwd = _here()
        paths.enter(paths.data_directory(posix.environ))
    except OSError as error:
        where = paths.data_directory(posix.environ).decode(errors="replace")
        posix.write(2, f"claude-mem: {error.strerror}: {where}\n".encode())
        posix._exit(1)
    Bridge(0, 1, cwd, start_worker).run()
    posix._exit(0)


class TooLong:
    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head, self.tail = head, tail


class Lines:
    """Cuts messages out of what a client writes."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The messages that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        found = []
        for piece in ended:
            self._add(piece)
            found += self.rest()
        self._add(rest)
        return found

    def rest(self) -> list[bytes | TooLong]:
        """What has come since the last line ended."""
        line, size = b"".join(self._pieces), self._size
        self._pieces, self._size = [], 0
        if size > self._most:
            return [TooLong(line[:ENDS], line[-ENDS:])]
        return [line] if line.strip() else []

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most:
            joined = b"".join(self._pieces)
            self._pieces = [joined[:ENDS], joined[ENDS:][-ENDS:]]


class Bridge:
    def __init__(
        self,
        source: int,
        sink: int,
        cwd: bytes,
        start: Callable[[], None],
        *,
        answer_within_s: float = ANSWER_WITHIN_S,
        start_within_s: float = START_WITHIN_S,
    ) -> None:
        self._source, self._sink, self._start = source, sink, start
        self._answer_within_s, self._start_within_s = answer_within_s, start_within_s
        self._cwd, self._session = cwd.hex().encode(), b""
        self._open = 0  # messages without an answer
        self._started = float("-inf")
        self._lock = _thread.allocate_lock()

    def run(self) -> None:
        lines, ends = Lines(), 0.0
        while not ends or (self._open and time.monotonic() < ends):
            poll = select.poll()
            poll.register(self._sink, 0)  # whether anybody still reads
            reads = not ends and self._open < MOST_AT_ONCE
            if reads:
                poll.register(self._source, select.POLLIN)
            happened = dict(poll.poll(None if reads else int(LOOK_AGAIN_S * 1000)))
            if happened.get(self._sink, 0) & GONE:
                return
            if self._source in happened:
                chunk = posix.read(self._source, CHUNK)
                if not chunk:
                    ends = time.monotonic() + LAST_ANSWERS_S
                for message in lines.feed(chunk) if chunk else lines.rest():
                    with self._lock:
                        self._open += 1
                    _thread.start_new_thread(self._answer, (message,))

    def _answer(self, message: bytes | TooLong) -> None:
        try:
            if answer := self._answer_to(message):
                line = memoryview(answer.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
                with self._lock:
                    while line:
                        line = line[posix.write(self._sink, line) :]
        except BrokenPipeError:
            pass  # nobody reads any more
        finally:
            with self._lock:
                self._open -= 1

    def _answer_to(self, message: bytes | TooLong) -> bytes:
        if isinstance(message, bytes) and not message.lstrip().startswith(b"["):
            return self._forward(message)
        from claude_mem.cli.bridge import json_rpc

        if isinstance(message, TooLong):
            return json_rpc.too_long(message.head, message.tail, MOST_BYTES)
        batch = json_rpc.split_batch(message)
        if batch is None:
            return self._forward(message)
        answers = [answer for each in batch if (answer := self._forward(each))]
        return b"[" + b",".join(answers) + b"]" if answers else b""

    def _forward(self, message: bytes) -> bytes:
        try:
            # What the worker had done when it was cut off is not known. A query may be repeated; a write not.
            is_query = b'"remember"' not in message and b'"forget"' not in message
            reply = self._send(message) or (self._send(message) if is_query else None)
            problem = CUT_OFF
        except TimeoutError as error:
            reply, problem = None, str(error)
        if reply is not None:
            self._session = reply.session or self._session
            if reply.status == 202 or reply.body.startswith(b'{"jsonrpc"'):
                return reply.body
        from claude_mem.cli.bridge import json_rpc

        if reply is None:
            return json_rpc.unanswered(message, problem)
        return json_rpc.refused(message, reply.status, reply.body)

    def _send(self, message: bytes) -> HttpReply | None:
        """None: it was cut off. Raises TimeoutError, with a sentence."""
        deadline = time.monotonic() + self._start_within_s
        while time.monotonic() < deadline:
            session = b"Mcp-Session-Id: %s\r\n" % self._session if self._session else b""
            request = HEADERS % (len(message), self._cwd, session) + message
            try:
                return exchange(request, self._answer_within_s)
            except TimeoutError:
                raise TimeoutError(SILENT) from None
            except BlockingIOError:
                pass  # it has too many callers
            except OSError:
                self._start_if_due()
            time.sleep(LOOK_AGAIN_S)
        raise TimeoutError(NOT_STARTED)

    def _start_if_due(self) -> None:
        with self._lock:
            now = time.monotonic()
            is_due = now - self._started > START_AGAIN_S
            self._started = now if is_due else self._started
        if is_due:
            self._start()


def start_worker() -> None:
    """By a process in between that ends at once: a worker that is our child would stay as a zombie."""
    if child := posix.fork():
        posix.waitpid(child, 0)
        return
    try:
        worker_link.start(sys.executable)
    finally:
        posix._exit(0)


def _here() -> bytes:
    try:
        return posix.getcwdb()
    except FileNotFoundError:
        return b""  # somebody deleted the directory
