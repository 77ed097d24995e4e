"""A scripted model server, for each of the protocols in `model_protocols`.

    with ModelServer([Status(429, {"Retry-After": "7"}), Say("<observation>…</observation>")]) as server:
        ...  # ask something of server.url
    server.requests[0].body["model"]

Each request takes the next step of the script; the last step is for all further ones. A script may also be a
function of the request. Good enough for the real coding agents of `agent_clients`.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.harness import model_protocols as protocol
from tests.harness.model_protocols import messages
from tests.harness.model_script import (
    Cut,
    Drip,
    Hang,
    Raw,
    Request,
    Reset,
    Say,
    Script,
    Status,
    Step,
    StreamError,
)

SECRET_HEADERS = ("x-api-key", "authorization", "proxy-authorization")


class ModelServer:
    """On loopback, one thread per connection, all of them gone when the `with` ends."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._script = script
        self._port = port
        self._tls = tls
        self._lock = threading.Lock()
        self._taken = 0
        self._told = threading.Event()
        self._arrived = threading.Condition(self._lock)
        self.requests: list[Request] = []

    def __enter__(self) -> ModelServer:
        self._http = _Server(("127.0.0.1", self._port), _Handler)
        self._http.model = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="model-server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def tls(self) -> ssl.SSLContext | None:
        return self._tls

    def release(self) -> None:
        """Let everybody who hangs or drips go; their connections close."""
        self._told.set()

    def wait_for_request(self, count: int = 1, *, deadline_s: float = 60) -> None:
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, deadline_s):
                raise AssertionError(f"{len(self.requests)} of {count} requests within {deadline_s} s")

    def take(self, request: Request) -> Step:
        """The next step of the script, for this request."""
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            if callable(self._script):
                return self._script(request)
            step = self._script[min(self._taken, len(self._script) - 1)]
            self._taken += 1
            return step

    def told(self, within_s: float | None = None) -> bool:
        return self._told.wait(within_s)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what many scripts are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        if self.server.model.tls and self.request.recv(1, socket.MSG_PEEK) == b"\x16":  # a TLS handshake
            self.request = self.server.model.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if isinstance(self.connection, ssl.SSLSocket):  # the server closes only the socket it accepted
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what arrived is in `requests`."""

    def do_CONNECT(self) -> None:
        """Play a proxy whose every destination is this server."""
        self.server.model.take(Request("CONNECT", self.path, self._shown_headers(), {}, 0))
        self.send_response(200)
        self.end_headers()
        assert self.server.model.tls, "only a server with TLS plays a tunnel"
        self.connection = self.server.model.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            known = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            self._send(200, json.dumps(known).encode())
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        shown = body if isinstance(body, dict) else {}
        request = Request("POST", self.path, self._shown_headers(), shown, len(raw))
        self._act(self.server.model.take(request), request)

    def _shown_headers(self) -> dict[str, str]:
        return {
            name.lower(): "<secret>" if name.lower() in SECRET_HEADERS else value
            for name, value in self.headers.items()
        }

    def _act(self, step: Step, request: Request) -> None:
        match step:
            case Say():
                self._say(step, request)
            case Status(code=code, headers=headers, type=type):
                self._send(code, protocol.error(type, request), headers=headers)
            case Raw(body=body, content_type=content_type):
                self._send(200, body, content_type)
            case Cut(text=text):
                whole = (
                    b"".join(protocol.stream(Say(text), request))
                    if request.streams
                    else protocol.plain(Say(text), request)
                )
                self._head(200, len(whole), "text/event-stream" if request.streams else "application/json")
                self.wfile.write(whole[: len(whole) // 2])
                self.close_connection = True
            case StreamError(type=type) if request.streams:
                begun = next(iter(protocol.stream(Say(""), request)))
                self._send(
                    200,
                    begun + messages.event("error", json.loads(protocol.error(type, request))),
                    "text/event-stream",
                )
            case StreamError(type=type):
                self._send(200, protocol.error(type, request))
            case Drip():
                self._drip(step)
            case Reset():
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
            case Hang(after=text):
                if text and request.streams:
                    first = list(protocol.stream(Say(text), request))[:3]  # up to the text, not to its end
                    self._head(200, 1 << 20, "text/event-stream")
                    self.wfile.write(b"".join(first))
                self.server.model.told()
                self.close_connection = True

    def _say(self, step: Say, request: Request) -> None:
        if request.streams:
            self._send(200, b"".join(protocol.stream(step, request)), "text/event-stream")
        else:
            self._send(200, protocol.plain(step, request))

    def _drip(self, step: Drip) -> None:
        self.close_connection = True
        if step.of == "headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            self._head(200, 1 << 20, "application/json")
        with suppress(OSError):  # the client has had enough
            while not self.server.model.told(step.every_s):
                self.wfile.write(b" ")

    def _head(self, status: int, length: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
