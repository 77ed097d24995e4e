"""What comes into the database as records: merged by what each is, so that doing it twice changes nothing.

A stranger's (not `own`) may say anything. What it says is kept as a stranger's words, in sessions marked as
such; it adds nothing to a session of one's own and takes the place of no memory of one's own.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

from claude_mem.model import records as model_records
from claude_mem.model.events import Kind, Origin
from claude_mem.model.jobs import SessionStatus
from claude_mem.model.memory import Observation, ObservationType, content_key
from claude_mem.model.records import FIELDS, FOREIGN, LIST, Record
from claude_mem.model.refs import Source
from claude_mem.ports.portable import Absorbed
from claude_mem.store.sqlite import memory, standing
from claude_mem.store.sqlite.checking import Fields, Refused, checked
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import array, iso

UNNAMED = "unknown"
"""The client of a session of one's own that says nothing of it."""
TYPES: tuple[str, ...] = get_args(ObservationType)
SOURCES: tuple[str, ...] = get_args(Source)


def absorb(db: sqlite3.Connection, records: Sequence[Record], now: int, *, own: bool) -> Absorbed:
    taken, known, refused = Counter[str](), Counter[str](), []
    for number, record in enumerate(records):
        kind = record.get("kind") if isinstance(record, dict) else None
        if kind == model_records.FORMAT:
            continue
        try:
            fields = checked(record)
            fresh = _TAKE[str(kind)](db, fields | {"now": now}, own)
        except Refused as error:
            refused.append((number, str(error)))
        else:
            (taken if fresh else known)[str(kind)] += 1
    return Absorbed(dict(taken), dict(known), tuple(refused))


