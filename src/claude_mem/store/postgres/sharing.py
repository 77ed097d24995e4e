"""What members share: push, pull, deletions, and which machines have applied those.

Everything here runs as the acting member, so the database's rules decide what is visible and accepted
(access.sql). Where rows must be cleaned up that no member may touch, the transaction first lets the
rules decide which memories the member may delete, and only then continues as the owner of the tables.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from claude_mem.api.team import ForgetStatus
from claude_mem.model import records as model_records
from claude_mem.model.clock import iso
from claude_mem.model.errors import InvalidInput, StoreForbidden
from claude_mem.model.records import Record, digest_of
from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.model.sharing import ForgetAnswer, ForgetLine, Pull
from claude_mem.model.structs import replace
from claude_mem.store.relational import forget, transfer
from claude_mem.store.relational.part import Connection, Part, Row, execute, transaction
from claude_mem.store.relational.rows import Value, batches
from claude_mem.store.team import (
    ChangePosition,
    Changes,
    Identity,
    PullCursor,
    acting,
    acting_as_service,
)
from claude_mem.store.values import ExportSelection, ImportResult

SHARED = ("project", "session", "observation", "summary", "prompt")
"""The kinds of records that are accepted."""
AT_HOME = frozenset(("root", "cwd", "transcript_path"))
"""The fields of a record that are not passed on: paths on a member's machine."""
MOST_FORGETS = 1_000


