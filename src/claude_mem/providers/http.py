"""A model behind HTTP: one POST within one deadline, and its answer as JSON or as the fact in its way.

The standard library is enough (docs/adr/0004) and is imported late. `http.client` knows only a timeout per
read, which a byte every second defeats; so the call runs in a thread, and its socket is shut when the time is
over. Nothing is logged: neither keys nor bodies.
"""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from claude_mem.model.clock import Clock, now
from claude_mem.model.memory import Failure
from claude_mem.model.structs import replace
from claude_mem.providers.failure import (
    STATUS_OF_TYPE,
    Fact,
    Refused,
    Target,
    Trouble,
    Unreached,
    Unusable,
    classify,
)
from claude_mem.providers.registry import Prompt, Reply

if TYPE_CHECKING:
    import http.client
    import ssl

MOST_BYTES = 4 << 20  # of an answer; a model's reply is a few kilobytes


@dataclass(frozen=True, slots=True)
class HttpAnswer:
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
) -> HttpAnswer | Unreached:
    """Send the JSON and read the whole answer. No redirects; certificates are verified; the proxy of the
    environment is used as everywhere (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), but not for this machine itself."""
    import http.client

    found: list[HttpAnswer | Unreached] = []
    opened: list[socket.socket] = []
    is_over = threading.Event()

    def exchange() -> None:
        try:
            parts = urlsplit(url)
            connection, path, more = _connected(parts, deadline_s, tls)
            opened.append(connection.sock)
            if is_over.is_set():  # the name was looked up too late: nobody may pay for an answer now
                return
            sent = {"Content-Type": "application/json", "Connection": "close", **headers, **more}
            connection.request("POST", path, body, {"Host": parts.netloc.rpartition("@")[2], **sent})
            found.append(_read(connection.getresponse()))
        except (_Failed, OSError, ValueError, http.client.HTTPException) as error:
            found.append(Unreached(trouble_of(error)))
        finally:
            for sock in opened:
                sock.close()

    thread = threading.Thread(target=exchange, name="model", daemon=True)
    thread.start()
    thread.join(deadline_s)
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
    """A connection, through the proxy's tunnel and under TLS where that is wanted; the path to request, and
    the headers that a proxy needs."""
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
    """The proxy's URL, or None to go straight."""
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HttpModel:
    """A model that is called with one POST of JSON: its provider's file says what is sent, and reads the
    answer. Without `repr`: the headers hold the key."""

    url: str
    headers: Mapping[str, str]
    body: Callable[[Prompt, str], dict[str, Any]]
    read: Callable[[dict[str, Any], Prompt, str], Reply | Unusable]
    target: Target
    summary_model: str | None = None
    clock: Clock = now
    jitter: Callable[[], float] = random.random

    def ask(self, prompt: Prompt, *, deadline_s: float) -> Reply | Failure:
        model = (prompt.purpose == "summarize" and self.summary_model) or self.target.model
        body = json.dumps(self.body(prompt, model)).encode()
        found = document(post(self.url, body, self.headers, deadline_s=deadline_s))
        result = self.read(found, prompt, model) if isinstance(found, dict) else found
        if isinstance(result, Reply):
            return result
        target = replace(self.target, model=model)
        return classify(result, target, now=self.clock(), jitter=self.jitter())

    def close(self) -> None:
        """No connection stays open between calls."""


def document(answer: HttpAnswer | Unreached) -> dict[str, Any] | Fact:
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


def _what(answer: HttpAnswer) -> str:
    if not answer.body.strip():
        return "an empty reply"
    if answer.body.lstrip()[:1] == b"<":
        return "a web page instead of a reply (a login page, or a proxy's)"
    return "something that is not JSON"
