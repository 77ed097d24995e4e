"""A team: its members, their keys, their access to projects, and pending deletions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from claude_mem.api.fields import Body, Count, Milliseconds, Params, doc
from claude_mem.model.sharing import ForgetAnswer

Level = Literal["read", "write", "admin"]
Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")

MemberName = Annotated[
    str,
    Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9._-]*$"),
    doc("A member: lowercase letters, digits, dots, hyphens and underscores.", "ada"),
]
MachineName = Annotated[str, Meta(min_length=1, max_length=64), doc("A name for the machine.", "laptop")]
ProjectKey = Annotated[
    str, Meta(min_length=1, max_length=1_000), doc("A project's key.", "git.example/acme/shop")
]

MOST_NAMES = 1_000


# -- Requests --


class PullQuery(Params, frozen=True, kw_only=True):
    cursor: Annotated[str, doc("Where the last pull ended; empty: from the beginning.", "812-4410")] = ""
    limit: Annotated[int, Meta(ge=1, le=2_000), doc("The maximum number of records.", 500)] = 500


class ForgetNames(Body, frozen=True, kw_only=True):
    names: Annotated[
        tuple[str, ...],
        Meta(max_length=MOST_NAMES),
        doc(
            "The memories to delete, by the names of their records.",
            ["claude-session-123/1794800000000/9f2c"],
        ),
    ]


class Acknowledge(Body, frozen=True, kw_only=True):
    ids: Annotated[
        tuple[str, ...],
        Meta(max_length=MOST_NAMES),
        doc("The ids of deletions that this machine has applied, or has not.", ["f17"]),
    ]
    answer: Annotated[
        ForgetAnswer,
        doc("done; consent: waiting for the user's; refused: by the user.", "done"),
    ] = "done"


class NewMember(Body, frozen=True, kw_only=True):
    name: MemberName
    admin: Annotated[bool, doc("Whether the member manages members, keys and projects.", False)] = False


class NewKey(Body, frozen=True, kw_only=True):
    member: MemberName
    machine: MachineName
    scopes: Annotated[
        tuple[Scope, ...], Meta(min_length=1, max_length=3), doc("The key's scopes.", ["read", "write"])
    ] = (
        "read",
        "write",
    )
    days: Annotated[int, Meta(ge=1, le=3_660), doc("After how many days it expires.", 365)] = 365


class NewGrant(Body, frozen=True, kw_only=True):
    project: ProjectKey
    member: MemberName
    level: Annotated[Level | Literal["none"], doc("The member's access; none: no access.", "write")]


class Removal(Body, frozen=True, kw_only=True):
    """The removal of a member (by name) or a key (by id)."""

    id: Annotated[str, Meta(min_length=1, max_length=64), doc("The member's name, or the key's id.", "k3")]


class AuditQuery(Params, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1_000), doc("How many entries, newest first.", 100)] = 100
    before: Annotated[int, Meta(ge=0), doc("Only entries with a smaller id; 0: all.", 0)] = 0


# -- Answers --


class ProjectGrant(Struct, frozen=True, kw_only=True):
    project: ProjectKey
    name: Annotated[str, doc("The project's name.", "shop")]
    member: Annotated[str, doc("The member.", "ada")]
    level: Annotated[Level, doc("The member's access.", "write")]


class TeamAnswer(Struct, frozen=True, kw_only=True):
    """The caller, and what the caller's key permits."""

    member: Annotated[str, doc("The member that the key belongs to.", "ada")]
    machine: Annotated[str, doc("The machine that the key is for.", "laptop")]
    key: Annotated[str, doc("The key's id.", "k3")]
    scopes: Annotated[tuple[Scope, ...], doc("The key's scopes.", ["read", "write"])]
    admin: Annotated[bool, doc("Whether the member manages the team.", False)]
    expires_at: Annotated[Milliseconds | None, doc("When the key expires.", 1_826_336_000_000)]
    projects: Annotated[tuple[ProjectGrant, ...], doc("The member's projects.", [])]
    version: Annotated[str, doc("The server's version.", "0.9.0")]
    server: Annotated[
        str,
        doc("By which a machine knows the team again.", "0198c0de-0000-4000-8000-000000000000"),
    ] = ""


