"""Taking in what transcripts tell: beside what was captured as it happened, never into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from claude_mem.ports.past import Known, Manner, Progress, Taken
from claude_mem.ports.store import Arrival
from claude_mem.store.sqlite import forgetting, inbox
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import text


def accept(db: sqlite3.Connection, arrivals: Sequence[Arrival], manner: Manner, now: int) -> Taken:
    named = dict.fromkeys(text(arrival.event.session) for arrival in arrivals)
    live = {session for session, found in known(db, list(named)).items() if found.state != "past"}
    ours = [arrival for arrival in arrivals if text(arrival.event.session) not in live]
    accepted = inbox.accept(db, ours, now)
    for session in named:
        if session not in live:
            until = manner.hold_until
            execute(db, "mark_past", session=session, offline=int(manner.offline), until=until)
    for session, seal in (manner.seals or {}).items():
        execute(db, "seal_session", session=text(session), seal=text(seal))
    return Taken(accepted.fresh, accepted.duplicate, len(arrivals) - len(ours))


def release(db: sqlite3.Connection, sessions: Sequence[str]) -> None:
    for session in sessions:
        execute(db, "release_session", session=text(session))


def known(db: sqlite3.Connection, sessions: Sequence[str]) -> dict[str, Known]:
    found = {}
    for session in sessions:
        row = execute(db, "past_session", session=text(session)).fetchone()
        if row is not None:
            found[session] = Known("past" if row["past"] else "live", row["events"], row["seal"])
        elif execute(db, "is_forgotten", digest=forgetting.digest(session)).fetchone():
            found[session] = Known("forgotten", 0)
    return found


def progress(db: sqlite3.Connection, since: int, now: int) -> Progress:
    (waiting,) = execute(db, "past_waiting", now=now).fetchone()
    spent = execute(db, "spent_on_past", since=since).fetchone()
    return Progress(int(waiting), spent["tokens"], spent["usd"])
