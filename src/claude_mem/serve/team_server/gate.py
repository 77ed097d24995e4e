"""The guard of a team server: authenticates each request, and checks the key's scope and rate limit.

Everything after it runs as the member to whom the key belongs: the database returns only what that member
may see, and nothing without a member.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import nullcontext

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from claude_mem.model.errors import StoreError
from claude_mem.serve.http.guard import (
    BY_PROGRAM,
    MOST_BYTES,
    ROUTE,
    TRUSTED,
    hardened,
    read_body,
    refuse,
    replay,
)
from claude_mem.serve.http.router import Endpoint, Router
from claude_mem.serve.http.server import ADMIT
from claude_mem.serve.requests import Refusal
from claude_mem.serve.team_server.admission import (
    Allowance,
    RateLimiter,
    judge_host,
    judge_length,
    key_in,
    no_key,
    no_scope,
    too_many,
)
from claude_mem.serve.team_server.server_state import ServerState, log
from claude_mem.serve.worker_log import REQUEST, name_of
from claude_mem.store.team import Identity

IDENTITY = "claude_mem.identity"
"""The scope's key of the member, and the key, that a request is for."""
KEY = "claude_mem.key"
"""The scope's key of the key itself: a stream asks again whether it is still good."""
UNKNOWN_ROUTE = "unknown"


class GateRules(Struct, frozen=True, kw_only=True):
    """`hosts`: the Host headers that are ours; None: any. `tls`: we are reached by https alone."""

    hosts: frozenset[bytes] | None = None
    tls: bool = False
    allowance: Allowance
    most_bytes: int = MOST_BYTES


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        serving: ServerState,
        table: tuple[Endpoint, ...],
        rules: GateRules,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._serving, self._rules, self._now_s = app, serving, rules, now_s
        self._router, self._rates = Router(table), RateLimiter(rules.allowance)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        id, began, status = os.urandom(6).hex(), time.monotonic(), 0
        REQUEST.set(id)  # each request is a task of its own
        figures = self._serving.figures
        figures.running += 1

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*hardened(message.get("headers", ())), *self._more_headers(id)]
            await send(message)

        try:
            await self._answer(scope, receive, send_guarded, lambda: bool(status))
        finally:
            took_s = time.monotonic() - began
            figures.running -= 1
            route = scope.get(ROUTE, UNKNOWN_ROUTE)
            figures.note(route, status, took_s)
            self._write_down(scope, route, status, took_s)

    async def _answer(
        self, scope: AsgiScope, receive: Receive, send: Send, has_started: Callable[[], bool]
    ) -> None:
        try:
            body = await self._admitted(scope, receive)
            if body is None:
                return
            identity: Identity | None = scope.get(IDENTITY)
            services = self._serving.services
            with services.acting_as(identity) if identity else nullcontext():
                await self._app(scope, replay(body, receive), send)
        except Refusal as refusal:
            self._serving.figures.refused[refusal.code] += 1
            await refuse(send, refusal)
        except asyncio.CancelledError:  # the process ends, and has waited for as long as it may
            if not has_started():
                stopping = {"Retry-After": "1", "Connection": "close"}
                await refuse(
                    send, Refusal(503, "stopping", "This process is stopping. Try again.", headers=stopping)
                )
        except Exception as error:  # the application has raised it on, for us to write down
            self._serving.record_mishap("request", error)
            if not has_started():
                message = f"Something went wrong; see request {REQUEST.get()} in the server's log."
                await refuse(send, Refusal(500, "internal", message))

    async def _admitted(self, scope: AsgiScope, receive: Receive) -> bytes | None:
        """The request's body, and whom it is for in the scope. None: the caller has gone. Raises Refusal."""
        endpoint = self._endpoint(scope)
        if endpoint is not None:
            scope[ROUTE] = endpoint.path
        headers, most_bytes = scope["headers"], self._rules.most_bytes
        is_open = endpoint is not None and endpoint.scope == "open"
        if not is_open:
            if refusal := judge_host(headers, self._rules.hosts):
                raise refusal
            scope[IDENTITY] = identity = await self._identified(scope)
            if ADMIT in scope:
                scope[ADMIT]()
            if wait_s := self._rates.wait_s(str(identity.key_id), self._now_s()):
                raise too_many(wait_s)
            # What does not exist is the application's to say, to whoever has a key.
            if endpoint is not None and endpoint.scope not in identity.scopes:
                raise no_scope(str(endpoint.scope))
        if refusal := judge_length(headers, most_bytes):
            raise refusal
        body = await read_body(receive, most_bytes)
        if isinstance(body, Refusal):
            raise body
        scope[TRUSTED], scope[BY_PROGRAM] = False, not is_open
        return body

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

    def _more_headers(self, id: str) -> list[tuple[bytes, bytes]]:
        more = [(b"x-request-id", id.encode())]
        if self._rules.tls:
            more.append((b"strict-transport-security", b"max-age=31536000"))
        if self._serving.is_draining:
            more.append((b"connection", b"close"))  # the next request goes to another process
        return more

    def _write_down(self, scope: AsgiScope, route: str, status: int, took_s: float) -> None:
        """Never what was asked for: only which route, by whom, and what became of it."""
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
