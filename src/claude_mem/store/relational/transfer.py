"""Export and import: converts memories to records and back, without loss."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from msgspec import Struct

from claude_mem.model import records as model_records
from claude_mem.model.clock import LAST_MS, iso
from claude_mem.model.events import Kind, Origin
from claude_mem.model.jobs import JobState, SessionStatus
from claude_mem.model.memory import Observation, Summary, content_key
from claude_mem.model.records import FIELDS, FLAG, FOREIGN, INT, LIST, REQUIRED, TEXT, Record
from claude_mem.model.refs import TYPES, Source
from claude_mem.store.relational import observations, projects
from claude_mem.store.relational.part import Connection, Part, Row, added, execute, transaction
from claude_mem.store.relational.rows import Value, array, batches, columns, session_digest, text, value_of
from claude_mem.store.values import ExportSelection, ImportResult, Revision

LONGEST = 1 << 20  # characters of a text: far more than anything that capture keeps
MOST_ITEMS = 10_000
MOST = 2**31 - 1  # of anything that is counted

Fields = dict[str, Any]


class RecordRefused(ValueError):
    """A record is invalid; `str()` is one sentence with the reason."""


def checked(record: object) -> Fields:
    """Validates a record: unknown fields are ignored, and absent ones are null or empty."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(kind, str) or kind not in FIELDS:
        raise RecordRefused(f"Not a record: `kind` must be one of {', '.join(FIELDS)}.")
    fields = {name: _shaped(name, shape, record.get(name)) for name, shape in FIELDS[kind].items()}
    missing = [name for name in REQUIRED[kind] if fields[name] in (None, "")]
    if missing:
        raise RecordRefused(f"Record of kind {kind}: {' and '.join(missing)} missing.")
    return fields


def _shaped(name: str, shape: str, value: object) -> object:
    if shape == LIST:
        items = [] if value is None else value
        if not isinstance(items, list) or len(items) > MOST_ITEMS:
            raise RecordRefused(f"`{name}` must be a list of strings.")
        return [_checked_text(name, item) for item in items]
    if shape == FLAG:
        if value is None or isinstance(value, bool):
            return int(bool(value))
    elif value is None:
        return None
    elif shape == TEXT:
        return _checked_text(name, value)
    elif shape == INT and isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= (LAST_MS if name.endswith("at") else MOST):
            raise RecordRefused(f"`{name}` is out of range.")
        return value
    raise RecordRefused(f"`{name}` must be {'true or false' if shape == FLAG else 'an integer'}.")


def _checked_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RecordRefused(f"`{name}` must be a string.")
    if len(value) > LONGEST:
        raise RecordRefused(f"`{name}` is longer than {LONGEST:,} characters.")
    return text(value)


UNNAMED = "unknown"
"""The client of the user's own sessions that do not name one."""
SOURCES: tuple[str, ...] = get_args(Source)


class Ownership(Struct, frozen=True):
    """Whose records they are: the user's own, a team member's, or untrusted."""

    own: bool
    author: str | None = None  # the member

    @property
    def is_untrusted(self) -> bool:
        return not self.own and self.author is None


def absorb(
    db: Connection, records: Sequence[Record], now: int, *, own: bool, author: str | None = None
) -> ImportResult:
    """Merges records by what identifies each, so that importing twice changes nothing. Untrusted records (not
    `own`) are stored as external, in sessions marked as such; they add nothing to the user's own sessions
    and replace none of the user's memories.

    `author`: the team member who wrote them. They are stored unchanged, in sessions marked as the member's;
    they add to no other session. Later changes by the member (pinned, wrong) are applied."""
    ownership = Ownership(own and author is None, author)
    taken, known, refused = Counter[str](), Counter[str](), []
    for number, record in enumerate(records):
        kind = record.get("kind") if isinstance(record, dict) else None
        if kind == model_records.FORMAT:
            continue
        try:
            fields = checked(record)
            fresh = _TAKE[str(kind)](db, fields | {"now": now}, ownership)
        except RecordRefused as error:
            refused.append((number, str(error)))
        else:
            (taken if fresh else known)[str(kind)] += 1
    return ImportResult(dict(taken), dict(known), tuple(refused))


