"""What comes into the database as records: merged by what each is, so that doing it twice changes nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, get_args

from claude_mem.model import portable
from claude_mem.model.likeness import content_key
from claude_mem.model.observation import Observation, ObservationType
from claude_mem.model.origin import Origin
from claude_mem.model.portable import FIELDS, FLAG, INT, LIST, REQUIRED, TEXT, Record
from claude_mem.model.session import Status
from claude_mem.ports.portable import Absorbed
from claude_mem.store.sqlite import standing
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value, array, iso, storable

LONGEST = 1 << 20  # characters of a text: far more than anything that capture keeps
MOST_ITEMS = 10_000
LATEST = 253_402_300_799_999  # the end of the year 9999
TYPES: tuple[str, ...] = get_args(ObservationType)
SOURCES = ("work", "external", "user")

Fields = dict[str, Any]


class Refused(ValueError):
    """`str()` is a sentence that says what is wrong with a record."""


def absorb(db: sqlite3.Connection, records: Sequence[Record], now: int, *, own: bool) -> Absorbed:
    taken, known, refused = Counter[str](), Counter[str](), []
    for number, record in enumerate(records):
        kind = record.get("kind") if isinstance(record, dict) else None
        if kind == portable.FORMAT:
            continue
        try:
            fields = checked(record)
            fresh = _TAKE[str(kind)](db, fields | {"now": now}, own)
        except Refused as error:
            refused.append((number, str(error)))
        else:
            (taken if fresh else known)[str(kind)] += 1
    return Absorbed(dict(taken), dict(known), tuple(refused))


def checked(record: object) -> Fields:
    """All the fields of its kind, each of its shape; unknown ones are passed over. Raises Refused."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(record, dict) or kind not in FIELDS:
        raise Refused(f"It is no record: its kind is none of {', '.join(FIELDS)}.")
    fields = {name: _shaped(name, shape, record.get(name)) for name, shape in FIELDS[kind].items()}
    missing = [name for name in REQUIRED[kind] if fields[name] in (None, "")]
    if missing:
        raise Refused(f"A {kind} without {' and '.join(missing)}.")
    return fields


