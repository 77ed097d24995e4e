"""Sends one HTTP request within one deadline, and returns the response or the reason it failed.

It uses the standard library (docs/adr/0004), imported late. `http.client` only has a timeout per read, which
a server that sends one byte per second defeats. So the call runs in a thread, and its socket is shut down at
the deadline. Nothing is logged: neither keys nor bodies.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

if TYPE_CHECKING:
    import http.client
    import ssl

Trouble = Literal[
    "refused the connection",
    "reset the connection",
    "did not answer in time",
    "could not be resolved (DNS)",
    "could not be verified (TLS)",
    "sent more than 4 MiB",
    "closed the connection before the reply was complete",
    "did not reply with valid HTTP",
    "could not be reached",
    "could not be reached through the proxy",
]


class Unreached(Struct, frozen=True):
    trouble: Trouble


MOST_BYTES = 4 << 20  # of an answer; a model's reply is a few kilobytes


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response. The body is not in the `repr`, because it may quote a session."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes = field(repr=False)


class _Failed(Exception):
    """Carries the reason for a failure to `call`."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble: Trouble = trouble


class OpenCalls:
    """Running calls, which can be ended together: these and all later calls then count as unanswered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancels: list[Callable[[], object]] = []
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for cancel in self._cancels:
                cancel()

    @contextmanager
    def holding(self, cancel: Callable[[], object]) -> Iterator[None]:
        with self._lock:
            self._cancels.append(cancel)
            if self._closed:
                cancel()
        try:
            yield
        finally:
            with self._lock:
                self._cancels.remove(cancel)


def call(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    deadline_s: float,
    tls: ssl.SSLContext | None = None,
    calls: OpenCalls | None = None,
) -> HttpAnswer | Unreached:
    """Sends it and reads the complete answer. No redirects; certificates are verified; the proxy of the
    environment is used as everywhere (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), but not for this machine itself."""
    import http.client

    found: list[HttpAnswer | Unreached] = []
    opened: list[socket.socket] = []
    is_over, is_done = threading.Event(), threading.Event()

    def exchange() -> None:
        try:
            parts = urlsplit(url)
            connection, path, more = _connected(parts, deadline_s, tls)
            opened.append(connection.sock)
            if is_over.is_set():  # the name was looked up too late: nobody may pay for an answer now
                return
            sent = {"Connection": "close", **headers, **more}
            connection.request(method, path, body, {"Host": parts.netloc.rpartition("@")[2], **sent})
            found.append(_read(connection.getresponse()))
        except (_Failed, OSError, ValueError, http.client.HTTPException) as error:
            found.append(Unreached(trouble_of(error)))
        finally:
            for sock in opened:
                sock.close()
            is_done.set()

    thread = threading.Thread(target=exchange, name="http-call", daemon=True)
    with (calls or OpenCalls()).holding(is_done.set):
        thread.start()
        is_done.wait(deadline_s)
    if found:
        return found[0]
    is_over.set()
    with suppress(OSError):
        for sock in opened:
            sock.shutdown(socket.SHUT_RDWR)  # which ends the thread
    return Unreached("did not answer in time")


def trouble_of(error: Exception) -> Trouble:
    import http.client
    import ssl

    if isinstance(error, _Failed):
        return error.trouble
    named: list[tuple[type[Exception], Trouble]] = [  # the first that fits: most of these are OSErrors too
        (TimeoutError, "did not answer in time"),
        (socket.gaierror, "could not be resolved (DNS)"),
        (ssl.SSLError, "could not be verified (TLS)"),
        (ConnectionRefusedError, "refused the connection"),
        (ConnectionError, "reset the connection"),  # and http.client.RemoteDisconnected
        (http.client.IncompleteRead, "closed the connection before the reply was complete"),
        (http.client.HTTPException, "did not reply with valid HTTP"),
    ]
    return next((trouble for kind, trouble in named if isinstance(error, kind)), "could not be reached")


def _connected(
    parts: SplitResult, deadline_s: float, tls: ssl.SSLContext | None
) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """A connection (through a proxy's tunnel and with TLS, if needed), the path to request, and the headers
    for a proxy."""
    from http.client import HTTPConnection, HTTPSConnection

    host, secure = parts.hostname, parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not host:
        raise _Failed("could not be reached")
    port = parts.port or (443 if secure else 80)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = proxy_for(parts.scheme, host)
    via = urlsplit(proxy) if proxy else None
    if via and (via.scheme != "http" or not via.hostname):
        raise _Failed("could not be reached through the proxy")
    end = (via.hostname or "", via.port or 80) if via else (host, port)
    login = _proxy_login(via) if via else {}
    connection = HTTPConnection(*end, timeout=deadline_s)
    if secure:
        connection = HTTPSConnection(*end, timeout=deadline_s, context=tls)
        if via:
            connection.set_tunnel(host, port, {"Host": f"{host}:{port}", **login})
    try:
        connection.connect()
    except OSError as error:
        if via and type(error) is OSError:  # how http.client reports that a tunnel was refused
            raise _Failed("could not be reached through the proxy") from None
        raise
    if via and not secure:
        return connection, f"http://{parts.netloc.rpartition('@')[2]}{path}", login
    return connection, path, {}


def _read(response: http.client.HTTPResponse) -> HttpAnswer:
    body = response.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise _Failed("sent more than 4 MiB")
    if response.length:  # read(n) is silent about bytes that never came
        raise _Failed("closed the connection before the reply was complete")
    return HttpAnswer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def proxy_for(scheme: str, host: str) -> str | None:
    """The proxy's URL; None: a direct connection."""
    from urllib.request import getproxies, proxy_bypass

    if host == "localhost" or host.startswith("127.") or host == "::1" or proxy_bypass(host):
        return None
    proxy = getproxies().get(scheme)
    return proxy if not proxy or "//" in proxy else f"http://{proxy}"


def _proxy_login(via: SplitResult) -> dict[str, str]:
    from base64 import b64encode

    if via.username is None:
        return {}
    login = f"{unquote(via.username)}:{unquote(via.password or '')}"
    return {"Proxy-Authorization": "Basic " + b64encode(login.encode()).decode()}
