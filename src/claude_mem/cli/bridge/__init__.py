"""`claude-mem mcp`: copies messages between a client's pipes and the worker, which speaks the protocol.

Each message has a thread and a deadline, so that the client is never left without an answer: not by a worker
that is down (one is started), restarted in between, or stopped.

A client keeps one of these for every session it has open, so it is small: `posix`, `_socket` and
`_thread` in place of `os`, `socket` and `threading`, and no `json` unless something goes wrong.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs an enum; typeshed has no stub of this
import _socket
import _thread
import posix
import select
import sys
import time

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
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603

_ID = rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)'
_FIRST = rb"\s*\{(?:\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\"\s*,)*\s*" + _ID
_LAST = _ID + rb"(?:\s*,\s*\"(?:jsonrpc|method)\"\s*:\s*\"[^\"]*\")*\s*\}\s*$"


def main() -> NoReturn:
    """Never returns: exits 0 when the client hangs up."""
    _signal.signal(_signal.SIGTERM, lambda *_: posix._exit(0))
    _signal.signal(_signal.SIGINT, lambda *_: posix._exit(130))
    posix.umask(0o077)
    try:
        cwd = _working_directory()
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
    """Splits a client's output into messages."""

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
        if isinstance(message, TooLong):
            return too_long_reply(message.head, message.tail, MOST_BYTES)
        batch = split_batch(message)
        if batch is None:
            return self._forward(message)
        answers = [answer for each in batch if (answer := self._forward(each))]
        return b"[" + b",".join(answers) + b"]" if answers else b""

    def _forward(self, message: bytes) -> bytes:
        try:
            # It is unknown what the worker did before it was cut off. A query may be repeated, but not a
            # write.
            is_query = b'"remember"' not in message and b'"forget"' not in message
            reply = self._send(message) or (self._send(message) if is_query else None)
            problem = CUT_OFF
        except TimeoutError as error:
            reply, problem = None, str(error)
        if reply is not None:
            self._session = reply.session or self._session
            if reply.status == 202 or reply.body.startswith(b'{"jsonrpc"'):
                return reply.body
        if reply is None:
            return error_reply(message, problem)
        return refused_reply(message, reply.status, reply.body)

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


def _working_directory() -> bytes:
    try:
        return posix.getcwdb()
    except FileNotFoundError:
        return b""  # somebody deleted the directory


class HttpReply:
    def __init__(self, status: int, session: bytes, body: bytes) -> None:
        self.status, self.session, self.body = status, session, body


def exchange(request: bytes, within_s: float) -> HttpReply | None:
    """One HTTP exchange with the worker over its socket; `http.client` is larger than all of this file. None:
    the worker hung up before it had sent everything. Raises BlockingIOError if it has too many callers,
    TimeoutError if it does not answer, another OSError if there is none."""
    deadline, received = time.monotonic() + within_s, []
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(within_s)
        sock.connect(paths.WORKER_SOCK)
        try:
            sock.sendall(request)
            while chunk := sock.recv(CHUNK):
                received.append(chunk)
                sock.settimeout(max(0.001, deadline - time.monotonic()))
        except ConnectionError:
            pass  # it was killed; what it has sent counts if it is complete
    finally:
        sock.close()
    return parse_reply(b"".join(received))


def parse_reply(raw: bytes) -> HttpReply | None:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)
    }
    length, words = headers.get(b"content-length", b""), status.split()
    if len(words) < 2 or not words[1].isdigit() or not length.isdigit() or len(body) != int(length):
        return None
    return HttpReply(int(words[1]), headers.get(b"mcp-session-id", b""), body)


# The JSON of messages is parsed only if it must be: batches, and answers that the worker did not give.


def split_batch(line: bytes) -> list[bytes] | None:
    """The messages of a list; None: it is not a list, or an empty one."""
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return [json.dumps(each).encode() for each in found] if isinstance(found, list) and found else None


def error_reply(message: bytes, sentence: str) -> bytes:
    """An error response; empty for a notification."""
    import json

    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "The message is not JSON.")
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "The message is JSON, but not an object.")
    return _error(found["id"], INTERNAL_ERROR, sentence) if "id" in found else b""


def refused_reply(message: bytes, status: int, body: bytes) -> bytes:
    """The error response if the worker answered, but not in JSON-RPC."""
    import json

    try:
        sentence = json.loads(body)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        sentence = ""
    if not isinstance(sentence, str) or not sentence:
        sentence = f"claude-mem's worker responded with status {status}. See its log: claude-mem worker logs"
    return error_reply(message, sentence)


def too_long_reply(head: bytes, tail: bytes, most: int) -> bytes:
    """Its id is found if it is where clients write it: first or last."""
    import json
    import re

    match = re.match(_FIRST, head) or re.search(_LAST, tail)
    id = json.loads(match[1]) if match else None
    return _error(id, INVALID_REQUEST, f"The message is longer than {most} bytes.")


def _error(id: object, code: int, sentence: str) -> bytes:
    import json

    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}).encode()
