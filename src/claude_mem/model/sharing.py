"""What a machine shares with its team, and the state of its exchange with the team's server."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from claude_mem.model.clock import LAST_MS
from claude_mem.model.records import Record
from claude_mem.model.refs import Ref

SharedKind = Literal["observation", "summary", "prompt"]
ForgetAnswer = Literal["done", "consent", "refused"]
"""Applied; waiting for the user's consent; refused by the user."""


class TeamLink(Struct, frozen=True):
    """The server that this machine has joined, and its member. The key is in a separate file."""

    url: str
    member: str
    machine: str
    key_id: str
    joined_at: int
    expires_at: int | None = None
    ca: str | None = None  # a file of certificates to trust
    insecure: bool = False  # plain HTTP to another machine, which its user chose
    server: str = ""  # by which the team is known again at another address


class OutboxItem(Struct, frozen=True):
    """A memory to be sent."""

    kind: SharedKind
    id: int
    changes: int  # the outbox's count when it was read: what changes afterwards stays listed
    project_id: int
    root: str
    at: int  # when it was made, in epoch milliseconds
    branch: str | None = None
    commit: str | None = None
    also: tuple[str, ...] = ()  # branches that its turn worked on; of a detached HEAD "@" and the commit
    at_once: bool = False  # whatever its branch
    is_known: bool = False  # the server has had it before


class NamedItem(Struct, frozen=True):
    """An item, and what identifies it on the server."""

    item: OutboxItem
    name: str
    session: str  # the client's own id, as it is here
    session_name: str  # what it goes by on the server


class BranchState(Struct, frozen=True):
    """The last known state of a branch, from git."""

    tip: str
    ahead: bool = False  # it had commits that the default branch had not
    merged_at: int | None = None  # when the default branch was first seen to have them


class ForgetLine(Struct, frozen=True):
    """A deletion from another machine, as a pull contains it."""

    id: str
    of: str  # session, observation, summary, prompt
    digest: str  # of its name: see model/records.py
    at: Annotated[int, Meta(ge=0, le=LAST_MS)]  # when it was made, epoch milliseconds
    by: str = ""  # the member who forgot it


class Pull(Struct, frozen=True):
    """A part of what other machines have shared, and what to delete."""

    records: tuple[Record, ...]  # each but a project's with its `author`
    forgets: tuple[ForgetLine, ...]
    cursor: str
    more: bool


class OwnLoss(Struct, frozen=True):
    """How many of the user's own memories a deletion would delete."""

    id: str  # the forget's
    project_id: int
    memories: int


class ForgetMatch(Struct, frozen=True):
    """The memories on this machine that such lines match."""

    refs: tuple[Ref, ...]
    sessions: tuple[str, ...]  # that go as a whole, by their clients' ids
    names: tuple[str, ...]  # of all of them
    losses: tuple[OwnLoss, ...] = ()


class HeldForgets(Struct, frozen=True):
    """Deletions that wait for the user's consent."""

    project: str
    by: str  # the member who asks for it
    memories: int  # of one's own
    forgets: int


class SharedProject(Struct, frozen=True):
    id: int
    key: str
    name: str
    prompts: bool
    waiting: int  # memories in the outbox
    sent: int


class Progress(Struct, frozen=True):
    """The state of the exchange."""

    cursor: str = ""
    last_at: int | None = None  # the last time all of it succeeded
    error: str | None = None  # of the last attempt; None: it succeeded
    failing_since: int | None = None
    noticed: bool = False  # the user was notified that it fails
    stopped: str | None = None  # why the server is not called any more


class OutboxFigures(Struct, frozen=True):
    due: int
    waiting: dict[str, int]  # how many wait, by reason
    forgets: int  # that are not yet sent to the server
    acknowledgements: int
    received: dict[str, int]  # memories of others here, by author
    held: tuple[HeldForgets, ...] = ()
