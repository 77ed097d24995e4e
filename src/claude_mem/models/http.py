"""A model behind HTTP: one POST within one deadline, and its answer as JSON or as the fact in its way.

The standard library is enough (docs/adr/0004) and is imported late. `http.client` knows only a timeout per
read, which a byte every second defeats; so it is handed a socket that gives every operation what is left of
the whole. Nothing is logged: neither keys nor bodies.
"""

from __future__ import annotations

import io
import json
import random
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from claude_mem.model.clock import Clock, now
from claude_mem.model.memory import Failure
from claude_mem.models.failure import (
    STATUS_OF_TYPE,
    Fact,
    Refused,
    Target,
    Trouble,
    Unreached,
    Unusable,
    classify,
)
from claude_mem.models.registry import Prompt, Reply

if TYPE_CHECKING:
    import http.client
    import ssl

MOST_BYTES = 4 << 20  # of an answer; a model's reply is a few kilobytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The body is kept out of `repr`: it may hold what a model said of somebody's work."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes = field(repr=False)


class _Failed(Exception):
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

    try:
        return _exchange(url, body, headers, Deadline(time.monotonic() + deadline_s), tls)
    except (_Failed, OSError, ValueError, http.client.HTTPException) as error:
        return Unreached(trouble_of(error))


def trouble_of(error: Exception) -> Trouble:
    import http.client
    import ssl

    if isinstance(error, _Failed):
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
        raise _Failed("could not be reached")
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
        raise _Failed("answered with more than 4 MiB")
    if response.length:  # read(n) is silent about bytes that never came
        raise _Failed("broke off its answer")
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def _open(
    scheme: str, host: str, port: int, proxy: str | None, deadline: Deadline, tls: ssl.SSLContext | None
) -> TimedSocket:
    """A connection to the host, through the proxy's tunnel and under TLS where that is asked for."""
    via = urlsplit(proxy) if proxy else None
    if via and (via.scheme != "http" or not via.hostname):
        raise _Failed("could not be reached through the proxy")
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

    timed = TimedSocket(raw, deadline)
    login = "".join(f"{name}: {value}\r\n" for name, value in _proxy_login(proxy).items())
    there = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    timed.sendall(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n{login}\r\n".encode("ascii"))
    response = http.client.HTTPResponse(timed, method="CONNECT")  # type: ignore[arg-type]  # has makefile
    response.begin()
    if response.status != 200:
        raise _Failed("could not be reached through the proxy")


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


class Deadline(Struct, frozen=True):
    at: float  # of time.monotonic()

    def left(self) -> float:
        """Seconds, more than none; raises TimeoutError when there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def connect(host: str, port: int, deadline: Deadline) -> socket.socket:
    """To the first of the host's addresses that answers."""
    failed: OSError | None = None
    for family, kind, protocol, _, address in _look_up(host, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left())
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            failed = error
            sock.close()
        else:
            return sock
    raise failed or OSError("no address")


def _look_up(host: str, port: int, deadline: Deadline) -> list[Any]:
    """getaddrinfo knows no deadline, so it is asked in a thread; one that is still stuck at the end is left
    to the resolver's own limits."""
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    thread = threading.Thread(target=ask, name="look-up", daemon=True)
    thread.start()
    thread.join(deadline.left())
    if not answer:
        raise TimeoutError
    if isinstance(answer[0], Exception):
        raise answer[0]
    return list(answer[0])


class TimedSocket:
    """As much of a socket as http.client uses."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.left())
        return self._sock.recv_into(buffer)


class HttpModel(ABC):
    """A model that is asked with one POST of JSON. An adapter says what is sent, and reads the answer."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        summary_model: str | None,
        clock: Clock = now,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = url
        self._model = model
        self._models = {"summarize": summary_model or model}
        self._clock = clock
        self._jitter = jitter

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        model = self._models.get(prompt.purpose, self._model)
        body = json.dumps(self._body(prompt, model)).encode()
        found = document(post(self._url, body, self._headers(), deadline_s=deadline_s))
        result = self._read(found, prompt, model) if isinstance(found, dict) else found
        if isinstance(result, Reply):
            return result
        return classify(result, self._target(model), now=self._clock(), jitter=self._jitter())

    def close(self) -> None:  # noqa: B027 an adapter that keeps nothing open has nothing to add
        """Nothing is kept open between calls."""

    @abstractmethod
    def _body(self, prompt: Prompt, model: str) -> dict[str, Any]: ...

    @abstractmethod
    def _headers(self) -> dict[str, str]: ...

    @abstractmethod
    def _read(self, answer: dict[str, Any], prompt: Prompt, model: str) -> Reply | Unusable: ...

    @abstractmethod
    def _target(self, model: str) -> Target: ...


def document(answer: Answer | Unreached) -> dict[str, Any] | Fact:
    if isinstance(answer, Unreached):
        return answer
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if answer.status != 200:
        return Refused(answer.status, _type(error), answer.headers.get("retry-after"))
    if error:  # some gateways send the error of the server behind them under a 200 of their own
        return Refused(_status(error), _type(error), answer.headers.get("retry-after"))
    if isinstance(found, dict):
        return found
    return Unusable(_what(answer))


def count(usage: object, *path: str) -> int:
    """A number of tokens out of a usage object; 0 where there is none."""
    for name in path:
        usage = usage.get(name) if isinstance(usage, dict) else None
    return usage if isinstance(usage, int) and not isinstance(usage, bool) and usage > 0 else 0


def _type(error: object) -> str | None:
    if not isinstance(error, dict):
        return None
    names = [error.get("code"), error.get("type")]
    known = [name for name in names if isinstance(name, str) and name in STATUS_OF_TYPE]
    return next(iter(known), None) or next((name for name in names if isinstance(name, str)), None)


def _status(error: object) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 300 <= code < 600:
        return code
    return STATUS_OF_TYPE.get(_type(error) or "", 500)


def _what(answer: Answer) -> str:
    if not answer.body.strip():
        return "an empty reply"
    if answer.body.lstrip()[:1] == b"<":
        return "a web page instead of a reply (a login page, or a proxy's)"
    return "something that is not JSON"
