"""Sharing with a team from this machine: joining, leaving, sharing projects, and the state of the
exchange."""

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
    key: Annotated[str, Meta(max_length=200), doc("This machine's key.", "cmk_…")] = ""
    moved: Annotated[
        bool, doc("The team that was joined has this address now. The key stays the same.", False)
    ] = False
    ca: Annotated[str, Meta(max_length=4_000), doc("A file of CA certificates to trust.", "/etc/ca.pem")] = ""
    insecure_http: Annotated[bool, doc("Allow plain HTTP to another machine.", False)] = False


class LeaveRequest(Body, frozen=True, kw_only=True):
    keep_copies: Annotated[bool, doc("Keep other members' memories on this machine.", False)] = False
    without_server: Annotated[
        bool, doc("Leave even if the server cannot be reached. What you shared stays on it.", False)
    ] = False


class ShareRequest(ProjectParams, frozen=True, kw_only=True):
    all: Annotated[bool, doc("All projects, including future ones.", False)] = False
    prompts: Annotated[bool, doc("Share prompts too.", False)] = False


class UnshareRequest(ProjectParams, frozen=True, kw_only=True):
    all: Annotated[bool, doc("All projects.", False)] = False
    take_back: Annotated[
        bool, doc("Also delete what was shared from the server and from other machines, permanently.", False)
    ] = False


class ConsentRequest(Body, frozen=True, kw_only=True):
    accept: Annotated[bool, doc("True: delete them here; false: they stay on this machine.", False)]


class SendNowRequest(ProjectParams, frozen=True, kw_only=True):
    """Without a project: of every project."""


class TeamPinRequest(Body, frozen=True, kw_only=True):
    ids: Annotated[MemoryIds, doc("Your own observations.", [12])]
    pinned: Annotated[bool, doc("False: no longer pinned for the team.", True)] = True


# -- Answers --


class WaitingCount(Struct, frozen=True):
    reason: Annotated[str, doc("Why they are waiting.", "branch fix/login is not merged into main")]
    memories: Annotated[Count, doc("How many.", 3)]


class SharedProjectInfo(Struct, frozen=True, kw_only=True):
    key: Annotated[str, doc("The project's key.", "git.example/acme/shop")]
    name: Annotated[str, doc("Its name.", "shop")]
    prompts: Annotated[bool, doc("Whether prompts are shared.", False)]
    waiting: Annotated[Count, doc("How many of its memories are not sent yet.", 3)]
    sent: Annotated[Count, doc("How many the server has in their current form.", 120)]


class HeldForgetsInfo(Struct, frozen=True, kw_only=True):
    project: Annotated[str, doc("The project's name.", "shop")]
    by: Annotated[str, doc("The member who deleted them for the team.", "ada")]
    memories: Annotated[Count, doc("How many of your own memories would be deleted.", 312)]
    forgets: Annotated[Count, doc("By how many deletions.", 3)]


class AuthorCount(Struct, frozen=True):
    author: Annotated[str, doc("A member.", "ada")]
    memories: Annotated[Count, doc("How many of the member's memories are on this machine.", 42)]


class SharingStatus(Struct, frozen=True, kw_only=True):
    joined: Annotated[bool, doc("Whether this machine has joined a team.", True)]
    url: Annotated[str | None, doc("The server's address.", "https://memory.example")] = None
    member: Annotated[str | None, doc("This machine's member.", "ada")] = None
    machine: Annotated[str | None, doc("This machine's name in the team.", "laptop")] = None
    key: Annotated[str | None, doc("The id of its key.", "k3")] = None
    expires_at: Annotated[Milliseconds | None, doc("When the key expires.", None)] = None
    last_exchange_at: Annotated[
        Milliseconds | None, doc("When the last exchange succeeded.", 1_794_800_000_000)
    ] = None
    error: Annotated[str | None, doc("Why the last exchange failed.", None)] = None
    failing_since: Annotated[Milliseconds | None, doc("When exchanges began to fail.", None)] = None
    stopped: Annotated[str | None, doc("Why this machine no longer contacts the server.", None)] = None
    share_when: Annotated[str, doc("When a branch's memories are shared: merged or always.", "merged")]
    shares_all: Annotated[bool, doc("Whether new projects are shared too.", False)]
    due: Annotated[Count, doc("How many memories the next exchange sends.", 0)]
    waiting: Annotated[tuple[WaitingCount, ...], doc("Memories that are waiting, and why.", [])]
    forgets: Annotated[Count, doc("How many deletions are not sent yet.", 0)]
    acknowledgements: Annotated[Count, doc("How many deletions are not acknowledged yet.", 0)]
    held: Annotated[tuple[HeldForgetsInfo, ...], doc("Deletions that wait for consent.", [])] = ()
    projects: Annotated[tuple[SharedProjectInfo, ...], doc("The projects that are shared.", [])]
    received: Annotated[tuple[AuthorCount, ...], doc("Other members' memories on this machine.", [])]


class LeftAnswer(Struct, frozen=True, kw_only=True):
    told_server: Annotated[bool, doc("Whether the server has deleted what was shared.", True)]
    deleted_sessions: Annotated[
        Count, doc("How many sessions of other members were deleted from this machine.", 7)
    ]
    kept_sessions: Annotated[Count, doc("How many of them stay on this machine.", 0)]


class SentNowAnswer(Struct, frozen=True):
    memories: Annotated[Count, doc("How many memories were waiting or due.", 3)]
    status: SharingStatus


class TeamPinAnswer(Struct, frozen=True):
    changed: Annotated[tuple[str, ...], doc("Those that were pinned or unpinned for the team.", ["12"])]
    missing: Annotated[tuple[str, ...], doc("Those that are not your own or do not exist.", [])]


class ForgetsStatus(Struct, frozen=True):
    items: Annotated[tuple[ForgetStatus, ...], doc("The deletions, newest first.", [])]
    unreported: Annotated[Count, doc("How many deletions are not sent yet.", 0)]
