"""What the viewer's pages show beside memories, on one SQLite file: figures, and where memories come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from claude_mem.model.memory import ObservationType
from claude_mem.model.refs import Ref, ref_at, span
from claude_mem.ports.viewing import ChangedFile, Facets, InjectionCount
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers

LOOKED_AT = 20_000
"""Of a project's memories of files, the last so many."""
OF_CONCEPTS = 2_000
MOST = 200
MOST_PROJECTS = 500
_TYPES = json.dumps(get_args(ObservationType))


class SqliteLedgers:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def activity(self, project_id: int, since: int) -> dict[str, dict[str, int]]:
        days: dict[str, dict[str, int]] = {}
        with self._readers.read() as db:
            for what in ("observations", "prompts", "summaries"):
                for row in execute(db, f"activity_of_{what}", project_id=project_id, since=since):
                    days.setdefault(row["day"], {})[what] = row["times"]
        return days

    def types(self, project_id: int) -> dict[str, int]:
        with self._readers.read() as db:
            found = execute(db, "types_of_project", project_id=project_id, types=_TYPES)
            return {row["type"]: row["times"] for row in found}

    def changed_files(self, project_id: int, limit: int) -> list[ChangedFile]:
        first, last = span(project_id)
        with self._readers.read() as db:
            found = execute(db, "changed_files", first=first, last=last, most=LOOKED_AT, limit=limit)
            return [ChangedFile(row["path"], row["changes"], ref_at(row["spot"])) for row in found]

    def facets(self, project_id: int | None) -> Facets:
        of = "all" if project_id is None else "project"
        with self._readers.read() as db:
            projects = execute(db, "project_names", limit=MOST_PROJECTS).fetchall()
            branches = execute(db, "branches_of", project_id=project_id, limit=MOST).fetchall()
            clients = execute(db, "clients_of", project_id=project_id, limit=MOST).fetchall()
            parameters = {} if project_id is None else {"project_id": project_id}
            concepts = execute(db, f"concepts_of_{of}", most=OF_CONCEPTS, limit=MOST, **parameters).fetchall()
        return Facets(
            tuple(row["name"] for row in projects),
            tuple(row["branch"] for row in branches),
            tuple(row["client"] for row in clients),
            tuple(row["concept"] for row in concepts if isinstance(row["concept"], str)),
        )

    def tool_uses(self, session_db_id: int, tool_use_ids: Sequence[str]) -> list[Ref]:
        with self._readers.read() as db:
            found = execute(
                db,
                "events_of_tools",
                session_id=session_db_id,
                tool_use_ids=json.dumps(list(tool_use_ids)),
                limit=MOST,
            )
            return [Ref("evidence", row["id"]) for row in found]

    def superseded(self, id: int) -> list[Ref]:
        with self._readers.read() as db:
            found = execute(db, "superseded_by_it", id=id, limit=MOST)
            return [Ref("observation", row["id"]) for row in found]

    def prompt(self, session_db_id: int, number: int) -> Ref | None:
        with self._readers.read() as db:
            row = execute(db, "prompt_of", session_id=session_db_id, prompt_number=number).fetchone()
        return Ref("prompt", row["id"]) if row else None

    def times_injected(self, ref: Ref) -> int:
        with self._readers.read() as db:
            return int(execute(db, "times_injected", named=f'"{ref}"').fetchone()[0])

    def injected(self, since: int, project: str | None) -> list[InjectionCount]:
        with self._readers.read() as db:
            return [
                InjectionCount(**row) for row in execute(db, "injected_by_day", since=since, project=project)
            ]

    def uses_asked_about(self, since: int, project: str | None) -> int:
        with self._readers.read() as db:
            return int(execute(db, "uses_asked_about", since=since, project=project).fetchone()[0])
