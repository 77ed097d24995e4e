"""What a store has for a team: who is who, and what members share. Only a store on PostgreSQL has it."""

from __future__ import annotations

from collections.abc import Sequence
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
from claude_mem.model.records import Record
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import ForgetAnswer
from claude_mem.store.values import ImportResult


class Identity(Struct, frozen=True, kw_only=True):
    """A member, by one of the member's keys."""

    member: str
    machine: str
    key_id: int
    scopes: tuple[Scope, ...]
    admin: bool = False
    expires_at: int | None = None  # epoch milliseconds


class ForgetNotice(Struct, frozen=True, kw_only=True):
    """A machine deletes what it has by this name."""

    id: str
    of: str  # session, observation, summary, prompt
    digest: str  # of its name: see model/records.py
    at: int  # when it was made, epoch milliseconds
    by: str  # the member who forgot it

    def line(self) -> Record:
        return {"kind": "forget"} | {name: getattr(self, name) for name in self.__struct_fields__}


class Pulled(Struct, frozen=True):
    records: tuple[Record, ...]  # each but a project's with its `author`
    forgets: tuple[ForgetNotice, ...]
    cursor: str
    more: bool


class Changes(Struct, frozen=True):
    refs: tuple[Ref, ...]
    cursor: str
    more: bool


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
    def pull(self, given: str, limit: int) -> Pulled: ...
    def now(self) -> str: ...
    def changes(self, cursor: str, limit: int) -> Changes: ...
    def forget(self, names: Sequence[str]) -> tuple[str, ...]: ...
    def acknowledge(self, ids: Sequence[str], answer: ForgetAnswer = "done") -> None: ...
    def forgets(self) -> tuple[ForgetStatus, ...]: ...
    def leave(self) -> int: ...
