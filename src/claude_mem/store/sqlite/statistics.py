"""Figures about the store: for doctor, for stats, for the viewer, and what is new since a moment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from claude_mem.api.projects import FacetsAnswer
from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import StoreError, StoreForeign
from claude_mem.model.refs import TYPES, Ref, span
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import (
    backup,
    database_files,
    queue,
    recovery,
    schema,
    text_index,
    upkeep,
    vector_index,
)
from claude_mem.store.sqlite.connection import Part, execute, open_reader, translated
from claude_mem.store.sqlite.rows import Value, columns
from claude_mem.store.values import (
    ChangedFile,
    InjectionCount,
    InjectionTotals,
    News,
    NewsMarks,
    SpentToday,
    Survey,
    UsageCounts,
)


def count_since(path: Path, since: int, now: int) -> UsageCounts:
    """Of a database of this version's schema. Both times in epoch milliseconds."""
    with closing(open_reader(path)) as db, translated(path):
        db.execute("BEGIN")  # one view: figures that belong together add up
        by_type: Counter[str] = Counter()
        by_provider: Counter[str] = Counter()
        for kind, provider, observations in execute(db, "tally_observations", since=since):
            by_type[kind] += observations
            by_provider[provider] += observations
        injections = execute(db, "tally_injections", since=since).fetchall()
        return UsageCounts(
            **execute(db, "tally", since=since).fetchone(),
            by_type=dict(by_type.most_common()),
            by_provider=dict(by_provider.most_common()),
            injected={row["event"]: InjectionTotals(row["times"], row["tokens"]) for row in injections},
            queue=queue.figures(db),
            spending=queue.spending_since(db, since),
            today=SpentToday(**queue.spent_today(db, now)),
        )


LOOK_BACK_MS = 35 * DAY_MS


def survey_database(path: Path, backups: Path, now: int, *, thorough: bool = True) -> Survey:
    known = schema.migrations()
    copies = backup.find_backups(backups)
    facts = Survey(
        path,
        known_schema=schema.newest(known),
        backups=len(copies),
        newest_backup_at=_at(copies[0]) if copies else None,
    )
    try:
        found = _with_database(facts, known, now, thorough)
        return replace(found, grows=_grows(found.room.size, copies, now)) if found.room else found
    except StoreError as error:
        return replace(facts, exists=True, problem=str(error))


def foreign_owner(path: Path) -> str | None:
    """That the file is somebody else's, as a sentence; None: it is not, or cannot be told."""
    try:
        schema.require_readable(path, database_files.read_header(path), schema.migrations())
    except StoreForeign as error:
        return str(error)
    except (StoreError, OSError):
        return None
    return None


def _with_database(facts: Survey, known: tuple[schema.Migration, ...], now: int, thorough: bool) -> Survey:
    path = facts.path
    with translated(path):
        found = schema.require_readable(path, database_files.read_header(path), known)
        if found is None:
            return facts
        size = path.stat().st_size
    facts = replace(facts, exists=True, bytes=size, schema=found.version)
    if found.version < schema.newest(known):
        return facts  # older: the worker migrates it at its next start, until then our queries do not fit
    with closing(open_reader(path)) as db, translated(path):
        checked = thorough and size <= recovery.CHECK_UP_TO
        if checked:
            recovery.check(db, path)
        return replace(
            facts,
            checked=checked,
            figures=queue.figures(db),
            last_event_at=execute(db, "last_event_at").fetchone()[0],
            last_observation_at=execute(db, "last_observation_at").fetchone()[0],
            spent_today=SpentToday(**queue.spent_today(db, now)),
            unindexed=text_index.unindexed_count(db),
            unembedded=vector_index.unembedded_count(db),
            room=upkeep.size(db, path),
        )


def _grows(size: int, copies: Sequence[backup.Backup], now: int) -> float | None:
    """By the oldest copy of the last weeks: a single day says little, and a year ago is another time."""
    then = [one for one in copies if DAY_MS <= now - _at(one) <= LOOK_BACK_MS]
    if not then:
        return None
    try:
        before = then[-1].path.stat().st_size
    except OSError:
        return None
    return (size - before) / ((now - _at(then[-1])) / DAY_MS)


