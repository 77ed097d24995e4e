"""The guard of a team server: authenticates each request, and checks the key's scope and rate limit.

Everything after it runs as the member to whom the key belongs: the database returns only what that member
may see, and nothing without a member.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from claude_mem.model.errors import StoreError
from claude_mem.serve.http.guard import (
    BY_PROGRAM,
    ROUTE,
    TRUSTED,
    UNKNOWN_ROUTE,
    Headers,
    Middleware,
    judge_length,
    read_body,
)
from claude_mem.serve.http.router import Endpoint, Router
from claude_mem.serve.http.server import ADMIT
from claude_mem.serve.requests import Refusal
from claude_mem.serve.team_server.admission import (
    Allowance,
    RateLimiter,
    judge_host,
    key_in,
    no_key,
    no_scope,
    too_many,
)
from claude_mem.serve.team_server.server_state import ServerState, log
from claude_mem.serve.worker_log import name_of
from claude_mem.store.team import Identity, acting_as

IDENTITY = "claude_mem.identity"
"""The scope's key for the request's member and key."""
KEY = "claude_mem.key"
"""The scope's key for the request's key itself, because a stream checks regularly whether it is still
valid."""


class GateRules(Struct, frozen=True, kw_only=True):
    """`hosts`: the Host headers that are ours; None: any. `tls`: we are reached by https alone."""

    hosts: frozenset[bytes] | None = None
    tls: bool = False
    allowance: Allowance


class Gate(Middleware):
    stopping = Refusal(
        503,
        "stopping",
        "This process is stopping. Try again.",
        headers={"Retry-After": "1", "Connection": "close"},
    )

    def __init__(
        self, app: ASGIApp, serving: ServerState, table: tuple[Endpoint, ...], rules: GateRules
    ) -> None:
        super().__init__(app, serving, "server")
        self._serving, self._rules = serving, rules
        self._router, self._rates = Router(table), RateLimiter(rules.allowance)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        self._serving.figures.running += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._serving.figures.running -= 1

    async def _admit(self, scope: AsgiScope, receive: Receive) -> bytes | None:
        endpoint = self._endpoint(scope)
        if endpoint is not None:
            scope[ROUTE] = endpoint.path
        headers = scope["headers"]
        is_open = endpoint is not None and endpoint.scope == "open"
        if not is_open:
            if refusal := judge_host(headers, self._rules.hosts):
                raise refusal
            scope[IDENTITY] = identity = await self._identified(scope)
            if ADMIT in scope:
                scope[ADMIT]()
            if wait_s := self._rates.wait_s(str(identity.key_id), time.monotonic()):
                raise too_many(wait_s)
            # Unknown routes are left to the application, which answers callers with a key.
            if endpoint is not None and endpoint.scope not in identity.scopes:
                raise no_scope(str(endpoint.scope))
        lengths = [value.strip() for name, value in headers if name == b"content-length"]
        if refusal := judge_length(lengths):
            raise refusal
        scope[TRUSTED], scope[BY_PROGRAM] = False, not is_open
        return await read_body(receive)

    async def _identified(self, scope: AsgiScope) -> Identity:
        key = key_in(scope["headers"])
        if key is None:
            raise no_key()
        is_known, identity = self._serving.keys.cached(key)
        if not is_known:
            try:
                identity = await asyncio.to_thread(self._serving.keys.identify, key)
            except StoreError as error:
                log.warning("a key cannot be looked up: %s", name_of(error))
                message = "The database is unavailable. Try again after Retry-After seconds."
                raise Refusal(503, "unavailable", message, headers={"Retry-After": "5"}) from None
        if identity is None:
            raise no_key()
        scope[KEY] = key
        return identity

    def _endpoint(self, scope: AsgiScope) -> Endpoint | None:
        sent = scope.get("raw_path") or scope["path"].encode()
        methods, _ = self._router.find(sent.decode("ascii", "replace"))
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        return methods.get(method)

    def _on_behalf(self, scope: AsgiScope) -> AbstractContextManager[None]:
        """Of the member whose key it is."""
        identity: Identity | None = scope.get(IDENTITY)
        return acting_as(identity) if identity else nullcontext()

    def _headers(self) -> Headers:
        if self._rules.tls:
            yield b"strict-transport-security", b"max-age=31536000"
        if self._serving.is_draining:
            yield b"connection", b"close"  # the next request goes to another process

    async def _refuse(self, scope: AsgiScope, send: Send, refusal: Refusal) -> None:
        self._serving.figures.refused[refusal.code] += 1
        await super()._refuse(scope, send, refusal)

    def _write_down(self, scope: AsgiScope, status: int, took_s: float) -> None:
        """Logs the route, the caller and the status, but never the content of the request."""
        route = scope.get(ROUTE, UNKNOWN_ROUTE)
        self._serving.figures.note(route, status, took_s)
        if route == "/health" and status == 200:
            return
        identity: Identity | None = scope.get(IDENTITY)
        facts: dict[str, object] = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(took_s * 1000, 1),
        }
        if identity:
            facts |= {"member": identity.member, "machine": identity.machine, "key": identity.key_id}
        log.info("request", extra={"facts": facts})