def _project(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    # A stranger's paths are not ours: git would be asked in that directory.
    root = (fields["root"] or "") if own else ""
    origin = Origin(fields["key"], fields["name"], root, fields["remote"])
    known = execute(db, "find_project", key=origin.key).fetchone()
    created_at = fields["created_at"]
    standing.project(db, origin, fields["now"] if created_at is None else created_at)
    if known is None and own:  # a stranger's would lead the work of other projects here
        for alias in fields["aliases"]:
            execute(db, "absorb_alias", key=origin.key, alias=alias)
        if fields["named"]:
            execute(db, "absorb_name", key=origin.key)
    return known is None


def _session(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    project = execute(db, "find_project_whole", key=fields["project"]).fetchone()
    if project is None:
        raise Refused(f"Session {fields['session_id']} is of a project that no record before it names.")
    status = fields["status"] or SessionStatus.COMPLETED
    if status not in tuple(SessionStatus):
        raise Refused(f"{status!r} is no state of a session.")
    if execute(db, "find_session_whole", session_id=fields["session_id"]).fetchone() is not None:
        return False
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
    if not own:
        # Contexts are rendered for the directories that sessions worked in, and open sessions are waited for.
        values |= {"client": FOREIGN, "cwd": None, "transcript_path": None, "status": SessionStatus.COMPLETED}
    execute(db, "absorb_session", **values)
    return True


def _prompt(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    values = fields | _of(db, fields)
    if execute(db, "find_prompt", **values).fetchone() is not None:
        return False
    _may_add(values, own)
    execute(db, "absorb_prompt", **values)
    return True


def _event(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    key = fields["effect_key"] or fields["event_id"]
    if not key:
        raise Refused("An event without event_id and effect_key.")
    if fields["event_kind"] not in tuple(Kind):
        raise Refused(f"{fields['event_kind']!r} is no kind of event.")
    texts = (fields["text"], fields["tool_input"], fields["tool_response"])
    values = fields | {
        "effect_key": key,
        "event_id": fields["event_id"] if own and fields["event_id"] else _made_id(fields["session_id"], key),
        "prompt_number": fields["prompt_number"] or 0,
        "characters": sum(len(text) for text in texts if text),
    }
    values |= _of(db, fields)
    if execute(db, "find_event", **values).fetchone() is not None:
        return False
    _may_add(values, own)
    execute(db, "absorb_event", **values | ({} if own else {"cwd": None}))
    return True


def _observation(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    if fields["type"] not in TYPES:
        raise Refused(f"{fields['type']!r} is no type of observation: {', '.join(TYPES)}.")
    if fields["source"] not in (None, *SOURCES):
        raise Refused(f"{fields['source']!r} is no source: {', '.join(SOURCES)}.")
    key = content_key(_said(fields))
    if key is None and not fields["text"]:
        raise Refused("An observation that says nothing.")
    place = _of(db, fields) | _whose(db, fields["project"])
    if _is_there(_named(db, fields["session_id"], fields["at"], key), fields, place["project_id"]):
        return False
    if not own and memory.same(db, place["project_id"], key, fields["at"]) is not None:
        return False  # the project knows that much already
    _may_add(place, own)
    older = _superseded(db, fields["supersedes"], place["project_id"], own)
    values = fields | place | {"content_key": key, "older": older, "source": fields["source"] or "work"}
    values |= {name: array(fields[name]) for name, shape in FIELDS["observation"].items() if shape == LIST}
    if not own:
        values |= {"source": "external", "pinned": 0, "client": FOREIGN, "provider": FOREIGN}
    added = execute(db, "absorb_observation", **values)
    if older is not None:
        execute(db, "absorb_supersession", newer=added.lastrowid, older=older)
    return True


def _sighting(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    seen = _referred(db, fields["observation"])
    if seen is None:
        raise Refused("A sighting of an observation that no record before it holds.")
    values = fields | _of(db, fields) | {"observation_id": seen["id"]}
    if execute(db, "find_sighting", **values).fetchone() is not None:
        return False
    _may_add(values, own)
    if not own and seen["session_client"] != FOREIGN:
        raise Refused("A stranger's sighting of a memory of your own: it would be trusted the more for it.")
    execute(
        db,
        "add_sighting",
        observation_id=seen["id"],
        session_id=values["id"],
        prompt_number=fields["prompt_number"],
        created_at=values["at_iso"],
        created_at_epoch=fields["at"],
    )
    return True


def _summary(db: sqlite3.Connection, fields: Fields, own: bool) -> bool:
    kept = {name: array(fields[name]) for name in ("files_read", "files_edited")}
    values = fields | kept | _of(db, fields)
    if execute(db, "find_summary", **values).fetchone() is not None:
        return False
    _may_add(values, own)
    execute(db, "absorb_summary", **values)
    return True


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


def _whose(db: sqlite3.Connection, key: str | None) -> Fields:
    """The project of a memory that is not its session's, if it is not."""
    if key is None:
        return {}
    row = execute(db, "find_project_whole", key=key).fetchone()
    if row is None:
        raise Refused(f"It is of project {key}, which no record before it names.")
    return {"project": row["name"], "project_id": row["id"]}


def _may_add(values: Fields, own: bool) -> None:
    """Something new. What a session here holds is what happened here: strangers have no part in it."""
    if not own and values["session_client"] != FOREIGN:
        raise Refused("It would add to a session of your own. If the file is yours, import it with --own.")


def _made_id(session_id: str, key: str) -> str:
    """Not the one a stranger gives: an event that comes tomorrow under that name would count as known."""
    return f"{FOREIGN}-{hashlib.sha256(f'{session_id}/{key}'.encode()).hexdigest()[:32]}"


def _superseded(db: sqlite3.Connection, name: str | None, project_id: int, own: bool) -> int | None:
    """What it stands in the place of. A stranger's may stand in a stranger's, of the same project."""
    older = _referred(db, name)
    if older is None:
        return None
    foreign = older["session_client"] == FOREIGN and older["project_id"] == project_id
    return int(older["id"]) if own or foreign else None


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


def _is_there(named: list[sqlite3.Row], fields: Fields, project_id: int) -> bool:
    """Of those without a key, a session may have several at a time; of the others one for each project."""
    return any(
        row["project_id"] == project_id and (row["content_key"] or row["text"] == fields["text"])
        for row in named
    )


def _referred(db: sqlite3.Connection, name: str | None) -> sqlite3.Row | None:
    known = model_records.parse_name(name) if name else None
    return next(iter(_named(db, *known)), None) if known else None


def _named(db: sqlite3.Connection, session_id: str, at: int, key: str | None) -> list[sqlite3.Row]:
    return execute(db, "find_named_observation", session_id=session_id, at=at, content_key=key).fetchall()
