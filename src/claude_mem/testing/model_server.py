"""A model server that does what it is told, in the Messages API (plain, streaming) and the OpenAI-compatible.

    with ModelServer([Status(429, {"Retry-After": "7"}), Say("<observation>…</observation>")]) as server:
        ...  # ask something of server.url
    server.requests[0].body["model"]

Each request takes the next step of the script; the last step is for all further ones. A script may also be a
function of the request. Good enough for the real Claude Code, which only calls `POST /v1/messages?beta=true`.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET_HEADERS = ("x-api-key", "authorization", "proxy-authorization")


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this text, in the protocol and the manner (plain, streaming) that was asked for."""

    text: str
    input_tokens: int = 1000
    cache_write_tokens: int = 100
    cached_tokens: int = 200
    output_tokens: int = 50
    stop_reason: str = "end_turn"
    usage: bool = True  # False: leave the usage out, as some local servers do


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with an error, shaped as the protocol does it."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "error_of_the_script"


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer 200 with these bytes: malformed JSON, HTML, nothing at all."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Cut:
    """Begin as Say would, and close the connection half-way."""

    text: str = "half of this is lost"


@dataclass(frozen=True, slots=True)
class StreamError:
    """Begin a stream, then send an error in it; asked for a plain answer, send that error under a 200."""

    type: str = "overloaded_error"


@dataclass(frozen=True, slots=True)
class Drip:
    """Answer so slowly that it never ends: a byte every so often, of the headers or of the body."""

    every_s: float = 0.05
    of: str = "body"  # or "headers"


class Reset:
    """Reset the connection (RST) instead of answering."""


class Hang:
    """Say nothing until `server.release()`, or until the server closes."""


Step = Say | Status | Raw | Cut | StreamError | Drip | Reset | Hang


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case; of a secret only that it was there: "<secret>"
    body: dict[str, Any]
    size: int  # bytes of the body

    @property
    def speaks_openai(self) -> bool:
        return "/chat/completions" in self.path

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))


Script = Sequence[Step] | Callable[[Request], Step]


class ModelServer:
    """On loopback, one thread per connection, all of them gone when the `with` ends."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._lock = threading.Lock()
        self._taken = 0
        self._told = threading.Event()
        self._arrived = threading.Condition(self._lock)
        self.requests: list[Request] = []

    def __enter__(self) -> ModelServer:
        self._http = _Server(("127.0.0.1", 0), _Handler)
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
                self._send(code, _error(type, request), headers=headers)
            case Raw(body=body, content_type=content_type):
                self._send(200, body, content_type)
            case Cut(text=text):
                whole = (
                    b"".join(_stream(Say(text), request)) if request.streams else _plain(Say(text), request)
                )
                self._head(200, len(whole), "text/event-stream" if request.streams else "application/json")
                self.wfile.write(whole[: len(whole) // 2])
                self.close_connection = True
            case StreamError(type=type) if request.streams:
                begun = next(iter(_stream(Say(""), request)))
                self._send(
                    200, begun + _event("error", json.loads(_error(type, request))), "text/event-stream"
                )
            case StreamError(type=type):
                self._send(200, _error(type, request))
            case Drip():
                self._drip(step)
            case Reset():
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
            case Hang():
                self.server.model.told()
                self.close_connection = True

    def _say(self, step: Say, request: Request) -> None:
        if request.streams:
            self._send(200, b"".join(_stream(step, request)), "text/event-stream")
        else:
            self._send(200, _plain(step, request))

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


def _error(type: str, request: Request) -> bytes:
    error = {"type": type, "message": "the script says so"}
    shaped = {"error": error | {"code": type}} if request.speaks_openai else {"type": "error", "error": error}
    return json.dumps(shaped).encode()


def _usage(step: Say) -> dict[str, int]:
    return {
        "input_tokens": step.input_tokens,
        "cache_creation_input_tokens": step.cache_write_tokens,
        "cache_read_input_tokens": step.cached_tokens,
        "output_tokens": step.output_tokens,
    }


def _message(step: Say, request: Request) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", "scripted"),
        "content": [{"type": "text", "text": step.text}] if step.text else [],
        "stop_reason": step.stop_reason,
        "stop_sequence": None,
        "usage": _usage(step),
    }


def _plain(step: Say, request: Request) -> bytes:
    if not request.speaks_openai:
        return json.dumps(_message(step, request)).encode()
    prompt = step.input_tokens + step.cache_write_tokens + step.cached_tokens
    answer: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "model": request.body.get("model", "scripted"),
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": step.text}}
        ],
    }
    if step.usage:
        answer["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": step.output_tokens,
            "total_tokens": prompt + step.output_tokens,
            "prompt_tokens_details": {"cached_tokens": step.cached_tokens},
        }
    return json.dumps(answer).encode()


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _stream(step: Say, request: Request) -> Iterator[bytes]:
    """The events of a streaming Messages answer."""
    message = _message(step, request)

    def event(name: str, **data: Any) -> bytes:
        return _event(name, {"type": name, **data})

    begun = message | {"content": [], "stop_reason": None, "usage": _usage(step) | {"output_tokens": 1}}
    yield event("message_start", message=begun)
    if step.text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": step.text})
        yield event("content_block_stop", index=0)
    ended = {"stop_reason": step.stop_reason, "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": step.output_tokens})
    yield event("message_stop")