def _at(one: backup.Backup) -> int:
    return int(one.at.timestamp() * 1000)


LOOKED_AT = 20_000
"""Of a project's memories of files, the last so many."""
OF_CONCEPTS = 2_000
MOST = 200
MOST_PROJECTS = 500


class Statistics(Part):
    def news(self, since: NewsMarks | None) -> News:
        with self._readers.read() as db:
            last = NewsMarks(
                observation=text_index.last_id(db, "observation"),
                summary=text_index.last_id(db, "summary"),
                event=text_index.last_id(db, "evidence"),
                session=execute(db, "last_session").fetchone()[0],
            )
            if since is None or last == since:
                return News(last)
            projects = execute(db, "projects_with_news", **columns(since)).fetchall()
            compacted = execute(db, "compacted_since", after=since.event).fetchall()
        return News(
            last,
            tuple(row["project_id"] for row in projects),
            tuple((row["project_id"], row["claude_session_id"]) for row in compacted),
        )

    def unindexed(self) -> int:
        with self._readers.read() as db:
            return text_index.unindexed_count(db)

    def figures(self) -> dict[str, Any]:
        with self._readers.read() as db:
            row = execute(db, "memory_figures").fetchone()
            injected = execute(db, "injection_figures").fetchall()
        return {
            **dict(row),
            "injected": {
                each["event"]: {"times": each["times"], "tokens": each["tokens"]} for each in injected
            },
        }

    def activity(self, project_id: int, since: int) -> dict[str, dict[str, int]]:
        days: dict[str, dict[str, int]] = {}
        for row in self._rows("activity", project_id=project_id, since=since):
            days.setdefault(row["day"], {})[row["what"]] = row["times"]
        return days

    def types(self, project_id: int) -> dict[str, int]:
        found = self._rows("types_of_project", project_id=project_id, types=json.dumps(TYPES))
        return {row["type"]: row["times"] for row in found}

    def changed_files(self, project_id: int, limit: int) -> list[ChangedFile]:
        first, last = span(project_id)
        found = self._rows("changed_files", first=first, last=last, most=LOOKED_AT, limit=limit)
        return [ChangedFile(**row) for row in found]

    def facets(self, project_id: int | None) -> FacetsAnswer:
        of: dict[str, Value] = {"limit": MOST, "project_id": project_id}
        concepts = "concepts_of_all" if project_id is None else "concepts_of_project"
        with self._readers.read() as db:
            named = execute(db, concepts, most=OF_CONCEPTS, **of)
            return FacetsAnswer(
                projects=tuple(row["name"] for row in execute(db, "project_names", limit=MOST_PROJECTS)),
                types=TYPES,
                branches=tuple(row["branch"] for row in execute(db, "branches_of", **of)),
                clients=tuple(row["client"] for row in execute(db, "clients_of", **of)),
                concepts=tuple(row["concept"] for row in named if isinstance(row["concept"], str)),
            )

    def tool_uses(self, session_db_id: int, tool_use_ids: Sequence[str]) -> list[Ref]:
        ids = json.dumps(list(tool_use_ids))
        found = self._rows("events_of_tools", session_id=session_db_id, tool_use_ids=ids, limit=MOST)
        return [Ref("evidence", row["id"]) for row in found]

    def superseded(self, id: int) -> list[Ref]:
        return [Ref("observation", row["id"]) for row in self._rows("superseded_by_it", id=id, limit=MOST)]

    def prompt(self, session_db_id: int, number: int) -> Ref | None:
        row = self._row("prompt_of", session_id=session_db_id, prompt_number=number)
        return Ref("prompt", row["id"]) if row else None

    def times_injected(self, ref: Ref) -> int:
        return self._number("times_injected", named=f'"{ref}"')

    def injected(self, since: int, project: str | None) -> list[InjectionCount]:
        return [InjectionCount(**row) for row in self._rows("injected_by_day", since=since, project=project)]

    def observed_tool_uses(self, since: int, project: str | None) -> int:
        return self._number("observed_tool_uses", since=since, project=project)
