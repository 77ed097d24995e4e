"""Figures about the store for stats and the viewer, and what is new since a given moment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from claude_mem.api.projects import FacetsAnswer, InjectedRow
from claude_mem.model.refs import TYPES, Ref
from claude_mem.model.structs import replace
from claude_mem.store.relational import queue
from claude_mem.store.relational.part import Connection, Part, execute, last_id
from claude_mem.store.relational.rows import Value, columns
from claude_mem.store.values import (
    ChangedFile,
    InjectionTotals,
    News,
    NewsMarks,
    SpentToday,
    Survey,
    UsageCounts,
)

LOOKED_AT = 20_000
"""How many of a project's latest memories about files are read."""
OF_CONCEPTS = 2_000
MOST = 200
MOST_PROJECTS = 500


def count_since(db: Connection, since: int, now: int) -> UsageCounts:
    """Both times in epoch milliseconds."""
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


def surveyed(db: Connection, facts: Survey, now: int) -> Survey:
    """With what any database of this version's schema says."""
    return replace(
        facts,
        figures=queue.figures(db),
        last_event_at=execute(db, "last_event_at").fetchone()[0],
        last_observation_at=execute(db, "last_observation_at").fetchone()[0],
        spent_today=SpentToday(**queue.spent_today(db, now)),
        unindexed=db.words.unindexed_count(db),
        unembedded=db.vectors.unembedded_count(db),
    )


class Statistics(Part):
    def news(self, since: NewsMarks | None) -> News:
        """Which projects changed, and which sessions were compacted. None: everything is new."""
        with self._readers.read() as db:
            last = NewsMarks(
                observation=last_id(db, "observation"),
                summary=last_id(db, "summary"),
                event=last_id(db, "evidence"),
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
        """How many rows the full-text index is behind, at most."""
        with self._readers.read() as db:
            return db.words.unindexed_count(db)

    def figures(self) -> dict[str, Any]:
        """How much is stored, and how much of it was injected."""
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
        with self._readers.read() as db:
            first, last = db.span(project_id)
            found = execute(db, "changed_files", first=first, last=last, most=LOOKED_AT, limit=limit)
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
                authors=tuple(row["author"] for row in execute(db, "authors_of", **of)),
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

    def injected(self, since: int, project: str | None) -> list[InjectedRow]:
        return [InjectedRow(**row) for row in self._rows("injected_by_day", since=since, project=project)]

    def observed_tool_uses(self, since: int, project: str | None) -> int:
        return self._number("observed_tool_uses", since=since, project=project)
