"""A team's members, their keys, their access to projects, and the audit log.

The database's rules decide who sees and changes what (access.sql), so this code does not check it again. What
is not permitted raises StoreForbidden, or is not found.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress

from claude_mem.api.team import (
    SCOPES,
    AuditEntry,
    AuditQuery,
    KeyInfo,
    MemberInfo,
    NewGrant,
    NewKey,
    NewMember,
    ProjectGrant,
)
from claude_mem.model.clock import DAY_MS, iso
from claude_mem.model.errors import InvalidInput, NotFound, StoreForbidden, StoreTooNew
from claude_mem.store.relational.part import Connection, Part, Row, execute, transaction
from claude_mem.store.relational.rows import Value
from claude_mem.store.team import Identity, Service, acting

PREFIX = "cmk_"
ME = "me"  # in a filter by author
SECRET_BYTES = 32
HOUR_MS = 60 * 60 * 1000
FIRST_KEY_DAYS = 3_660


def digest_of(secret: str) -> bytes:
    """The digest of a key, as stored. Keys are random, so a fast hash is enough."""
    return hashlib.sha256(secret.encode()).digest()


class Directory(Part):
    def authenticate(self, secret: str) -> Identity | None:
        """The identity of a key; None: it is unknown, expired or revoked. As the service."""
        if not secret.startswith(PREFIX):
            return None
        now = self._clock()
        row = self._row("key_by_digest", digest=digest_of(secret).hex(), now=now)
        if row is None:
            return None
        if (row["used_at"] or 0) <= now - HOUR_MS:
            with suppress(StoreTooNew):  # who may write no more can still read
                self._change("note_key_use", id=row["id"], hour=now - now % HOUR_MS)
        return Identity(
            member=row["member"],
            machine=row["machine"],
            key_id=row["id"],
            scopes=tuple(row["scopes"]),
            admin=row["admin"],
            expires_at=row["expires_at"],
        )

    def server_id(self) -> str:
        """The id by which machines recognize the team's server after it moves."""
        row = self._row("server_id")
        return "" if row is None else str(row["id"])

    @transaction
    def begin(self, db: Connection, member: str, machine: str) -> tuple[str, KeyInfo]:
        """Creates the first admin and the first key, once. As the service."""
        execute(db, "lock_members")
        if execute(db, "any_member").fetchone() is not None:
            raise InvalidInput("member", "This database already has a team. An admin of it can create a key.")
        execute(db, "add_member", name=member, admin=1, now=self._clock())
        execute(db, "own_what_is_there", member=member)
        execute(db, "share_what_is_there", member=member)
        for kind in ("observations", "summaries", "prompts"):
            execute(db, f"list_{kind}_as_changes")
        return self._add_key(db, NewKey(member=member, machine=machine, scopes=SCOPES, days=FIRST_KEY_DAYS))

    # Members

    def members(self) -> tuple[MemberInfo, ...]:
        return tuple(MemberInfo(**row) for row in self._rows("team_members", now=self._clock()))

    @transaction
    def add_member(self, db: Connection, new: NewMember) -> MemberInfo:
        """Adds a member. One that was removed before is the same member again, without keys and grants."""
        if new.name == ME:
            raise InvalidInput("name", f"The name `{ME}` is reserved. Choose another one.")
        now = self._clock()
        if not execute(db, "add_member", name=new.name, admin=int(new.admin), now=now).rowcount:
            raise InvalidInput("name", f"A member named {new.name} already exists.")
        return MemberInfo(name=new.name, admin=new.admin, keys=0, created_at=now)

    @transaction
    def remove_member(self, db: Connection, name: str) -> None:
        """Removes a member. What the member shared stays, under the member's name."""
        now = self._clock()
        execute(db, "end_grants_of", member=name)
        execute(db, "revoke_keys_of", member=name, now=now)
        if not execute(db, "remove_member", name=name, now=now).rowcount:
            raise NotFound(f"No member named {name}.")
        if execute(db, "any_admin").fetchone() is None:
            raise InvalidInput("id", f"{name} is the only admin. Make someone else an admin first.")

    # Keys

    def keys(self) -> tuple[KeyInfo, ...]:
        return tuple(_key_info(row) for row in self._rows("team_keys"))

    @transaction
    def add_key(self, db: Connection, new: NewKey) -> tuple[str, KeyInfo]:
        """Creates a key; returns the key itself, which is not stored."""
        if "write" in new.scopes and "read" not in new.scopes:
            raise InvalidInput("scopes", "The scope write requires the scope read.")
        if execute(db, "member", name=new.member).fetchone() is None:
            raise InvalidInput("member", f"No member named {new.member}.")
        return self._add_key(db, new)

    def revoke_key(self, id: str) -> None:
        digits = id.removeprefix("k")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else 0
        if not self._change("revoke_key", id=number, now=self._clock()):
            raise NotFound(f"No valid key {id}.")

    def _add_key(self, db: Connection, new: NewKey) -> tuple[str, KeyInfo]:
        now, secret = self._clock(), f"{PREFIX}{secrets.token_urlsafe(SECRET_BYTES)}"
        scopes = tuple(scope for scope in SCOPES if scope in new.scopes)
        row = execute(
            db,
            "add_key",
            digest=digest_of(secret).hex(),
            member=new.member,
            machine=new.machine,
            scopes=",".join(scopes),
            now=now,
            expires_at=now + new.days * DAY_MS,
        ).fetchone()
        return secret, _key_info(row)

    # Grants

    def grants(self) -> tuple[ProjectGrant, ...]:
        """The grants that the caller may see: the caller's own, those of projects the caller administers, or
        all."""
        return tuple(ProjectGrant(**row) for row in self._rows("team_grants"))

    def grants_of(self, member: str) -> tuple[ProjectGrant, ...]:
        return tuple(ProjectGrant(**row) for row in self._rows("grants_of", member=member))

    @transaction
    def grant(self, db: Connection, new: NewGrant) -> None:
        project = execute(db, "project_by_key", given=new.project).fetchone()
        if project is None and isinstance(acting(), Service):  # before anybody shares it, and so owns it
            name = new.project.rstrip("/").rpartition("/")[2] or new.project
            made: dict[str, Value] = {
                "key": new.project,
                "name": name,
                "at": self._clock(),
                "at_iso": iso(self._clock()),
            }
            project = execute(db, "reserve_project", **made).fetchone()
        if project is None:
            raise InvalidInput("project", f"No project with the key {new.project}.")
        # The server itself sees all members; whoever administers a project only whether there is one.
        if not any(execute(db, query, name=new.member).fetchone() for query in ("member", "is_member")):
            raise InvalidInput("member", f"No member named {new.member}.")
        of: dict[str, Value] = {"member": new.member, "project_id": project["id"]}
        if new.level != "none":
            execute(db, "grant", **of, level=new.level)
        elif not execute(db, "end_grant", **of).rowcount:
            raise StoreForbidden(
                f"{new.member} has no access to {new.project}, or you are not allowed to revoke it."
            )

    # What admins did

    def audit(self, query: AuditQuery) -> tuple[AuditEntry, ...]:
        found = self._rows("audit_entries", limit=query.limit, before=query.before or 2**62)
        return tuple(AuditEntry(**row) for row in found)

    def prune_audit(self, before: int) -> None:
        """As the service."""
        self._change("prune_audit", before=before)


def _key_info(row: Row) -> KeyInfo:
    values = dict(row)
    return KeyInfo(**values | {"id": f"k{values['id']}", "scopes": tuple(values["scopes"])})
