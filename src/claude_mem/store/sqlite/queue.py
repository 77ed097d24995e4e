"""The queue of events on their way to become memory: handed out in order within a session, one holder per
session at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import (
    Job,
    JobState,
    Lease,
    QueueFigures,
    SessionBacklog,
    SessionStatus,
    Spend,
    Spent,
)
from claude_mem.model.memory import Batch, Memory
from claude_mem.store.sqlite.connection import Readers, Value, Writer, execute, iso
from claude_mem.store.sqlite.observations import remember
from claude_mem.store.values import Spending

# Rows as the values of the model.


class Queue:
    """Events on their way to become memory. Any thread may call it; any call may block. Raises StoreError.

    No lease is ever of a failed session."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock

    def gathered(self) -> list[SessionBacklog]:
        """What waits in each session that nobody holds: those that are due by the time of their oldest job,
        then those that must wait, the soonest first. Of many sessions the first few dozen."""
        with self._readers.read() as db:
            return _gathered(db, self._clock())

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        """The run of ready jobs, of the next session or of this one, from its oldest up to the end of a turn;
        None when nothing is due."""
        return self._writer.run(lambda db: _lease(db, limit, session_id, self._clock()))

    def batch(self, lease: Lease) -> Batch:
        """The leased events with what has to be known around them."""
        with self._readers.read() as db:
            return _batch(db, lease)

    def settle(
        self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
    ) -> None:
        """Save what was learned (by `provider`) and what it cost, and mark the jobs done, in one transaction.
        What the project remembers already is not stored twice."""
        self._writer.run(lambda db: _settle(db, lease, memory, spend, provider, self._clock()))

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""
        self._writer.run(lambda db: _postpone(db, lease, until, reason, spend, self._clock(), failed=failed))

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None:
        self._writer.run(lambda db: _park(db, lease, reason, spend, self._clock()))

    def reclaim(self) -> int:
        """Take back every lease: the one holder has just started, so all of them are dead."""
        return self._writer.run(lambda db: execute(db, "reclaim_jobs").rowcount)

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; when none are named, all of them, and those that wait for a better
        moment."""

        def work(db: sqlite3.Connection) -> int:
            if job_ids is None:
                execute(db, "hurry_jobs")
                return execute(db, "resume_jobs").rowcount
            return sum(execute(db, "resume_job", id=job_id).rowcount for job_id in job_ids)

        return self._writer.run(work)

    def drop(self, job_ids: Sequence[int]) -> int:
        """Parked jobs are done with, unobserved; they stay as evidence. Returns how many were parked."""

        def work(db: sqlite3.Connection) -> int:
            now = self._clock()
            return sum(
                execute(db, "drop_job", id=job_id, reason=DROPPED, now=now).rowcount for job_id in job_ids
            )

        return self._writer.run(work)

    def spent(self, session_id: int, now: int) -> Spent:
        """By this session in its life, and by all since midnight UTC."""
        # A time zone can change under a worker, and a budget must not be spent twice for that.
        midnight = now - now % DAY_MS
        with self._readers.read() as db:
            session = execute(db, "spent_in_session", session_id=session_id).fetchone()
            day = execute(db, "spent_between", since=midnight, until=midnight + DAY_MS).fetchone()
        return Spent(
            daily_tokens=day["tokens"],
            session_tokens=session["tokens"],
            daily_usd=day["usd"],
            session_usd=session["usd"],
        )

    def spending(self, since: int) -> list[Spending]:
        with self._readers.read() as db:
            return spending_since(db, since)

    def figures(self) -> QueueFigures:
        with self._readers.read() as db:
            return figures(db)

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state with the reason they are there, by id."""
        with self._readers.read() as db:
            page = execute(db, "jobs_in_state", state=state, limit=max(0, limit), after=after)
            return [(job_of_row(row), row["reason"]) for row in page]

    def counters(self) -> dict[str, int]:
        """What was counted over the store's life: accepted, duplicate, set_aside, …"""
        with self._readers.read() as db:
            return dict(execute(db, "counters").fetchall())

    def count(self, name: str, by: int = 1) -> None:
        self._writer.run(lambda db: count(db, name, by))

    def last_event_at(self) -> int | None:
        with self._readers.read() as db:
            return last_event_at(db)


