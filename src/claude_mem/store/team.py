"""What a store has for a team: who is who and who is acting, what members share, and how far each machine has
pulled. Only a store on PostgreSQL has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from claude_mem.api.team import (
    AuditEntry,
    AuditQuery,
    ForgetStatus,
    KeyInfo,
    MemberInfo,
    NewGrant,
    NewKey,
    NewMember,
    ProjectGrant,
    Scope,
)
from claude_mem.model.errors import InvalidInput
from claude_mem.model.records import Record
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import ForgetAnswer, Pull
from claude_mem.store.values import ImportResult


class Identity(Struct, frozen=True, kw_only=True):
    """A member, identified by one of the member's keys."""

    member: str
    machine: str
    key_id: int
    scopes: tuple[Scope, ...]
    admin: bool = False
    expires_at: int | None = None  # epoch milliseconds


class Service(Struct, frozen=True):
    """The server itself, as a principal."""


Principal = Identity | Service | None

_acting: ContextVar[Principal] = ContextVar("acting", default=None)


def acting() -> Principal:
    """The principal for whom a transaction of a team's server runs.

    The pool reads it when it lends a connection. Without a principal, the transaction sees nothing. As a
    member, it sees and changes what the database's rules permit (access.sql). The server's own loops
    explicitly act as the service, which sees everything.
    """
    return _acting.get()


@contextmanager
def acting_as(identity: Identity) -> Iterator[None]:
    """Sets the principal of the database's transactions, in this thread or task and those it starts."""
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


class Changes(Struct, frozen=True):
    refs: tuple[Ref, ...]
    cursor: str
    more: bool


class ChangePosition(Struct, frozen=True, order=True):
    """A changed memory; positions sort in the order of the changes."""

    transaction: int = 0
    kind: str = ""
    id: int = 0

    def __str__(self) -> str:
        return f"{self.transaction}.{self.kind or '_'}.{self.id}"

    @classmethod
    def parse(cls, given: str) -> ChangePosition:
        transaction, kind, id = given.split(".")
        if kind not in ("_", "observation", "summary", "prompt"):
            raise ValueError(kind)
        return cls(_number(transaction), "" if kind == "_" else kind, _number(id))


class PullCursor(Struct, frozen=True):
    """How far a machine has pulled: all changes up to a position. If its member got access to a project
    later, that project's older changes are pulled first, up to this position: those whose grant is from a
    transaction since `grants` and before `until`. `cluster`: the PostgreSQL server of these transactions,
    which have no meaning on another server after a restore."""

    place: ChangePosition = ChangePosition()
    grants: int = 0
    until: int | None = None  # None: nothing older is being caught up on
    older: ChangePosition = ChangePosition()
    cluster: str = ""

    def __str__(self) -> str:
        main = f"{self.cluster}~{self.place}-{self.grants}"
        return main if self.until is None else f"{main}-{self.until}-{self.older}"

    def is_of(self, cluster: str, upto: int) -> bool:
        return self.cluster == cluster and max(self.place.transaction, self.grants) <= upto

    @classmethod
    def parse(cls, given: str) -> PullCursor:
        """Parses a cursor as `str` writes it. Raises InvalidInput."""
        try:
            cluster, _, rest = given.rpartition("~")
            place, grants, *catching_up = rest.split("-")
            until, older = catching_up or (None, None)
            return cls(
                ChangePosition.parse(place),
                _number(grants),
                None if until is None else _number(until),
                ChangePosition() if older is None else ChangePosition.parse(older),
                cluster,
            )
        except ValueError:
            raise InvalidInput("cursor", "The cursor is not from this server.") from None


def _number(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise ValueError(given)
    return int(given)


class People(Protocol):
    """What an admin manages, on the database or through the team's server."""

    def members(self) -> tuple[MemberInfo, ...]: ...
    def add_member(self, new: NewMember) -> MemberInfo: ...
    def remove_member(self, name: str) -> None: ...
    def keys(self) -> tuple[KeyInfo, ...]: ...
    def add_key(self, new: NewKey) -> tuple[str, KeyInfo]: ...
    def revoke_key(self, id: str) -> None: ...
    def grants(self) -> tuple[ProjectGrant, ...]: ...
    def grant(self, new: NewGrant) -> None: ...
    def audit(self, query: AuditQuery) -> tuple[AuditEntry, ...]: ...


class Directory(People, Protocol):
    def authenticate(self, secret: str) -> Identity | None: ...
    def begin(self, member: str, machine: str) -> tuple[str, KeyInfo]: ...
    def server_id(self) -> str: ...
    def grants_of(self, member: str) -> tuple[ProjectGrant, ...]: ...


class Sharing(Protocol):
    def push(self, records: Sequence[Record]) -> ImportResult: ...
    def pull(self, given: str, limit: int) -> Pull: ...
    def now(self) -> str: ...
    def changes(self, cursor: str, limit: int) -> Changes: ...
    def forget(self, names: Sequence[str]) -> tuple[str, ...]: ...
    def acknowledge(self, ids: Sequence[str], answer: ForgetAnswer = "done") -> None: ...
    def forgets(self) -> tuple[ForgetStatus, ...]: ...
    def leave(self) -> int: ...
