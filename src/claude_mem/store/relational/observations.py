"""Writes observations, each once and with its provenance; marks those they supersede; changes them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from claude_mem.model.clock import iso
from claude_mem.model.jobs import Lease
from claude_mem.model.memory import Findings, Observation, Summary, content_key
from claude_mem.model.refs import Ref
from claude_mem.store.relational.part import Connection, added, execute
from claude_mem.store.relational.rows import Value, array, columns, text, value_of
from claude_mem.store.values import ChangedMeanwhile, FieldValue, Revision


def add_sighting(
    db: Connection, id: int, sighting: Mapping[str, Value], row: Mapping[str, Value], at: int
) -> None:
    """Records that an observation was made again. `sighting`: when and where; `row`: the observation as it
    would have been added.

    It belongs to the session that made it first, whatever the order of imports: past sessions are imported
    newest first, so an existing observation may move to a session that is imported later."""
    known = execute(db, "first_seen", id=id).fetchone()
    if at >= known["created_at_epoch"] or known["session_id"] == sighting["session_id"] or known["stays"]:
        execute(db, "add_sighting", observation_id=id, **sighting)
        return
    ref = Ref("observation", id)
    execute(db, "add_sighting", observation_id=id, **{name: known[name] for name in sighting})
    db.words.take_out(db, [ref])
    execute(db, "move_observation", **row, id=id)
    db.vectors.follow(db, ref, known["project_id"], known["session_id"])
    db.words.reindex(db, [ref])


ARRAYS = ("facts", "concepts", "files_read", "files_modified")
SAME_WITHIN_MS = 30 * 24 * 60 * 60 * 1000
"""Within this period, the same text counts as a repetition. Before or after it, the text is new
information."""

COMPARED = 200
"""How many of a project's newest observations can be superseded."""

LONGEST_TITLE = 80
LONGEST_SUBTITLE = 120

StoredObservation = tuple[int, Observation]

_UNMARKED: dict[str, Value] = {"text": None, "pinned": 0, "wrong": 0}
"""The columns of an observation that only the user or another tool sets."""


def remember(db: Connection, lease: Lease, findings: Findings, provider: str | None) -> list[Ref]:
    """Adds the observations; returns those that are new."""
    new: list[Ref] = []
    if not findings.observations and not findings.summaries:
        return new
    last = lease.jobs[-1]
    source = execute(db, "provenance", id=last.id).fetchone()
    if source is None:
        return new  # the session was deleted meanwhile; so are its jobs, and settling them raises
    at = max(job.event.at for job in lease.jobs)
    project_id: int = source["project_id"]
    sighting: dict[str, Value] = {
        "session_id": lease.session_id,
        "prompt_number": last.prompt_number,
        "created_at": iso(at),
        "created_at_epoch": at,
    }
    tools = [job.event.tool for job in lease.jobs if job.event.tool]
    uses = array([tool.use_id for tool in tools if tool.use_id])
    provenance: dict[str, Value] = dict(source) | {"tool_use_ids": uses, "provider": provider}
    # Queried before the first is added: the observations of one reply do not supersede each other.
    current = current_observations(db, project_id, at) if findings.observations else []
    for observation in findings.observations:
        key = content_key(observation)
        known = find_same(db, project_id, key, at)
        metadata = {**sighting, **provenance, "content_key": key, "source": findings.source_of(observation)}
        if known is not None:
            add_sighting(db, known, sighting, {**columns(observation), **metadata}, at)
        else:
            old = {title for new, title in findings.replaces if new == observation.title}
            id = add_observation(
                db, observation, current, metadata, find_titled(db, lease.session_id, old) if old else ()
            )
            new.append(Ref("observation", id))
    for summary in findings.summaries:
        metadata = {**sighting, "project": source["project"], "source": findings.source_of(summary)}
        id = added(db, "add_summary", **columns(summary), **metadata)
        new.append(Ref("summary", id))
        set_session_title(db, lease.session_id, id, summary, findings.title)
    return new


