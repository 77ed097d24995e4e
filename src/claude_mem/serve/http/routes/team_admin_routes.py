"""A team's members, keys and grants, managed from a machine that has joined it: requests of an admin, passed
on to the team's server under this machine's key, which whoever asks never sees."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from claude_mem.api import team as api
from claude_mem.api.fields import Error
from claude_mem.serve.http.router import Answer, Call, Routes
from claude_mem.serve.requests import Refusal
from claude_mem.team.wire import TeamFailure

routes = Routes()
S = TypeVar("S", bound=Struct)

FORBIDDEN = Answer(403, "This machine's key may not do that: see `admin`, `scopes` and `projects`.", Error)
UNKNOWN = Answer(404, "No such member or key.", Error)
NOT_JOINED = Answer(409, "This machine has not joined a team.", Error)
FAILED = Answer(424, "The team's server cannot be reached, or has refused. Nothing was changed.", Error)
ADMIN = (FORBIDDEN, NOT_JOINED, FAILED)


@routes.get("/api/team", "Who this machine is in its team, and what its key may do.", api.TeamAnswer, *ADMIN)
def who(call: Call) -> api.TeamAnswer:
    return _passed_on(call, "GET", "/api/team", api.TeamAnswer)


@routes.get("/api/team/members", "The team's members.", api.MembersAnswer, *ADMIN)
def members(call: Call) -> api.MembersAnswer:
    return _passed_on(call, "GET", "/api/team/members", api.MembersAnswer)


@routes.post("/api/team/members", "Add a member.", api.MemberInfo, *ADMIN)
def add_member(call: Call, body: api.NewMember) -> api.MemberInfo:
    refused = f"There is a member named {body.name} already, or nobody may have that name."
    return _passed_on(call, "POST", "/api/team/members", api.MemberInfo, body, refused={"name": refused})


@routes.post(
    "/api/team/members/remove",
    "Remove a member. The member's keys end; what the member shared stays.",
    api.MembersAnswer,
    UNKNOWN,
    *ADMIN,
)
def remove_member(call: Call, body: api.Removal) -> api.MembersAnswer:
    return _passed_on(
        call,
        "POST",
        "/api/team/members/remove",
        api.MembersAnswer,
        body,
        missing=f"There is no member named {body.id}.",
        refused={"id": f"{body.id} is the only admin. Make somebody else an admin first."},
    )


@routes.get("/api/team/keys", "The keys: for admins all, else one's own.", api.KeysAnswer, *ADMIN)
def keys(call: Call) -> api.KeysAnswer:
    return _passed_on(call, "GET", "/api/team/keys", api.KeysAnswer)


@routes.post("/api/team/keys", "Make a key. It is shown once.", api.NewKeyAnswer, *ADMIN)
def add_key(call: Call, body: api.NewKey) -> api.NewKeyAnswer:
    refused = {
        "member": f"There is no member named {body.member}.",
        "scopes": "A key that may write must be able to read as well.",
    }
    return _passed_on(call, "POST", "/api/team/keys", api.NewKeyAnswer, body, refused=refused)


@routes.post("/api/team/keys/revoke", "End a key at once.", api.KeysAnswer, UNKNOWN, *ADMIN)
def revoke_key(call: Call, body: api.Removal) -> api.KeysAnswer:
    missing = f"There is no valid key {body.id}."
    return _passed_on(call, "POST", "/api/team/keys/revoke", api.KeysAnswer, body, missing=missing)


@routes.get(
    "/api/team/projects",
    "Who may do what in which project, as far as this machine's member may know.",
    api.GrantsAnswer,
    *ADMIN,
)
def grants(call: Call) -> api.GrantsAnswer:
    return _passed_on(call, "GET", "/api/team/projects", api.GrantsAnswer)


@routes.post(
    "/api/team/projects",
    "Specify what a member may do in a project that one administers.",
    api.GrantsAnswer,
    *ADMIN,
)
def grant(call: Call, body: api.NewGrant) -> api.GrantsAnswer:
    refused = {
        "project": f"The server has no project with the key {body.project}.",
        "member": f"There is no member named {body.member}.",
    }
    return _passed_on(call, "POST", "/api/team/projects", api.GrantsAnswer, body, refused=refused)


@routes.get("/api/team/audit", "What was changed in the team, and by whom.", api.AuditAnswer, *ADMIN)
def audit(call: Call, query: api.AuditQuery) -> api.AuditAnswer:
    path = f"/api/team/audit?limit={query.limit}&before={query.before}"
    return _passed_on(call, "GET", path, api.AuditAnswer)


def _passed_on(
    call: Call,
    method: str,
    path: str,
    shape: type[S],
    body: Struct | None = None,
    *,
    missing: str = "",
    refused: dict[str, str] | None = None,
) -> S:
    """`missing` and `refused` (by field): what a refusal of the server means. Its own words go no further."""
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
            return Refusal(403, failure.code or "forbidden", "This machine's key may not do that.")
        case 404 if missing:
            return Refusal(404, "not_found", missing)
        case 400 if failure.field in refused:
            return Refusal(400, "bad_field", refused[failure.field], field=failure.field)
        case _:
            return Refusal(424, "team_failed", str(failure))
