"""Decides whether a request may reach the application: one check before routing, for every route alike.

On the TCP port anybody on this machine and any web page in its browsers can knock. Host keeps out names that
were rebound to the loopback, Origin and Sec-Fetch-Site keep out other sites' pages, and the token keeps out
everyone else. On the unix socket the file's permissions have already asked who is there.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claude_mem.serve.refusal import Refusal
from claude_mem.serve.running import Running

MOST_BYTES = 10 << 20
BODY_DEADLINE_S = 30.0
TRUSTED = "claude_mem.trusted"
"""The scope's key that says the request came over the unix socket."""

Headers = Iterable[tuple[bytes, bytes]]
Verdict = Refusal | None
"""None: allowed."""

_ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True, slots=True)
class Key:
    """What a TCP caller must show: the port it came to, and the token."""

    port: int
    token: str

    @property
    def hosts(self) -> frozenset[bytes]:
        return frozenset(f"{name}:{self.port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))


def judge(headers: Headers, key: Key | None, most_bytes: int = MOST_BYTES) -> Verdict:
    """Why a request with these headers is refused, if it is. Without a key only its size counts."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value.strip())
    if key is not None and (refusal := _stranger(found, key)):
        return refusal
    length = found.get(b"content-length", [b"0"])[0]
    if not length.isdigit() or len(length) > 18:
        return Refusal(400, "bad_length", "Content-Length is not a number.")
    return _too_large(most_bytes) if int(length) > most_bytes else None


def _stranger(found: dict[bytes, list[bytes]], key: Key) -> Verdict:
    hosts = key.hosts
    given = found.get(b"host", [])
    if len(given) != 1 or given[0].lower() not in hosts:
        return Refusal(421, "foreign_host", f"Host must be 127.0.0.1:{key.port} or localhost:{key.port}.")
    if any(
        origin.lower() not in {b"http://" + host for host in hosts} for origin in found.get(b"origin", [])
    ):
        return Refusal(403, "foreign_origin", "Requests from another origin are not served.")
    if any(site.lower() not in (b"same-origin", b"none") for site in found.get(b"sec-fetch-site", [])):
        return Refusal(403, "cross_site", "Requests from another site are not served.")
    if not _holds_token(found.get(b"authorization", []), key.token):
        return Refusal(
            401,
            "no_token",
            "The token is missing or wrong. `claude-mem token` prints it; send: Authorization: Bearer …",
            headers={"WWW-Authenticate": 'Bearer realm="claude-mem"'},
        )
    return None


def _holds_token(given: list[bytes], token: str) -> bool:
    if len(given) != 1:
        return False
    scheme, _, credentials = given[0].partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(credentials.strip(), token.encode())


def _too_large(most_bytes: int) -> Refusal:
    return Refusal(413, "too_large", f"The body is larger than {most_bytes} bytes.")


class Guard:
    """The thin edge: asks `judge`, reads the body within its bounds, and only then calls the application."""

    def __init__(self, app: ASGIApp, running: Running, key: Key | None) -> None:
        self._app, self._running, self._key = app, running, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *_ALWAYS]
            await send(message)

        body = judge(scope["headers"], self._key) or await _read(receive)
        if body is None:
            return
        if isinstance(body, Refusal):
            await _refuse(send_guarded, body)
            return
        scope[TRUSTED] = self._key is None
        try:
            await self._app(scope, _replay(body, receive), send_guarded)
        except Exception as error:  # the application has answered 500 and raised it on, for us to write down
            self._running.swallow("request", error)
            if not started:
                await _refuse(
                    send_guarded, Refusal(500, "internal", "Something went wrong; see the worker's log.")
                )


async def _read(receive: Receive) -> bytes | Refusal | None:
    """The whole body; None when the caller has gone. Counted as it comes: a chunked one names no length."""
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
        return Refusal(408, "too_slow", "The body did not arrive in time.", headers=hang_up)
    return b"".join(chunks) if size <= MOST_BYTES else _too_large(MOST_BYTES)


def _replay(body: bytes, receive: Receive) -> Receive:
    replayed = False

    async def receive_replayed() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()  # only to learn of a disconnect
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_replayed


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = json.dumps(refusal.as_json()).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in refusal.headers.items()),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
