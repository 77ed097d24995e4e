"""What goes out of the store as records and comes in as such, losing nothing (`model.portable`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from claude_mem.model.records import Record
from claude_mem.model.refs import Ref


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to go out: all of it must hold. Empty: everything."""

    project_id: int | None = None
    session: str | None = None
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    refs: tuple[Ref, ...] = ()  # these memories, with their sessions; evidence is left out then
    evidence: bool = True  # with what was done, not only what was understood of it


@dataclass(frozen=True, slots=True)
class Absorbed:
    """What became of records that came in."""

    taken: dict[str, int] = field(default_factory=dict)  # by kind
    known: dict[str, int] = field(default_factory=dict)  # were there already: by id, or by content
    refused: tuple[tuple[int, str], ...] = ()  # the record's number, and why, as a sentence


class Portable(Protocol):
    def records(self, chosen: Chosen) -> Iterator[Record]:
        """The head, then all that was chosen, each after what it refers to; the same database twice gives the
        same records. Reads a snapshot; memory does not grow with what there is."""
        ...

    def absorb(self, records: Sequence[Record], *, own: bool) -> Absorbed:
        """Merge records in, in one transaction; durable on return. What is there already stays as it is. One
        that cannot be taken is refused, and the others are taken all the same. Not `own`: it may be a
        stranger's. Its sessions are marked as such (`model.portable.FOREIGN`) and every observation as
        external, nothing is pinned, no place on this machine is believed, and nothing is added to a session
        of one's own, nor put in the place of a memory of one's own."""
        ...
