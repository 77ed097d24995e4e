"""Deletes memories permanently: what a request selects, how its memories are identified in copies, and how
they are removed from every table and index."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct, field

from claude_mem.model.clock import Clock
from claude_mem.model.full_text import LiteralText
from claude_mem.model.memory import Summary
from claude_mem.model.refs import KINDS, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.store.relational.memory_filters import memories_of_file
from claude_mem.store.relational.observations import set_session_title
from claude_mem.store.relational.part import Connection, Part, Readers, Row, Writer, execute
from claude_mem.store.relational.rows import batches, columns, session_digest
from claude_mem.store.relational.vector_table import EMBEDDED
from claude_mem.store.values import DeletionRequest, ForgetPlan, Forgotten, MemoryIdentity, Selection

IDS_AT_ONCE = 256
AT_ONCE = 100
"""How many are deleted per transaction, so that other writers do not wait long."""


def forget_plan(db: Connection, selection: Selection) -> ForgetPlan:
    """The memories that a selection matches: all its conditions must hold. For a condition on files, the
    index must be up to date."""
    if selection.is_whole:
        found = execute(db, "sessions_to_forget", **columns(selection))
        return ForgetPlan(sessions=tuple(row["claude_session_id"] for row in found))
    named = set(selection.refs) or None  # None: any may be meant
    if selection.file:
        of_file = {ref for ref, _ in memories_of_file(db, selection.file, selection.project_id)}
        named = of_file & named if named else of_file
    return ForgetPlan(tuple(Ref(kind, id) for kind in KINDS for id in _ids(db, kind, named, selection)))


def _ids(db: Connection, kind: MemoryKind, named: set[Ref] | None, selection: Selection) -> Iterator[int]:
    ids = None if named is None else json.dumps(sorted(ref.id for ref in named if ref.kind == kind))
    statement = f"{'all' if named is None else 'some'}_{kind}"
    fitting = (row["id"] for row in execute(db, statement, **columns(selection) | {"ids": ids}))
    if not selection.text:
        yield from fitting
        return
    # Compared here and not by SQLite, whose comparison is case-sensitive outside of ASCII.
    wording = LiteralText(selection.text)
    for some in batches(fitting, IDS_AT_ONCE):
        for id, *texts in execute(db, f"words_of_{kind}", ids=json.dumps(some)):
            if any(wording.is_in(text) for text in texts if text):
                yield id


def identities(db: Connection, refs: Sequence[Ref]) -> list[MemoryIdentity]:
    return [
        MemoryIdentity(Ref(kind, row["id"]), row["session"], row["at"])
        for kind, ids in _by_kind(refs).items()
        for row in execute(db, f"traces_of_{kind}", ids=ids)
    ]


def forget_plan_in_copy(db: Connection, request: DeletionRequest) -> ForgetPlan:
    """The same for a copy that `db` has open. Ids may differ in it, because they are assigned again after a
    restore. So a memory is the same only if its session and time are the same. A selection by text is
    searched for again, because a copy may still contain what was already deleted here."""
    existing = set(identities(db, [trace.ref for trace in request.traces]))
    refs = {trace.ref for trace in request.traces if trace in existing}
    sessions = [one for one in request.sessions if _session(db, one) is not None]
    selection = request.selection
    if request.project_key is not None:
        row = execute(db, "project_by_key", given=request.project_key).fetchone()
        selection = replace(selection, project_id=-1 if row is None else row["id"])
    if not selection.refs:
        selected = forget_plan(db, selection)
        refs.update(selected.refs)
        sessions += selected.sessions
    return ForgetPlan(refs=tuple(sorted(refs)), sessions=tuple(dict.fromkeys(sessions)))


class Deleted(Struct):
    """What was deleted, over several transactions."""

    counts: Counter[str] = field(default_factory=Counter)
    refs: set[str] = field(default_factory=set)
    see: Callable[[Iterable[Any]], None] | None = None  # is shown all that the rows said
    edited: bool = False  # some had said something else before, which nobody knows any more


def delete_memories(db: Connection, refs: Sequence[Ref], now: int, deleted: Deleted) -> None:
    """Deletes memories. An observation's events stay unless they are selected too. An event's row is emptied
    but stays, so that a duplicate delivery is detected; it is deleted only with its session."""
    ids = _unindex(db, refs, deleted)
    deleted.counts["observation"] += execute(db, "forget_observation", ids=ids["observation"]).rowcount
    _forget_summaries(db, ids["summary"], deleted)
    _forget_prompts(db, ids["prompt"], now, deleted)
    deleted.counts["evidence"] += _empty(db, ids["evidence"], now)


def delete_session(db: Connection, session: str, deleted: Deleted) -> bool:
    """Deletes part of a session; True once nothing is left in it, and the session is deleted too. What
    arrives in the meantime is also deleted."""
    row = _session(db, session)
    if row is None:
        execute(db, "forget_injections", session=session)
        return True
    found = execute(db, "some_of_session", session_id=row["id"], limit=AT_ONCE).fetchall()
    deleted.counts.update(one["kind"] for one in found if one["telling"])
    ids = _unindex(db, [Ref(one["kind"], one["id"]) for one in found], deleted)
    for kind in KINDS:
        execute(db, f"forget_{kind}", ids=ids[kind])
    if len(found) == AT_ONCE:
        return False
    execute(db, "forget_injections", session=session)
    execute(db, "forget_session", session_id=row["id"])
    execute(db, "forget_project", project_id=row["project_id"])
    execute(db, "bar_session", digest=session_digest(session))
    deleted.counts["session"] += 1
    return True


def expire(db: Connection, ids: Sequence[int], now: int) -> int:
    """Deletes the text of expired events."""
    db.words.take_out(db, [Ref("evidence", id) for id in ids])
    return _empty(db, json.dumps(ids), now)


def _session(db: Connection, session: str) -> Row | None:
    found: Row | None = execute(db, "session_to_forget", session=session).fetchone()
    return found


def _by_kind(refs: Sequence[Ref]) -> dict[MemoryKind, str]:
    return {kind: json.dumps([ref.id for ref in refs if ref.kind == kind]) for kind in KINDS}


def _unindex(db: Connection, refs: Sequence[Ref], deleted: Deleted) -> dict[MemoryKind, str]:
    """Returns their ids."""
    ids = _by_kind(refs)
    deleted.refs.update(map(str, refs))
    deleted.edited = (
        deleted.edited or execute(db, "edited_among", ids=ids["observation"]).fetchone() is not None
    )
    if deleted.see is not None:
        for kind in KINDS:
            deleted.see(execute(db, f"words_of_{kind}", ids=ids[kind]))
    db.words.take_out(db, refs)
    memory_keys = []
    for kind in EMBEDDED:
        for row in execute(db, f"places_of_{kind}", ids=ids[kind]):
            with suppress(OverflowError):  # it has no place in the indexes
                memory_keys.append(db.key(row["project_id"], row["session_id"], Ref(kind, row["id"])))
    deleted.counts["vector"] += db.vectors.take_out(db, memory_keys)
    return ids


def _forget_summaries(db: Connection, ids: str, deleted: Deleted) -> None:
    sessions = _sessions_of(db, "summary", ids)
    deleted.counts["summary"] += execute(db, "forget_summary", ids=ids).rowcount
    for session_id in sessions:
        _entitle_again(db, session_id)


def _sessions_of(db: Connection, kind: MemoryKind, ids: str) -> list[int]:
    return [row["session_id"] for row in execute(db, f"sessions_of_{kind}", ids=ids)]


def _entitle_again(db: Connection, session_id: int) -> None:
    """Renames a session after what is left, because what it was named after may be deleted."""
    execute(db, "untitle_session", session_id=session_id)
    for row in execute(db, "summaries_left", session_id=session_id).fetchall():
        set_session_title(
            db, session_id, row["id"], Summary(row["request"], None, row["learned"], row["completed"])
        )


def _forget_prompts(db: Connection, ids: str, now: int, deleted: Deleted) -> None:
    sessions = _sessions_of(db, "prompt", ids)
    execute(db, "empty_prompt_events", ids=ids, now=now)
    deleted.counts["prompt"] += execute(db, "forget_prompt", ids=ids).rowcount
    for session_id in sessions:
        execute(db, "rename_first_prompt", session_id=session_id)
        _entitle_again(db, session_id)
        execute(db, "take_back_leases", session_id=session_id)  # a leased batch has the prompt


def _empty(db: Connection, ids: str, now: int) -> int:
    under_way = [row["session_id"] for row in execute(db, "sessions_of_leased", ids=ids)]
    emptied = execute(db, "empty_events", ids=ids, now=now).rowcount
    for session_id in under_way:
        execute(db, "take_back_leases", session_id=session_id)
    return emptied


class Deletion(Part, ABC):
    def __init__(self, readers: Readers, writer: Writer, clock: Clock, catch_up: Callable[[], None]) -> None:
        """`catch_up` brings the index of files in step with the rows."""
        super().__init__(readers, writer, clock)
        self._catch_up = catch_up

    def plan(self, selection: Selection) -> ForgetPlan:
        """What would be deleted."""
        if selection.file:
            self._catch_up()
        with self._readers.read() as db:
            return forget_plan(db, selection)

    def identities(self, refs: Sequence[Ref]) -> list[MemoryIdentity]:
        with self._readers.read() as db:
            return identities(db, refs)

    @abstractmethod
    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Removes the rows, what is derived from them, their words in the full-text index and their bytes on
        disk. If it fails midway, the same call finishes it."""

    @abstractmethod
    def finish_forgetting(self) -> bool:
        """Finish an interrupted deletion, when a worker starts. Returns whether there was one."""

    def delete(self, plan: ForgetPlan, deleted: Deleted) -> Forgotten:
        """The rows, what is derived from them, and where they are named."""
        for some in batches(plan.refs, AT_ONCE):
            self._writer.run(partial(delete_memories, refs=some, now=self._clock(), deleted=deleted))
        for session in plan.sessions:
            while not self._writer.run(partial(delete_session, session=session, deleted=deleted)):
                pass
        for listed in ("strike_from_injections", "strike_from_renderings"):
            while self._change(listed, gone=json.dumps(list(deleted.refs)), limit=AT_ONCE):
                pass
        kinds = ("session", "observation", "summary", "prompt", "evidence", "vector")
        return Forgotten(*(deleted.counts[kind] for kind in kinds))