def _shaped(name: str, shape: str, value: object) -> object:
    if shape == LIST:
        items = [] if value is None else value
        if not isinstance(items, list) or len(items) > MOST_ITEMS:
            raise Refused(f"{name} is no list of texts.")
        return [_text(name, item) for item in items]
    if value is None or value is False:
        return 0 if shape == FLAG else None
    if shape == TEXT:
        return _text(name, value)
    if shape == INT and isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST:
        return value
    if shape == FLAG and value is True:
        return 1
    raise Refused(f"{name} is no {shape}.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Refused(f"{name} is no text.")
    if len(value) > LONGEST:
        raise Refused(f"{name} is longer than {LONGEST:,} characters.")
    return str(storable(value))


def _project(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    origin = Origin(fields["key"], fields["name"], fields["root"] or "", fields["remote"])
    known = execute(db, "find_project", key=origin.key).fetchone()
    standing.project(db, origin, fields["created_at"] or fields["now"])
    return known is None


def _session(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    project = execute(db, "find_project_whole", key=fields["project"]).fetchone()
    if project is None:
        raise Refused(f"Session {fields['session_id']} is of a project that no record before it names.")
    status = fields["status"] or Status.COMPLETED
    if status not in tuple(Status):
        raise Refused(f"{status!r} is no state of a session.")
    ended = fields["completed_at"]
    values = fields | {
        "status": status,
        "client": fields["client"] or "import",
        "prompt_counter": fields["prompt_counter"] or 0,
        "project_id": project["id"],
        "project_name": project["name"],
        "updated_at": fields["updated_at"] or fields["created_at"],
        "created_at_iso": iso(fields["created_at"]),
        "updated_at_iso": iso(fields["updated_at"] or fields["created_at"]),
        "completed_at_iso": None if ended is None else iso(ended),
    }
    return _added(db, "absorb_session", values)


def _prompt(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    return _added(db, "absorb_prompt", fields | _of(db, fields))


def _event(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    key = fields["effect_key"] or fields["event_id"]
    if not key:
        raise Refused("An event without event_id and effect_key.")
    texts = (fields["text"], fields["tool_input"], fields["tool_response"])
    values = fields | {
        "effect_key": key,
        "event_id": fields["event_id"] or f"import-{fields['session_id']}-{key}",
        "prompt_number": fields["prompt_number"] or 0,
        "characters": sum(len(text) for text in texts if text),
    }
    return _added(db, "absorb_event", values | _of(db, fields))


def _observation(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    if fields["type"] not in TYPES:
        raise Refused(f"{fields['type']!r} is no type of observation: {', '.join(TYPES)}.")
    if fields["source"] not in (None, *SOURCES):
        raise Refused(f"{fields['source']!r} is no source: {', '.join(SOURCES)}.")
    key = content_key(_said(fields))
    if key is None and not fields["text"]:
        raise Refused("An observation that says nothing.")
    place = _of(db, fields)
    if _named(db, fields["session_id"], fields["at"], key) is not None:
        return False
    older = _referred(db, fields["supersedes"])
    kept = {name: array(fields[name]) for name, shape in FIELDS["observation"].items() if shape == LIST}
    values = fields | place | kept
    values |= {"content_key": key, "older": older, "source": fields["source"] or "work"}
    if not own:
        values |= {"source": "external", "pinned": 0}
    added = _run(db, "absorb_observation", values)
    if older is not None:
        execute(db, "absorb_supersession", newer=added.lastrowid, older=older)
    return True


def _sighting(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    seen = _referred(db, fields["observation"])
    if seen is None:
        raise Refused("A sighting of an observation that no record before it holds.")
    values = fields | _of(db, fields) | {"observation_id": seen}
    if _run(db, "find_sighting", values).fetchone() is not None:
        return False
    execute(
        db,
        "add_sighting",
        observation_id=seen,
        session_id=values["id"],
        prompt_number=fields["prompt_number"],
        created_at=values["at_iso"],
        created_at_epoch=fields["at"],
    )
    return True


def _summary(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    del own
    kept = {name: array(fields[name]) for name in ("files_read", "files_edited")}
    values = fields | kept | _of(db, fields)
    if _run(db, "find_summary", values).fetchone() is not None:
        return False
    return _added(db, "absorb_summary", values)


_TAKE: dict[str, Callable[[sqlite3.Connection, Fields, bool], bool]] = {
    "project": _project,
    "session": _session,
    "prompt": _prompt,
    "event": _event,
    "observation": _observation,
    "sighting": _sighting,
    "summary": _summary,
}


def _of(db: sqlite3.Connection, fields: Fields) -> Fields:
    """The session that a record belongs to, and its time as text."""
    row = execute(db, "find_session_whole", session_id=fields["session_id"]).fetchone()
    if row is None:
        raise Refused(f"It is of session {fields['session_id']}, which no record before it names.")
    return dict(row) | {"at_iso": iso(fields["at"])}


def _said(fields: Fields) -> Observation:
    return Observation(
        type=fields["type"],
        title=fields["title"],
        subtitle=fields["subtitle"],
        narrative=fields["narrative"],
        facts=tuple(fields["facts"]),
        concepts=tuple(fields["concepts"]),
        files_read=tuple(fields["files_read"]),
        files_modified=tuple(fields["files_modified"]),
    )


def _referred(db: sqlite3.Connection, name: str | None) -> int | None:
    known = portable.named(name) if name else None
    return _named(db, *known) if known else None


def _named(db: sqlite3.Connection, session_id: str, at: int, key: str | None) -> int | None:
    row = execute(db, "find_named_observation", session_id=session_id, at=at, content_key=key).fetchone()
    return None if row is None else int(row["id"])


def _added(db: sqlite3.Connection, query: str, values: Fields) -> bool:
    return _run(db, query, values).rowcount == 1


def _run(db: sqlite3.Connection, query: str, values: dict[str, Value]) -> sqlite3.Cursor:
    return execute(db, query, **values)
