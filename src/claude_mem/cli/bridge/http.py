"""Messages on their way: cut out of what a client writes, one HTTP request to the worker each."""

from __future__ import annotations

import _socket
import select

from claude_mem.hook import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from claude_mem.cli.bridge.json_rpc import Batch


CHUNK = 64 << 10


class Reply:
    def __init__(self, status: int, session: bytes, body: bytes) -> None:
        self.status, self.session, self.body = status, session, body


class Exchange:
    """Never blocks: whoever polls its socket for `events` says when to `proceed`."""

    def __init__(self, message: bytes, ends: float, batch: Batch | None = None) -> None:
        self.message, self.ends, self.batch = message, ends, batch
        self.sent_before = False
        self._sock: _socket.socket | None = None
        self._unsent = memoryview(b"")
        self._received: list[bytes] = []

    def connect(self, more_headers: bytes) -> bool:
        """False: nobody is there, or it has too many callers to take another one now. Raises OSError if there
        is no worker at all."""
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.connect(paths.WORKER_SOCK)
        except BlockingIOError:
            sock.close()
            return False
        except OSError:
            sock.close()
            raise
        self._sock, self._received = sock, []
        self._unsent = memoryview(request(self.message, more_headers))
        return True

    def fileno(self) -> int:
        return -1 if self._sock is None else self._sock.fileno()

    @property
    def events(self) -> int:
        return select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def proceed(self, happened: int) -> bool:
        """Send or read what can be without waiting; True once the worker has hung up."""
        assert self._sock is not None
        try:
            if self._unsent and happened & select.POLLOUT:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
            elif chunk := self._sock.recv(CHUNK):
                self._received.append(chunk)
            else:
                return True
        except BlockingIOError:
            return False
        except OSError:
            return True  # it was killed; what it has said by then counts if it is whole
        return False

    def reply(self) -> Reply | None:
        """None: it hung up before it had said all."""
        self.close()
        return parse(b"".join(self._received))

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def request(message: bytes, more_headers: bytes) -> bytes:
    return (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: application/json\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s"
        % (len(message), more_headers, message)
    )


def parse(raw: bytes) -> Reply | None:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)
    }
    length, words = headers.get(b"content-length", b""), status.split()
    if len(words) < 2 or not words[1].isdigit() or not length.isdigit() or len(body) != int(length):
        return None
    return Reply(int(words[1]), headers.get(b"mcp-session-id", b""), body)


MOST_BYTES = 4 << 20
ENDS = 512  # as much as is kept of both ends of a message that is too long: its id may be in there


class TooLong:
    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head, self.tail = head, tail


class Lines:
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
        """What has come since the last line ended: a message of its own, if nothing follows."""
        line, size = b"".join(self._pieces), self._size
        self._pieces, self._size = [], 0
        if size > self._most:
            return [TooLong(line[:ENDS], line[-ENDS:])]
        return [line] if line.strip() else []

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most:
            kept = b"".join(self._pieces)
            self._pieces = [kept[:ENDS], kept[ENDS:][-ENDS:]]