def find_same(db: Connection, project_id: int, key: str | None, at: int) -> int | None:
    """An existing observation of the project with the same content."""
    parameters: dict[str, Value] = {"project_id": project_id, "content_key": key, "at": at}
    row = (
        execute(db, "same_content", **parameters, since=at - SAME_WITHIN_MS).fetchone()
        or execute(db, "same_content_later", **parameters, until=at + SAME_WITHIN_MS).fetchone()
    )
    return None if row is None else int(row["id"])


def current_observations(db: Connection, project_id: int, at: int) -> list[StoredObservation]:
    """The project's newest observations from before this time: a batch that is settled late supersedes
    nothing that came after it."""
    found = execute(db, "current_observations", project_id=project_id, before=at, limit=COMPARED)
    return [(row["id"], value_of(Observation, row)) for row in found]


def find_titled(db: Connection, session_id: int, titles: Collection[str]) -> list[int]:
    """The session's observations of these titles that nothing has superseded; none that the user saved."""
    found = execute(db, "current_titles", session_id=session_id).fetchall()
    return [row["id"] for row in found if row["title"] in titles]


def add_observation(
    db: Connection,
    new: Observation,
    current: list[StoredObservation],
    metadata: dict[str, Value],
    replaced: Sequence[int] = (),
) -> int:
    """Adds an observation and marks those it supersedes: `replaced`, as its observer says, and at most one of
    `current`, from which they are removed. `metadata`: the columns that say when, where and by whom."""
    older = next((id for id, known in current if id in replaced or supersedes(new, known)), None)
    superseded = dict.fromkeys([*replaced, *([older] if older is not None else [])])
    values = {**columns(new), **metadata, **_UNMARKED, "supersedes": next(iter(superseded), None)}
    newer = added(db, "add_observation", **values)
    for id in superseded:
        execute(db, "supersede_observation", id=id, newer=newer)
    current[:] = [known for known in current if known[0] not in superseded]
    return newer


def set_session_title(
    db: Connection, session_id: int, summary_id: int, summary: Summary, title: str | None = None
) -> None:
    """Names a session after a summary's request, or by the `title` that its observer prefers."""
    if not summary.request:
        return
    called = _cut(title or summary.request, LONGEST_TITLE)
    subtitle = _cut(summary.completed or summary.learned, LONGEST_SUBTITLE)
    named: dict[str, Value] = {"session_id": session_id, "summary_id": summary_id}
    execute(db, "set_session_title", **named, title=called, subtitle=subtitle)


