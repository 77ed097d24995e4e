"""Keeping what a batch taught, with where it came from."""

from __future__ import annotations

import sqlite3

from claude_mem.model.job import Lease
from claude_mem.model.observation import Memory, Observation, Summary
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value, array, iso


def remember(db: sqlite3.Connection, held: Lease, memory: Memory) -> None:
    if not memory.observations and not memory.summaries:
        return
    last = held.jobs[-1]
    source = execute(db, "provenance", id=last.id).fetchone()
    if source is None:
        return  # the session was deleted meanwhile; its jobs are gone too, so settling them will say so
    at = max(job.event.at for job in held.jobs)
    common: dict[str, Value] = {
        "session_id": held.session_id,
        "project": source["project"],
        "prompt_number": last.prompt_number,
        "created_at": iso(at),
        "created_at_epoch": at,
    }
    used = array([job.event.tool.use_id for job in held.jobs if job.event.tool and job.event.tool.use_id])
    provenance: dict[str, Value] = {
        "client": source["client"],
        "branch": source["branch"],
        "commit_sha": source["commit_sha"],
        "tool_use_ids": used,
    }
    for observation in memory.observations:
        execute(db, "add_observation", **_observation(observation), **common, **provenance)
    for summary in memory.summaries:
        execute(db, "add_summary", **_summary(summary), **common)
        if summary.request:
            execute(db, "entitle_session", session_id=held.session_id, title=summary.request)


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
