"""Routes for sharing with a team: joining, leaving, sharing, the exchange; and, for an admin, the
team's members, keys and grants. The worker forwards those to the team's server with this machine's
key, which the caller never sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from msgspec import Struct, structs

from claude_mem.api import sharing as api
from claude_mem.api import team
from claude_mem.api.fields import Error
from claude_mem.model.errors import TeamFailure
from claude_mem.serve.http.router import Answer, Call, Endpoint, Method, Routes, ok
from claude_mem.serve.requests import Refusal

if TYPE_CHECKING:
    from claude_mem.team.membership import Membership

routes = Routes()
T = TypeVar("T")

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
    return found()


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


# -- What is forwarded to the team's server --

FORBIDDEN = Answer(
    403, "This machine's key does not permit that. See `admin`, `scopes` and `projects`.", Error
)
UNKNOWN = Answer(404, "No such member or key.", Error)
NOT_JOINED = Answer(409, "This machine has not joined a team.", Error)


def _forward(
    method: Method,
    path: str,
    summary: str,
    shape: type[Struct],
    *,
    body: type[Struct] | None = None,
    query: type[Struct] | None = None,
    missing: str = "",
    **refused: str,
) -> None:
    """`missing` and, by field, `refused`: what to answer when it refuses the `{body}`. The server's own
    message is not shown."""

    def forwarded(call: Call, body: Struct | None = None, query: Struct | None = None) -> Struct:
        membership = call.services.membership
        found = membership().exchange.server() if membership else None
        if found is None:
            raise Refusal(409, "no_team", NOT_JOINED.about)
        parameters = f"?{urlencode(structs.asdict(query))}" if query else ""
        try:
            return found[1].manage(method, path + parameters, shape, body)
        except TeamFailure as failure:
            match failure.status:
                case 403:
                    message = "This machine's key does not permit that."
                    raise Refusal(403, failure.code or "forbidden", message) from None
                case 404 if missing:
                    raise Refusal(404, "not_found", missing.format(body=body)) from None
                case 400 if failure.field in refused:
                    message = refused[failure.field].format(body=body)
                    raise Refusal(400, "bad_field", message, field=failure.field) from None
                case _:
                    raise Refusal(424, "team_failed", str(failure)) from None

    unknown = (UNKNOWN,) if missing else ()
    answers = (ok(shape), *unknown, FORBIDDEN, NOT_JOINED, FAILED)
    routes.append(Endpoint(method, path, forwarded, summary, answers, body, query))


_forward("GET", "/api/team", "This machine's member, and what its key permits.", team.TeamAnswer)
_forward("GET", "/api/team/members", "The team's members.", team.MembersAnswer)
_forward(
    "POST",
    "/api/team/members",
    "Add a member.",
    team.MemberInfo,
    body=team.NewMember,
    name="A member named {body.name} already exists, or the name is reserved.",
)
_forward(
    "POST",
    "/api/team/members/remove",
    "Remove a member and revoke their keys. What they shared stays.",
    team.MembersAnswer,
    body=team.Removal,
    missing="No member named {body.id}.",
    id="{body.id} is the only admin. Make someone else an admin first.",
)
_forward(
    "GET",
    "/api/team/keys",
    "The keys of the team or, without admin rights, your own. The keys themselves are not shown.",
    team.KeysAnswer,
)
_forward(
    "POST",
    "/api/team/keys",
    "Create a key. Only this response contains it.",
    team.NewKeyAnswer,
    body=team.NewKey,
    member="No member named {body.member}.",
    scopes="The scope write requires the scope read.",
)
_forward(
    "POST",
    "/api/team/keys/revoke",
    "Revoke a key, with immediate effect.",
    team.KeysAnswer,
    body=team.Removal,
    missing="No valid key {body.id}.",
)
_forward(
    "GET",
    "/api/team/projects",
    "Who has access to which project, as far as this machine's member may see.",
    team.GrantsAnswer,
)
_forward(
    "POST",
    "/api/team/projects",
    "Set a member's access to a project that you administer.",
    team.GrantsAnswer,
    body=team.NewGrant,
    project="The server has no project with the key {body.project}.",
    member="No member named {body.member}.",
)
_forward(
    "GET",
    "/api/team/audit",
    "Changes of members, keys and access, and who made them.",
    team.AuditAnswer,
    query=team.AuditQuery,
)
