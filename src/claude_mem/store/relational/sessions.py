"""Sessions, one by one and in lists, the two states no event brings about (failed and interrupted), and what
was injected into them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any

from msgspec.structs import asdict

from claude_mem.agents import FOLDERS, agent_of
from claude_mem.model.clock import Clock, iso
from claude_mem.model.errors import AmbiguousSession
from claude_mem.model.jobs import Session
from claude_mem.model.refs import Filters, Ref
from claude_mem.store.relational.part import Connection, Part, Readers, Row, Writer, execute, transaction
from claude_mem.store.relational.rows import Value, array, columns, value_of
from claude_mem.store.values import Injection

LAST_SESSIONS = 20
FEWEST = 4  # characters that mean a session
MOST_RENDERINGS = 500


class Sessions(Part):
    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""
        by = "session_by_id" if isinstance(session, int) else "session_by_client_id"
        row = self._row(by, session=session)
        return None if row is None else value_of(Session, row)

    def fail(self, session_id: int) -> None:
        """Mark an aborted session failed; its queued events stay."""
        self._change("fail_session", session_id=session_id)

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""
        return self._change("interrupt_sessions", before=before)

    def count_open(self) -> int:
        return self._number("count_open_sessions")

    def last_open(self, limit: int) -> list[str]:
        """The agents' ids of open sessions, most recently active first."""
        return [row["claude_session_id"] for row in self._rows("last_open_sessions", limit=limit)]

    def sessions(
        self, filters: Filters, *, limit: int, offset: int = 0, after: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """Most recently active first."""
        at, id = after or (None, None)
        with self._readers.read() as db:
            statement, given = _narrowed(db, "list_session", filters, "where_less_active" if after else None)
            given |= {"limit": limit, "offset": offset, "place_at": at, "place_id": id}
            rows = db.run(f"{statement} {db.conditions['last_active_first']}", given)
            return _shown(db, [row["id"] for row in rows])

    def count_sessions(self, filters: Filters) -> int:
        with self._readers.read() as db:
            return int(db.run(*_narrowed(db, "count_sessions", filters)).fetchone()[0])

    def session(self, given: str) -> dict[str, Any] | None:
        """By the client's id, with or without its agent's name, or the beginning of it, or by the database's;
        with the previous and the next session. Raises AmbiguousSession if it begins several."""
        with self._readers.read() as db:
            row = execute(db, "session_named", given=given).fetchone() or _by_partial_id(db, given)
            if row is None:
                return None
            (found,) = _shown(db, [row["id"]])
            for name in ("before", "after"):
                beside = execute(db, f"session_{name}", id=row["id"]).fetchone()
                found[name] = next(iter(_shown(db, [beside["id"]])), None) if beside else None
            return found

    def titles(self, ids: Sequence[int]) -> dict[str, dict[str, Any]]:
        """Start time and title by the client's id, for these ids of the database."""
        found = self._rows("session_titles", ids=json.dumps(list(ids)))
        return {row["claude_session_id"]: dict(row) for row in found}

    def last_summaries(self, project_id: int, but_for: str, limit: int, *, own: bool = True) -> list[int]:
        """The ids of the newest summaries, one a session. `own`: else those of other members of the team."""
        parameters: dict[str, Value] = {"project_id": project_id, "but_for": but_for, "limit": limit}
        parameters["own"] = int(own)
        return [row["id"] for row in self._rows("last_summaries", **parameters, sessions=LAST_SESSIONS)]

    def compacted_at(self, session: str) -> int:
        return self._number("last_compaction", session=session)

    def figures(self, project_id: int) -> tuple[int, int]:
        """The number of sessions and observations."""
        ((sessions, observations),) = self._rows("project_figures", project_id=project_id)
        return sessions, observations

    def directories(self, project_id: int, limit: int) -> list[str]:
        """The directories of a project's last sessions."""
        return [row["cwd"] for row in self._rows("working_directories", project_id=project_id, limit=limit)]

    def clients(self, project_id: int | None = None) -> list[str]:
        """The agents that worked in a project; None: in any project."""
        if project_id is None:
            return [row["client"] for row in self._rows("all_clients")]
        return [row["client"] for row in self._rows("project_clients", project_id=project_id)]

    def authors(self, project_id: int | None = None) -> list[str]:
        """The other members of the team who worked in a project."""
        if project_id is None:
            return [row["author"] for row in self._rows("authors")]
        return [row["author"] for row in self._rows("project_authors", project_id=project_id)]


def _by_partial_id(db: Connection, given: str) -> Row | None:
    """The only session that a partial id, or one without its agent's name, can mean. It must be unique,
    because the session may be about to be deleted."""
    of_agents = [f"{agent}:{given}" for agent in FOLDERS]
    starts = [given, *of_agents] if len(_own_id(given)) >= FEWEST else []
    rows = execute(db, "sessions_beginning", given=given, starts=json.dumps(starts)).fetchall()
    found = [row for row in rows if row["claude_session_id"] in of_agents] or rows
    if len(found) > 1:
        raise AmbiguousSession(given, [row["claude_session_id"] for row in found])
    return found[0] if found else None


def _own_id(given: str) -> str:
    """What there is of a session's own id; nothing, if it is only an agent's name or the beginning of one."""
    if any(f"{agent}:".startswith(given) for agent in FOLDERS):
        return ""
    return given.removeprefix(f"{agent_of(given)}:")


def _narrowed(
    db: Connection, query: str, filters: Filters, besides: str | None = None
) -> tuple[str, dict[str, object]]:
    """A statement with the conditions that the filters, and another one by its name, add to it. A filter
    without a condition for sessions leaves them all."""
    given = columns(filters) | dict(filters.equal)
    named = [name for name, value in asdict(filters).items() if value not in (None, ())]
    conditions = (db.conditions.get(f"where_{name}_session") for name in (*named, *filters.equal))
    where = [*filter(None, conditions), *([db.conditions[besides]] if besides else [])]
    narrowed = f" WHERE {' AND '.join(where)}" if where else ""
    return db.queries[query].rstrip(";") + narrowed, given


def _shown(db: Connection, ids: list[int]) -> list[dict[str, Any]]:
    return [dict(row) for row in execute(db, "sessions_shown", ids=json.dumps(ids))]


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
        """The injections into a session, or of a memory, newest first."""
        query = "injections_naming" if session is None else "injections_of_session"
        found = self._rows(query, session=session, named=f'"{ref}"' if ref else "", limit=limit)
        return [value_of(Injection, row) for row in found]

    @transaction
    def note_rendering(self, db: Connection, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` contains. The last few hundred are stored."""
        execute(db, "add_rendering", stamp=stamp, refs=array(refs), tokens=tokens, created_at_epoch=at)
        execute(db, "prune_renderings", keep=MOST_RENDERINGS)

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """A rendering's refs and tokens."""
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