class Sharing(Part):
    def push(self, records: Sequence[Record]) -> ImportResult:
        """Records of the acting member's, scrubbed by the caller. Doing it twice changes nothing."""
        try:
            return self._push(records)
        except StoreForbidden:
            if len(records) <= 1:
                return ImportResult(refused=((0, "You are not allowed to change that."),) if records else ())
        # The database rejected one of them and rolled back the others, so store each separately.
        taken, known, refused = Counter[str](), Counter[str](), list[tuple[int, str]]()
        for number, record in enumerate(records):
            done = self.push([record])
            taken.update(done.taken)
            known.update(done.known)
            refused += [(number, why) for _, why in done.refused]
        return ImportResult(dict(taken), dict(known), tuple(refused))

    @transaction
    def _push(self, db: Connection, records: Sequence[Record]) -> ImportResult:
        now, refused = self._clock(), dict[int, str]()
        check = _Check(db, records, now)
        accepted = []
        for number, record in enumerate(records):
            if why := check.refusal(record):
                refused[number] = why
            else:
                accepted.append(number)
        done = transfer.absorb(
            db, [records[number] for number in accepted], now, own=False, author=_member().member
        )
        refused |= {accepted[number]: why for number, why in done.refused}
        return ImportResult(done.taken, done.known, tuple(sorted(refused.items())))

    @transaction
    def adopt_restored(self, db: Connection) -> None:
        """In a database that was restored from a dump, what was shared has transactions of another server,
        which may be in the future here: it is as if it was shared now. As the service."""
        for table in ("changes", "grants", "forgets"):
            execute(db, f"adopt_restored_{table}")

    def pull(self, given: str, limit: int) -> Pull:
        """What other machines have sent of projects that the acting member reads, and what is to be
        forgotten."""
        cursor = PullCursor.parse(given) if given else None
        self._note_machine()
        with self._readers.read() as db:
            upto = int(execute(db, "oldest_open").fetchone()[0])
            cluster = str(execute(db, "cluster").fetchone()[0])
            if cursor is None or not cursor.is_of(cluster, upto):
                cursor = PullCursor(grants=upto)  # the machine's first, or before a restore
            page, cursor, more = _page(db, cursor, upto, limit)
            refs = tuple(Ref(kind, id) for kind, id in page)
            forgets = tuple(
                ForgetLine(
                    id=f"f{row['id']}", of=row["kind"], digest=row["digest"], at=row["at"], by=row["member"]
                )
                for row in execute(db, "forgets_to_carry_out", **_machine(), limit=MOST_FORGETS)
            )
            come_to = replace(cursor, cluster=cluster)
            return Pull(tuple(_records(db, refs, self._clock())), forgets, str(come_to), more)

    def now(self) -> str:
        """The current cursor of `changes`."""
        with self._readers.read() as db:
            return str(ChangePosition(int(execute(db, "oldest_open").fetchone()[0])))

    def changes(self, cursor: str, limit: int) -> Changes:
        """What anybody, the acting member too, has sent since of projects that the member reads. Raises
        InvalidInput."""
        try:
            after = ChangePosition.parse(cursor)
        except ValueError:
            raise InvalidInput("cursor", "The cursor is not from this server.") from None
        with self._readers.read() as db:
            upto = int(execute(db, "oldest_open").fetchone()[0])
            rows = execute(
                db,
                "all_changes_after",
                after=after.transaction,
                after_kind=after.kind,
                after_id=after.id,
                last=upto,
                limit=limit + 1,
            ).fetchall()
        page, is_full = rows[:limit], len(rows) > limit
        refs = tuple(Ref(row["kind"], row["memory_id"]) for row in page)
        at = (
            ChangePosition(int(page[-1]["transaction"]), refs[-1].kind, refs[-1].id)
            if is_full
            else ChangePosition(upto)
        )
        return Changes(refs, str(max(at, after)), is_full)

    def _note_machine(self) -> None:
        """Before it reads a project for the first time: what is forgotten from now on, it learns of."""
        if self._row("projects_not_pulled", **_machine()) is not None:
            self._change("note_pulls", **_machine())

    @transaction
    def forget(self, db: Connection, names: Sequence[str]) -> tuple[str, ...]:
        """One's own memories and sessions, or any of a project that one administers. The forgets' ids in the
        order of the names; empty: not there, or not the member's to forget."""
        known = {
            row["digest"]: row["id"]
            for row in execute(db, "forgets_of", digests=json.dumps(list(map(digest_of, names))))
        }
        ids = []
        for name in names:
            if digest_of(name) not in known:
                known[digest_of(name)] = _forget(db, name, self._clock())
            id = known[digest_of(name)]
            ids.append(f"f{id}" if id else "")
        return tuple(ids)

    def acknowledge(self, ids: Sequence[str], answer: ForgetAnswer = "done") -> None:
        """This machine has carried them out, or has not."""
        numbers = [int(id[1:]) for id in ids if id[:1] == "f" and id[1:].isascii() and id[1:].isdecimal()]
        given = json.dumps([number for number in numbers if number < 2**63])
        if answer == "done":
            self._change("acknowledge", **_machine(), ids=given, now=self._clock())
        else:
            self._change("answer_forgets", **_machine(), ids=given, answer=answer)

    def forgets(self, limit: int = MOST_FORGETS) -> tuple[ForgetStatus, ...]:
        """The newest first."""
        return tuple(map(_forget_status, self._rows("forgets", limit=limit)))

    def leave(self) -> int:
        """Delete all that the acting member has shared, from the server and from others' machines, then end
        the key. Returns how many sessions that were. Called again, it goes on where it was interrupted."""
        identity, deleted = _member(), forget.Deleted()
        with acting_as_service():
            sessions = self._writer.run(lambda db: _announce_leaving(db, identity, self._clock()))
            for session in sessions:
                while not self._writer.run(partial(forget.delete_session, session=session, deleted=deleted)):
                    pass
            self._writer.run(lambda db: execute(db, "end_key", id=identity.key_id, now=self._clock()))
        return len(sessions)


def _forget_status(row: Row) -> ForgetStatus:
    left: list[tuple[str, str | None]] = json.loads(row["waiting_for"])
    return ForgetStatus(
        id=f"f{row['id']}",
        kind=row["kind"],
        project=row["project"],
        by=row["member"],
        at=row["created_at"],
        waiting_for=tuple(machine for machine, _ in left),
        consent=tuple(machine for machine, answer in left if answer == "consent"),
        refused=tuple(machine for machine, answer in left if answer == "refused"),
    )


def _member() -> Identity:
    identity = acting()
    if not isinstance(identity, Identity):
        raise StoreForbidden("Nobody is acting.")
    return identity


def _machine() -> dict[str, str]:
    identity = _member()
    return {"member": identity.member, "machine": identity.machine}


# Taking in

_PLACE = ("session_id", "project")


