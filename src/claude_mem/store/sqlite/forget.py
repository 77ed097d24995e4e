"""Deletes memories for good: what a request comes to, by what it is known in copies, and how it leaves every
table and index."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from claude_mem.model.clock import Clock
from claude_mem.model.memory import Summary
from claude_mem.model.refs import KINDS, MemoryKind, Ref, memory_key
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import injections, secure_delete, text_index, vector_index
from claude_mem.store.sqlite.arrivals import session_digest
from claude_mem.store.sqlite.connection import Part, Readers, Value, Writer, execute, transaction
from claude_mem.store.sqlite.memory_filters import memories_of_file
from claude_mem.store.sqlite.observations import entitle
from claude_mem.store.sqlite.page_scan import PageScan
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.store.sqlite.vector_index import EMBEDDED
from claude_mem.store.values import ForgetPlan, ForgetRequest, Forgotten, MemoryIdentity, Selection

IDS_AT_ONCE = 256
TABLES: dict[MemoryKind, str] = {
    "observation": "observations",
    "summary": "summaries",
    "prompt": "prompts",
    "evidence": "events",
}
"""What the statements call the kinds."""

_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def forget_plan(db: sqlite3.Connection, selection: Selection) -> ForgetPlan:
    """Which memories a selection means: all that it says must hold. By file only as far as the index is: see
    to it first that it is in step."""
    narrow = selection.refs or selection.file or selection.text
    if not narrow and selection.since is None and selection.until is None:
        return ForgetPlan(sessions=tuple(_sessions(db, selection)))
    named = _named(db, selection)
    refs = [Ref(kind, id) for kind in KINDS for id in _ids(db, kind, named, selection)]
    return ForgetPlan(refs=tuple(refs))


def _sessions(db: sqlite3.Connection, selection: Selection) -> list[str]:
    session, project_id = selection.session, selection.project_id
    if session is not None:
        row = execute(db, "session_to_forget", session=session).fetchone()
        fits = row is not None and project_id in (None, row["project_id"])
        return [session] if fits else []
    if project_id is None:
        return []
    return [row["claude_session_id"] for row in execute(db, "sessions_of_project", project_id=project_id)]


def _named(db: sqlite3.Connection, selection: Selection) -> set[Ref] | None:
    """Those that are named, themselves or by their file; None: any may be meant."""
    if not selection.file:
        return set(selection.refs) or None
    meant = {ref for ref, _ in memories_of_file(db, selection.file, selection.project_id)}
    return meant & set(selection.refs) if selection.refs else meant


def _ids(
    db: sqlite3.Connection, kind: MemoryKind, named: set[Ref] | None, selection: Selection
) -> Iterator[int]:
    conditions: dict[str, Value] = {
        "session": selection.session,
        "project_id": selection.project_id,
        "since": selection.since,
        "until": selection.until,
    }
    if named is None:
        rows = execute(db, f"all_{TABLES[kind]}", **conditions)
    else:
        ids = json.dumps(sorted(ref.id for ref in named if ref.kind == kind))
        rows = execute(db, f"some_{TABLES[kind]}", ids=ids, **conditions)
    fitting = (int(row["id"]) for row in rows)
    return _holding(db, kind, fitting, selection.text) if selection.text else fitting


def _holding(db: sqlite3.Connection, kind: MemoryKind, ids: Iterator[int], text: str) -> Iterator[int]:
    """Looked for here and not by SQLite, which tells small letters from capitals outside of ASCII."""
    wanted = spellings(text)
    for some in slices(ids, IDS_AT_ONCE):
        for row in execute(db, f"words_of_{TABLES[kind]}", ids=json.dumps(some)):
            said = (plain(value) for value in tuple(row)[1:] if value)
            if any(words in one for one in said for words in wanted):
                yield row["id"]


def spellings(text: str) -> set[str]:
    """As a text may stand there: plainly, or in JSON (what went into tools, facts), or in JSON of JSON."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return {plain(text), plain(once), plain(twice)}


def plain(text: str) -> str:
    """All letters small, and as themselves: not as JSON may write those outside of ASCII."""
    if "\\u" in text:
        text = _SURROGATES.sub(_letter, _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))
    return text.casefold()


