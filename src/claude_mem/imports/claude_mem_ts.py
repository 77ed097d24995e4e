"""Converts the TypeScript claude-mem's memory to records. Pure: the caller passes the rows.

Its schema had more than fifty versions, so a column is read only if it exists. Its text was never scrubbed,
so all of it goes through `clean`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from claude_mem.imports.import_report import Clean, SourceReport
from claude_mem.imports.jsonl import Fields, paths_in
from claude_mem.model.events import Origin
from claude_mem.model.records import Record
from claude_mem.model.refs import TYPES
from claude_mem.store.foreign_tables import ForeignDatabase

NAME = "claude-mem-ts"
TABLES = ("sdk_sessions", "user_prompts", "observations", "session_summaries")
UNREAD = ("tool_uses",)
"""Raw evidence, which it stores since 13.25: only counted."""

CLIENTS = {"claude": "claude-code"}
OBSERVERS = "observer-sessions"
"""The project of sessions in which its observer talks to itself; early versions took those for the user's."""

_SESSION = ("content_session_id", "claude_session_id")  # as the client has it: the newer name first
_AT = ("created_at", "created_at_epoch")
_MEMORY = ("memory_session_id", "sdk_session_id")  # as its observer has it
MOST_PATHS = 200  # of a project, to find its directory
_TEXTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")

ProjectOf = Callable[[str, Sequence[str]], Origin]
"""The project for a name, and for the absolute paths of its files."""


def is_one(tables: ForeignDatabase) -> bool:
    """Whether these are the TypeScript claude-mem's tables; ours have some of the same names."""
    has_sessions = not tables.columns("sdk_sessions").isdisjoint(_SESSION)
    return has_sessions and all(map(tables.columns, ("observations", "schema_versions")))