def _cut(text: str | None, most: int) -> str | None:
    """On one line, cut after a complete word if there are words."""
    line = " ".join((text or "").split())
    if len(line) <= most:
        return line or None
    head, _, _ = line[:most].rpartition(" ")
    return (head if len(head) > most // 2 else line[: most - 1]).rstrip(" ,;:.-") + "…"


SEARCHED = ("title", "subtitle", "narrative", "facts", "concepts")
"""The columns that are searched."""


def revise(db: Connection, revisions: Sequence[Revision], expected: Sequence[Revision]) -> list[Revision]:
    """Changes the rows and their index entries, in one transaction."""
    for each in expected:
        row = _row(db, each.id)
        if row is None or any(row[name] != _storable(value) for name, value in each.values.items()):
            raise ChangedMeanwhile(f"Observation {each.id} has been changed again since, or was deleted.")
    before = []
    for revision in revisions:
        row = _row(db, revision.id)
        if row is not None:
            before.append(Revision(revision.id, {name: row[name] for name in revision.values}))
            _write(db, row, row | {name: _storable(value) for name, value in revision.values.items()})
    return before


def _row(db: Connection, id: int) -> dict[str, Any] | None:
    found = execute(db, "observation_to_revise", id=id).fetchone()
    if found is None:
        return None
    row = dict(found)
    return row | {name: tuple(json.loads(row[name])) for name in ARRAYS}


def _write(db: Connection, old: dict[str, Any], new: dict[str, Any]) -> None:
    ref = Ref("observation", old["id"])
    reworded = any(old[name] != new[name] for name in SEARCHED)
    if reworded:
        db.words.take_out(db, [ref])
        # Also when an edit is undone, because forgetting must know that the text was different.
        new["edited_at_epoch"] = new["edited_at_epoch"] or old["edited_at_epoch"]
    # An edited one is identified by its new content: exported and imported again, it is still the same.
    key = content_key(value_of(Observation, new)) if reworded else old["content_key"]
    values = {name: array(value) if name in ARRAYS else value for name, value in new.items()}
    execute(db, "revise_observation", **values | {"content_key": key})
    if reworded:
        db.words.reindex(db, [ref])
        db.vectors.make_again(db, ref)


def _storable(value: FieldValue) -> FieldValue:
    if isinstance(value, str):
        return text(value)
    return tuple(map(text, value)) if isinstance(value, tuple) else value


SAME_SUBJECT = 0.6  # of the words of both titles
NEAR_IDENTICAL = 0.8
FEWEST_SHARED = 2  # words that say more than the files' names do
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # kana and han are written without spaces
_WORD = rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+"  # 3 ms to compile, so when used
_LITTLE = """
a an and are as at be by for from has in into is it its now of on or that the this to was were when with
add added adds change changed changes create created creates fix fixed fixes new remove removed removes
update updated updates use used uses
"""
_STOP_WORDS = frozenset(_LITTLE.split())
_VALUE = r"(?:\b(?:is|are|was|to|at|now)\b|=)\s*[`'\"]?(\d[\w.,:]*)"


def supersedes(new: Observation, old: Observation) -> bool:
    """Whether `new`, written later in the same project, is a later state of what `old` describes.

    x is weaker and can be explained: the newer one has the same subject (most of
    the titles' words, and not each its own word for something: "when the store fails" is not "when the
    provider fails"), is about the same place (a file both changed) and says something else. Such a pair is
    nearly always a later state of one thing. The bar is high on purpose: one that is wrongly left current
    costs a line in a list, one that is wrongly superseded is a memory that recall passes over.
    """
    if new.files_modified or old.files_modified:
        enough, shared_files = SAME_SUBJECT, frozenset(new.files_modified) & frozenset(old.files_modified)
        same_files = bool(shared_files)
    else:  # nothing but the subject to go by
        enough, shared_files = NEAR_IDENTICAL, frozenset()
        same_files = bool(new.concepts) and frozenset(new.concepts) == frozenset(old.concepts)
    if not same_files:
        return False
    new_subject, old_subject = _subject(new.title), _subject(old.title)
    shared = new_subject & old_subject
    if len(shared) < enough * len(new_subject | old_subject):
        return False
    if len(shared.difference(*map(_subject, shared_files))) < FEWEST_SHARED:
        return False
    if new_subject - old_subject - _values(new.title) and old_subject - new_subject - _values(old.title):
        return False  # each names something that the other does not
    return content_key(new) != content_key(old)


def _subject(text: str | None) -> frozenset[str]:
    """The words that say what it is about; of writing without spaces, each two neighbouring signs."""
    found: set[str] = set()
    for word in re.findall(_WORD, unicodedata.normalize("NFKC", text or "").casefold()):
        if re.match(f"[{_UNSPACED}]", word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in _STOP_WORDS:
            found.add(word)
    return frozenset(found)


def _values(text: str | None) -> frozenset[str]:
    """Of the words of a subject, the numbers it has a state in: "is 30", not "issue 30"."""
    found = re.findall(_VALUE, unicodedata.normalize("NFKC", text or "").casefold())
    return frozenset[str]().union(*map(_subject, found))