class MemberInfo(Struct, frozen=True, kw_only=True):
    name: Annotated[str, doc("The member's name.", "ada")]
    admin: Annotated[bool, doc("Whether the member manages the team.", False)]
    keys: Annotated[Count, doc("How many keys are valid.", 2)]
    created_at: Annotated[Milliseconds, doc("When the member was added.", 1_794_800_000_000)]


class KeyInfo(Struct, frozen=True, kw_only=True):
    id: Annotated[str, doc("The key's id, which is not secret.", "k3")]
    member: Annotated[str, doc("The member it belongs to.", "ada")]
    machine: Annotated[str, doc("The machine it is for.", "laptop")]
    scopes: Annotated[tuple[Scope, ...], doc("The key's scopes.", ["read", "write"])]
    created_at: Annotated[Milliseconds, doc("When it was created.", 1_794_800_000_000)]
    expires_at: Annotated[Milliseconds | None, doc("When it expires.", 1_826_336_000_000)]
    revoked_at: Annotated[Milliseconds | None, doc("When it was revoked.", None)] = None
    last_used_at: Annotated[Milliseconds | None, doc("When it was last used, to the hour.", None)] = None


class NewKeyAnswer(Struct, frozen=True, kw_only=True):
    key: Annotated[
        str, doc("The key itself. Only this response contains it; the server stores a hash.", "cmk_…")
    ]
    info: KeyInfo


class MembersAnswer(Struct, frozen=True):
    items: tuple[MemberInfo, ...]


class KeysAnswer(Struct, frozen=True):
    items: tuple[KeyInfo, ...]


class GrantsAnswer(Struct, frozen=True):
    items: tuple[ProjectGrant, ...]


class ForgetStatus(Struct, frozen=True, kw_only=True):
    id: Annotated[str, doc("The deletion's id.", "f17")]
    kind: Annotated[str, doc("What kind of memory it was.", "observation")]
    project: Annotated[str, doc("The project's key.", "git.example/acme/shop")]
    by: Annotated[str, doc("Who deleted it.", "ada")]
    at: Annotated[Milliseconds, doc("When.", 1_794_800_000_000)]
    waiting_for: Annotated[tuple[str, ...], doc("Machines that have not carried it out.", ["ben/desktop"])]
    consent: Annotated[tuple[str, ...], doc("Those of them where it waits for consent.", [])] = ()
    refused: Annotated[tuple[str, ...], doc("Those of them whose user refused it.", [])] = ()


class ForgetsAnswer(Struct, frozen=True):
    items: tuple[ForgetStatus, ...]


class ForgottenAnswer(Struct, frozen=True):
    ids: Annotated[
        tuple[str, ...],
        doc("The ids of the deletions, in the order of the names; empty: no such memory.", ["f17"]),
    ]


class Left(Struct, frozen=True):
    sessions: Annotated[Count, doc("How many sessions were deleted, with everything in them.", 3)]


class Acknowledged(Struct, frozen=True):
    status: Annotated[str, doc("acknowledged", "acknowledged")]


class ServerHealth(Struct, frozen=True):
    status: Annotated[
        Literal["ok", "stopping", "unavailable"], doc("The server accepts requests only when it is ok.", "ok")
    ]


class AuditEntry(Struct, frozen=True, kw_only=True):
    id: Count
    at: Milliseconds
    member: Annotated[str, doc("Who did it.", "ada")]
    key: Annotated[str, doc("The key that was used.", "k3")]
    action: Annotated[str, doc("What was done.", "key.add")]
    subject: Annotated[str, doc("To whom or what. Never a memory's text.", "ben/desktop")]


class AuditAnswer(Struct, frozen=True):
    items: tuple[AuditEntry, ...]
