"""Decides whether a request may reach the application: one check before routing, for all routes.

Any user of this machine, and any web page in their browsers, can connect to the TCP port. Checking Host
rejects names that were rebound to the loopback address, checking Origin and Sec-Fetch-Site rejects other
sites' pages, and the token, or the cookie of a signed-in browser, rejects everyone else. On the Unix socket,
the file's permissions have already authenticated the caller.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claude_mem.serve.http.server import ADMIT
from claude_mem.serve.http.signin import Visitors, sign_in_page
from claude_mem.serve.process_state import ProcessState
from claude_mem.serve.requests import Refusal
from claude_mem.serve.services import Running
from claude_mem.serve.worker_log import REQUEST

log = logging.getLogger("claude_mem.serve")

MOST_BYTES = 10 << 20
BODY_DEADLINE_S = 30.0
PAGE_KEY = b"x-claude-mem-key"
"""The header in which the viewer's page sends its key."""
FILES = "/viewer/"
ROUTE = "claude_mem.route"
"""The scope's key of the route's path as it is declared: the value of `{id}` may be a file's name."""
UNKNOWN_ROUTE = "unknown"
TRUSTED = "claude_mem.trusted"
"""The scope's key that says the request came over the unix socket."""
BY_PROGRAM = "claude_mem.by_program"
"""The scope's key that says the request came over the unix socket or showed the token. No page can do either,
so its body need not prove by its type that no form sent it."""

Headers = Iterable[tuple[bytes, bytes]]
Verdict = Refusal | None
"""None: allowed."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Text stays text: nothing in it is executed, fetched, or interpreted as markup."""

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_SAFE = ("GET", "HEAD")


