"""Memories: saved once with their provenance, corrected, read by search and by lists."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from claude_mem.model.events import Origin
from claude_mem.model.jobs import Lease, SessionStatus
from claude_mem.model.memory import Memory, Observation, Summary, content_key
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, Ref, Source, kind_at, ref_at, span
from claude_mem.store.similarity import supersedes
from claude_mem.store.sqlite import cards, memory_filters, projects, text_index, vector_index
from claude_mem.store.sqlite.connection import Readers, Value, Writer, array, execute, iso, text
from claude_mem.store.sqlite.memory_filters import MANY_WRONG, MemoryFilter, keys_of_file
from claude_mem.store.sqlite.text_document import placed
from claude_mem.store.values import (
    ChangedMeanwhile,
    FieldValue,
    FileMemory,
    ListPosition,
    Project,
    Revision,
    TextMatches,
    TextQuery,
)

# Decides whose an observation is that several sessions made: whose it was first, whoever told it first.
#
# The past is told newest first, and what was learned then is told after it was learned again. So what is
# there already may have to go to a session that is told later.


def seen_again(
    db: sqlite3.Connection, id: int, seen: Mapping[str, Value], made: Mapping[str, Value], at: int
) -> None:
    """`seen`: when and where it was this time; `made`: all of it, as it would have been added."""
    known = execute(db, "first_seen", id=id).fetchone()
    if at >= known["created_at_epoch"] or known["session_id"] == seen["session_id"] or known["stays"]:
        execute(db, "add_sighting", observation_id=id, **seen)
        return
    ref = Ref("observation", id)
    execute(db, "add_sighting", observation_id=id, **{name: known[name] for name in seen})
    text_index.take_out(db, [ref])
    execute(db, "give_observation", **made, id=id)
    vector_index.follow(db, ref, known["project_id"], known["session_id"])
    text_index.put_back(db, [ref])


# Rows as the values of the model.


def observation_of_row(row: sqlite3.Row) -> Observation:
    return Observation(
        type=row["type"],
        title=row["title"],
        subtitle=row["subtitle"],
        narrative=row["narrative"],
        facts=_texts(row["facts"]),
        concepts=_texts(row["concepts"]),
        files_read=_texts(row["files_read"]),
        files_modified=_texts(row["files_modified"]),
    )


def _texts(array: str) -> tuple[str, ...]:
    return tuple(json.loads(array))


# Keeping what a batch taught, with where it came from: once, and in the place of what it supersedes.


SAME_WITHIN_MS = 30 * 24 * 60 * 60 * 1000
"""The same words much later are news again: somebody found it worth saying once more. Much earlier, they were
news then."""

COMPARED = 200
"""Of a project's observations, the newest so many can be superseded."""

TITLE = 80
SUBTITLE = 120

StoredObservation = tuple[int, Observation]


def remember(db: sqlite3.Connection, held: Lease, memory: Memory, provider: str | None) -> None:
    if not memory.observations and not memory.summaries:
        return
    last = held.jobs[-1]
    source = execute(db, "provenance", id=last.id).fetchone()
    if source is None:
        return  # the session was deleted meanwhile; its jobs are gone too, so settling them will say so
    at = max(job.event.at for job in held.jobs)
    project_id: int = source["project_id"]
    seen: dict[str, Value] = {
        "session_id": held.session_id,
        "prompt_number": last.prompt_number,
        "created_at": iso(at),
        "created_at_epoch": at,
    }
    tools = [job.event.tool for job in held.jobs if job.event.tool]
    provenance: dict[str, Value] = {
        "project": source["project"],
        "project_id": project_id,
        "client": source["client"],
        "branch": source["branch"],
        "commit_sha": source["commit_sha"],
        "tool_use_ids": array([tool.use_id for tool in tools if tool.use_id]),
        "provider": provider,
    }
    # Asked before the first is added: what one reply tells side by side does not supersede itself.
    before = current_observations(db, project_id, at) if memory.observations else []
    for observation in memory.observations:
        key = content_key(observation)
        again = same(db, project_id, key, at)
        around = {**seen, **provenance, "content_key": key, "source": memory.source_of(observation)}
        if again is not None:
            seen_again(db, again, seen, {**_observation(observation), **around}, at)
        else:
            add(db, observation, before, around)
    for summary in memory.summaries:
        execute(db, "add_summary", **_summary(summary), **seen, project=source["project"])
        entitle(db, held.session_id, summary)


def same(db: sqlite3.Connection, project_id: int, key: str | None, at: int) -> int | None:
    """An observation of the project that says this already."""
    asked: dict[str, Value] = {"project_id": project_id, "content_key": key, "at": at}
    row = (
        execute(db, "same_content", **asked, since=at - SAME_WITHIN_MS).fetchone()
        or execute(db, "same_content_later", **asked, until=at + SAME_WITHIN_MS).fetchone()
    )
    return None if row is None else int(row["id"])


