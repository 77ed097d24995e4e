"""What recall changes in the store, on one SQLite file: kept, pinned, forgotten, told."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.events import Origin
from claude_mem.model.jobs import SessionStatus
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.refs import Ref, Source
from claude_mem.ports.keeping import Doomed, Forgotten, Injection, Selection, Trace
from claude_mem.store.sqlite import forgetting, injecting, memory, scouring, selecting, standing, tracing
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.residue import Residue
from claude_mem.store.sqlite.storable import iso, text
from claude_mem.store.sqlite.writer import Writer


class SqliteKeeping:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock
        self._expired_until = 0  # sessions before it were looked at; anew once in a worker's life

    def remember(
        self,
        observation: Observation,
        origin: Origin,
        *,
        session: str,
        at: int,
        source: Source = "user",
        client: str = "user",
        provider: str | None = None,
    ) -> tuple[Ref, bool]:
        return self._writer.run(
            lambda db: _remember(db, observation, origin, session, at, source, client, provider)
        )

    def pin(self, ref: Ref, *, pinned: bool) -> bool:
        if ref.kind != "observation":
            return False
        return self._writer.run(
            lambda db: execute(db, "pin_observation", id=ref.id, pinned=int(pinned)).rowcount > 0
        )

    def doomed(self, selection: Selection) -> Doomed:
        if selection.file:
            Indexing(self._readers, self._writer).catch_up()
        with self._readers.read() as db:
            return selecting.doomed(db, selection)

    def traces(self, refs: Sequence[Ref]) -> list[Trace]:
        with self._readers.read() as db:
            return tracing.traces(db, refs)

    def forget(self, doomed: Doomed) -> Forgotten:
        """Its words are gone from the file when it returns; if it fails on the way, forgetting the same once
        more finishes it."""
        interrupted = self._writer.run(scouring.begin)
        residue = Residue()
        counts: Counter[str] = Counter()
        named: set[str] = set()
        edited = False

        def take(work: Callable[[sqlite3.Connection], forgetting.Gone]) -> bool:
            nonlocal edited
            gone = self._writer.run(work)
            edited = edited or gone.edited
            counts.update(gone.counts)
            named.update(map(str, gone.refs))
            residue.add(gone.words)
            return gone.done

        for start in range(0, len(doomed.refs), forgetting.AT_ONCE):
            some = doomed.refs[start : start + forgetting.AT_ONCE]
            take(partial(forgetting.forget, refs=some, now=self._clock()))
        for session in doomed.sessions:
            while not take(partial(forgetting.forget_session, session=session)):
                pass
        self._strike_out(frozenset(named))
        scouring.scour(self._writer, lambda: interrupted or edited or residue.is_in(self._path()))
        return Forgotten(
            sessions=counts["session"],
            observations=counts["observation"],
            summaries=counts["summary"],
            prompts=counts["prompt"],
            evidence=counts["evidence"],
            vectors=counts["vector"],
        )

    def finish_forgetting(self) -> bool:
        """What a kill has interrupted; at a worker's start. Whether there was anything to finish."""
        with self._readers.read() as db:
            unfinished = scouring.is_unfinished(db)
        if unfinished:
            scouring.scour(self._writer, lambda: True)  # what to look for is not known any more
        return unfinished

    def note_injection(self, injection: Injection) -> None:
        self._writer.run(lambda db: injecting.note(db, injection))

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> Sequence[Injection]:
        with self._readers.read() as db:
            return injecting.noted(db, session, ref, limit)

    def note_rendering(self, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        self._writer.run(lambda db: injecting.note_rendering(db, stamp, refs, tokens, at))

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        with self._readers.read() as db:
            return injecting.rendering(db, stamp)

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        after = self._expired_until
        with self._readers.read() as db:
            rows = execute(db, "expired_events", after=after, before=before, limit=limit).fetchall()
        self._expired_until = rows[-1]["updated_at_epoch"] if rows else max(after, before)
        ids = [row["id"] for row in rows]
        return self._writer.run(lambda db: forgetting.expire(db, ids, self._clock())) if ids else 0

    def _path(self) -> Path:
        with self._readers.read() as db:
            return Path(db.execute("PRAGMA database_list").fetchone()["file"])

    def _strike_out(self, gone: frozenset[str]) -> None:
        with self._readers.read() as db:
            rewordings = injecting.naming(db, gone)
        for start in range(0, len(rewordings), forgetting.AT_ONCE):
            some = rewordings[start : start + forgetting.AT_ONCE]
            self._writer.run(partial(injecting.reword, rewordings=some))


def _remember(
    db: sqlite3.Connection,
    observation: Observation,
    origin: Origin,
    session: str,
    at: int,
    source: Source,
    client: str,
    provider: str | None,
) -> tuple[Ref, bool]:
    project_id = standing.project(db, origin, at)
    key = content_key(observation)
    known = memory.same(db, project_id, key, at)
    if known is not None:
        return Ref("observation", known), False
    session_id = _session(db, session, origin, project_id, client, at)
    added = memory.add(
        db,
        observation,
        # What was only read, or comes from elsewhere, stands beside what is known, never in its place.
        [] if source == "external" else memory.standing(db, project_id, at),
        {
            "session_id": session_id,
            "project": standing.called(db, project_id, origin, origin.name),
            "project_id": project_id,
            "prompt_number": None,
            "client": client,
            "branch": origin.branch,
            "commit_sha": origin.commit,
            "tool_use_ids": "[]",
            "created_at": iso(at),
            "created_at_epoch": at,
            "content_key": key,
            "provider": provider,
            "source": source,
        },
    )
    return Ref("observation", added), True


def _session(
    db: sqlite3.Connection, session: str, origin: Origin, project_id: int, client: str, at: int
) -> int:
    row = execute(db, "find_standing", claude_session_id=text(session)).fetchone()
    if row is not None:
        return int(row["id"])
    added = execute(
        db,
        "add_session",
        claude_session_id=session,
        project=standing.called(db, project_id, origin, origin.name),
        project_id=project_id,
        status=SessionStatus.COMPLETED,
        client=client,
        cwd=origin.root or None,
        transcript_path=None,
        branch=origin.branch,
        commit_sha=origin.commit,
        at=iso(at),
        at_epoch=at,
    )
    assert added.lastrowid is not None
    return added.lastrowid
