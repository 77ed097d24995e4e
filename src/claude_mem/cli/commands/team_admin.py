"""`claude-mem team member|key|project|audit`: an admin manages the team from a machine that has joined it.
Each request goes through the worker to the team's server, with this machine's key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct, convert, to_builtins

from claude_mem.api import team as api
from claude_mem.cli.client import request
from claude_mem.cli.commands import Commands
from claude_mem.cli.commands.team_people import Manager, add_people
from claude_mem.store.team import People

S = TypeVar("S", bound=Struct)


def add_admin(verbs: Commands) -> None:
    add_people(verbs, Manager("claude-mem team", _through_worker))


@contextmanager
def _through_worker() -> Iterator[People]:
    yield RemotePeople()


class RemotePeople:
    """The people of the team that this machine has joined."""

    def members(self) -> tuple[api.MemberInfo, ...]:
        return _get("/api/team/members", api.MembersAnswer).items

    def add_member(self, new: api.NewMember) -> api.MemberInfo:
        return _post("/api/team/members", new, api.MemberInfo)

    def remove_member(self, name: str) -> None:
        _post("/api/team/members/remove", api.Removal(id=name), api.MembersAnswer)

    def keys(self) -> tuple[api.KeyInfo, ...]:
        return _get("/api/team/keys", api.KeysAnswer).items

    def add_key(self, new: api.NewKey) -> tuple[str, api.KeyInfo]:
        made = _post("/api/team/keys", new, api.NewKeyAnswer)
        return made.key, made.info

    def revoke_key(self, id: str) -> None:
        _post("/api/team/keys/revoke", api.Removal(id=id), api.KeysAnswer)

    def grants(self) -> tuple[api.ProjectGrant, ...]:
        return _get("/api/team/projects", api.GrantsAnswer).items

    def grant(self, new: api.NewGrant) -> None:
        _post("/api/team/projects", new, api.GrantsAnswer)

    def audit(self, query: api.AuditQuery) -> tuple[api.AuditEntry, ...]:
        given = {"limit": query.limit, "before": query.before or None}
        return convert(request("GET", "/api/team/audit", given), api.AuditAnswer).items


def _get(path: str, shape: type[S]) -> S:
    return convert(request("GET", path), shape)


def _post(path: str, body: Struct, shape: type[S]) -> S:
    return convert(request("POST", path, body=to_builtins(body)), shape)