class _Check:
    """Checks records before they are stored, with a sentence for each rejection."""

    def __init__(self, db: Connection, records: Sequence[Record], now: int) -> None:
        plain = [record for record in records if isinstance(record, dict)]
        self._levels = _levels(db, plain, now)
        sessions = {name for record in plain if isinstance(name := record.get("session_id"), str)}
        self._others = _found(db, "others_sessions", sessions)
        placed = [
            (record["session_id"], record["project"])
            for record in plain
            if record.get("kind") == "session" and all(isinstance(record.get(name), str) for name in _PLACE)
        ]
        self._misplaced = _found(db, "misplaced_sessions", placed)
        names = {name for record in plain for name in _names(record)}
        digests = {digest_of(name): name for name in names}
        self._forgotten = {digests[digest] for digest in _found(db, "forgotten_names", digests)}

    def refusal(self, record: object) -> str | None:
        """None: it is tried."""
        if not isinstance(record, dict):
            return None
        kind, session = record.get("kind"), record.get("session_id")
        if kind not in SHARED and kind in model_records.FIELDS:
            return f"Records of kind {kind} are not shared."
        if isinstance(session, str) and session in self._others:
            return f"Session {session} belongs to another member."
        if isinstance(session, str) and session in self._misplaced:
            return f"Session {session} is in another project here."
        if not self._forgotten.isdisjoint(_names(record)):
            return "It was forgotten."
        key = record.get("key" if kind == "project" else "project")
        return self._refusal_in(key, is_project=kind == "project") if isinstance(key, str) else None

    def _refusal_in(self, key: str, *, is_project: bool) -> str | None:
        level = self._levels.get(key)
        if level is None:
            return f"You have no access to the project {key}. Ask one of its admins."
        if level == "read" and not is_project:
            return f"You can read the project {key}, but not write to it. Ask one of its admins."
        return None


def _levels(db: Connection, records: Iterable[Record], now: int) -> dict[str, str]:
    """The member's access to each project in the records. A new project belongs to the member."""
    levels: dict[str, str] = {}
    for record in records:
        key = record.get("key") if record.get("kind") == "project" else record.get("project")
        if not isinstance(key, str) or not key or key in levels:
            continue
        if record.get("kind") == "project" and isinstance(name := record.get("name"), str) and name:
            remote = remote if isinstance(remote := record.get("remote"), str) else None
            made = {"name": name, "remote": remote, "at_iso": iso(now)}
            row = execute(db, "open_project", key=key, at=now, **made).fetchone()
        else:
            row = execute(db, "level_in", key=key, member=_member().member).fetchone()
        if row is not None and row["level"] is not None:
            levels[key] = row["level"]
    return levels


def _found(db: Connection, query: str, given: Iterable[object]) -> set[str]:
    return {row[0] for row in execute(db, query, given=json.dumps(list(given), ensure_ascii=False))}


