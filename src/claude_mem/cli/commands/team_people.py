"""`member`, `key`, `project` and `audit`: who is in a team and who may do what. They are commands of
`claude-mem server`, on the team's database, and of `claude-mem team`, through its server."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, convert, to_builtins

from claude_mem.api import team as api
from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import Commands, UsageError, help_of
from claude_mem.cli.filter_flags import up_to
from claude_mem.git import normalised
from claude_mem.model.clock import iso
from claude_mem.store.team import People

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
GAP = "  "


class Manager(Struct, frozen=True):
    """Who manages a team: `prog` is the command, and `people` opens what it manages."""

    prog: str
    people: Callable[[], AbstractContextManager[People]]


def add_people(verbs: Commands, manager: Manager) -> None:
    """`member`, `key`, `project` and `audit`, each with verbs of its own."""
    prog = manager.prog
    member = _level(verbs, "member", "add, list and remove members", f"{prog} member list")
    added = member.add(
        "add",
        "add a member",
        example=f"{prog} member add ben",
        run=partial(_add, manager),
    )
    added.add_argument("name", type=member_name, metavar="NAME")
    added.add_argument(
        "--admin", action="store_true", help="let this member manage members, keys and projects"
    )
    member.add("list", "list the members", example=f"{prog} member list", run=partial(_list_members, manager))
    removed = member.add(
        "remove",
        "remove a member and revoke their keys; what they shared stays",
        example=f"{prog} member remove ben",
        run=partial(_remove, manager),
    )
    removed.add_argument("name", type=member_name, metavar="NAME")

    key = _level(verbs, "key", "create, list and revoke keys", f"{prog} key list")
    made = key.add(
        "add",
        "create a key for a member's machine; it is shown only once",
        example=f"{prog} key add ben laptop\n{prog} key add ci runner --scopes read",
        run=partial(_add_key, manager),
    )
    made.add_argument("member", type=member_name, metavar="MEMBER")
    made.add_argument("machine", metavar="MACHINE")
    made.add_argument(
        "--scopes",
        default="read,write",
        metavar="LIST",
        help="any of read, write and admin, separated by commas (default: read,write)",
    )
    made.add_argument(
        "--days",
        type=up_to(3_660),
        default=365,
        metavar="N",
        help="the key expires after N days (default: 365)",
    )
    key.add(
        "list",
        "list keys by id, without the keys themselves",
        example=f"{prog} key list",
        run=partial(_list_keys, manager),
    )
    revoked = key.add(
        "revoke",
        "revoke a key, with immediate effect",
        example=f"{prog} key revoke k3",
        run=partial(_revoke, manager),
    )
    revoked.add_argument("id", metavar="ID", help="an id from `key list`")

    project = _level(verbs, "project", "list, grant and revoke access to projects", f"{prog} project list")
    project.add(
        "list",
        "list who has access to which project",
        example=f"{prog} project list",
        run=partial(_list_grants, manager),
    )
    granted = project.add(
        "grant",
        "let a member read, write or administer a project",
        example=f"{prog} project grant git.example/acme/shop ben write",
        run=partial(_grant, manager),
    )
    granted.add_argument("project", metavar="PROJECT", help="its key, from `project list`")
    granted.add_argument("member", type=member_name, metavar="MEMBER")
    granted.add_argument("level", choices=("read", "write", "admin"))
    ended = project.add(
        "revoke",
        "revoke a member's access to a project",
        example=f"{prog} project revoke git.example/acme/shop ben",
        run=partial(_end_grant, manager),
    )
    ended.add_argument("project", metavar="PROJECT", help="its key, from `project list`")
    ended.add_argument("member", type=member_name, metavar="MEMBER")

    audit = verbs.add(
        "audit",
        "show changes of members, keys and access, newest first",
        example=f"{prog} audit",
        run=partial(_audit, manager),
    )
    audit.add_argument("--limit", type=up_to(1_000), default=50, metavar="N", help="at most N (default: 50)")


def _level(verbs: Commands, name: str, purpose: str, example: str) -> Commands:
    parser = verbs.add(name, purpose, example=example, run=lambda _: help_of(parser), json=False)
    return Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))


def member_name(text: str) -> str:
    if not NAME.fullmatch(text) or text == "me":
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid name: use lowercase letters, digits, dots, hyphens and underscores."
        )
    return text


def _changed(
    manager: Manager, change: Callable[[People], object], data: object, text: str, *, as_json: bool
) -> int:
    with manager.people() as found:
        change(found)
    return output.result(data, text, as_json=as_json)


def _add(manager: Manager, args: argparse.Namespace) -> int:
    new = api.NewMember(name=args.name, admin=args.admin)
    text = f"Added {args.name}. To create a key: {manager.prog} key add {args.name} MACHINE"
    return _changed(manager, lambda found: found.add_member(new), to_builtins(new), text, as_json=args.json)


def _remove(manager: Manager, args: argparse.Namespace) -> int:
    text = f"Removed {args.name} and revoked all their keys."
    return _changed(
        manager, lambda found: found.remove_member(args.name), {"removed": args.name}, text, as_json=args.json
    )


def _add_key(manager: Manager, args: argparse.Namespace) -> int:
    scopes = tuple(dict.fromkeys(part.strip() for part in args.scopes.split(",") if part.strip()))
    if not scopes or not set(scopes) <= set(api.SCOPES):
        raise UsageError(f"--scopes must be any of {', '.join(api.SCOPES)}, separated by commas.")
    new = api.NewKey(member=args.member, machine=args.machine[:64], scopes=scopes, days=args.days)
    with manager.people() as found:
        key, info = found.add_key(new)
    text = (
        f"Key {info.id} for {info.member} on {info.machine} (scopes: {', '.join(info.scopes)}):\n\n"
        f"  {key}\n\nIt is shown only once. On that machine, run: claude-mem join URL"
    )
    return output.result({"key": key, "info": to_builtins(info)}, text, as_json=args.json)


def _revoke(manager: Manager, args: argparse.Namespace) -> int:
    return _changed(
        manager,
        lambda found: found.revoke_key(args.id),
        {"revoked": args.id},
        f"Revoked {args.id}.",
        as_json=args.json,
    )


def _grant(manager: Manager, args: argparse.Namespace) -> int:
    new = api.NewGrant(project=_key(args.project), member=args.member, level=args.level)
    text = f"{args.member} may {_may(args.level)} {new.project}."

    def grant(found: People) -> None:
        is_shared = new.project in {each.project for each in found.grants()}
        found.grant(new)
        if not is_shared:
            says = f"Nobody has shared {new.project} yet: it is reserved. Check that this is its key."
            output.message(says)

    return _changed(manager, grant, to_builtins(new), text, as_json=args.json)


def _key(given: str) -> str:
    """A repository's address counts as the key of its project."""
    return normalised(given) if "://" in given or given.startswith("git@") else given


