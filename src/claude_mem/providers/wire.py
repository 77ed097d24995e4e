"""One POST over HTTP within one deadline, whatever the other side does. Returns facts, raises nothing.

The standard library is enough (docs/adr/0004) and is imported late. `http.client` knows only a timeout per
read, which a byte every second defeats; so it is handed a socket that gives every operation what is left of
the whole. Nothing is logged: neither keys nor bodies.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import http.client
    import socket
    import ssl

    from claude_mem.providers.timed import Deadline, TimedSocket

MOST_BYTES = 4 << 20  # of an answer; a model's reply is a few kilobytes

Trouble = Literal[
    "refused the connection",
    "reset the connection",
    "did not answer in time",
    "could not be found by name",
    "could not be trusted (TLS)",
    "answered with more than 4 MiB",
    "broke off its answer",
    "did not answer in HTTP",
    "could not be reached",
    "could not be reached through the proxy",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """The body is kept out of `repr`: it may hold what a model said of somebody's work."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unreached:
    trouble: Trouble


class _Told(Exception):
    """Carries a trouble out of the depths."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble: Trouble = trouble


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    deadline_s: float,
    tls: ssl.SSLContext | None = None,
) -> Answer | Unreached:
    """Send the JSON and read the whole answer. No redirects; certificates are verified; the proxy of the
    environment is used as everywhere (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), but not for this machine itself."""
    import http.client

    from claude_mem.providers.timed import Deadline

    try:
        return _exchange(url, body, headers, Deadline(time.monotonic() + deadline_s), tls)
    except (_Told, OSError, ValueError, http.client.HTTPException) as error:
        return Unreached(trouble_of(error))


def trouble_of(error: Exception) -> Trouble:
    import http.client
    import socket
    import ssl

    if isinstance(error, _Told):
        return error.trouble
    named: list[tuple[type[Exception], Trouble]] = [  # the first that fits: most of these are OSErrors too
        (TimeoutError, "did not answer in time"),
        (socket.gaierror, "could not be found by name"),
        (ssl.SSLError, "could not be trusted (TLS)"),
        (ConnectionRefusedError, "refused the connection"),
        (ConnectionError, "reset the connection"),  # and http.client.RemoteDisconnected
        (http.client.IncompleteRead, "broke off its answer"),
        (http.client.HTTPException, "did not answer in HTTP"),
    ]
    return next((trouble for kind, trouble in named if isinstance(error, kind)), "could not be reached")


def _exchange(
    url: str, body: bytes, headers: Mapping[str, str], deadline: Deadline, tls: ssl.SSLContext | None
) -> Answer:
    import http.client

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _Told("could not be reached")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    proxy = proxy_for(parts.scheme, parts.hostname)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    sent = {"Content-Type": "application/json", "Connection": "close", **headers}

    sock = _open(parts.scheme, parts.hostname, port, proxy, deadline, tls)
    try:
        connection = http.client.HTTPConnection(parts.hostname, port)
        connection.sock = sock  # as much of a socket as http.client uses
        if proxy and parts.scheme == "http":
            path = f"http://{parts.netloc.rpartition('@')[2]}{path}"
            sent |= _proxy_login(proxy)
        connection.request("POST", path, body, {"Host": parts.netloc.rpartition("@")[2], **sent})
        return _read(connection.getresponse())
    finally:
        sock.close()


def _read(response: http.client.HTTPResponse) -> Answer:
    body = response.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise _Told("answered with more than 4 MiB")
    if response.length:  # read(n) is silent about bytes that never came
        raise _Told("broke off its answer")
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def _open(
    scheme: str, host: str, port: int, proxy: str | None, deadline: Deadline, tls: ssl.SSLContext | None
) -> TimedSocket:
    """A connection to the host, through the proxy's tunnel and under TLS where that is asked for."""
    from claude_mem.providers.timed import TimedSocket, connect

    via = urlsplit(proxy) if proxy else None
    if via and (via.scheme != "http" or not via.hostname):
        raise _Told("could not be reached through the proxy")
    raw = (
        connect(via.hostname, via.port or 80, deadline)
        if via and via.hostname
        else connect(host, port, deadline)
    )
    try:
        if scheme == "https":
            if proxy:
                _tunnel(raw, host, port, proxy, deadline)
            raw.settimeout(deadline.left())
            raw = (tls or _verifying()).wrap_socket(raw, server_hostname=host)
        return TimedSocket(raw, deadline)
    except BaseException:
        raw.close()
        raise


def _tunnel(raw: socket.socket, host: str, port: int, proxy: str, deadline: Deadline) -> None:
    import http.client

    from claude_mem.providers.timed import TimedSocket

    timed = TimedSocket(raw, deadline)
    login = "".join(f"{name}: {value}\r\n" for name, value in _proxy_login(proxy).items())
    there = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    timed.sendall(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{login}\r\n".encode("ascii"))
    response = http.client.HTTPResponse(timed, method="CONNECT")  # type: ignore[arg-type]  # has makefile
    response.begin()
    if response.status != 200:
        raise _Told("could not be reached through the proxy")


def _verifying() -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context()


def proxy_for(scheme: str, host: str) -> str | None:
    """The proxy's URL, or None to go straight."""
    from urllib.request import getproxies, proxy_bypass

    if host == "localhost" or host.startswith("127.") or host == "::1" or proxy_bypass(host):
        return None
    proxy = getproxies().get(scheme)
    return proxy if not proxy or "//" in proxy else f"http://{proxy}"


def _proxy_login(proxy: str) -> dict[str, str]:
    from base64 import b64encode
    from urllib.parse import unquote

    via = urlsplit(proxy)
    if via.username is None:
        return {}
    login = f"{unquote(via.username)}:{unquote(via.password or '')}"
    return {"Proxy-Authorization": "Basic " + b64encode(login.encode()).decode()}
