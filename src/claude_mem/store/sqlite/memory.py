"""Keeping what a batch taught, with where it came from: once, and in the place of what it supersedes."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Lease
from claude_mem.model.memory import Memory, Observation, Summary, content_key
from claude_mem.store.similarity import supersedes
from claude_mem.store.sqlite import firsts, rows
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value, array, iso

SAME_WITHIN_MS = 30 * 24 * 60 * 60 * 1000
"""The same words much later are news again: somebody found it worth saying once more. Much earlier, they were
news then."""

LOOKED_AT = 200
"""Of a project's observations, the newest so many can be superseded."""

TITLE = 80
SUBTITLE = 120

Known = tuple[int, Observation]


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
    before = standing(db, project_id, at) if memory.observations else []
    for observation in memory.observations:
        key = content_key(observation)
        again = same(db, project_id, key, at)
        around = {**seen, **provenance, "content_key": key, "source": memory.source_of(observation)}
        if again is not None:
            firsts.seen_again(db, again, seen, {**_observation(observation), **around}, at)
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


def standing(db: sqlite3.Connection, project_id: int, at: int) -> list[Known]:
    """From before this batch's time: work that is settled late does not supersede what came after it."""
    found = execute(db, "standing_observations", project_id=project_id, before=at, limit=LOOKED_AT)
    return [(row["id"], rows.observation(row)) for row in found]


def add(db: sqlite3.Connection, new: Observation, before: list[Known], around: dict[str, Value]) -> int:
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
