"""Copies messages from the client to the worker and the answers back, until the client hangs up.

Every message has a deadline, so that the client is never left without an answer: not by a worker that is down
(one is started), restarted in between, or stopped.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs an enum; typeshed has no stub of this
import posix
import select
import sys
import time

from claude_mem.cli.bridge.http import Exchange, Lines, Reply, TooLong
from claude_mem.hook import paths, worker_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

ANSWER_WITHIN_S = 30.0
START_WITHIN_S = 20.0
LAST_WORDS_S = 5.0  # for what is still being answered when the client has closed its end
MOST_AT_ONCE = 32
CHUNK = 64 << 10
LOOK_AGAIN_S = 0.02
START_AGAIN_S = 1.0

GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL

NOT_STARTED = "claude-mem's worker did not start in time. To find out why, run: claude-mem doctor"
SILENT = "claude-mem's worker did not answer in time. Run: claude-mem worker restart"
CUT_OFF = "claude-mem's worker stopped before it answered. Check whether it took effect before you try again."


def main() -> NoReturn:
    """Never returns: leaves with 0 when the client does."""
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
        self._lines = Lines()
        self._waiting: list[Exchange] = []  # for a worker
        self._asked: dict[int, Exchange] = {}  # by descriptor
        self._ends = 0.0  # when to leave at the latest, once the client has closed its end
        self._started = float("-inf")
        self._cwd = b"X-Claude-Mem-Cwd: %s\r\n" % cwd.hex().encode()
        self._session = b""

    def run(self) -> None:
        while not self._ends or ((self._waiting or self._asked) and time.monotonic() < self._ends):
            happened = self._poll()
            if happened.pop(self._sink, 0) & GONE:
                return
            if happened.pop(self._source, 0):
                self._read()
            for fd, what in happened.items():
                if self._asked[fd].proceed(what):
                    self._finish(self._asked.pop(fd))
            self._give_up()
            self._connect()

    def _poll(self) -> dict[int, int]:
        poll = select.poll()
        poll.register(self._sink, 0)  # whether anybody still reads
        if not self._ends and len(self._waiting) + len(self._asked) < MOST_AT_ONCE:
            poll.register(self._source, select.POLLIN)
        for fd, exchange in self._asked.items():
            poll.register(fd, exchange.events)
        return dict(poll.poll(self._patience_ms()))

    def _patience_ms(self) -> int | None:
        if self._waiting:
            return int(LOOK_AGAIN_S * 1000)
        if not self._asked:
            return None
        ends = min(exchange.ends for exchange in self._asked.values())
        return max(0, int((min(ends, self._ends or ends) - time.monotonic()) * 1000) + 1)

    def _read(self) -> None:
        chunk = posix.read(self._source, CHUNK)
        if not chunk:
            self._ends = time.monotonic() + LAST_WORDS_S
        for message in self._lines.feed(chunk) if chunk else self._lines.rest():
            self._take(message)
        self._connect()

    def _take(self, message: bytes | TooLong) -> None:
        if isinstance(message, TooLong):
            from claude_mem.cli.bridge import json_rpc

            self._say(json_rpc.too_long(message))
            return
        batch = None
        if message.lstrip().startswith(b"["):
            from claude_mem.cli.bridge import json_rpc as batches

            batch = batches.split_batch(message)
        ends = time.monotonic() + self._start_within_s
        for one in batch.messages if batch else [message]:
            self._waiting.append(Exchange(one, ends, batch))

    def _connect(self) -> None:
        """Bring on their way those that wait; without a worker they wait on, for one that is started."""
        waiting, self._waiting = self._waiting, []
        more = self._cwd + (b"Mcp-Session-Id: %s\r\n" % self._session if self._session else b"")
        for exchange in waiting:
            try:
                connected = len(self._asked) < MOST_AT_ONCE and exchange.connect(more)
            except OSError:
                connected = False
                self._start_if_due()
            if connected:
                exchange.ends = time.monotonic() + self._answer_within_s
                self._asked[exchange.fileno()] = exchange
            else:
                self._waiting.append(exchange)

    def _start_if_due(self) -> None:
        now = time.monotonic()
        if now - self._started > START_AGAIN_S:
            self._started = now
            self._start()

    def _finish(self, exchange: Exchange) -> None:
        reply = exchange.reply()
        if reply is None and not exchange.sent_before and _may_be_repeated(exchange.message):
            exchange.sent_before = True
            exchange.ends = time.monotonic() + self._start_within_s
            self._waiting.append(exchange)
        elif reply is None:
            self._fail(exchange, CUT_OFF)
        else:
            self._session = reply.session or self._session
            self._answer(exchange, _answer(exchange.message, reply))

    def _give_up(self) -> None:
        """On those whose time is over."""
        now = time.monotonic()
        for fd, exchange in list(self._asked.items()):
            if exchange.ends < now:
                del self._asked[fd]
                exchange.close()
                self._fail(exchange, SILENT)
        for exchange in [exchange for exchange in self._waiting if exchange.ends < now]:
            self._waiting.remove(exchange)
            self._fail(exchange, NOT_STARTED)

    def _fail(self, exchange: Exchange, sentence: str) -> None:
        from claude_mem.cli.bridge import json_rpc

        self._answer(exchange, json_rpc.unanswered(exchange.message, sentence))

    def _answer(self, exchange: Exchange, answer: bytes) -> None:
        whole: bytes | None = answer
        if exchange.batch is not None:
            whole = exchange.batch.add(answer)
        if whole:
            self._say(whole)

    def _say(self, answer: bytes) -> None:
        unsaid = memoryview(answer.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
        try:
            while unsaid:
                unsaid = unsaid[posix.write(self._sink, unsaid) :]
        except BrokenPipeError:
            self._ends = time.monotonic()  # nobody reads any more


def start_worker() -> None:
    """By a process in between, that ends at once: a worker that is our child would stay as a zombie."""
    if child := posix.fork():
        posix.waitpid(child, 0)
        return
    try:
        worker_link.start(sys.executable)
    finally:
        posix._exit(0)


def _answer(message: bytes, reply: Reply) -> bytes:
    if reply.status == 202 or reply.body.startswith(b'{"jsonrpc"'):
        return reply.body
    from claude_mem.cli.bridge import json_rpc

    return json_rpc.refused(message, reply.status, reply.body)


def _may_be_repeated(message: bytes) -> bool:
    """What the worker had done when it was cut off is not known. To ask twice harms nobody; to write may."""
    return b'"remember"' not in message and b'"forget"' not in message


def _here() -> bytes:
    try:
        return posix.getcwdb()
    except FileNotFoundError:
        return b""  # somebody deleted the directory