def _letter(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def slices(values: Iterable[int], size: int) -> Iterator[Sequence[int]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def identities(db: sqlite3.Connection, refs: Sequence[Ref]) -> list[MemoryIdentity]:
    found = []
    for kind, table in TABLES.items():
        ids = json.dumps([ref.id for ref in refs if ref.kind == kind])
        for row in execute(db, f"traces_of_{table}", ids=ids):
            found.append(MemoryIdentity(Ref(kind, row["id"]), row["session"], row["at"]))
    return found


def forget_plan_in_copy(db: sqlite3.Connection, wanted: ForgetRequest) -> ForgetPlan:
    """In the copy that `db` has open. It may have been made before, or by another life of the database: after
    a restore numbers are given out again. So a memory is the same only if its session and its time are; and
    what was selected by words is looked for once more: a copy may still hold what was let go of here."""
    there = set(identities(db, [trace.ref for trace in wanted.traces]))
    refs = {trace.ref for trace in wanted.traces if trace in there}
    sessions = [
        one for one in wanted.sessions if execute(db, "session_to_forget", session=one).fetchone() is not None
    ]
    selection = wanted.selection
    if wanted.project_key is not None:
        row = execute(db, "project_by_key", given=wanted.project_key).fetchone()
        selection = replace(selection, project_id=-1 if row is None else row["id"])
    if not selection.refs:
        selected = forget_plan(db, selection)
        refs.update(selected.refs)
        sessions += selected.sessions
    return ForgetPlan(refs=tuple(sorted(refs)), sessions=tuple(dict.fromkeys(sessions)))


AT_ONCE = 100
"""Many are forgotten in several transactions, none so long that others notice."""


class Deleted(Struct):
    """What a transaction has forgotten."""

    counts: Counter[str] = field(default_factory=Counter)
    refs: list[Ref] = field(default_factory=list)
    words: list[tuple[Any, ...]] = field(default_factory=list)  # all that the rows said
    edited: bool = False  # some had said something else before, which nobody knows any more
    done: bool = False  # of a session: it is gone as well


def delete_memories(db: sqlite3.Connection, refs: Sequence[Ref], now: int) -> Deleted:
    """An observation goes, and what it was made of stays unless that is selected too. An event keeps its row,
    emptied, so that a second delivery is still known; it goes only with its whole session."""
    gone = Deleted(refs=list(refs))
    ids = _by_kind(refs)
    _unindex(db, refs, ids, gone)
    gone.counts["observation"] = execute(db, "forget_observations", ids=ids["observation"]).rowcount
    _forget_summaries(db, ids["summary"], gone)
    _forget_prompts(db, ids["prompt"], now, gone)
    _empty(db, ids["evidence"], now, gone)
    return gone


def delete_session(db: sqlite3.Connection, session: str) -> Deleted:
    """Some of it, and when nothing is left in it, the session; what arrives in between goes too."""
    row = execute(db, "session_to_forget", session=session).fetchone()
    if row is None:
        execute(db, "forget_injections", session=session)
        return Deleted(done=True)
    found = execute(db, "some_of_session", session_id=row["id"], limit=AT_ONCE).fetchall()
    gone = Deleted(
        counts=Counter(one["kind"] for one in found if one["telling"]),
        refs=[Ref(one["kind"], one["id"]) for one in found],
    )
    ids = _by_kind(gone.refs)
    _unindex(db, gone.refs, ids, gone)
    for kind, table in TABLES.items():
        execute(db, f"forget_{table}", ids=ids[kind])
    if len(found) < AT_ONCE:
        execute(db, "forget_injections", session=session)
        execute(db, "forget_session", session_id=row["id"])
        execute(db, "forget_project", project_id=row["project_id"])
        execute(db, "bar_session", digest=session_digest(session))
        gone.counts["session"] += 1
        gone.done = True
    return gone


def expire(db: sqlite3.Connection, ids: Sequence[int], now: int) -> int:
    """Events lose their words, for they were kept long enough."""
    refs = [Ref("evidence", id) for id in ids]
    gone = Deleted(refs=refs)
    text_index.take_out(db, refs)
    _empty(db, json.dumps(list(ids)), now, gone)
    return gone.counts["evidence"]


def _by_kind(refs: Sequence[Ref]) -> dict[MemoryKind, str]:
    return {kind: json.dumps([ref.id for ref in refs if ref.kind == kind]) for kind in TABLES}


def _unindex(db: sqlite3.Connection, refs: Sequence[Ref], ids: dict[MemoryKind, str], gone: Deleted) -> None:
    gone.edited = execute(db, "edited_among", ids=ids["observation"]).fetchone() is not None
    for kind, table in TABLES.items():
        gone.words += map(tuple, execute(db, f"words_of_{table}", ids=ids[kind]))
    text_index.take_out(db, refs)
    memory_keys = []
    for kind in EMBEDDED:
        for row in execute(db, f"places_of_{TABLES[kind]}", ids=ids[kind]):
            with suppress(OverflowError):  # it has no place in the indexes
                memory_keys.append(memory_key(row["project_id"], row["session_id"], Ref(kind, row["id"])))
    (vectors,) = execute(db, "count_vectors_at", spots=json.dumps(memory_keys)).fetchone()
    gone.counts["vector"] += vectors
    vector_index.take_out(db, memory_keys)


def _forget_summaries(db: sqlite3.Connection, ids: str, gone: Deleted) -> None:
    sessions = [row["session_id"] for row in execute(db, "sessions_of_summaries", ids=ids)]
    gone.counts["summary"] = execute(db, "forget_summaries", ids=ids).rowcount
    for session_id in sessions:
        execute(db, "untitle_session", session_id=session_id)
        for row in execute(db, "summaries_left", session_id=session_id).fetchall():
            entitle(db, session_id, Summary(**row))


def _forget_prompts(db: sqlite3.Connection, ids: str, now: int, gone: Deleted) -> None:
    sessions = [row["session_id"] for row in execute(db, "sessions_of_prompts", ids=ids)]
    execute(db, "empty_prompt_events", ids=ids, now=now)
    gone.counts["prompt"] = execute(db, "forget_prompts", ids=ids).rowcount
    for session_id in sessions:
        execute(db, "rename_first_prompt", session_id=session_id)
        execute(db, "take_back_leases", session_id=session_id)  # a batch is told what was asked


def _empty(db: sqlite3.Connection, ids: str, now: int, gone: Deleted) -> None:
    under_way = [row["session_id"] for row in execute(db, "sessions_of_leased", ids=ids)]
    gone.counts["evidence"] = execute(db, "empty_events", ids=ids, now=now).rowcount
    for session_id in under_way:
        execute(db, "take_back_leases", session_id=session_id)


class Deletion(Part):
    """Deletes memories for good."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer)
        self._clock = clock

    def plan(self, selection: Selection) -> ForgetPlan:
        """What would go."""
        if selection.file:
            TextIndex(self._readers, self._writer).catch_up()
        with self._readers.read() as db:
            return forget_plan(db, selection)

    def identities(self, refs: Sequence[Ref]) -> list[MemoryIdentity]:
        with self._readers.read() as db:
            return identities(db, refs)

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Really gone: rows, what is derived from them, their words in the full-text index, their bytes in
        the file and in its log. If it fails on the way, forgetting the same once more finishes it."""
        interrupted = self._writer.run(secure_delete.begin)
        page_scan = PageScan()
        counts: Counter[str] = Counter()
        named: set[str] = set()
        edited = False

        def take(work: Callable[[sqlite3.Connection], Deleted]) -> bool:
            nonlocal edited
            gone = self._writer.run(work)
            edited = edited or gone.edited
            counts.update(gone.counts)
            named.update(map(str, gone.refs))
            page_scan.add(gone.words)
            return gone.done

        for start in range(0, len(plan.refs), AT_ONCE):
            some = plan.refs[start : start + AT_ONCE]
            take(partial(delete_memories, refs=some, now=self._clock()))
        for session in plan.sessions:
            while not take(partial(delete_session, session=session)):
                pass
        self._strike_out(frozenset(named))
        secure_delete.overwrite_deleted(
            self._writer, lambda: interrupted or edited or page_scan.is_in(self._path())
        )
        kinds = ("session", "observation", "summary", "prompt", "evidence", "vector")
        return Forgotten(*(counts[kind] for kind in kinds))

    def finish_forgetting(self) -> bool:
        """What a kill has interrupted; at a worker's start. Whether there was anything to finish."""
        with self._readers.read() as db:
            unfinished = secure_delete.is_unfinished(db)
        if unfinished:
            # What to look for is not known any more.
            secure_delete.overwrite_deleted(self._writer, lambda: True)
        return unfinished

    def _path(self) -> Path:
        with self._readers.read() as db:
            return Path(db.execute("PRAGMA database_list").fetchone()["file"])

    def _strike_out(self, gone: frozenset[str]) -> None:
        with self._readers.read() as db:
            rewordings = injections.rewordings(db, gone)
        for start in range(0, len(rewordings), AT_ONCE):
            self._change_all(rewordings[start : start + AT_ONCE])

    @transaction
    def _change_all(self, db: sqlite3.Connection, changes: Sequence[injections.Change]) -> None:
        for statement, values in changes:
            execute(db, statement, **values)
