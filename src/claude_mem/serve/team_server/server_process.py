"""A process of a team server: starts, answers requests, updates indexes and vectors, and stops without
interrupting a request. It has no state of its own: any number of processes can serve one database, and start
or stop anytime.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from claude_mem.serve.http.server import Bounded, HttpServer
from claude_mem.serve.lifecycle import raise_file_limit, run_in_daemon
from claude_mem.serve.process_state import until
from claude_mem.serve.services import BACKLOG
from claude_mem.serve.team_server.admission import Allowance, KeyChecker, hosts_of
from claude_mem.serve.team_server.gate import Gate, GateRules
from claude_mem.serve.team_server.server_state import ServerState, TeamServices, log
from claude_mem.serve.team_server.server_table import TABLE, server_app
from claude_mem.serve.worker_log import (
    REQUEST,
    WithoutMessages,
    log_loop_error,
    log_to,
    name_of,
)
from claude_mem.store.team import Identity, acting_as_service

THREADS = 24
"""Each has at most one connection to the database at a time."""
LOOK_EVERY_S = 30.0
"""The maximum time between checks, so that work left behind by a killed process is found."""
AFTER_FAILURE_S = 2.0
CHECK_EVERY_S = 2.0
CHECK_WITHIN_S = 5.0
MAINTAIN_EVERY_S = 300.0
LISTEN_S = 1.0
GRACE_S = 5
"""How long requests may take to finish after it has stopped accepting connections."""
END_S = 1.5


class ServerConnection(Bounded):
    """A connection with the limits of a team server, which has more callers than a worker."""

    most_connections, most_unauthenticated = 2_048, 1_024


class ServerOptions(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 37780
    tls: tuple[Path, Path] | None = None  # the certificate and its key
    public_url: str | None = None
    drain_s: float = 2.0
    """How long `/health` reports the stop before it happens, so that load balancers notice."""
    rate: int = 50
    """Requests per second and key; bursts may have four times as many."""


def run(build: Callable[[], TeamServices], options: ServerOptions) -> int:
    """Serves until SIGTERM or SIGINT. Raises ClaudeMemError and OSError if it cannot start."""
    raise_file_limit()
    listener = _listen(options.host, options.port)
    try:
        services = build()
    except BaseException:
        listener.close()
        raise
    try:
        return asyncio.run(_live(services, options, listener))
    finally:
        services.close()


def _listen(host: str, port: int) -> socket.socket:
    """Several processes may listen on one port: the kernel gives each its share of new connections."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


async def _live(services: TeamServices, options: ServerOptions, listener: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    threads = ThreadPoolExecutor(THREADS + len(services.background), thread_name_prefix="server")
    loop.set_default_executor(threads)
    loop.set_exception_handler(log_loop_error)
    keys = KeyChecker(_authenticator(services), time.monotonic)
    serving = ServerState(services, keys, loop=loop)
    host, port = listener.getsockname()[:2]
    rules = GateRules(
        hosts=hosts_of(options.public_url, (options.host, port)),
        tls=options.tls is not None or (options.public_url or "").startswith("https://"),
        allowance=Allowance(options.rate, 4 * options.rate),
    )
    gate = Gate(server_app(serving), serving, TABLE, rules)
    server = HttpServer(gate, listener, protocol=ServerConnection, tls=options.tls, grace_s=GRACE_S)
    stop_on_signal = _on_signals(serving, options.drain_s)
    loop.add_signal_handler(signal.SIGHUP, _renew, server)
    loops = _start_loops(serving)
    listener.listen(BACKLOG)
    await server.start()
    log.info(
        "listening",
        extra={"facts": {"host": host, "port": port, "version": services.version, "pid": os.getpid()}},
    )
    await serving.stopping.wait()
    await server.stop()
    for each in loops:
        each.cancel()
    ended = run_in_daemon(threads.shutdown)
    await until(ended, END_S)
    stop_on_signal.cancel()
    if not ended.is_set():
        log.warning("something is still running; leaving it")
        logging.shutdown()
        os._exit(0)
    log.info("stopped")
    return 0


def _authenticator(services: TeamServices) -> Callable[[str], Identity | None]:
    def authenticate(key: str) -> Identity | None:
        with acting_as_service():
            return services.directory.authenticate(key)

    return authenticate


def _on_signals(serving: ServerState, drain_s: float) -> asyncio.Task[None]:
    """The first signal makes it drain, then stop; a second stops it at once."""
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(drains: bool) -> None:
        if signalled.is_set() or not drains:
            serving.stopping.set()
        signalled.set()

    async def drain() -> None:
        await signalled.wait()
        log.info("stopping")
        serving.is_draining = True
        serving.notify_change()  # streams end
        await until(serving.stopping, drain_s)
        serving.stopping.set()

    loop.add_signal_handler(signal.SIGTERM, on_signal, True)
    loop.add_signal_handler(signal.SIGINT, on_signal, False)
    return asyncio.create_task(drain())


def _renew(server: HttpServer) -> None:
    try:
        server.renew_certificate()
    except OSError as error:
        log.error("the certificate cannot be read, so the old one stays in use: %s", type(error).__name__)
    else:
        log.info("the certificate was reloaded")


def _start_loops(serving: ServerState) -> list[asyncio.Task[None]]:
    """Starts the loops, which act as the server itself."""
    services = serving.services
    with acting_as_service():
        return [
            *(
                asyncio.create_task(_repeat(serving, name, step, LOOK_EVERY_S, wakes=True))
                for name, step in services.background.items()
            ),
            *(
                asyncio.create_task(_repeat(serving, name, step, MAINTAIN_EVERY_S))
                for name, step in services.maintenance.items()
            ),
            asyncio.create_task(_repeat(serving, "listen", lambda: _await_changes(serving), 0.0)),
            asyncio.create_task(_check(serving)),
        ]


async def _repeat(
    serving: ServerState, where: str, step: Callable[[], object], pause_s: float, *, wakes: bool = False
) -> None:
    """Repeats `step`: immediately while it has more to do, otherwise after a pause or, if it `wakes`, when
    something is added."""
    while not serving.stopping.is_set():
        changed = serving.changed
        try:
            more = await asyncio.to_thread(step)
        except Exception as error:
            serving.record_mishap(where, error)
            await until(serving.stopping, AFTER_FAILURE_S)
            continue
        if not (wakes and more):
            await until(changed if wakes else serving.stopping, pause_s)


def _await_changes(serving: ServerState) -> None:
    if serving.services.listen(LISTEN_S):
        serving.notify_change()


async def _check(serving: ServerState) -> None:
    """Checks regularly whether the database can be used, so that /health needs no query."""
    while not serving.stopping.is_set():
        looking = asyncio.create_task(asyncio.to_thread(serving.services.check))
        await asyncio.wait([looking], timeout=CHECK_WITHIN_S)
        if not looking.done():
            log.warning("the database does not respond")
            serving.trouble = "no answer"
        try:
            await looking
            serving.trouble = None
        except Exception as error:
            if serving.trouble is None:
                serving.record_mishap("check", error)
            serving.trouble = name_of(error)
        await until(serving.stopping, CHECK_EVERY_S)


class JsonLines(WithoutMessages):
    """The log: one JSON object per line on stderr, without queries or stored text."""

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if request := REQUEST.get():
            facts["request"] = request
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    log_to(handler, level)