def current_observations(db: sqlite3.Connection, project_id: int, at: int) -> list[StoredObservation]:
    """From before this batch's time: work that is settled late does not supersede what came after it."""
    found = execute(db, "standing_observations", project_id=project_id, before=at, limit=COMPARED)
    return [(row["id"], observation_of_row(row)) for row in found]


def add(
    db: sqlite3.Connection, new: Observation, before: list[StoredObservation], around: dict[str, Value]
) -> int:
    older = next((known for known in before if supersedes(new, known[1])), None)
    added = execute(db, "add_observation", **_observation(new), **around, supersedes=older and older[0])
    if older is not None:
        execute(db, "supersede_observation", id=older[0], newer=added.lastrowid)
        before.remove(older)
    assert added.lastrowid is not None
    return added.lastrowid


def entitle(db: sqlite3.Connection, session_id: int, summary: Summary) -> None:
    title, subtitle = _cut(summary.request, TITLE), _cut(summary.completed or summary.learned, SUBTITLE)
    if title:
        execute(db, "entitle_session", session_id=session_id, title=title, subtitle=subtitle)


def _cut(text: str | None, most: int) -> str | None:
    """On one line, ended after a whole word where there are words."""
    line = " ".join((text or "").split())
    if len(line) <= most:
        return line or None
    head, _, _ = line[:most].rpartition(" ")
    return (head if len(head) > most // 2 else line[: most - 1]).rstrip(" ,;:.-") + "…"


def _observation(observation: Observation) -> dict[str, Value]:
    return {
        "type": observation.type,
        "title": observation.title,
        "subtitle": observation.subtitle,
        "narrative": observation.narrative,
        "facts": array(observation.facts),
        "concepts": array(observation.concepts),
        "files_read": array(observation.files_read),
        "files_modified": array(observation.files_modified),
    }


def _summary(summary: Summary) -> dict[str, Value]:
    return {
        "request": summary.request,
        "investigated": summary.investigated,
        "learned": summary.learned,
        "completed": summary.completed,
        "next_steps": summary.next_steps,
        "files_read": array(summary.files_read),
        "files_edited": array(summary.files_edited),
        "notes": summary.notes,
    }


# Corrects observations because a person says so: the rows and what is found by their words, in one
# transaction.


_ARRAYS = ("facts", "concepts", "files_read", "files_modified")
_WORDS = ("title", "subtitle", "narrative", "facts", "concepts")
"""What it is found by."""


def _revise(
    db: sqlite3.Connection, revisions: Sequence[Revision], expected: Sequence[Revision]
) -> list[Revision]:
    for each in expected:
        row = _row(db, each.id)
        if row is None or any(row[name] != _fit(value) for name, value in each.values.items()):
            raise ChangedMeanwhile(f"Observation {each.id} was changed again since, or is forgotten.")
    before = []
    for revision in revisions:
        row = _row(db, revision.id)
        if row is not None:
            before.append(Revision(revision.id, {name: row[name] for name in revision.values}))
            _write(db, row, row | {name: _fit(value) for name, value in revision.values.items()})
    return before


def _row(db: sqlite3.Connection, id: int) -> dict[str, Any] | None:
    found = execute(db, "observation_to_revise", id=id).fetchone()
    if found is None:
        return None
    row = {name: found[name] for name in found.keys()}  # noqa: SIM118 - a Row is no dict
    return row | {name: tuple(json.loads(row[name])) for name in _ARRAYS}


def _write(db: sqlite3.Connection, old: dict[str, Any], new: dict[str, Any]) -> None:
    ref = Ref("observation", old["id"])
    reworded = any(old[name] != new[name] for name in _WORDS)
    if reworded:
        text_index.take_out(db, [ref])
        # Also when an edit is taken back: whoever forgets it must know that it said something else.
        new["edited_at_epoch"] = new["edited_at_epoch"] or old["edited_at_epoch"]
    # An edited one goes by its new content: taken out by an export and in again, it is still the same one.
    key = content_key(_observation_of(new)) if reworded else old["content_key"]
    values = {name: array(value) if name in _ARRAYS else value for name, value in new.items()}
    execute(db, "revise_observation", **{name: values[name] for name in _SET}, content_key=key)
    if reworded:
        text_index.put_back(db, [ref])
        vector_index.make_again(db, ref)


_SET = (
    "id",
    "type",
    "title",
    "subtitle",
    "narrative",
    "facts",
    "concepts",
    "pinned",
    "wrong",
    "superseded_by",
    "edited_at_epoch",
)


def _observation_of(row: dict[str, Any]) -> Observation:
    return Observation(
        type=row["type"],
        title=row["title"],
        narrative=row["narrative"],
        facts=row["facts"],
        files_modified=row["files_modified"],
    )


def _fit(value: FieldValue) -> FieldValue:
    if isinstance(value, str):
        return text(value)
    return tuple(map(text, value)) if isinstance(value, tuple) else value


# What recall reads, on one SQLite file: matches, cards, lists, files, projects, sessions.


SIZES_HOLD = 0.02
"""A span is counted again when the index has grown by this part of it."""
OF_FILE = 5_000
"""Memories of a file whose times are compared, where no filter leaves fewer."""
BESIDE = 2_000
"""Of those in a folder, which say less."""


class Memories:
    """Reads, adds and corrects memories. Each call sees one state of the store; any thread may call it.
    Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer
        self._sizes: dict[tuple[int, int], tuple[int, int]] = {}
        self._frequent = text_index.Frequent()

    def remember(
        self,
        observation: Observation,
        origin: Origin,
        *,
        session: str,
        at: int,
        source: Source = "user",
        client: str = "user",
        provider: str | None = None,
    ) -> tuple[Ref, bool]:
        """Save it in the origin's project, under this session (made if it is new). Returns it, and whether it
        is new: what the project knows already is not stored twice."""
        return self._writer.run(
            lambda db: _add_by_hand(db, observation, origin, session, at, source, client, provider)
        )

    def revise(self, revisions: Sequence[Revision], expected: Sequence[Revision] = ()) -> list[Revision]:
        """Change them all, or (raising ChangedMeanwhile, if what is expected is not so any more) none; found
        by their new words at once, durable on return. Returns how they were; those not there are left out."""
        return self._writer.run(lambda db: _revise(db, revisions, expected))

    def passing(self, filters: Filters) -> MemoryFilter | None:
        """None: nothing is asked but the project, and what is marked wrong is too little to be in the way."""
        if filters in (Filters(filters.project_id), Filters(filters.project_id, wrong=False)):
            with self._readers.read() as db:
                wrong = memory_filters.list_refs(
                    db, replace(filters, wrong=True), memory_filters.ListOptions(MANY_WRONG + 1)
                )
            if filters.wrong is None or len(wrong) <= MANY_WRONG:
                return None
        return MemoryFilter(self._readers, filters)

    def match(
        self, wording: TextQuery, within: tuple[int, int] | None, passing: MemoryFilter | None = None
    ) -> TextMatches:
        """What each expression matches in a span (or in all). Expressions that are too frequent to be weighed
        are looked for among those that pass."""
        with self._readers.read() as db:
            everything = text_index.size_of_all(db)
            sizes = text_index.Sizes(self._size(db, within, everything) if within else everything, everything)
            found = text_index.match(db, wording, within, sizes, self._frequent, passing)
            return TextMatches(sizes.span, tuple(found))

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        """Those that exist, in no order."""
        with self._readers.read() as db:
            return cards.cards(db, refs)

    def whole(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all the columns they have."""
        with self._readers.read() as db:
            return cards.whole(db, refs)

    def listed(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Card]:
        """By time, without a query; at one moment what was asked comes before what was done, and that before
        what was understood of it. By file as far as the index is."""
        with self._readers.read() as db:
            chosen = memory_filters.list_refs(
                db, filters, memory_filters.ListOptions(limit, offset, newest_first, after)
            )
            by_ref = {card.ref: card for card in cards.cards(db, chosen)}
        return [by_ref[ref] for ref in chosen if ref in by_ref]

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Ref]:
        """The same list, without reading what the memories say."""
        with self._readers.read() as db:
            options = memory_filters.ListOptions(limit, offset, newest_first, after)
            return list(memory_filters.list_refs(db, filters, options))

    def count(self, filters: Filters) -> int:
        """How many such a list has in all."""
        with self._readers.read() as db:
            return memory_filters.count_memories(db, filters)

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Also of what says nothing, as a private prompt."""
        with self._readers.read() as db:
            return {kind: int(execute(db, f"last_{kind}").fetchone()[0]) for kind in KINDS}

    def touched(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The keys of a file's memories, the newest first, and how each is about it (see `FileMemory`): one
        path is the other's, or the end of it."""
        with self._readers.read() as db:
            return list(_of_file(db, path, filters, limit).values())

    def touching(self, path: str, filters: Filters, limit: int) -> list[FileMemory]:
        """The same, with their cards."""
        with self._readers.read() as db:
            found = _of_file(db, path, filters, limit)
            by_ref = {card.ref: card for card in cards.cards(db, list(found))}
        return [FileMemory(by_ref[ref], how) for ref, (_, how) in found.items() if ref in by_ref]

    def beside(
        self, folder: str, project_id: int | None, passing: MemoryFilter | None = None, *, limit: int = BESIDE
    ) -> list[tuple[int, str]]:
        """Keys of the memories of files in a folder and below it, and the files' paths."""
        first, last = span(project_id) if project_id is not None else text_index.EVERYWHERE
        folder, _ = placed(f"{folder}/x")
        rows_read = limit if passing is None else -1
        found: list[tuple[int, str]] = []
        with self._readers.read() as db:
            rows = execute(db, "files_under", folder=folder, first=first, last=last, limit=rows_read)
            while len(found) < limit and (some := list(islice(rows, limit))):
                passed = passing(row["spot"] for row in some) if passing is not None else None
                found += [
                    (row["spot"], row["path"]) for row in some if passed is None or row["spot"] in passed
                ]
        return found[:limit]

    def counted(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""
        with self._readers.read() as db:
            row = execute(db, "count_of_session", session=session).fetchone()
            return {kind: row[kind] for kind in KINDS}

    def project(self, given: str) -> Project | None:
        """By its key, else by its name; of several with one name, the one last worked in."""
        with self._readers.read() as db:
            row = execute(db, "live_project_by_key", given=given).fetchone()
            row = row or execute(db, "projects_by_name", given=given).fetchone()
        return None if row is None else Project(row["id"], row["key"], row["name"], row["root"])

    def project_by_id(self, id: int) -> Project | None:
        with self._readers.read() as db:
            row = execute(db, "project_by_id", id=id).fetchone()
        return None if row is None else Project(row["id"], row["key"], row["name"], row["root"])

    def projects(self, limit: int, offset: int = 0) -> list[Project]:
        """With their figures, the one last worked in first."""
        with self._readers.read() as db:
            return [
                Project(**row) for row in execute(db, "projects_with_figures", limit=limit, offset=offset)
            ]

    def _size(self, db: sqlite3.Connection, span: tuple[int, int], everything: int) -> int:
        """Counted now and then: how rare a word is does not change with a few memories more."""
        of_all, size = self._sizes.get(span, (0, 0))
        if not size or abs(everything - of_all) > SIZES_HOLD * size:
            size = execute(db, "size_of_span", first=span[0], last=span[1]).fetchone()[0]
            self._sizes[span] = everything, size
        return size


def _of_file(db: sqlite3.Connection, path: str, filters: Filters, limit: int) -> dict[Ref, tuple[int, str]]:
    """In their order: where each lies, and how it is about the file."""
    kinds = filters.kinds or KINDS
    meant = (
        (ref_at(place), (place, how))
        for place, how in keys_of_file(db, path, filters.project_id)
        if kind_at(place) in kinds
    )
    is_narrowed = replace(filters, kinds=(), wrong=None) != Filters(filters.project_id)
    found = dict(islice(meant, None if is_narrowed else OF_FILE))
    newest = memory_filters.list_refs(
        db, filters, memory_filters.ListOptions(limit), memory_filters.by_kind(found)
    )
    return {ref: found[ref] for ref in newest}


def _add_by_hand(
    db: sqlite3.Connection,
    observation: Observation,
    origin: Origin,
    session: str,
    at: int,
    source: Source,
    client: str,
    provider: str | None,
) -> tuple[Ref, bool]:
    project_id = projects.project_of(db, origin, at)
    key = content_key(observation)
    known = same(db, project_id, key, at)
    if known is not None:
        return Ref("observation", known), False
    session_id = _session_of(db, session, origin, project_id, client, at)
    added = add(
        db,
        observation,
        # What was only read, or comes from elsewhere, stands beside what is known, never in its place.
        [] if source == "external" else current_observations(db, project_id, at),
        {
            "session_id": session_id,
            "project": projects.display_name(db, project_id, origin, origin.name),
            "project_id": project_id,
            "prompt_number": None,
            "client": client,
            "branch": origin.branch,
            "commit_sha": origin.commit,
            "tool_use_ids": "[]",
            "created_at": iso(at),
            "created_at_epoch": at,
            "content_key": key,
            "provider": provider,
            "source": source,
        },
    )
    return Ref("observation", added), True


def _session_of(
    db: sqlite3.Connection, session: str, origin: Origin, project_id: int, client: str, at: int
) -> int:
    row = execute(db, "find_standing", claude_session_id=text(session)).fetchone()
    if row is not None:
        return int(row["id"])
    added = execute(
        db,
        "add_session",
        claude_session_id=session,
        project=projects.display_name(db, project_id, origin, origin.name),
        project_id=project_id,
        status=SessionStatus.COMPLETED,
        client=client,
        cwd=origin.root or None,
        transcript_path=None,
        branch=origin.branch,
        commit_sha=origin.commit,
        at=iso(at),
        at_epoch=at,
    )
    assert added.lastrowid is not None
    return added.lastrowid