def _project(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    # Untrusted paths are dropped: git would run in that directory.
    root = (fields["root"] or "") if ownership.own else ""
    origin = Origin(fields["key"], fields["name"], root, fields["remote"])
    known = execute(db, "find_project", key=origin.key).fetchone()
    created_at = fields["created_at"]
    projects.project_of(db, origin, fields["now"] if created_at is None else created_at)
    if known is None and ownership.own:  # an untrusted one would attract the work of other projects
        for alias in fields["aliases"]:
            execute(db, "absorb_alias", key=origin.key, alias=alias)
        if fields["named"]:
            execute(db, "absorb_name", key=origin.key)
    return known is None


def _session(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    project = execute(db, "find_project_whole", key=fields["project"]).fetchone()
    if project is None:
        raise RecordRefused(f"Session {fields['session_id']}: no earlier record defines its project.")
    status = fields["status"] or SessionStatus.COMPLETED
    if status not in tuple(SessionStatus):
        raise RecordRefused(f"Unknown session status {status!r}.")
    if execute(db, "find_session_whole", session_id=fields["session_id"]).fetchone() is not None:
        _check_author(db, fields, ownership)
        return False
    digest = session_digest(fields["session_id"])
    if ownership.author is not None and execute(db, "is_forgotten", digest=digest).fetchone() is not None:
        raise RecordRefused(f"Session {fields['session_id']} was forgotten here.")
    ended, changed = fields["completed_at"], fields["updated_at"]
    changed = fields["created_at"] if changed is None else changed
    values = fields | {
        "status": status,
        "client": fields["client"] or UNNAMED,
        "prompt_counter": fields["prompt_counter"] or 0,
        "project_id": project["id"],
        "project_name": project["name"],
        "updated_at": changed,
        "created_at_iso": iso(fields["created_at"]),
        "updated_at_iso": iso(changed),
        "completed_at_iso": None if ended is None else iso(ended),
    }
    if not ownership.own:
        # Contexts are rendered for the directories that sessions worked in, and open sessions are waited for.
        values |= {"cwd": None, "transcript_path": None, "status": SessionStatus.COMPLETED}
    if ownership.is_untrusted:
        values["client"] = FOREIGN
    execute(db, "absorb_session", **values)
    author = fields["author"] if ownership.own else ownership.author
    if author is not None:
        execute(db, "set_author", session_id=fields["session_id"], author=author)
    return True


def _prompt(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    values = fields | {"prompt_number": fields["number"], "prompt": fields["text"]}
    return _add_new(db, "prompt", values | _session_context(db, fields), ownership)


def _event(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    key = fields["effect_key"] or fields["event_id"]
    if not key:
        raise RecordRefused("The event has neither event_id nor effect_key.")
    if fields["event_kind"] not in tuple(Kind):
        raise RecordRefused(f"Unknown event kind {fields['event_kind']!r}.")
    texts = (fields["text"], fields["tool_input"], fields["tool_response"])
    values = fields | {
        "kind": fields["event_kind"],
        "state": JobState.DONE,
        "settled_at_epoch": fields["now"],
        "effect_key": key,
        "event_id": (ownership.own and fields["event_id"]) or _made_id(fields["session_id"], key),
        "prompt_number": fields["prompt_number"] or 0,
        "characters": sum(len(text) for text in texts if text),
    }
    values |= _session_context(db, fields) | ({} if ownership.own else {"cwd": None})
    return _add_new(db, "event", values, ownership)


def _observation(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    if fields["type"] not in TYPES:
        raise RecordRefused(f"Unknown type {fields['type']!r}. Use one of: {', '.join(TYPES)}.")
    _check_source(fields)
    key = content_key(value_of(Observation, fields))
    if key is None and not fields["text"]:
        raise RecordRefused("The observation is empty.")
    context = _session_context(db, fields) | _other_project(db, fields["project"])
    known = _known(_named(db, fields["session_id"], fields["at"], key), fields, context["project_id"])
    if known is not None:
        if ownership.author is not None:
            _check_author(db, fields, ownership)
            _follow(db, known, fields)
        return False
    if (
        ownership.is_untrusted
        and observations.find_same(db, context["project_id"], key, fields["at"]) is not None
    ):
        return False  # the project knows that much already
    _may_add(db, fields | context, ownership)
    older = _superseded(db, fields, context["project_id"], ownership)
    values = (
        fields | context | {"content_key": key, "supersedes": older, "source": fields["source"] or "work"}
    )
    values |= {name: array(fields[name]) for name, shape in FIELDS["observation"].items() if shape == LIST}
    if ownership.is_untrusted:
        values |= {"source": "external", "pinned": 0, "client": FOREIGN, "provider": FOREIGN}
    newer = added(db, "add_observation", **_columns(values))
    if older is not None:
        execute(db, "absorb_supersession", newer=newer, older=older)
    return True


def _check_source(fields: Fields) -> None:
    if fields["source"] not in (None, *SOURCES):
        raise RecordRefused(f"Unknown source {fields['source']!r}. Use one of: {', '.join(SOURCES)}.")


def _sighting(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    seen = _referred(db, fields["observation"])
    if seen is None:
        raise RecordRefused("The sighting refers to an observation that no earlier record defines.")
    values = fields | _session_context(db, fields) | {"observation_id": seen["id"]}
    if execute(db, "find_sighting", **values).fetchone() is not None:
        return False
    _may_add(db, values | {"session_id": fields["session_id"]}, ownership)
    if ownership.is_untrusted and seen["session_client"] != FOREIGN:
        raise RecordRefused("An untrusted file cannot confirm one of your own memories.")
    execute(db, "add_sighting", **_columns(values))
    return True


def _summary(db: Connection, fields: Fields, ownership: Ownership) -> bool:
    _check_source(fields)
    values = {name: array(fields[name]) for name in ("files_read", "files_edited")}
    values["source"] = "external" if ownership.is_untrusted else (fields["source"] or "work")
    context = _session_context(db, fields)
    is_new = _add_new(db, "summary", fields | values | context, ownership)
    if is_new and ownership.author is not None:
        # Its title on its own machine may come from a prompt, which was not shared.
        summary = Summary(fields["request"], None, fields["learned"], fields["completed"])
        observations.set_session_title(db, context["id"], _last_of(db, context["id"]), summary)
    return is_new


def _last_of(db: Connection, session_id: int) -> int:
    """The id of a session's newest summary."""
    return max(int(row["id"]) for row in execute(db, "summaries_left", session_id=session_id))


_TAKE: dict[str, Callable[[Connection, Fields, Ownership], bool]] = {
    "project": _project,
    "session": _session,
    "prompt": _prompt,
    "event": _event,
    "observation": _observation,
    "sighting": _sighting,
    "summary": _summary,
}


def _session_context(db: Connection, fields: Fields) -> Fields:
    """The session that a record belongs to, and its time as text."""
    row = execute(db, "find_session_whole", session_id=fields["session_id"]).fetchone()
    if row is None:
        raise RecordRefused(f"No earlier record defines its session {fields['session_id']}.")
    return dict(row) | {"created_at": iso(fields["at"]), "created_at_epoch": fields["at"]}


def _other_project(db: Connection, key: str | None) -> Fields:
    """The project of a memory that is not its session's, if it is not."""
    if key is None:
        return {}
    row = execute(db, "find_project_whole", key=key).fetchone()
    if row is None:
        raise RecordRefused(f"No earlier record defines its project {key}.")
    return {"project": row["name"], "project_id": row["id"]}


def _add_new(db: Connection, kind: str, values: Fields, ownership: Ownership) -> bool:
    """False: it is there already."""
    if execute(db, f"find_{kind}", **values).fetchone() is not None:
        return False
    _may_add(db, values, ownership)
    added_by = "add_job" if kind == "event" else f"add_{kind}"
    return execute(db, added_by, **_columns(values)).rowcount > 0


def _columns(values: Fields) -> Fields:
    """A record's values by the columns of its row."""
    return values | {"session_id": values["id"], "commit_sha": values.get("commit")}


def _may_add(db: Connection, values: Fields, ownership: Ownership) -> None:
    """Whether a new record may be added. A session's memories are what happened here: untrusted records are
    no part of it, and a member only in the member's own."""
    _check_author(db, values, ownership)
    if ownership.is_untrusted and values["session_client"] != FOREIGN:
        raise RecordRefused(
            "It would change one of your own sessions. If you wrote this file, import it with --own."
        )


def _check_author(db: Connection, fields: Fields, ownership: Ownership) -> None:
    if ownership.author is None:
        return
    found = execute(db, "session_author", session_id=fields["session_id"]).fetchone()
    if found is not None and found["author"] != ownership.author:
        raise RecordRefused(f"Session {fields['session_id']} belongs to another member.")


def _follow(db: Connection, id: int, fields: Fields) -> None:
    """Applies what its author has changed since. An edited one has another identity, and is added as new."""
    observations.revise(db, [Revision(id, {name: fields[name] for name in ("pinned", "wrong")})], ())


def _made_id(session_id: str, key: str) -> str:
    """Never the id of an untrusted record: a later event with that id would count as a duplicate."""
    return f"{FOREIGN}-{hashlib.sha256(f'{session_id}/{key}'.encode()).hexdigest()[:32]}"


def _superseded(db: Connection, fields: Fields, project_id: int, ownership: Ownership) -> int | None:
    """What it replaces: nothing made later. An untrusted one may replace an untrusted one of its project, a
    member's one of the member's."""
    older = _referred(db, fields["supersedes"])
    if older is None or older["created_at_epoch"] > fields["at"]:
        return None
    if ownership.own:
        return int(older["id"])
    may = older["session_client"] == FOREIGN
    if ownership.author is not None:
        session = model_records.parse_name(fields["supersedes"])
        found = execute(db, "session_author", session_id=session[0]).fetchone() if session else None
        may = found is not None and found["author"] == ownership.author
    return int(older["id"]) if may and older["project_id"] == project_id else None


def _known(named: list[Row], fields: Fields, project_id: int) -> int | None:
    """The id of the one that is there already. Of those without a key, a session may have several at a time;
    of the others one for each project."""
    for row in named:
        if row["project_id"] == project_id and (row["content_key"] or row["text"] == fields["text"]):
            return int(row["id"])
    return None


def _referred(db: Connection, name: str | None) -> Row | None:
    known = model_records.parse_name(name) if name else None
    return next(iter(_named(db, *known)), None) if known else None


def _named(db: Connection, session_id: str, at: int, key: str | None) -> list[Row]:
    return execute(db, "find_named_observation", session_id=session_id, at=at, content_key=key).fetchall()


AT_ONCE = 200


def records(db: Connection, selection: ExportSelection, now: int) -> Iterator[Record]:
    """In an order that two databases with the same memory share. Nothing is sorted that was not stored in
    that order: a sort would hold all of it in memory."""
    yield {"kind": model_records.FORMAT, "version": model_records.VERSION, "made_at": now}
    sessions = _sessions(db, selection)
    every = json.dumps(sessions)

    def rows(kind: str, statement: str, **parameters: Value) -> Iterator[Record]:
        return (as_record(kind, row) for row in execute(db, statement, **parameters))

    for kind in ("project", "session"):
        yield from rows(kind, f"export_{kind}s", sessions=every)
    for session in sessions:
        yield from rows("prompt", "export_prompts", session=session, some=_some(selection, "prompt"))
    for session in sessions if selection.evidence and not selection.refs else ():
        ids = [row["id"] for row in execute(db, "settled_events", session=session)]
        for some in batches(ids, AT_ONCE):
            yield from rows("event", "export_events", ids=json.dumps(some))
    yield from rows(
        "observation", "export_observations", sessions=every, some=_some(selection, "observation")
    )
    for session in () if selection.refs else sessions:
        yield from rows("sighting", "export_sightings", session=session)
    yield from rows("summary", "export_summaries", sessions=every, some=_some(selection, "summary"))


def _sessions(db: Connection, selection: ExportSelection) -> list[int]:
    """The sessions, oldest first."""
    if selection.refs:
        kinds = {"observations": "observation", "summaries": "summary", "prompts": "prompt"}
        some = {name: _some(selection, kind) for name, kind in kinds.items()}
        found = execute(db, "sessions_of_memories", **some)
    else:
        found = execute(db, "chosen_sessions", **columns(selection))
    return [row["id"] for row in found]


def _some(selection: ExportSelection, kind: str) -> str | None:
    """The chosen ones of a kind, as a JSON array; None: all of them."""
    return json.dumps([ref.id for ref in selection.refs if ref.kind == kind]) if selection.refs else None


def as_record(kind: str, row: Row) -> Record:
    """A row as a record, without nulls, empty lists and false."""
    found = dict(row)
    if found.get("older_at") is not None:
        refers = "supersedes" if kind == "observation" else "observation"
        found[refers] = model_records.name_of(found["older_session"], found["older_at"], found["older_key"])
    made: dict[str, object] = {"kind": kind}
    for field, shape in FIELDS[kind].items():
        value = found.get(field)
        if shape == LIST and value is not None:
            value = json.loads(value) or None
        elif shape == FLAG:
            value = True if value else None
        if value is not None:
            made[field] = value
    return made


class Transfer(Part):
    """Export and import of memories as records."""

    def records(self, selection: ExportSelection) -> Iterator[Record]:
        with self._readers.read() as db:
            yield from records(db, selection, self._clock())

    @transaction
    def absorb(
        self, db: Connection, records: Sequence[Record], *, own: bool, author: str | None = None
    ) -> ImportResult:
        """`author`: the team member who wrote them."""
        return absorb(db, records, self._clock(), own=own, author=author)
