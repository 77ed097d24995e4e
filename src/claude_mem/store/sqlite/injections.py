"""What was injected into sessions and rendered to files: which memories, when, at what cost."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from threading import Lock

from claude_mem.model.refs import Ref
from claude_mem.store.sqlite.connection import (
    Part,
    Readers,
    Value,
    Writer,
    array,
    columns,
    execute,
    iso,
    transaction,
)
from claude_mem.store.values import Injection

RENDERINGS_KEPT = 500


class Injections(Part):
    """What sessions were told."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        super().__init__(readers, writer)
        self._lock = Lock()
        self._upto = 0
        self._times: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def note_injection(self, injection: Injection) -> None:
        at = injection.at
        self._change("add_injection", **columns(injection), created_at=iso(at), created_at_epoch=at)

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> Sequence[Injection]:
        """What was told, the newest first: to a session, or of a memory."""
        told: list[Injection] = []
        with self._readers.read() as db:
            if session is not None:
                found = execute(db, "injections_of_session", session=session)
            elif ref is not None:
                found = execute(db, "injections_naming", named=f'"{ref}"', limit=limit)
            else:
                found = execute(db, "all_injections")
            for row in found:
                if len(told) >= limit:
                    break
                refs = tuple(json.loads(row["refs"]))
                if ref is None or str(ref) in refs:
                    whom, at = row["claude_session_id"], row["created_at_epoch"]
                    told.append(Injection(whom, row["event"], refs, row["tokens"], at, row["about"]))
        return told

    @transaction
    def note_rendering(
        self, db: sqlite3.Connection, stamp: str, refs: Sequence[str], tokens: int, at: int
    ) -> None:
        """What a file in `context/` holds. Of old ones the last few hundred are kept."""
        execute(db, "add_rendering", stamp=stamp, refs=array(refs), tokens=tokens, created_at_epoch=at)
        execute(db, "prune_renderings", keep=RENDERINGS_KEPT)

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """The refs and the tokens."""
        row = self._row("rendering", stamp=stamp)
        return None if row is None else (tuple(json.loads(row["refs"])), row["tokens"])

    def figures(self) -> dict[str, dict[str, int]]:
        """By the hook's event: how often, and how many tokens. It counts on from where it last ended; what is
        deleted is left out from the next start on."""
        with self._lock:
            for row in self._rows("injections_after", after=self._upto):
                self._times[row["event"]] += row["times"]
                self._tokens[row["event"]] += row["tokens"]
                self._upto = max(self._upto, row["upto"])
            return {
                event: {"times": times, "tokens": self._tokens[event]}
                for event, times in sorted(self._times.items())
            }


Change = tuple[str, dict[str, Value]]
"""A statement, and its parameters."""


def rewordings(db: sqlite3.Connection, gone: frozenset[str]) -> list[Change]:
    """How what names one of these memories is to read without them."""
    found: list[Change] = []
    for listed, statement, key in (
        ("all_injections", "reword_injection", "id"),
        ("all_renderings", "reword_rendering", "stamp"),
    ):
        for row in execute(db, listed):
            refs = json.loads(row["refs"])
            if not gone.isdisjoint(refs):
                left = array([ref for ref in refs if ref not in gone])
                found.append((statement, {key: row[key], "refs": left}))
    return found