def job_of_row(row: sqlite3.Row) -> Job:
    """A queued event as it came, with what the store knows better: its project and its prompt's number."""
    tool = None
    if row["tool_name"] is not None:
        tool = ToolCall(row["tool_name"], row["tool_input"], row["tool_response"], row["tool_use_id"])
    kind = _kind(row["kind"], tool)
    event = Event(
        id=row["event_id"],
        at=row["created_at_epoch"],
        kind=kind,
        session=row["claude_session_id"],
        client=row["client"],
        cwd=row["cwd"],
        project=row["project"],
        transcript_path=row["transcript_path"],
        prompt_id=row["prompt_id"],
        prompt_number=row["prompt_number"],
        agent_id=row["agent_id"],
        agent_type=row["agent_type"],
        tool=tool,
        text=row["prompt"] if kind is Kind.PROMPT else row["text"],
        note=row["note"],
        private=bool(row["private"]),
    )
    return Job(id=row["id"], event=event, prompt_number=row["prompt_number"], attempts=row["attempts"])


def _kind(word: str, tool: ToolCall | None) -> Kind:
    """A bit that flipped in a word is nothing SQLite notices; one such row must not hold up all others."""
    try:
        return Kind(word)
    except ValueError:
        return Kind.TOOL_USE if tool else Kind.SESSION_START


# Answers about the whole: the queue at a glance, and what was counted.


def figures(db: sqlite3.Connection) -> QueueFigures:
    by_state = {JobState(state): jobs for state, jobs in execute(db, "figures")}
    oldest = execute(db, "oldest_ready").fetchone()
    return QueueFigures(
        ready=by_state[JobState.READY],
        leased=by_state[JobState.LEASED],
        parked=by_state[JobState.PARKED],
        done=by_state[JobState.DONE],
        oldest_ready_at=oldest and oldest[0],
    )


def count(db: sqlite3.Connection, name: str, by: int) -> None:
    execute(db, "count", name=name, by=by)


def last_event_at(db: sqlite3.Connection) -> int | None:
    (at,) = execute(db, "last_event_at").fetchone()
    return None if at is None else int(at)


# What observing cost: written with the settlement it belongs to, summed up by session and by day.


DAY_MS = 24 * 60 * 60 * 1000


def add_spend(db: sqlite3.Connection, session_id: int, spend: Spend, now: int) -> None:
    execute(
        db,
        "add_spend",
        session_id=session_id,
        provider=spend.provider,
        model=spend.model,
        input_tokens=spend.input_tokens,
        cached_tokens=spend.cached_tokens,
        output_tokens=spend.output_tokens,
        cost_usd=spend.cost_usd,
        created_at=iso(now),
        created_at_epoch=now,
    )


def spending_since(db: sqlite3.Connection, at: int) -> list[Spending]:
    return [Spending(**row) for row in execute(db, "spending_since", since=at)]


# Handing work out: in order within a session, one holder for each session at a time.


HORIZON_MS = 24 * 60 * 60 * 1000
"""Nobody is asked to wait longer than this: a later time was set by a clock that has jumped back since."""

DROPPED = "dropped by the user"


def _lease(db: sqlite3.Connection, limit: int, session_id: int | None, now: int) -> Lease | None:
    if session_id is None:
        head = execute(db, "due_sessions", now=now, horizon=now + HORIZON_MS, limit=1).fetchone()
    else:
        head = execute(db, "due_session", session_id=session_id, now=now, horizon=now + HORIZON_MS).fetchone()
    if head is None:
        return None
    holding: int = head["session_id"]
    ready = execute(db, "ready_jobs", session_id=holding, limit=max(1, limit)).fetchall()
    run = list(_run(ready, now))
    number = _next_number(db)
    for job in run:
        execute(db, "lease_job", id=job.id, number=number)
    return Lease(holding, tuple(replace(job, attempts=job.attempts + 1) for job in run), number)


def _settle(
    db: sqlite3.Connection,
    held: Lease,
    memory: Memory,
    spend: Spend | None,
    provider: str | None,
    now: int,
) -> None:
    remember(db, held, memory, provider)
    _move(db, "settle_job", held, now=now)
    _pay(db, held, spend, now)


