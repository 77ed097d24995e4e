"""What this machine shares with its team: joining, leaving, sharing, and how the exchange goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from claude_mem.api import sharing as api
from claude_mem.api.fields import Error
from claude_mem.serve.http.router import Answer, Call, Routes
from claude_mem.serve.requests import Refusal
from claude_mem.team.membership import Membership
from claude_mem.team.wire import TeamFailure

routes = Routes()
T = TypeVar("T")

FAILED = Answer(424, "The team's server cannot be reached, or has refused. Nothing was changed.", Error)
NO_TEAM = Answer(
    409, "This worker's store is already shared by several machines, so it cannot join a team.", Error
)


@routes.get(
    "/api/sharing",
    "Who this machine is in its team, what it shares, and what waits.",
    api.SharingStatus,
    NO_TEAM,
)
def status(call: Call) -> api.SharingStatus:
    return _membership(call).status()


@routes.post("/api/sharing/join", "Join a team's server.", api.SharingStatus, FAILED, NO_TEAM)
def join(call: Call, body: api.JoinRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.join(body))


@routes.post(
    "/api/sharing/leave",
    "Leave the team: delete what was shared from its server, and what came from others here.",
    api.LeftAnswer,
    FAILED,
    NO_TEAM,
)
def leave(call: Call, body: api.LeaveRequest) -> api.LeftAnswer:
    return _changed(call, lambda membership: membership.leave(body))


@routes.post(
    "/api/sharing/share", "Share a project with the team, from this machine.", api.SharingStatus, NO_TEAM
)
def share(call: Call, body: api.ShareRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.share(body))


@routes.post("/api/sharing/unshare", "Share nothing more of a project.", api.SharingStatus, NO_TEAM)
def unshare(call: Call, body: api.UnshareRequest) -> api.SharingStatus:
    return _changed(call, lambda membership: membership.unshare(body))


@routes.post(
    "/api/sharing/now",
    "Send what waits for its branch to be merged.",
    api.SentNowAnswer,
    NO_TEAM,
)
def send_now(call: Call, body: api.SendNowRequest) -> api.SentNowAnswer:
    return _changed(call, lambda membership: membership.send_now(body))


@routes.post(
    "/api/sharing/exchange",
    "Send and pull now, and look again whether branches are merged.",
    api.SharingStatus,
    NO_TEAM,
)
def exchange(call: Call) -> api.SharingStatus:
    membership = _membership(call)
    membership.exchange.now()
    call.running.notify_change()
    return membership.status()


@routes.post("/api/sharing/pin", "Pin observations for the team, or unpin them.", api.TeamPinAnswer, NO_TEAM)
def pin(call: Call, body: api.TeamPinRequest) -> api.TeamPinAnswer:
    return _changed(call, lambda membership: membership.pin(body))


@routes.get(
    "/api/sharing/forgets",
    "What was forgotten in the team, and which machines have not carried it out.",
    api.ForgetsStatus,
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