def _names(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a record's session and of the record itself, if it has any."""
    kind, session, at = record.get("kind"), record.get("session_id"), record.get("at")
    if not isinstance(session, str):
        return ()
    names = [model_records.name_of_session(session)]
    if kind == "observation" and isinstance(at, int):
        with suppress(TypeError, AttributeError, KeyError):  # it is refused for its shape
            names.append(model_records.name_of(session, at, model_records.content_key_of(record)))
    elif kind == "prompt" and isinstance(number := record.get("number"), int):
        names.append(model_records.name_of_prompt(session, number))
    elif kind == "summary" and isinstance(at, int):
        names.append(model_records.name_of_summary(session, at))
    return tuple(names)


# Passing on


def _page(
    db: Connection, cursor: PullCursor, upto: int, limit: int
) -> tuple[list[tuple[MemoryKind, int]], PullCursor, bool]:
    """What is next, where that ends, and whether there is more. `upto`: the oldest transaction that is open;
    what is of it or of a later one is passed on another time."""
    if cursor.until is None and cursor.grants < upto:
        member = _member().member
        is_new = execute(db, "any_grant_of", since=cursor.grants, until=upto, member=member).fetchone()
        cursor = PullCursor(cursor.place, *((cursor.grants, upto) if is_new is not None else (upto, None)))
    after = cursor.place if cursor.until is None else cursor.older
    last = ChangePosition(upto) if cursor.until is None else cursor.place
    rows = execute(
        db,
        "changes_after",
        **_machine(),
        grants=cursor.grants,
        until=cursor.until,
        limit=limit + 1,
        after=after.transaction,
        after_kind=after.kind,
        after_id=after.id,
        last=last.transaction,
        last_kind=last.kind,
        last_id=last.id,
    ).fetchall()
    page, is_full = rows[:limit], len(rows) > limit
    found = [(row["kind"], row["memory_id"]) for row in page]
    at = ChangePosition(int(page[-1]["transaction"]), *found[-1]) if is_full else last
    if cursor.until is None:
        return found, PullCursor(at, cursor.grants), is_full
    if is_full:
        return found, PullCursor(cursor.place, cursor.grants, cursor.until, at), True
    return found, PullCursor(cursor.place, cursor.until), True


def _records(db: Connection, refs: tuple[Ref, ...], now: int) -> Iterable[Record]:
    if not refs:
        return  # an export of nothing chosen is one of everything
    authors: dict[str, str | None] = {}
    for record in transfer.records(db, ExportSelection(refs=refs), now):
        kind, plain = record["kind"], {name: record[name] for name in record if name not in AT_HOME}
        if kind == model_records.FORMAT:
            continue
        if kind == "session":
            row = execute(db, "session_author", session_id=record["session_id"]).fetchone()
            authors[record["session_id"]] = row["author"]
        if kind != "project":
            plain["author"] = authors[record["session_id"]]
        yield plain


# Forgetting


def _forget(db: Connection, name: str, now: int) -> int:
    """The deletion's id; 0: there is nothing with that name that the member may delete."""
    lookup = _lookup(name)
    found = execute(db, lookup[0], **lookup[1]).fetchone() if lookup else None
    if lookup is None or found is None:
        return 0
    identity, kind, id = _member(), found["kind"], found["id"]
    # Deleting it as the member shows whether the rules permit it; then the deletion is undone.
    execute(db, "begin_asking")
    is_permitted = execute(db, f"ask_to_delete_{kind}", id=id).rowcount > 0
    execute(db, "end_asking")
    if not is_permitted:
        return 0
    execute(db, "become_owner")
    # A machine's first pull of this project happens before or after this, never in between.
    execute(db, "lock_project", id=found["project_id"])
    forget_id = _note_forget(db, kind, name, found, identity.member, now)
    machines = {"forget_id": forget_id, "kind": kind, "id": id, "project_id": found["project_id"]}
    is_session, deleted = kind == "session", forget.Deleted()
    execute(db, "ask_machines_of_session" if is_session else "ask_machines", **machines, **_machine())
    if is_session:
        while not forget.delete_session(db, str(lookup[1]["session"]), deleted):
            pass
    else:
        forget.delete_memories(db, [Ref(kind, id)], now, deleted)
    execute(db, "note_forget", subject=f"f{forget_id} {kind} {found['project']}")
    execute(db, "become_member")
    return forget_id


def _note_forget(db: Connection, kind: str, name: str, found: Row, member: str, now: int) -> int:
    of: dict[str, Value] = {name: found[name] for name in ("at", "project_id", "project")}
    digest = digest_of(name)
    row = execute(db, "add_forget", **of, kind=kind, digest=digest, member=member, now=now).fetchone()
    return int(row["id"])


_NAMED = re.compile(
    r"(?P<session>.+)/(?P<number>\d{1,15})/(?P<last>summary|prompt)|(?P<whole>.+)/session", re.S
)


def _lookup(name: str) -> tuple[str, dict[str, Value]] | None:
    """What a name refers to: a statement that finds it, and its parameters."""
    found = _NAMED.fullmatch(name)
    if found is None:
        parts = model_records.parse_name(name)
        named = ("session", "number", "content_key")
        return None if parts is None else ("deletable_observation", dict(zip(named, parts, strict=True)))
    if found["whole"]:
        return "deletable_session", {"session": found["whole"]}
    return f"deletable_{found['last']}", {"session": found["session"], "number": int(found["number"])}


def _announce_leaving(db: Connection, identity: Identity, now: int) -> list[str]:
    """Announces the deletion of the member's sessions to others' machines; the member's own keep their
    memories."""
    found = execute(db, "sessions_of_author", member=identity.member).fetchall()
    for some in batches(found, 500):
        for row in some:
            execute(db, "lock_project", id=row["project_id"])
            forget_id = _note_forget(
                db, "session", model_records.name_of_session(row["name"]), row, identity.member, now
            )
            of: dict[str, Value] = {"project_id": row["project_id"], "member": identity.member}
            execute(db, "ask_machines_of_others", forget_id=forget_id, **of)
    execute(db, "note_leaving", member=identity.member, key_id=identity.key_id, machine=identity.machine)
    return [row["name"] for row in found]
