"""`member`, `key`, `project` and `audit`: who is in a team and who may do what. They are commands of
`claude-mem server`, on the team's database, and of `claude-mem team`, through its server."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from msgspec import Struct, convert, to_builtins

from claude_mem.api import team as api
from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import Commands, UsageError
from claude_mem.cli.filter_flags import up_to
from claude_mem.git import normalised
from claude_mem.model.clock import iso
from claude_mem.store.team import People

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
GAP = "  "
MAY = {"read": "read", "write": "read and write", "admin": "administer"}

S = TypeVar("S", bound=Struct)


def member_name(text: str) -> str:
    if not NAME.fullmatch(text) or text == "me":
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid name: use lowercase letters, digits, dots, hyphens and underscores."
        )
    return text


class PeopleCommands:
    """`prog` is the command that they are subcommands of; `people` opens what they manage."""

    def __init__(self, prog: str, people: Callable[[], AbstractContextManager[People]]) -> None:
        self._prog, self._people = prog, people

    def add(self, verbs: Commands) -> None:
        self._add_members(verbs)
        self._add_keys(verbs)
        self._add_projects(verbs)
        purpose = "show changes of members, keys and access, newest first"
        audit = verbs.add("audit", purpose, run=self._audit)
        audit.argument("--limit", "N", "at most N (default: 50)", type=up_to(1_000), default=50)

    def _add_members(self, verbs: Commands) -> None:
        prog = f"{self._prog} member"
        member = verbs.group("member", "add, list and remove members", example=f"{prog} list")
        added = member.add("add", "add a member", example=f"{prog} add ben", run=self._add_member)
        added.argument("name", "NAME", type=member_name)
        added.flag("--admin", "let this member manage members, keys and projects")
        member.add("list", "list the members", run=self._list_members)
        purpose = "remove a member and revoke their keys; what they shared stays"
        removed = member.add("remove", purpose, example=f"{prog} remove ben", run=self._remove_member)
        removed.argument("name", "NAME", type=member_name)

    def _add_keys(self, verbs: Commands) -> None:
        prog = f"{self._prog} key"
        key = verbs.group("key", "create, list and revoke keys", example=f"{prog} list")
        purpose = "create a key for a member's machine; it is shown only once"
        example = f"{prog} add ben laptop\n{prog} add ci runner --scopes read"
        made = key.add("add", purpose, example=example, run=self._add_key)
        made.argument("member", "MEMBER", type=member_name)
        made.argument("machine", "MACHINE")
        scopes = "any of read, write and admin, separated by commas (default: read,write)"
        made.argument("--scopes", "LIST", scopes, default="read,write")
        days = "the key expires after N days (default: 365)"
        made.argument("--days", "N", days, type=up_to(3_660), default=365)
        key.add("list", "list keys by id, without the keys themselves", run=self._list_keys)
        purpose = "revoke a key, with immediate effect"
        revoked = key.add("revoke", purpose, example=f"{prog} revoke k3", run=self._revoke_key)
        revoked.argument("id", "ID", "an id from `key list`")

    def _add_projects(self, verbs: Commands) -> None:
        prog, shop = f"{self._prog} project", "git.example/acme/shop"
        project = verbs.group("project", "list, grant and revoke access to projects", example=f"{prog} list")
        project.add("list", "list who has access to which project", run=self._list_grants)
        purpose = "let a member read, write or administer a project"
        granted = project.add("grant", purpose, example=f"{prog} grant {shop} ben write", run=self._grant)
        purpose = "revoke a member's access to a project"
        ended = project.add("revoke", purpose, example=f"{prog} revoke {shop} ben", run=self._end_grant)
        for each in (granted, ended):
            each.argument("project", "PROJECT", "its key, from `project list`")
            each.argument("member", "MEMBER", type=member_name)
        granted.add_argument("level", choices=tuple(MAY))

    def _add_member(self, args: argparse.Namespace) -> int:
        new = api.NewMember(name=args.name, admin=args.admin)
        with self._people() as people:
            people.add_member(new)
        text = f"Added {args.name}. To create a key: {self._prog} key add {args.name} MACHINE"
        return output.result(args, to_builtins(new), text)

    def _remove_member(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            people.remove_member(args.name)
        text = f"Removed {args.name} and revoked all their keys."
        return output.result(args, {"removed": args.name}, text)

    def _add_key(self, args: argparse.Namespace) -> int:
        scopes = tuple(dict.fromkeys(part.strip() for part in args.scopes.split(",") if part.strip()))
        if not scopes or not set(scopes) <= set(api.SCOPES):
            raise UsageError(f"--scopes must be any of {', '.join(api.SCOPES)}, separated by commas.")
        new = api.NewKey(member=args.member, machine=args.machine[:64], scopes=scopes, days=args.days)
        with self._people() as people:
            key, info = people.add_key(new)
        text = (
            f"Key {info.id} for {info.member} on {info.machine} (scopes: {', '.join(info.scopes)}):\n\n"
            f"  {key}\n\nIt is shown only once. On that machine, run: claude-mem join URL"
        )
        return output.result(args, {"key": key, "info": to_builtins(info)}, text)

    def _revoke_key(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            people.revoke_key(args.id)
        return output.result(args, {"revoked": args.id}, f"Revoked {args.id}.")

    def _grant(self, args: argparse.Namespace) -> int:
        new = api.NewGrant(project=_key(args.project), member=args.member, level=args.level)
        with self._people() as people:
            is_shared = new.project in {each.project for each in people.grants()}
            people.grant(new)
        if not is_shared:
            message = f"Nobody has shared {new.project} yet: it is reserved. Check that this is its key."
            output.message(message)
        text = f"{args.member} may {MAY[args.level]} {new.project}."
        return output.result(args, to_builtins(new), text)

    def _end_grant(self, args: argparse.Namespace) -> int:
        new = api.NewGrant(project=_key(args.project), member=args.member, level="none")
        with self._people() as people:
            people.grant(new)
        text = f"{args.member} no longer has access to {new.project}."
        return output.result(args, to_builtins(new), text)

    def _list_members(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            items = people.members()
        rows = [
            (each.name, "admin" if each.admin else "", output.plural(each.keys, "key"), _day(each.created_at))
            for each in items
        ]
        return _listing(args, items, rows, ("member", "", "keys", "since"), "No members.")

    def _list_keys(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            items = people.keys()
        rows = [(each.id, each.member, each.machine, ",".join(each.scopes), _state(each)) for each in items]
        head = ("key", "member", "machine", "scopes", "")
        return _listing(args, items, rows, head, "No keys.")

    def _list_grants(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            items = people.grants()
        rows = [(each.project, each.member, each.level) for each in items]
        empty = "No project has been shared yet. To share one: claude-mem share"
        return _listing(args, items, rows, ("project", "member", "level"), empty)

    def _audit(self, args: argparse.Namespace) -> int:
        with self._people() as people:
            items = people.audit(api.AuditQuery(limit=args.limit))
        rows = [
            (iso(each.at)[:19], each.member or "(server)", each.key, each.action, each.subject)
            for each in items
        ]
        head = ("time", "member", "key", "action", "of")
        return _listing(args, items, rows, head, "No changes yet.")


def _key(given: str) -> str:
    """A repository's address counts as the key of its project."""
    return normalised(given) if "://" in given or given.startswith("git@") else given


