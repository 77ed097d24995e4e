"""What sessions were told, and what the rendered files hold: which memories, when, at what cost."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from threading import Lock

from msgspec import Struct

from claude_mem.model.refs import Ref
from claude_mem.store.sqlite.connection import Readers, Writer, array, execute, iso
from claude_mem.store.values import Injection

RENDERINGS_KEPT = 500


def note(db: sqlite3.Connection, injection: Injection) -> None:
    execute(
        db,
        "add_injection",
        session=injection.session,
        event=injection.event,
        refs=array(injection.refs),
        about=injection.about,
        tokens=injection.tokens,
        created_at=iso(injection.at),
        created_at_epoch=injection.at,
    )


def noted(db: sqlite3.Connection, session: str | None, ref: Ref | None, limit: int) -> list[Injection]:
    if session is None and ref is not None:
        found = execute(db, "injections_naming", named=f'"{ref}"', limit=limit)
    elif session is None:
        found = execute(db, "all_injections")
    else:
        found = execute(db, "injections_of_session", session=session)
    told: list[Injection] = []
    for row in found:
        if len(told) >= limit:
            break
        refs = tuple(json.loads(row["refs"]))
        if ref is None or str(ref) in refs:
            told.append(
                Injection(
                    session=row["claude_session_id"],
                    event=row["event"],
                    refs=refs,
                    tokens=row["tokens"],
                    at=row["created_at_epoch"],
                    about=row["about"],
                )
            )
    return told


def note_rendering(db: sqlite3.Connection, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
    execute(db, "add_rendering", stamp=stamp, refs=array(refs), tokens=tokens, created_at_epoch=at)
    execute(db, "prune_renderings", keep=RENDERINGS_KEPT)


def rendering(db: sqlite3.Connection, stamp: str) -> tuple[tuple[str, ...], int] | None:
    row = execute(db, "rendering", stamp=stamp).fetchone()
    return None if row is None else (tuple(json.loads(row["refs"])), row["tokens"])


class Rewording(Struct, frozen=True):
    statement: str
    key: dict[str, str | int]
    refs: str


def naming(db: sqlite3.Connection, gone: frozenset[str]) -> list[Rewording]:
    """How what names one of these memories is to read without them."""
    found: list[Rewording] = []
    for listed, statement, key in (
        ("all_injections", "reword_injection", "id"),
        ("all_renderings", "reword_rendering", "stamp"),
    ):
        for row in execute(db, listed):
            refs = json.loads(row["refs"])
            if not gone.isdisjoint(refs):
                left = array([ref for ref in refs if ref not in gone])
                found.append(Rewording(statement, {key: row[key]}, left))
    return found


def reword(db: sqlite3.Connection, rewordings: Sequence[Rewording]) -> None:
    for one in rewordings:
        execute(db, one.statement, **one.key, refs=one.refs)


class Injections:
    """What sessions were told. Changes are durable on return; any thread may call it. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer
        self._lock = Lock()
        self._upto = 0
        self._times: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def note_injection(self, injection: Injection) -> None:
        self._writer.run(lambda db: note(db, injection))

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> Sequence[Injection]:
        """What was told, the newest first: to a session, or of a memory."""
        with self._readers.read() as db:
            return noted(db, session, ref, limit)

    def note_rendering(self, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` holds. Of old ones the last few hundred are kept."""
        self._writer.run(lambda db: note_rendering(db, stamp, refs, tokens, at))

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """The refs and the tokens."""
        with self._readers.read() as db:
            return rendering(db, stamp)

    def figures(self) -> dict[str, dict[str, int]]:
        """By the hook's event: how often, and how many tokens. It counts on from where it last ended; what is
        deleted is left out from the next start on."""
        with self._lock:
            with self._readers.read() as db:
                self._count_on(execute(db, "injections_after", after=self._upto).fetchall())
            return {
                event: {"times": times, "tokens": self._tokens[event]}
                for event, times in sorted(self._times.items())
            }

    def _count_on(self, rows: list[sqlite3.Row]) -> None:
        for row in rows:
            self._times[row["event"]] += row["times"]
            self._tokens[row["event"]] += row["tokens"]
            self._upto = max(self._upto, row["upto"])
