"""Taking events in, once each: an arrival changes nothing when its effect is already there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from claude_mem.model.events import Event, Kind
from claude_mem.model.jobs import JobState
from claude_mem.ports.store import Accepted, Arrival
from claude_mem.store.sqlite.overview import count
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.standing import Standing, Standings
from claude_mem.store.sqlite.storable import iso

_UNREMARKABLE = (Kind.SESSION_START, Kind.SESSION_END)
"""Events that only move their session: there is nothing in them to observe."""


def accept(db: sqlite3.Connection, arrivals: Sequence[Arrival], now: int) -> Accepted:
    standings = Standings(db)
    session_ids = []
    fresh = 0
    for arrival in arrivals:
        known = execute(db, "event_accepted", event_id=arrival.event.id).fetchone()
        if known is not None:
            session_ids.append(known["session_id"])
            continue
        standing = standings.of(arrival)
        session_ids.append(standing.id)
        if _take_in(db, arrival, standing, now):
            fresh += 1
    standings.write_back()
    duplicate = len(session_ids) - fresh
    if fresh:
        count(db, "accepted", fresh)
    if duplicate:
        count(db, "duplicate", duplicate)
    return Accepted(fresh, duplicate, tuple(session_ids))


def _take_in(db: sqlite3.Connection, arrival: Arrival, standing: Standing, now: int) -> bool:
    """Queue an event and let its session follow it; False, with nothing changed, if its effect is there."""
    event = arrival.event
    asks = event.kind is Kind.PROMPT
    if asks:
        number = standing.next_prompt(event.prompt_number)
    elif event.prompt_number is not None:
        number = event.prompt_number
    else:
        number = standing.prompt_counter
    if not _add_job(db, arrival, standing.id, number, now):
        return False
    standing.follow(event, arrival.origin)
    if asks:
        standing.prompt_counter = number
        execute(
            db,
            "add_prompt",
            session_id=standing.id,
            prompt_number=number,
            prompt=None if event.private else event.text,
            private=int(event.private),
            prompt_id=event.prompt_id,
            created_at=iso(event.at),
            created_at_epoch=event.at,
        )
    return True


def _add_job(db: sqlite3.Connection, arrival: Arrival, session_id: int, number: int, now: int) -> bool:
    event, origin = arrival.event, arrival.origin
    settled = event.private or event.kind in _UNREMARKABLE
    tool = None if event.private else event.tool
    added = execute(
        db,
        "add_job",
        event_id=event.id,
        session_id=session_id,
        kind=event.kind,
        effect_key=event.effect_key,
        prompt_number=number,
        tool_name=tool.name if tool else None,
        tool_use_id=tool.use_id if tool else None,
        tool_input=tool.input if tool else None,
        tool_response=tool.response if tool else None,
        text=None if event.private or event.kind is Kind.PROMPT else event.text,
        note=event.note,
        prompt_id=event.prompt_id,
        agent_id=event.agent_id,
        agent_type=event.agent_type,
        cwd=event.cwd,
        branch=origin.branch,
        commit_sha=origin.commit,
        private=int(event.private),
        state=JobState.DONE if settled else JobState.READY,
        created_at=iso(event.at),
        created_at_epoch=event.at,
        settled_at_epoch=now if settled else None,
        characters=_characters(event),
    )
    return added.rowcount == 1


def _characters(event: Event) -> int:
    """How much there is to read in it."""
    if event.private:
        return 0
    texts = (event.text, *((event.tool.input, event.tool.response) if event.tool else ()))
    return sum(len(text) for text in texts if text)
