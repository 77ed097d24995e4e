"""What this machine shares with its team: joining, leaving, sharing, the exchange; and, for an admin, the
team's members, keys and grants: requests that the worker forwards to the team's server with this machine's
key, which the caller never sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct

from claude_mem.api import sharing as api
from claude_mem.api import team
from claude_mem.api.fields import Error
from claude_mem.serve.http.router import Answer, Call, Routes
from claude_mem.serve.requests import Refusal
from claude_mem.team.membership import Membership
from claude_mem.team.wire import TeamFailure

routes = Routes()
T = TypeVar("T")
S = TypeVar("S", bound=Struct)

FAILED = Answer(
    424, "The team's server cannot be reached, or rejected the request. Nothing was changed.", Error
)
NO_TEAM = Answer(409, "This worker stores its memories in PostgreSQL, so it cannot join a team.", Error)


@routes.get(
    "/api/sharing",
    "This machine's membership in a team, what it shares, and what is waiting to be sent.",
    NO_TEAM,
)
def status(call: Call) -> api.SharingStatus:
    return _membership(call).status()


@routes.post("/api/sharing/join", "Join a team's server.", FAILED, NO_TEAM)
def join(call: Call, body: api.JoinRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.join(body))


@routes.post(
    "/api/sharing/leave",
    "Leave the team. Deletes what was shared from its server, and other members' memories from this machine.",
    FAILED,
    NO_TEAM,
)
def leave(call: Call, body: api.LeaveRequest) -> api.LeftAnswer:
    return _changed(call, lambda membership: membership.leave(body))


@routes.post("/api/sharing/share", "Share a project with the team.", NO_TEAM)
def share(call: Call, body: api.ShareRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.share(body))


@routes.post("/api/sharing/unshare", "Stop sharing a project.", NO_TEAM)
def unshare(call: Call, body: api.UnshareRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.unshare(body))


@routes.post(
    "/api/sharing/consent", "Accept or refuse others' deletions of many of your own memories.", NO_TEAM
)
def consent(call: Call, body: api.ConsentRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.answer_forgets(body))


@routes.post(
    "/api/sharing/now", "Send waiting memories immediately, including those of unmerged branches.", NO_TEAM
)
def send_now(call: Call, body: api.SendNowRequest) -> api.SentNowAnswer:
    return _changed(call, lambda membership: membership.send_now(body))


@routes.post(
    "/api/sharing/exchange",
    "Exchange memories with the server now, after checking again which branches are merged.",
    NO_TEAM,
)
def exchange(call: Call) -> api.SharingStatus:
    membership = _membership(call)
    membership.exchange.now()
    call.running.notify_change()
    return membership.status()


@routes.post("/api/sharing/pin", "Pin observations for the team, or unpin them.", NO_TEAM)
def pin(call: Call, body: api.TeamPinRequest) -> api.TeamPinAnswer:
    return _changed(call, lambda membership: membership.pin(body))


@routes.get(
    "/api/sharing/forgets",
    "The team's deletions, and the machines that have not applied them yet.",
    FAILED,
    NO_TEAM,
)
def forgets(call: Call) -> api.ForgetsStatus:
    with _reported():
        return _membership(call).forgets()


def forget_for_team(call: Call, names: Sequence[str]) -> None:
    """What other members wrote, on the server and on every machine."""
    with _reported():
        _membership(call).forget(names)


def _membership(call: Call) -> Membership:
    found = call.services.membership
    if found is None:
        raise Refusal(409, "no_team", NO_TEAM.about)
    return found


def _changed(call: Call, change: Callable[[Membership], T]) -> T:
    with _reported():
        done = change(_membership(call))
    call.running.notify_change()
    return done


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except TeamFailure as failure:
        raise Refusal(424, "team_failed", str(failure)) from None


FORBIDDEN = Answer(
    403, "This machine's key does not permit that. See `admin`, `scopes` and `projects`.", Error
)
UNKNOWN = Answer(404, "No such member or key.", Error)
NOT_JOINED = Answer(409, "This machine has not joined a team.", Error)
ADMIN = (FORBIDDEN, NOT_JOINED, FAILED)


@routes.get("/api/team", "This machine's member, and what its key permits.", *ADMIN)
def who(call: Call) -> team.TeamAnswer:
    return _forward(call, "GET", "/api/team", team.TeamAnswer)


@routes.get("/api/team/members", "The team's members.", *ADMIN)
def members(call: Call) -> team.MembersAnswer:
    return _forward(call, "GET", "/api/team/members", team.MembersAnswer)


@routes.post("/api/team/members", "Add a member.", *ADMIN)
def add_member(call: Call, body: team.NewMember) -> team.MemberInfo:
    refused = f"A member named {body.name} already exists, or the name is reserved."
    return _forward(call, "POST", "/api/team/members", team.MemberInfo, body, refused={"name": refused})


@routes.post(
    "/api/team/members/remove",
    "Remove a member and revoke their keys. What they shared stays.",
    UNKNOWN,
    *ADMIN,
)
def remove_member(call: Call, body: team.Removal) -> team.MembersAnswer:
    return _forward(
        call,
        "POST",
        "/api/team/members/remove",
        team.MembersAnswer,
        body,
        missing=f"No member named {body.id}.",
        refused={"id": f"{body.id} is the only admin. Make someone else an admin first."},
    )


@routes.get(
    "/api/team/keys",
    "The keys of the team or, without admin rights, your own. The keys themselves are not shown.",
    *ADMIN,
)
def keys(call: Call) -> team.KeysAnswer:
    return _forward(call, "GET", "/api/team/keys", team.KeysAnswer)


@routes.post("/api/team/keys", "Create a key. Only this response contains it.", *ADMIN)
def add_key(call: Call, body: team.NewKey) -> team.NewKeyAnswer:
    refused = {
        "member": f"No member named {body.member}.",
        "scopes": "The scope write requires the scope read.",
    }
    return _forward(call, "POST", "/api/team/keys", team.NewKeyAnswer, body, refused=refused)


@routes.post("/api/team/keys/revoke", "Revoke a key, with immediate effect.", UNKNOWN, *ADMIN)
def revoke_key(call: Call, body: team.Removal) -> team.KeysAnswer:
    missing = f"No valid key {body.id}."
    return _forward(call, "POST", "/api/team/keys/revoke", team.KeysAnswer, body, missing=missing)


@routes.get(
    "/api/team/projects", "Who has access to which project, as far as this machine's member may see.", *ADMIN
)
def grants(call: Call) -> team.GrantsAnswer:
    return _forward(call, "GET", "/api/team/projects", team.GrantsAnswer)


@routes.post("/api/team/projects", "Set a member's access to a project that you administer.", *ADMIN)
def grant(call: Call, body: team.NewGrant) -> team.GrantsAnswer:
    refused = {
        "project": f"The server has no project with the key {body.project}.",
        "member": f"No member named {body.member}.",
    }
    return _forward(call, "POST", "/api/team/projects", team.GrantsAnswer, body, refused=refused)


@routes.get("/api/team/audit", "Changes of members, keys and access, and who made them.", *ADMIN)
def audit(call: Call, query: team.AuditQuery) -> team.AuditAnswer:
    path = f"/api/team/audit?limit={query.limit}&before={query.before}"
    return _forward(call, "GET", path, team.AuditAnswer)


def _forward(
    call: Call,
    method: str,
    path: str,
    shape: type[S],
    body: Struct | None = None,
    *,
    missing: str = "",
    refused: dict[str, str] | None = None,
) -> S:
    """`missing` and `refused` (by field): what to answer when the server refuses. The server's own message
    is not shown."""
    membership = call.services.membership
    found = membership.exchange.server() if membership else None
    if found is None:
        raise Refusal(409, "no_team", NOT_JOINED.about)
    try:
        return found[1].manage(method, path, shape, body)
    except TeamFailure as failure:
        raise _refusal(failure, missing, refused or {}) from None


def _refusal(failure: TeamFailure, missing: str, refused: dict[str, str]) -> Refusal:
    match failure.status:
        case 403:
            return Refusal(403, failure.code or "forbidden", "This machine's key does not permit that.")
        case 404 if missing:
            return Refusal(404, "not_found", missing)
        case 400 if failure.field in refused:
            return Refusal(400, "bad_field", refused[failure.field], field=failure.field)
        case _:
            return Refusal(424, "team_failed", str(failure))