def _postpone(
    db: sqlite3.Connection,
    held: Lease,
    until: int,
    reason: str,
    spend: Spend | None,
    now: int,
    *,
    failed: bool,
) -> None:
    _move(db, "postpone_job", held, until=until, reason=reason, uncounted=0 if failed else 1)
    _pay(db, held, spend, now)


def _park(db: sqlite3.Connection, held: Lease, reason: str, spend: Spend | None, now: int) -> None:
    _move(db, "park_job", held, reason=reason)
    _pay(db, held, spend, now)


def _run(ready: Iterable[sqlite3.Row], now: int) -> Iterator[Job]:
    """Up to the end of a turn, which gets a summary of its own, or the first job that must wait: what comes
    after that must not overtake it."""
    for row in ready:
        if now < row["not_before_epoch"] <= now + HORIZON_MS:
            return
        job = job_of_row(row)
        yield job
        if job.event.kind is Kind.STOP:
            return


def _next_number(db: sqlite3.Connection) -> int:
    """Counted over the store's life: attempts start anew when a job is resumed, this never does."""
    count(db, "leases", 1)
    (number,) = execute(db, "counted", name="leases").fetchone()
    return int(number)


def _move(db: sqlite3.Connection, statement: str, held: Lease, **change: Value) -> None:
    for job in held.jobs:
        if execute(db, statement, id=job.id, number=held.number, **change).rowcount != 1:
            raise StoreError(f"The lease on job {job.id} is stale: somebody else holds it, or it is settled.")


def _pay(db: sqlite3.Connection, held: Lease, spend: Spend | None, now: int) -> None:
    if spend is not None:
        add_spend(db, held.session_id, spend, now)


# What waits in each session, summed up: the cost of asking does not grow with what waits.


SESSIONS = 50
JOBS = 200
"""More of a session's jobs are not looked at: it has more than enough to go out."""

_NO_MORE_TO_COME = (SessionStatus.COMPLETED, SessionStatus.INTERRUPTED)


def _gathered(db: sqlite3.Connection, now: int) -> list[SessionBacklog]:
    # Asked for apart, so that fifty that must wait cannot hide one that is due, nor fifty in the middle of
    # their turn one whose turn has ended.
    heads: dict[int, sqlite3.Row] = {}
    for which in ("ended_sessions", "due_sessions", "waiting_sessions"):
        for head in _heads(db, which, now):
            heads.setdefault(head["session_id"], head)
    # What is done now goes before the past, and that in the order it came: so what becomes of it does not
    # depend on who was quicker.
    ordered = sorted(heads.values(), key=lambda head: head["ready_id"] if head["past"] else 0)
    return [_sum(db, head) for head in ordered]


def _heads(db: sqlite3.Connection, which: str, now: int) -> list[sqlite3.Row]:
    return execute(db, which, now=now, horizon=now + HORIZON_MS, limit=SESSIONS).fetchall()


def _sum(db: sqlite3.Connection, head: sqlite3.Row) -> SessionBacklog:
    found = execute(db, "gathered_jobs", session_id=head["session_id"], limit=JOBS).fetchone()
    return SessionBacklog(
        session_id=head["session_id"],
        events=found["events"],
        characters=found["characters"],
        oldest_at=found["oldest_at"],
        newest_at=found["newest_at"],
        turn_ended=bool(found["stopped"]) or head["status"] in _NO_MORE_TO_COME,
        attempts=head["attempts"],
        due_at=head["not_before_epoch"],
        past=bool(head["past"]),
        offline=bool(head["offline"]),
    )


# What an observer is told around a batch's events: whose they are, what was asked, what is recorded.


RECORDED = 30


def _batch(db: sqlite3.Connection, held: Lease) -> Batch:
    first, last = held.jobs[0], held.jobs[-1]
    source = execute(db, "provenance", id=last.id).fetchone()
    asked = execute(
        db, "request_of", session_id=held.session_id, prompt_number=first.prompt_number
    ).fetchone()
    titles = execute(db, "recorded_titles", session_id=held.session_id, limit=RECORDED).fetchall()
    return Batch(
        project=first.event.project or "",
        session=first.event.session,
        events=tuple(job.event for job in held.jobs),
        request=asked and asked["prompt"],
        recorded=tuple(row["title"] for row in reversed(titles)),
        branch=source and source["branch"],
        offline=bool(source and source["offline"]),
    )
