"""Who a transaction of a team's server is for.

The pool asks when it lends a connection. Nobody: the transaction sees nothing. A member: it sees and changes
what the database's rules let that member (access.sql). The server's own loops act as the service, which sees
everything: each says so where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from claude_mem.store.team import Identity


class Service(Struct, frozen=True):
    """The server itself."""


Principal = Identity | Service | None

_acting: ContextVar[Principal] = ContextVar("acting", default=None)


def acting() -> Principal:
    return _acting.get()


@contextmanager
def acting_as(identity: Identity) -> Iterator[None]:
    token = _acting.set(identity)
    try:
        yield
    finally:
        _acting.reset(token)


@contextmanager
def acting_as_service() -> Iterator[None]:
    """Not on behalf of a caller: nothing of what it reads is answered to one."""
    token = _acting.set(Service())
    try:
        yield
    finally:
        _acting.reset(token)
