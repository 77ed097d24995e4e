"""Who of a team may see and change which row: the rules of access.sql said once more, in Python, of what a
database's owner sees. Tests compare the two."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from claude_mem.model.refs import KINDS, ref_at
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.team import Identity

Rows = dict[str, dict[str, Any]]
"""By what tells them apart."""
Snapshot = dict[str, Rows]

WITHOUT_DIGEST = "id, member, machine, scopes, created_at_epoch, expires_at_epoch, revoked_at_epoch"
"""What members may read of keys; when one was used is noted by the server."""


def tables(raw: psycopg.Connection[Any]) -> list[str]:
    """All of our schema."""
    found = raw.execute(
        "SELECT relname FROM pg_class"
        " WHERE relnamespace = 'claude_mem'::regnamespace AND relkind IN ('r', 'p')"
    )
    return sorted(row[0] for row in found)


def snapshot(db: PostgresConnection, names: Iterable[str]) -> Snapshot:
    """All rows that whoever asks sees."""
    names = list(names)
    each = (
        f"SELECT '{name}', CAST(row_to_json(t) AS text) FROM"
        f" (SELECT {WITHOUT_DIGEST if name == 'team_keys' else '*'} FROM claude_mem.{name}) AS t"
        for name in names
    )
    found: Snapshot = {name: {} for name in names}
    for name, row in db.raw.execute(" UNION ALL ".join(each).encode()):
        values = json.loads(row)
        parts = (str(values[part]) for part in _KEYS.get(name, ("id",)) if part in values)
        found[name]["/".join(parts) or row] = values
    return found


_KEYS = {
    "unindexed": ("kind", "id"),
    "unembedded": ("kind", "id"),
    "memory_documents": ("memory_key",),
    "team_members": ("name",),
    "team_grants": ("member", "project_id"),
    "team_changes": ("kind", "memory_id"),
    "team_acknowledgements": ("forget_id", "member", "machine"),
}
"""Of the others the id, or all of it."""
_OF_PROJECT = ("project_aliases", "news", "sdk_sessions", "observations", "text_totals", "team_changes")
_OF_SESSION = ("session_summaries", "user_prompts")
_OF_OWN_SESSION = ("pending_messages", "spending")
_OF_KEY = ("memory_words", "memory_documents", "memory_files", "memory_vectors", "memory_halfvecs")
_TITLES = ("title", "subtitle", "first_user_prompt")


class TeamRules:
    """What one identity may, of a database in a state."""

    def __init__(self, who: Identity, now: Snapshot) -> None:
        self._who, self._now = who, now
        grants = {
            row["project_id"]: row["level"]
            for row in now["team_grants"].values()
            if row["member"] == who.member
        }
        reads, self.writes = "read" in who.scopes, "write" in who.scopes
        self.readable = {project for project in grants if reads}
        self.writable = {project for project, level in grants.items() if level != "read" and self.writes}
        self.administered = {project for project, level in grants.items() if level == "admin" and self.writes}
        self.is_admin = "admin" in who.scopes and any(
            row["admin"] and row["name"] == who.member and row["removed_at_epoch"] is None
            for row in now["team_members"].values()
        )
        self.manages_projects = "admin" in who.scopes

    # Seeing

    def sees(self, table: str, row: dict[str, Any]) -> bool:
        if table in _OF_PROJECT:
            return row["project_id"] in self.readable or (table == "project_aliases" and self.is_admin)
        if table in _OF_SESSION:
            return self._project_of(row) in self.readable
        if table in _OF_OWN_SESSION:
            return self._is_own(row) and self._project_of(row) in self.readable
        if table in _OF_KEY:
            return row["project_id"] in self.readable
        return bool(self._sees_of_team(table, row) or self._sees_besides(table, row))

    def _sees_besides(self, table: str, row: dict[str, Any]) -> bool:
        if table == "projects":
            return row["id"] in self.readable or self.is_admin
        if table == "observation_sightings":
            seen = self._now["observations"][str(row["observation_id"])]
            return self._project_of(row) in self.readable and seen["project_id"] in self.readable
        if table == "injections":
            named = [
                one
                for one in self._now["sdk_sessions"].values()
                if one["claude_session_id"] == row["claude_session_id"]
            ]
            return any(self._is_own(one) and one["project_id"] in self.readable for one in named)
        if table == "derived":
            return bool(self._who.member) and not row["name"].startswith("vectors_forgotten_")
        is_for_members = table in ("forgotten_sessions", "team_server")
        return table == "schema_version" or (is_for_members and bool(self._who.member))

    def _sees_of_team(self, table: str, row: dict[str, Any]) -> bool:
        own = self._who.member
        if table == "team_members":
            return row["name"] == own or self.is_admin
        if table == "team_keys":
            return row["member"] == own or self.is_admin
        if table == "team_grants":
            return row["member"] == own or self.is_admin or row["project_id"] in self.administered
        if table == "team_pulls":
            return row["member"] == own or row["project_id"] in self.readable
        if table == "team_forgets":
            return self._sees_forget(row) or any(
                each["forget_id"] == row["id"] and each["member"] == own
                for each in self._now["team_acknowledgements"].values()
            )
        if table == "team_acknowledgements":
            return row["member"] == own or self._sees_forget(self._now["team_forgets"][str(row["forget_id"])])
        return table == "team_audit" and self.is_admin

    def _sees_forget(self, row: dict[str, Any]) -> bool:
        is_own = row["member"] == self._who.member and "read" in self._who.scopes
        return is_own or row["project_id"] in self.readable

    # Changing

    def trespasses(self, then: Snapshot) -> Iterator[str]:
        """What is otherwise afterwards, and is not theirs to change."""
        self._then = then
        for table, before in self._now.items():
            after = then[table]
            for key in before.keys() | after.keys():
                old, new = before.get(key), after.get(key)
                if old != new and not self._may(table, old, new):
                    yield f"{self._who}: {table}: {old} -> {new}"

    def _may(self, table: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
        if table in ("sdk_sessions", "observations", "session_summaries", "user_prompts"):
            return self._may_memory(table, old, new)
        if table == "projects":
            return old["id"] in self.administered if old and new else bool(new and self._is_new(new["id"]))
        if table in ("team_members", "team_keys"):
            is_leaving = old is not None and new is not None and old.get("id") == self._who.key_id
            return self.is_admin or is_leaving
        if table == "team_grants":
            row = new or old or {}
            is_theirs = self.manages_projects and row["project_id"] in self.administered
            return self.is_admin or is_theirs or self._is_new(row["project_id"])
        if table in ("team_audit", "team_forgets"):
            return old is None and new is not None and new["member"] in (self._who.member, "")
        if table == "team_acknowledgements":
            return self._may_acknowledge(old, new)
        if table == "team_pulls":
            return bool(new and self._is_machine(new) and new["project_id"] in self.readable)
        return self._is_kept_in_step(table, old, new)

    def _may_memory(self, table: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
        if new is None:
            assert old is not None
            is_own = self._is_own(old) and self.writes
            return is_own or self._project_of(old) in self.administered
        if old is None:
            is_own = self._is_own(new, self._then) and self.writes
            place = self._project_of(new, self._then)
            return is_own and (place in self.writable or self._is_new(place))
        if self._is_own(old) and self._project_of(old) in self.writable:
            return self._is_own(new, self._then) and self._project_of(new, self._then) in self.writable
        changed = {name for name in old if old[name] != new[name]}
        if table == "observations":  # what it replaced, or what replaced it, is gone
            return changed <= {"supersedes", "superseded_by"} and all(new[name] is None for name in changed)
        # What a session was called by was forgotten.
        return table == "sdk_sessions" and changed <= set(_TITLES) and old["project_id"] in self.administered

    def _may_acknowledge(self, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
        if old is None:  # it comes with a forget of theirs
            assert new is not None
            return str(new["forget_id"]) not in self._now["team_forgets"]
        return self._is_machine(old)

    def _is_kept_in_step(self, table: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
        """By triggers, and by what deletes a memory: of a memory that is otherwise now."""
        row = new or old or {}
        if table in _OF_KEY:
            kinds = ("observations", "session_summaries", "user_prompts", "pending_messages")
            ref = ref_at(row["memory_key"])
            memory = self._then[kinds[KINDS.index(ref.kind)]].get(str(ref.id))
            return new is None and memory is None
        return table in ("unindexed", "unembedded", "news", "text_totals", "team_changes", "derived", *_NOTED)

    def _is_new(self, project: int | None) -> bool:
        """They have just shared it."""
        return self.writes and str(project) not in self._now["projects"]

    def _is_machine(self, row: dict[str, Any]) -> bool:
        return (row["member"], row["machine"]) == (self._who.member, self._who.machine)

    def _is_own(self, row: dict[str, Any], at: Snapshot | None = None) -> bool:
        session = self._session(row, at)
        return session is not None and session["author"] == self._who.member

    def _project_of(self, row: dict[str, Any], at: Snapshot | None = None) -> int | None:
        if "project_id" in row:
            return int(row["project_id"])
        session = self._session(row, at)
        return None if session is None else int(session["project_id"])

    def _session(self, row: dict[str, Any], at: Snapshot | None = None) -> dict[str, Any] | None:
        if "claude_session_id" in row:
            return row
        return (at or self._now)["sdk_sessions"].get(str(row["session_id"]))


_NOTED = ("forgotten_sessions", "counters")
