"""What goes with a memory that is forgotten: its words, its vector and its traces, in one transaction.

Many are forgotten in several transactions, none so long that others notice.

Forgetting a memory removes that memory: an observation goes, and what it was made of stays unless that is
selected too. An event keeps its row, emptied, so that a second delivery is still known; it goes only with its
whole session.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_mem.model.memory import Summary
from claude_mem.model.refs import MemoryKind, Ref, spot
from claude_mem.store.sqlite import embedding, indexing
from claude_mem.store.sqlite.memory import entitle
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.selecting import TABLES
from claude_mem.store.sqlite.storable import text
from claude_mem.store.sqlite.vectors import EMBEDDED

AT_ONCE = 100


@dataclass(slots=True)
class Gone:
    """What a transaction has forgotten."""

    counts: Counter[str] = field(default_factory=Counter)
    refs: list[Ref] = field(default_factory=list)
    words: list[tuple[Any, ...]] = field(default_factory=list)  # all that the rows said
    edited: bool = False  # some had said something else before, which nobody knows any more
    done: bool = False  # of a session: it is gone as well


def forget(db: sqlite3.Connection, refs: Sequence[Ref], now: int) -> Gone:
    gone = Gone(refs=list(refs))
    ids = _by_kind(refs)
    _unindex(db, refs, ids, gone)
    gone.counts["observation"] = execute(db, "forget_observations", ids=ids["observation"]).rowcount
    _forget_summaries(db, ids["summary"], gone)
    _forget_prompts(db, ids["prompt"], now, gone)
    _empty(db, ids["evidence"], now, gone)
    return gone


def forget_session(db: sqlite3.Connection, session: str) -> Gone:
    """Some of it, and when nothing is left in it, the session; what arrives in between goes too."""
    row = execute(db, "session_to_forget", session=session).fetchone()
    if row is None:
        execute(db, "forget_injections", session=session)
        return Gone(done=True)
    found = execute(db, "some_of_session", session_id=row["id"], limit=AT_ONCE).fetchall()
    gone = Gone(
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
        execute(db, "bar_session", digest=digest(session))
        gone.counts["session"] += 1
        gone.done = True
    return gone


def digest(session: str) -> str:
    """By which a forgotten session is known again, and nobody else's can be guessed from it."""
    return hashlib.sha256(text(session).encode()).hexdigest()


def expire(db: sqlite3.Connection, ids: Sequence[int], now: int) -> int:
    """Events lose their words, for they were kept long enough."""
    refs = [Ref("evidence", id) for id in ids]
    gone = Gone(refs=refs)
    indexing.take_out(db, refs)
    _empty(db, json.dumps(list(ids)), now, gone)
    return gone.counts["evidence"]


def _by_kind(refs: Sequence[Ref]) -> dict[MemoryKind, str]:
    return {kind: json.dumps([ref.id for ref in refs if ref.kind == kind]) for kind in TABLES}


def _unindex(db: sqlite3.Connection, refs: Sequence[Ref], ids: dict[MemoryKind, str], gone: Gone) -> None:
    gone.edited = execute(db, "edited_among", ids=ids["observation"]).fetchone() is not None
    for kind, table in TABLES.items():
        gone.words += map(tuple, execute(db, f"words_of_{table}", ids=ids[kind]))
    indexing.take_out(db, refs)
    spots = []
    for kind in EMBEDDED:
        for row in execute(db, f"places_of_{TABLES[kind]}", ids=ids[kind]):
            try:
                spots.append(spot(row["project_id"], row["session_id"], Ref(kind, row["id"])))
            except OverflowError:
                continue  # it has no place in the indexes
    (vectors,) = execute(db, "count_vectors_at", spots=json.dumps(spots)).fetchone()
    gone.counts["vector"] += vectors
    embedding.take_out(db, spots)


def _forget_summaries(db: sqlite3.Connection, ids: str, gone: Gone) -> None:
    sessions = [row["session_id"] for row in execute(db, "sessions_of_summaries", ids=ids)]
    gone.counts["summary"] = execute(db, "forget_summaries", ids=ids).rowcount
    for session_id in sessions:
        execute(db, "untitle_session", session_id=session_id)
        for row in execute(db, "summaries_left", session_id=session_id).fetchall():
            entitle(db, session_id, Summary(**row))


def _forget_prompts(db: sqlite3.Connection, ids: str, now: int, gone: Gone) -> None:
    sessions = [row["session_id"] for row in execute(db, "sessions_of_prompts", ids=ids)]
    execute(db, "empty_prompt_events", ids=ids, now=now)
    gone.counts["prompt"] = execute(db, "forget_prompts", ids=ids).rowcount
    for session_id in sessions:
        execute(db, "rename_first_prompt", session_id=session_id)
        execute(db, "take_back_leases", session_id=session_id)  # a batch is told what was asked


def _empty(db: sqlite3.Connection, ids: str, now: int, gone: Gone) -> None:
    under_way = [row["session_id"] for row in execute(db, "sessions_of_leased", ids=ids)]
    gone.counts["evidence"] = execute(db, "empty_events", ids=ids, now=now).rowcount
    for session_id in under_way:
        execute(db, "take_back_leases", session_id=session_id)
