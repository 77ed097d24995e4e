"""A team server's own routes: push, pull, deletions, and management by admins.

The database decides who may do what. A key's scope is checked before any of these functions is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import asdict
from starlette.responses import PlainTextResponse, Response

from claude_mem.api import team as api
from claude_mem.api.memories import ImportAnswer
from claude_mem.model.records import Record
from claude_mem.recall.record_exchange import UnfitRecord, check_head, fit_members
from claude_mem.serve.http.router import LINES, NOT_FOUND, Answer, ReadingCall, Routes, ok, respond
from claude_mem.serve.http.routes.memory_routes import line
from claude_mem.serve.requests import Refusal, absorb_lines
from claude_mem.serve.team_server.gate import IDENTITY
from claude_mem.serve.team_server.server_state import ServerState, TeamServices, prometheus_text
from claude_mem.store.team import Identity, acting_as_service
from claude_mem.store.values import ImportResult
from claude_mem.team.outgoing import is_of_another_machine

routes = Routes()

MCP_CLIENT = "team-mcp"
"""The client of sessions for memories that were saved over the server's MCP."""


class TeamCall(ReadingCall, frozen=True, kw_only=True):
    """One request to a team server."""

    serving: ServerState

    @property
    def services(self) -> TeamServices:
        return self.serving.services

    @property
    def identity(self) -> Identity:
        """The identity of the request's key. Routes without authentication have none."""
        found: Identity = self.request.scope[IDENTITY]
        return found


# -- The process --


@routes.get(
    "/health",
    "Whether this process accepts requests. For load balancers.",
    ok(api.ServerHealth),
    Answer(503, "The process is stopping, or cannot use the database.", api.ServerHealth),
    scope="open",
)
async def health(call: TeamCall) -> Response:
    serving = call.serving
    if serving.is_draining:
        return respond(api.ServerHealth("stopping"), 503)
    if serving.trouble is not None:
        return respond(api.ServerHealth("unavailable"), 503)
    return respond(api.ServerHealth("ok"))


@routes.get(
    "/metrics",
    "Metrics for Prometheus. For admins.",
    Answer(200, "Prometheus' text format.", media_type="text/plain"),
    scope="admin",
)
def metrics(call: TeamCall) -> Response:
    _require_admin(call)
    with acting_as_service():
        text = prometheus_text(call.serving)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


# -- What machines send and pull --


@routes.get("/api/team", "The caller's member and machine, and what the key permits.", scope="read")
def who(call: TeamCall) -> api.TeamAnswer:
    identity = call.identity
    return api.TeamAnswer(
        member=identity.member,
        machine=identity.machine,
        key=f"k{identity.key_id}",
        scopes=identity.scopes,
        admin=identity.admin,
        expires_at=identity.expires_at,
        projects=call.services.directory.grants_of(identity.member),
        version=call.services.version,
        server=call.services.directory.server_id(),
    )


@routes.post(
    "/api/team/push",
    "Share records, one JSON object per line, at most 1,000. Sending them again changes nothing.",
    scope="write",
    takes_lines=True,
)
def push(call: TeamCall) -> ImportAnswer:
    if call.lines is None:
        raise Refusal(415, "not_lines", f"Content-Type must be {LINES}.")
    machine = f"{call.identity.member}/{call.identity.machine}"
    done = absorb_lines(call.lines, partial(push_records, call.services, machine=machine))
    call.serving.notify_change()
    return done


def push_records(
    services: TeamServices, given: Sequence[Mapping[str, Any]], *, machine: str | None = None
) -> ImportResult:
    """The acting member's, scrubbed before anything of them is stored. What may not be stored is named by its
    number. `machine`: which of them sends it; None: the server itself does."""
    records: list[Record] = []
    places: list[int] = []
    refused: list[tuple[int, str]] = []
    now = services.clock()
    for place, record in enumerate(given):
        check_head(record)
        if machine is not None and _is_reserved(str(record.get("session_id")), machine):
            refused.append((place, "This session id belongs to another machine or to the server."))
            continue
        try:
            records.append(fit_members(record, services.clean, now))
        except UnfitRecord as why:
            refused.append((place, str(why)))
        else:
            places.append(place)
    done = services.sharing.push(records)
    refused += [(places[number], why) for number, why in done.refused]
    return ImportResult(done.taken, done.known, tuple(sorted(refused)))


def _is_reserved(session: str, machine: str) -> bool:
    """Whether a session id can be computed by anyone: claiming it first would lock out its owner."""
    return session.startswith(f"{MCP_CLIENT}-") or is_of_another_machine(session, machine)


