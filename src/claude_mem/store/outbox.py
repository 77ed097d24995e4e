"""What a machine's own store has for its team: what is shared, what is to be sent and why it waits, what is
to be forgotten there and here. A store that several machines open has none: they share all of it anyhow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from claude_mem.model.records import Record
from claude_mem.model.sharing import (
    BranchState,
    ForgetAnswer,
    ForgetLine,
    ForgetMatch,
    NamedItem,
    OutboxFigures,
    OutboxItem,
    OwnLoss,
    Progress,
    SharedProject,
    TeamLink,
)


class Outbox(Protocol):
    # -- Which server --

    def link(self) -> TeamLink | None: ...  # None: it has joined none
    def join(self, link: TeamLink) -> None: ...

    def move(self, link: TeamLink) -> None:
        """The same server at another address: what was sent and pulled stays known."""

    def leave(self) -> None:
        """Nothing is shared any more, and nothing is known of a server."""

    def progress(self) -> Progress: ...
    def note(self, progress: Progress) -> None: ...

    # -- What is shared --

    def shares_all(self) -> bool: ...
    def projects(self) -> list[SharedProject]: ...

    def share(self, project_id: int | None, *, prompts: bool) -> None:
        """None: every project, also those to come. Without prompts, those that were shared are taken back."""

    def unshare(self, project_id: int | None, *, take_back: bool) -> None:
        """None: every project. `take_back`: the server is to forget what it has of it."""

    def pin(self, ids: Sequence[int], *, pinned: bool) -> list[int]:
        """For the team, or not any more. Returns those that were changed; those of others never are."""

    # -- What is sent --

    def due(self, limit: int) -> list[OutboxItem]: ...
    def next_due(self) -> int | None: ...

    def records(self, items: Sequence[OutboxItem]) -> tuple[list[Record], list[tuple[OutboxItem, Record]]]:
        """Their projects and sessions, then themselves. A summary has `asked`, all prompts of its
        session, where prompts are not shared."""

    def offer(self, named: Sequence[NamedItem]) -> list[NamedItem]:
        """Note what is about to be sent, before it is: whatever happens then, it can be taken back. Returns
        those that have not changed since they were read."""

    def settle(self, items: Iterable[OutboxItem]) -> None: ...  # the server has them

    def postpone(self, items: Mapping[OutboxItem, str], until: int) -> None:
        """They wait, each for a reason."""

    def judge_again(self) -> None:
        """Checks now what must continue to wait."""

    def send_at_once(self, project_id: int | None = None) -> int:
        """Whatever their branches; returns how many are listed."""

    # -- What is forgotten --

    def forgets(self, limit: int) -> list[tuple[int, str]]: ...  # ids here, and names for the server
    def forgotten(self, ids: Sequence[int]) -> None: ...  # the server knows of these

    def found(self, lines: Sequence[ForgetLine]) -> ForgetMatch:
        """What is here of what others' machines have forgotten: of other members, or sent by this machine."""

    def own_memories(self, project_id: int, *, since: int) -> tuple[int, int]:
        """How many of a project are one's own, and how many of them such forgets have deleted since."""

    def hold(self, lines: Sequence[ForgetLine], losses: Sequence[OwnLoss]) -> int:
        """They wait for the user's consent. Returns how many of them are new."""

    def held(self) -> list[ForgetLine]: ...

    def refuse(self, lines: Sequence[ForgetLine]) -> None:
        """The user does not consent: what they mean stays here, and the server learns of it."""

    def carried_out(
        self, lines: Sequence[ForgetLine], names: Sequence[str], losses: Sequence[OwnLoss] = ()
    ) -> None:
        """They are gone here: to be acknowledged, and not to be reported as forgotten by this machine.
        `losses`: what of one's own went without consent."""

    def acknowledgements(self, limit: int) -> list[tuple[str, ForgetAnswer]]: ...
    def acknowledged(self, ids: Sequence[str]) -> None: ...
    def barred(self, names: Sequence[str]) -> set[str]: ...  # which of these were forgotten here

    # -- What is received --

    def with_marks(self, records: Sequence[Record]) -> list[Record]:
        """The records of a pull, each memory with its `name`: a pin of the team's that came or went is
        followed. A pin of one's own stays, and so does a mark that something is wrong."""

    def note_pins(self, names: Sequence[str]) -> None: ...  # new here, and pinned for the team
    def sessions_of_others(self) -> dict[str, str]: ...  # the author of each

    # -- Branches --

    def branches(self, project_id: int) -> dict[str, BranchState]: ...
    def note_branches(self, project_id: int, states: Mapping[str, BranchState]) -> None: ...
    def figures(self) -> OutboxFigures: ...