class Key(Struct, frozen=True):
    """What a TCP caller must show: the port it came to, and the token, or a cookie it was given."""

    port: int
    token: str
    visitors: Visitors = field(default_factory=Visitors)

    @property
    def hosts(self) -> frozenset[bytes]:
        return frozenset(f"{name}:{self.port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))


def cookie_name(port: int | None) -> str:
    """Browsers share cookies between ports, so the worker of each data directory has its own cookie name."""
    return f"claude_mem_{port}"


def judge(
    headers: Headers,
    key: Key | None,
    *,
    method: str = "GET",
    is_open: bool = False,
    is_file: bool = False,
) -> Verdict:
    """Why a request with these headers is refused, if it is. Without a key only its size counts. `is_open`:
    the route authenticates by itself. `is_file`: it is a file of the viewer, which a browser fetches
    before a page can send its key."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value.strip())
    if key is not None and (refusal := _foreign(found, key)):
        return refusal
    if key is not None and not is_open and (refusal := _unauthenticated(found, key, method, is_file)):
        return refusal
    return judge_length(found.get(b"content-length", []))


def _foreign(found: dict[bytes, list[bytes]], key: Key) -> Verdict:
    hosts = key.hosts
    given = found.get(b"host", [])
    if len(given) != 1 or given[0].lower() not in hosts:
        return Refusal(421, "foreign_host", f"Host must be 127.0.0.1:{key.port} or localhost:{key.port}.")
    if any(
        origin.lower() not in {b"http://" + host for host in hosts} for origin in found.get(b"origin", [])
    ):
        return Refusal(403, "foreign_origin", "Requests from other origins are rejected.")
    if any(site.lower() not in (b"same-origin", b"none") for site in found.get(b"sec-fetch-site", [])):
        return Refusal(403, "cross_site", "Requests from other sites are rejected.")
    return None


def _unauthenticated(found: dict[bytes, list[bytes]], key: Key, method: str, is_file: bool) -> Verdict:
    if b"authorization" not in found and _is_signed_in(found, key, is_file):
        # SameSite prevents other sites from sending the cookie; browsers that do not support it send Origin.
        if method in _SAFE or b"origin" in found or b"sec-fetch-site" in found:
            return None
        return Refusal(
            403, "no_origin", "A request that changes something and uses a cookie must send an Origin header."
        )
    if _holds_token(found.get(b"authorization", []), key.token):
        return None
    return Refusal(
        401,
        "no_token",
        "The token is missing or wrong. `claude-mem token` prints it; send: Authorization: Bearer … "
        "In a browser, sign in with: claude-mem open",
        headers={"WWW-Authenticate": 'Bearer realm="claude-mem"'},
    )


def _is_signed_in(found: dict[bytes, list[bytes]], key: Key, is_file: bool) -> bool:
    cookie = given_cookie(found.get(b"cookie", []), key.port)
    if cookie is None or not key.visitors.knows(cookie):
        return False
    shown = found.get(PAGE_KEY, [])
    return is_file or (len(shown) == 1 and key.visitors.fits(cookie, shown[0]))


def given_cookie(headers: Iterable[bytes], port: int | None) -> str | None:
    """Our cookie, of all that the browser sends; None: there is none, or more than one."""
    cookie_key = cookie_name(port).encode()
    pairs = [pair.strip().partition(b"=") for header in headers for pair in header.split(b";")]
    values = [value for name, _, value in pairs if name == cookie_key]
    return values[0].decode("ascii", "replace") if len(values) == 1 else None


def _holds_token(given: list[bytes], token: str) -> bool:
    if len(given) != 1:
        return False
    scheme, _, credentials = given[0].partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(credentials.strip(), token.encode())


def judge_length(given: Sequence[bytes]) -> Verdict:
    """By the Content-Length headers."""
    length = given[0] if given else b"0"
    if len(given) > 1 or not length.isdigit() or len(length) > 18:
        return Refusal(400, "bad_length", "Content-Length is not a number.")
    return _too_large() if int(length) > MOST_BYTES else None


def _too_large() -> Refusal:
    return Refusal(413, "too_large", f"The body is larger than {MOST_BYTES} bytes.")


class Middleware(ABC):
    """The outer layer: admits a request, reads its body within bounds, and only then calls the application;
    hardens the answer's headers, and writes down what became of it. `owner`: whose log."""

    stopping: Refusal | None = None
    """The response when the process ends and has waited as long as it may; None: no response."""

    def __init__(self, app: ASGIApp, state: ProcessState, owner: str) -> None:
        self._app, self._state, self._owner = app, state, owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        id, began, status = os.urandom(6).hex(), time.monotonic(), 0
        REQUEST.set(id)  # each request is a separate task

        async def send_hardened(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = ((b"x-request-id", id.encode()), *self._headers())
                message["headers"] = [*hardened(message.get("headers", ())), *extra]
            await send(message)

        try:
            body = await self._admit(scope, receive)
            if body is not None:
                with self._on_behalf(scope):
                    await self._app(scope, replay(body, receive), send_hardened)
        except Refusal as refusal:
            await self._refuse(scope, send_hardened, refusal)
        except asyncio.CancelledError:
            if self.stopping is None:
                raise
            if not status:
                await refuse(send_hardened, self.stopping)
        except Exception as error:  # the application has raised it on, for us to write down
            self._state.record_mishap("request", error)
            if not status:
                message = f"Something went wrong; see request {id} in the {self._owner}'s log."
                await refuse(send_hardened, Refusal(500, "internal", message))
        finally:
            self._write_down(scope, status, time.monotonic() - began)

    @abstractmethod
    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The request's body; None: the caller has gone. Raises Refusal."""

    def _on_behalf(self, scope: Scope) -> AbstractContextManager[None]:
        del scope
        return nullcontext()

    def _headers(self) -> Headers:
        """More of them, for every answer."""
        return ()

    async def _refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        del scope
        await refuse(send, refusal)

    @abstractmethod
    def _write_down(self, scope: Scope, status: int, took_s: float) -> None: ...


class Guard(Middleware):
    """The worker's: admits what `judge` allows. `open_to_all`: paths that need no key; `pages`: those that a
    person opens."""

    def __init__(
        self,
        app: ASGIApp,
        running: Running,
        key: Key | None,
        *,
        open_to_all: Collection[str] = (),
        pages: Collection[str] = (),
    ) -> None:
        super().__init__(app, running, "worker")
        self._key = key
        self._open, self._pages = frozenset(open_to_all), frozenset(pages)

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        if refusal := self._judge(scope):
            raise refusal
        body = await read_body(receive)
        scope[TRUSTED] = self._key is None
        scope[BY_PROGRAM] = self._key is None or self._shows_token(scope)
        if body is not None and ADMIT in scope and scope["path"] not in self._open:
            scope[ADMIT]()
        return body

    def _judge(self, scope: Scope) -> Verdict:
        is_open = scope["path"] in self._open and scope["method"] in _SAFE
        is_file = scope["method"] in _SAFE and (scope["path"] == "/" or scope["path"].startswith(FILES))
        return judge(scope["headers"], self._key, method=scope["method"], is_open=is_open, is_file=is_file)

    def _shows_token(self, scope: Scope) -> bool:
        given = [value.strip() for name, value in scope["headers"] if name == b"authorization"]
        return self._key is not None and _holds_token(given, self._key.token)

    async def _refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        accepts = [value for name, value in scope["headers"] if name == b"accept"]
        is_looked_at = scope["path"] in self._pages and any(b"text/html" in value for value in accepts)
        await refuse(send, refusal, as_page=is_looked_at)

    def _write_down(self, scope: Scope, status: int, took_s: float) -> None:
        route = scope.get(ROUTE, UNKNOWN_ROUTE)
        log.debug("method=%s route=%s status=%d ms=%d", scope["method"], route, status, took_s * 1000)


def hardened(headers: Headers) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    if not any(name.lower() == b"cache-control" for name, _ in given):
        given.append((b"cache-control", b"no-store"))
    return [*given, *_ALWAYS]


async def read_body(receive: Receive) -> bytes | None:
    """The complete body; None if the caller has gone. Counted as it arrives: a chunked one has no length.
    Raises Refusal."""
    chunks, size = [], 0
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            while size <= MOST_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        hang_up = {"Connection": "close"}
        raise Refusal(408, "too_slow", "The body did not arrive in time.", headers=hang_up) from None
    if size > MOST_BYTES:
        raise _too_large()
    return b"".join(chunks)


def replay(body: bytes, receive: Receive) -> Receive:
    replayed = False

    async def receive_replayed() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()  # only to learn of a disconnect
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_replayed


async def refuse(send: Send, refusal: Refusal, *, as_page: bool = False) -> None:
    if as_page:
        body, media_type = sign_in_page(refusal.status).encode(), b"text/html; charset=utf-8"
    else:
        body, media_type = json.dumps(refusal.as_json()).encode(), b"application/json"
    headers = [
        (b"content-type", media_type),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in refusal.headers.items()),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