@routes.get(
    "/api/team/pull",
    "What other members shared since a cursor, and what to delete. The last line has the next cursor.",
    Answer(200, "One JSON object per line.", media_type=LINES),
    scope="read",
)
def pull(call: TeamCall, query: api.PullQuery) -> Response:
    found = call.services.sharing.pull(query.cursor, query.limit)
    end = {"kind": "cursor", "cursor": found.cursor, "more": found.more}
    lines = [*found.records, *({"kind": "forget"} | asdict(each) for each in found.forgets), end]
    return Response(b"".join(map(line, lines)), media_type=LINES)


@routes.post("/api/team/forget", "Delete memories, on every machine that has them.", scope="write")
def forget(call: TeamCall, body: api.ForgetNames) -> api.ForgottenAnswer:
    ids = call.services.sharing.forget(body.names)
    call.serving.notify_change()
    return api.ForgottenAnswer(ids)


@routes.post(
    "/api/team/acknowledge",
    "Acknowledge deletions that this machine has applied, or that wait for its user's consent.",
    scope="read",
)
def acknowledge(call: TeamCall, body: api.Acknowledge) -> api.Acknowledged:
    call.services.sharing.acknowledge(body.ids, body.answer)
    return api.Acknowledged("acknowledged")


@routes.get(
    "/api/team/forgets", "All deletions, and the machines that have not applied them yet.", scope="read"
)
def forgets(call: TeamCall) -> api.ForgetsAnswer:
    return api.ForgetsAnswer(call.services.sharing.forgets())


@routes.post(
    "/api/team/leave",
    "Delete everything the caller has shared, from the server and from other machines, and revoke the key.",
    scope="write",
)
def leave(call: TeamCall) -> api.Left:
    left = api.Left(call.services.sharing.leave())
    call.serving.keys.forget_all()
    call.serving.notify_change()
    return left


# -- For admins --


@routes.get("/api/team/members", "The members.", scope="admin")
def members(call: TeamCall) -> api.MembersAnswer:
    return api.MembersAnswer(call.services.directory.members())


@routes.post("/api/team/members", "Add a member.", scope="admin")
def add_member(call: TeamCall, body: api.NewMember) -> api.MemberInfo:
    return call.services.directory.add_member(body)


@routes.post(
    "/api/team/members/remove",
    "Remove a member and revoke their keys. What they shared stays.",
    NOT_FOUND,
    scope="admin",
)
def remove_member(call: TeamCall, body: api.Removal) -> api.MembersAnswer:
    call.services.directory.remove_member(body.id)
    call.serving.keys.forget_all()
    return members(call)


@routes.get(
    "/api/team/keys",
    "The keys of the team or, without admin rights, your own. The keys themselves are not shown.",
    scope="read",
)
def keys(call: TeamCall) -> api.KeysAnswer:
    return api.KeysAnswer(call.services.directory.keys())


@routes.post("/api/team/keys", "Create a key. Only this response contains it.", scope="admin")
def add_key(call: TeamCall, body: api.NewKey) -> api.NewKeyAnswer:
    key, info = call.services.directory.add_key(body)
    return api.NewKeyAnswer(key=key, info=info)


@routes.post("/api/team/keys/revoke", "Revoke a key, with immediate effect.", NOT_FOUND, scope="admin")
def revoke_key(call: TeamCall, body: api.Removal) -> api.KeysAnswer:
    call.services.directory.revoke_key(body.id)
    call.serving.keys.forget_all()
    return keys(call)


@routes.get(
    "/api/team/projects", "Who has access to which project, as far as the caller may see.", scope="read"
)
def grants(call: TeamCall) -> api.GrantsAnswer:
    return api.GrantsAnswer(call.services.directory.grants())


@routes.post("/api/team/projects", "Set a member's access to a project that you administer.", scope="admin")
def grant(call: TeamCall, body: api.NewGrant) -> api.GrantsAnswer:
    call.services.directory.grant(body)
    return grants(call)


@routes.get("/api/team/audit", "Changes of members, keys and access, and who made them.", scope="admin")
def audit(call: TeamCall, query: api.AuditQuery) -> api.AuditAnswer:
    return api.AuditAnswer(call.services.directory.audit(query))


def _require_admin(call: TeamCall) -> None:
    if not call.identity.admin:
        raise Refusal(403, "no_admin", "Only admins of the team are allowed to see this.")
