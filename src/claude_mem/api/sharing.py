"""What this machine shares with its team: joining, leaving, sharing projects, and how the exchange goes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from claude_mem.api.fields import Body, Count, MemoryIds, Milliseconds, doc
from claude_mem.api.projects import ProjectParams
from claude_mem.api.team import ForgetStatus

# -- Requests --


class JoinRequest(Body, frozen=True, kw_only=True):
    url: Annotated[
        str, Meta(min_length=1, max_length=500), doc("The server's address.", "https://memory.example")
    ]
    key: Annotated[str, Meta(min_length=1, max_length=200), doc("This machine's key.", "cmk_…")]
    ca: Annotated[str, Meta(max_length=4_000), doc("A file of certificates to trust.", "/etc/ca.pem")] = ""
    insecure_http: Annotated[bool, doc("Allow plain HTTP to another machine.", False)] = False


class LeaveRequest(Body, frozen=True, kw_only=True):
    keep_copies: Annotated[bool, doc("Keep others' memories on this machine.", False)] = False
    without_server: Annotated[
        bool, doc("Leave even if the server cannot be reached: it keeps what you shared.", False)
    ] = False


class ShareRequest(ProjectParams, frozen=True, kw_only=True):
    all: Annotated[bool, doc("Every project, also those to come.", False)] = False
    prompts: Annotated[bool, doc("With prompts.", False)] = False


class UnshareRequest(ProjectParams, frozen=True, kw_only=True):
    all: Annotated[bool, doc("Every project.", False)] = False
    take_back: Annotated[
        bool, doc("Delete what was shared from the server and from others' machines, for good.", False)
    ] = False


class SendNowRequest(ProjectParams, frozen=True, kw_only=True):
    """Without a project: of every project."""


class TeamPinRequest(Body, frozen=True, kw_only=True):
    ids: Annotated[MemoryIds, doc("Observations of one's own.", [12])]
    pinned: Annotated[bool, doc("False: no longer pinned for the team.", True)] = True


# -- Answers --


class WaitingCount(Struct, frozen=True):
    reason: Annotated[str, doc("Why they wait.", "branch fix/login is not merged into main")]
    memories: Annotated[Count, doc("How many.", 3)]


class SharedProjectInfo(Struct, frozen=True, kw_only=True):
    key: Annotated[str, doc("The project's key.", "git.example/acme/shop")]
    name: Annotated[str, doc("Its name.", "shop")]
    prompts: Annotated[bool, doc("Whether prompts are shared.", False)]
    waiting: Annotated[Count, doc("How many of its memories are still to be sent.", 3)]
    sent: Annotated[Count, doc("How many the server has as they are now.", 120)]


class AuthorCount(Struct, frozen=True):
    author: Annotated[str, doc("A member.", "ada")]
    memories: Annotated[Count, doc("How many of the member's memories are here.", 42)]


class SharingStatus(Struct, frozen=True, kw_only=True):
    joined: Annotated[bool, doc("Whether this machine has joined a team.", True)]
    url: Annotated[str | None, doc("The server's address.", "https://memory.example")] = None
    member: Annotated[str | None, doc("Who this machine is there.", "ada")] = None
    machine: Annotated[str | None, doc("What the machine is called there.", "laptop")] = None
    key: Annotated[str | None, doc("The id of its key.", "k3")] = None
    expires_at: Annotated[Milliseconds | None, doc("When the key ends.", None)] = None
    last_exchange_at: Annotated[
        Milliseconds | None, doc("When the last exchange succeeded.", 1_794_800_000_000)
    ] = None
    error: Annotated[str | None, doc("What was in the way of the last one.", None)] = None
    failing_since: Annotated[Milliseconds | None, doc("Since when it fails.", None)] = None
    stopped: Annotated[str | None, doc("Why the server is no longer called.", None)] = None
    share_when: Annotated[str, doc("When a branch's memories are shared: merged or always.", "merged")]
    shares_all: Annotated[bool, doc("Whether new projects are shared, too.", False)]
    due: Annotated[Count, doc("How many memories are about to be sent.", 0)]
    waiting: Annotated[tuple[WaitingCount, ...], doc("Which wait, and why.", [])]
    forgets: Annotated[Count, doc("How many forgets the server is yet to be told.", 0)]
    acknowledgements: Annotated[Count, doc("How many forgets are yet to be acknowledged.", 0)]
    projects: Annotated[tuple[SharedProjectInfo, ...], doc("The projects that are shared.", [])]
    received: Annotated[tuple[AuthorCount, ...], doc("Others' memories on this machine.", [])]


class LeftAnswer(Struct, frozen=True, kw_only=True):
    told_server: Annotated[bool, doc("Whether the server has deleted what was shared.", True)]
    deleted_sessions: Annotated[Count, doc("How many sessions of others were deleted here.", 7)]
    kept_sessions: Annotated[Count, doc("How many of them stay here.", 0)]


class SentNowAnswer(Struct, frozen=True):
    memories: Annotated[Count, doc("How many memories were waiting or due.", 3)]
    status: SharingStatus


class TeamPinAnswer(Struct, frozen=True):
    changed: Annotated[tuple[str, ...], doc("Those that were pinned or unpinned for the team.", ["12"])]
    missing: Annotated[tuple[str, ...], doc("Those that are not one's own, or not there.", [])]


class ForgetsStatus(Struct, frozen=True):
    items: Annotated[tuple[ForgetStatus, ...], doc("Each forget, the newest first.", [])]
    unreported: Annotated[Count, doc("How many forgets the server is yet to be told.", 0)]