def _state(key: api.KeyInfo) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    used = f", used {_day(key.last_used_at)}" if key.last_used_at else ", never used"
    return (f"until {_day(key.expires_at)}" if key.expires_at else "valid") + used


def _day(at: int) -> str:
    return iso(at)[:10]


def _listing(
    args: argparse.Namespace,
    items: Sequence[object],
    rows: Sequence[tuple[str, ...]],
    head: tuple[str, ...],
    empty: str,
) -> int:
    def table(_: Any) -> str:
        cells = [head, *([output.clean(cell) for cell in row] for row in rows)]
        widths = [max(map(output.width, column)) for column in zip(*cells, strict=True)]
        return "\n".join(GAP.join(map(output.pad, row, widths)).rstrip() for row in cells)

    return output.listing(args, {"items": to_builtins(items), "next": None}, items, table, empty)


class JoinedTeam:
    """The people of the team that this machine has joined. The worker sends each request, with its key."""

    def members(self) -> tuple[api.MemberInfo, ...]:
        return _get("members", api.MembersAnswer).items

    def add_member(self, new: api.NewMember) -> api.MemberInfo:
        return _post("members", new, api.MemberInfo)

    def remove_member(self, name: str) -> None:
        _post("members/remove", api.Removal(id=name), api.MembersAnswer)

    def keys(self) -> tuple[api.KeyInfo, ...]:
        return _get("keys", api.KeysAnswer).items

    def add_key(self, new: api.NewKey) -> tuple[str, api.KeyInfo]:
        made = _post("keys", new, api.NewKeyAnswer)
        return made.key, made.info

    def revoke_key(self, id: str) -> None:
        _post("keys/revoke", api.Removal(id=id), api.KeysAnswer)

    def grants(self) -> tuple[api.ProjectGrant, ...]:
        return _get("projects", api.GrantsAnswer).items

    def grant(self, new: api.NewGrant) -> None:
        _post("projects", new, api.GrantsAnswer)

    def audit(self, query: api.AuditQuery) -> tuple[api.AuditEntry, ...]:
        return _get("audit", api.AuditAnswer, limit=query.limit, before=query.before or None).items


def _get(what: str, shape: type[S], **query: object) -> S:
    return convert(request("GET", f"/api/team/{what}", query), shape)


def _post(what: str, body: Struct, shape: type[S]) -> S:
    return convert(request("POST", f"/api/team/{what}", body=to_builtins(body)), shape)
