"""What was injected into sessions and rendered to files: which memories, when, at what cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from threading import Lock

from claude_mem.model.clock import Clock, iso
from claude_mem.model.refs import Ref
from claude_mem.store.relational.part import Connection, Part, Readers, Writer, execute, transaction
from claude_mem.store.relational.rows import array, columns, value_of
from claude_mem.store.values import Injection

MOST_RENDERINGS = 500


class Injections(Part):
    """What was injected into sessions, and rendered to files."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer, clock)
        self._lock = Lock()
        self._upto = 0
        self._times: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def note_injection(self, injection: Injection) -> None:
        at = injection.at
        self._change("add_injection", **columns(injection), created_at=iso(at), created_at_epoch=at)

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> list[Injection]:
        """Into a session, or of a memory; the newest first."""
        query = "injections_naming" if session is None else "injections_of_session"
        found = self._rows(query, session=session, named=f'"{ref}"' if ref else "", limit=limit)
        return [value_of(Injection, row) for row in found]

    @transaction
    def note_rendering(self, db: Connection, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` contains. The last few hundred are stored."""
        execute(db, "add_rendering", stamp=stamp, refs=array(refs), tokens=tokens, created_at_epoch=at)
        execute(db, "prune_renderings", keep=MOST_RENDERINGS)

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """The refs and the tokens."""
        row = self._row("rendering", stamp=stamp)
        return None if row is None else (tuple(json.loads(row["refs"])), row["tokens"])

    def figures(self) -> dict[str, dict[str, int]]:
        """By hook event: how often, and how many tokens. Deleted injections are subtracted at the next
        start."""
        with self._lock:  # it counts on from where it last ended
            for row in self._rows("injections_after", after=self._upto):
                self._times[row["event"]] += row["times"]
                self._tokens[row["event"]] += row["tokens"]
                self._upto = max(self._upto, row["upto"])
            return {
                event: {"times": times, "tokens": self._tokens[event]}
                for event, times in sorted(self._times.items())
            }