class TypeScriptMemory:
    """`records`: its memory, each record after what it refers to."""

    def __init__(
        self,
        tables: ForeignDatabase,
        *,
        clean: Clean,
        project_of: ProjectOf,
        is_excluded: Callable[[Origin], bool],
        report: SourceReport,
    ) -> None:
        self._tables, self._clean, self._report = tables, clean, report
        self._project_of, self._is_excluded = project_of, is_excluded
        self._by_memory: dict[str, str] = {}  # its observer's id of a session: ours; "": not to be taken
        self._by_row: dict[object, str] = {}
        self._sessions: dict[str, str] = {}  # ours: the client it is of
        self._projects: dict[str, Origin] = {}  # by name
        self._recorded: set[str] = set()  # keys of projects that have a record
        self._moved: dict[str, str] = {}  # of worktrees that were merged: the project that took them in
        self._last_at: dict[str, int] = {}
        self._files: dict[str, dict[str, None]] = {}  # by project: absolute paths, each once

    def records(self) -> Iterator[Record]:
        self._look_ahead()
        for row in self._rows("sdk_sessions"):
            yield from self._session(row)
        for row in self._rows("user_prompts"):
            yield from self._prompt(row)
        for row in self._rows("observations"):
            yield from self._observation(row)
        for row in self._rows("session_summaries"):
            yield from self._summary(row)

    def _rows(self, table: str) -> Iterator[Fields]:
        columns = sorted(self._tables.columns(table))
        return (Fields(row, self._clean) for row in self._tables.rows(table, columns))

    def _look_ahead(self) -> None:
        """Collects what a session's record needs and only its observations contain."""
        columns = (*_MEMORY, *_AT, "project", "merged_into_project", "files_read", "files_modified")
        for plain in self._tables.rows("observations", columns):
            row = Fields(plain, str)  # nothing of it is imported
            memory, name, into = row.name(*_MEMORY), row.name("project"), row.name("merged_into_project")
            if into:
                self._moved[name] = into
            at = row.at("created_at")
            if at is not None:
                self._last_at[memory] = max(self._last_at.get(memory, 0), at)
            known = self._files.setdefault(into or name, {})
            if len(known) < MOST_PATHS:
                known |= dict.fromkeys(paths_in(row, "files_modified", "files_read"))

    def _session(self, row: Fields) -> Iterator[Record]:
        memory, name = row.name(*_MEMORY), row.name("project")
        session = row.name(*_SESSION) or f"{NAME}-{memory or row.number('id')}"
        client = row.name("platform_source") or "claude"
        began = row.at("started_at", "created_at")
        if reason := self._unwanted(name):
            self._by_memory[memory] = self._by_row[row.number("id")] = ""
            self._report.skip("session", reason)
            return
        if began is None:
            began = self._last_at.get(memory)
        if began is None:
            self._report.skip("session", "no date")
            return
        if session in self._sessions:  # the same id in another client
            session = f"{client}-{session}"
        self._by_memory[memory] = self._by_row[row.number("id")] = session
        ended = row.at("completed_at")
        yield from self._begun(
            session,
            name,
            began,
            client,
            title=row.text("custom_title"),
            first_user_prompt=row.text("user_prompt"),
            prompt_counter=row.number("prompt_counter") or 0,
            status="failed" if row.name("status") == "failed" else "completed",
            updated_at=max(began, ended or 0, self._last_at.get(memory, 0)),
            completed_at=ended,
        )

    def _begun(self, session: str, name: str, at: int, client: str, **more: object) -> Iterator[Record]:
        project = self._project(name)
        if project.key not in self._recorded:
            self._recorded.add(project.key)
            yield self._report.project(project, at)
        self._sessions[session] = CLIENTS.get(client, client)
        yield self._report.record(
            "session",
            session_id=session,
            project=project.key,
            cwd=project.root or None,
            client=self._sessions[session],
            created_at=at,
            **more,
        )

    def _project(self, name: str) -> Origin:
        name = self._moved.get(name, name) or "unknown"
        if name not in self._projects:
            self._projects[name] = self._project_of(name, list(self._files.get(name, ())))
        return self._projects[name]

    def _unwanted(self, name: str) -> str | None:
        """Why a project is not imported."""
        if name == OBSERVERS:
            return "the observer's own session"
        return "excluded project" if self._is_excluded(self._project(name)) else None

    def _prompt(self, row: Fields) -> Iterator[Record]:
        session = self._by_row.get(row.number("session_db_id")) if row.has("session_db_id") else None
        if session is None:
            session = row.name(*_SESSION)
        number, at = row.number("prompt_number"), row.at("created_at")
        if session not in self._sessions or number is None or at is None:
            known = session in self._sessions
            self._report.skip("prompt", "no time or number" if known else "its session is not imported")
            return
        text = row.text("prompt_text")
        yield self._report.record(
            "prompt",
            session_id=session,
            number=number,
            text=text,
            private=text is None and row.has("prompt_text"),
            at=at,
        )

    def _observation(self, row: Fields) -> Iterator[Record]:
        at = row.at("created_at")
        if at is None:
            self._report.skip("observation", "no date")
            return
        narrative, facts = row.text("narrative") or row.text("text"), row.texts("facts")
        if not (narrative or facts or row.text("title")):
            self._report.skip("observation", "no content")
            return
        session, session_records = self._session_for("observation", row, at)
        yield from session_records
        if not session:
            return
        modified, concepts = row.texts("files_modified"), row.texts("concepts")
        type = row.name("type")
        if type not in TYPES:
            new_type = "change" if modified else "discovery"
            self._report.remap(type, new_type)
            concepts, type = [*concepts, *([type] if type and type not in concepts else [])], new_type
        model = row.name("generated_by_model")
        yield self._report.record(
            "observation",
            session_id=session,
            type=type,
            title=row.text("title"),
            subtitle=row.text("subtitle"),
            narrative=narrative,
            facts=facts,
            concepts=concepts,
            files_read=row.texts("files_read"),
            files_modified=modified,
            prompt_number=row.number("prompt_number"),
            client=self._sessions[session],
            provider=f"{NAME}:{model}" if model else NAME,
            source="work",
            at=at,
        )

    def _summary(self, row: Fields) -> Iterator[Record]:
        at = row.at("created_at")
        texts = {name: row.text(name) for name in _TEXTS}
        if at is None or not any(texts.values()):
            self._report.skip("summary", "no date" if at is None else "no content")
            return
        session, session_records = self._session_for("summary", row, at)
        yield from session_records
        if session:
            yield self._report.record(
                "summary",
                session_id=session,
                **texts,
                files_read=row.texts("files_read"),
                files_edited=row.texts("files_edited"),
                prompt_number=row.number("prompt_number"),
                at=at,
            )

    def _session_for(self, kind: str, row: Fields, at: int) -> tuple[str, list[Record]]:
        """A memory's session ("": none) and the records that must precede it; a missing session is
        created."""
        memory = row.name(*_MEMORY)
        session = self._by_memory.get(memory)
        reason = "its session is not imported" if session == "" else self._unwanted(row.name("project"))
        if reason:
            self._report.skip(kind, reason)
            return "", []
        if session is not None:
            return session, []
        session = self._by_memory[memory] = f"{NAME}-{memory or 'unknown'}"
        last_at = max(at, self._last_at.get(memory, at))
        name = row.name("project")
        records = self._begun(session, name, at, "claude", updated_at=last_at, status="completed")
        return session, list(records)