def _end_grant(manager: Manager, args: argparse.Namespace) -> int:
    new = api.NewGrant(project=_key(args.project), member=args.member, level="none")
    text = f"{args.member} no longer has access to {new.project}."
    return _changed(manager, lambda found: found.grant(new), to_builtins(new), text, as_json=args.json)


def _may(level: str) -> str:
    return {"read": "read", "write": "read and write", "admin": "administer"}[level]


def _list_members(manager: Manager, args: argparse.Namespace) -> int:
    with manager.people() as found:
        items = found.members()
    rows = [
        (each.name, "admin" if each.admin else "", output.plural(each.keys, "key"), iso(each.created_at)[:10])
        for each in items
    ]
    return _listing(items, rows, ("member", "", "keys", "since"), "No members.", as_json=args.json)


def _list_keys(manager: Manager, args: argparse.Namespace) -> int:
    with manager.people() as found:
        items = found.keys()
    rows = [(each.id, each.member, each.machine, ",".join(each.scopes), _state(each)) for each in items]
    return _listing(items, rows, ("key", "member", "machine", "scopes", ""), "No keys.", as_json=args.json)


def _state(key: api.KeyInfo) -> str:
    if key.revoked_at is not None:
        return f"revoked {iso(key.revoked_at)[:10]}"
    used = f", used {iso(key.last_used_at)[:10]}" if key.last_used_at else ", never used"
    return (f"until {iso(key.expires_at)[:10]}" if key.expires_at else "valid") + used


def _list_grants(manager: Manager, args: argparse.Namespace) -> int:
    with manager.people() as found:
        items = found.grants()
    rows = [(each.project, each.member, each.level) for each in items]
    empty = "No project has been shared yet. To share one: claude-mem share"
    return _listing(items, rows, ("project", "member", "level"), empty, as_json=args.json)


def _audit(manager: Manager, args: argparse.Namespace) -> int:
    with manager.people() as found:
        items = found.audit(api.AuditQuery(limit=args.limit))
    rows = [
        (iso(each.at)[:19], each.member or "(server)", each.key, each.action, each.subject) for each in items
    ]
    head = ("time", "member", "key", "action", "of")
    return _listing(items, rows, head, "No changes yet.", as_json=args.json)


def _listing(
    items: Sequence[object],
    rows: Sequence[tuple[str, ...]],
    head: tuple[str, ...],
    empty: str,
    *,
    as_json: bool,
) -> int:
    def table(_: Any) -> str:
        cells = [head, *([output.clean(cell) for cell in row] for row in rows)]
        widths = [max(output.width(row[at]) for row in cells) for at in range(len(head))]
        return "\n".join(
            GAP.join(output.pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )

    return output.listing({"items": to_builtins(items), "next": None}, items, table, empty, as_json=as_json)


# -- By an admin, from a machine that has joined: the worker sends each request, with this machine's key --

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
