"""The queue of events to be observed: leased in order within a session, with one lease per session at a
time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from claude_mem.api.projects import CostRow
from claude_mem.model.clock import DAY_MS, iso
from claude_mem.model.errors import StoreError
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.jobs import (
    CallCost,
    Job,
    JobState,
    Lease,
    QueueFigures,
    SessionBacklog,
    SessionStatus,
    SpentSoFar,
)
from claude_mem.model.memory import Batch, Findings
from claude_mem.model.refs import Ref
from claude_mem.model.structs import replace
from claude_mem.store.relational.forget import Deleted, delete_memories
from claude_mem.store.relational.observations import remember
from claude_mem.store.relational.part import Connection, Part, Row, execute, transaction
from claude_mem.store.relational.rows import Value, columns, value_of

HORIZON_MS = DAY_MS
"""No job waits longer than this: a later time was set by a clock that has jumped back since."""

SESSIONS = 50
JOBS = 200
"""At most this many jobs of a session are counted: more than enough for a batch."""
RECORDED = 30
"""How many titles already recorded in the session are put into the prompt."""

DROPPED = "dropped by the user"
FALLBACK = "offline:fallback"
"""The author of a fallback's memories: the offline observer, because a model's replies could not be read."""
_NO_MORE_TO_COME = (SessionStatus.COMPLETED, SessionStatus.INTERRUPTED)


class Queue(Part):
    """Events that wait to be observed. A failed session is never leased."""

    def backlogs(self) -> list[SessionBacklog]:
        """The backlog of each session that is not leased: first those that are due, by their oldest job, then
        those that must wait, soonest first. At most a few dozen."""
        now = self._clock()
        heads: dict[int, Row] = {}
        with self._readers.read() as db:
            # Three queries, so that fifty sessions that must wait cannot hide one that is due, nor fifty in
            # the middle of their turn one whose turn has ended.
            for which in ("ended_sessions", "due_sessions", "waiting_sessions"):
                for head in execute(db, which, now=now, horizon=now + HORIZON_MS, limit=SESSIONS):
                    heads.setdefault(head["session_id"], head)
            # Live sessions go before imported ones, and those in the order they arrived, so that the result
            # does not depend on which thread was quicker.
            ordered = sorted(heads.values(), key=lambda head: head["ready_id"] if head["past"] else 0)
            return [_backlog(db, head) for head in ordered]

    @transaction
    def lease(self, db: Connection, limit: int, session_id: int | None = None) -> Lease | None:
        """Ready jobs of the next session, or of this one, from the oldest to the end of a turn; None if
        nothing is due."""
        now = self._clock()
        due: dict[str, Value] = {"now": now, "horizon": now + HORIZON_MS}
        if session_id is None:
            head = execute(db, "next_due_session", **due).fetchone()
        else:
            head = execute(db, "due_session", **due, session_id=session_id).fetchone()
        if head is None:
            return None
        holding: int = head["session_id"]
        ready = execute(db, "ready_jobs", session_id=holding, limit=max(1, limit)).fetchall()
        run = list(_run(ready, now))
        execute(db, "begin_lease")
        (number,) = execute(db, "lease_number").fetchone()
        for job in run:
            execute(db, "lease_job", id=job.id, number=number)
        return Lease(holding, tuple(replace(job, attempts=job.attempts + 1) for job in run), number)

    def batch(self, lease: Lease) -> Batch:
        """The leased events with their context: the session, the user's request, what is already recorded."""
        first, last = lease.jobs[0], lease.jobs[-1]
        session_id = lease.session_id
        with self._readers.read() as db:
            source = execute(db, "provenance", id=last.id).fetchone()
            number = first.prompt_number
            request = execute(db, "request_of", session_id=session_id, prompt_number=number).fetchone()
            before = execute(db, "said_before", session_id=session_id, id=first.id).fetchone()
            ids = json.dumps([job.id for job in lease.jobs])
            titles = execute(db, "recorded_titles", session_id=session_id, ids=ids, limit=RECORDED).fetchall()
        return Batch(
            project=first.event.project or "",
            session=first.event.session,
            events=tuple(job.event for job in lease.jobs),
            request=request and request["prompt"],
            recorded=tuple(row["title"] for row in reversed(titles)),
            before=before and before["text"],
            branch=source and source["branch"],
            offline=bool(source and source["offline"]),
        )

    @transaction
    def settle(
        self,
        db: Connection,
        lease: Lease,
        findings: Findings,
        spend: CallCost | None = None,
        *,
        provider: str | None = None,
    ) -> None:
        """Save the findings (written by `provider`) and its cost, and mark the jobs done, in one transaction.
        What the project already knows is not stored twice. It replaces a fallback."""
        self._take_back_fallback(db, lease)
        remember(db, lease, findings, provider)
        self._end(db, "settle_job", lease, spend, now=self._clock())

    @transaction
    def postpone(
        self,
        db: Connection,
        lease: Lease,
        until: int,
        reason: str,
        *,
        failed: bool,
        spend: CallCost | None = None,
    ) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""
        self._end(db, "postpone_job", lease, spend, until=until, reason=reason, uncounted=int(not failed))

    @transaction
    def park(
        self,
        db: Connection,
        lease: Lease,
        reason: str,
        spend: CallCost | None = None,
        *,
        fallback: Findings | None = None,
    ) -> None:
        """Park the jobs with a reason. `fallback`: what the offline observer makes of them meanwhile. It is
        saved in the same transaction, and replaces an earlier one."""
        if fallback is not None:
            self._take_back_fallback(db, lease)
            for job in lease.jobs:
                execute(db, "add_fallback", job_id=job.id, number=lease.number)
            for ref in remember(db, lease, fallback, FALLBACK):
                execute(
                    db,
                    "add_fallback_memory",
                    number=lease.number,
                    kind=ref.kind,
                    memory_id=ref.id,
                    session_id=lease.session_id,
                )
        self._end(db, "park_job", lease, spend, reason=reason)

    def _take_back_fallback(self, db: Connection, lease: Lease) -> None:
        """Deletes the fallback's memories of jobs that are now settled. Those that a person has changed,
        pinned or marked wrong stay, and so do those that another session has observed as well."""
        ids = json.dumps([job.id for job in lease.jobs])
        found = execute(db, "fallback_memories_of", ids=ids).fetchall()
        refs = [Ref(row["kind"], row["memory_id"]) for row in found]
        if refs:
            delete_memories(db, refs, self._clock(), Deleted())
        execute(db, "forget_fallback_memories", ids=ids)
        execute(db, "forget_fallbacks", ids=ids)

    def reclaim(self) -> int:
        """Release all leases: a worker that has just started has none of them."""
        return self._change("reclaim_jobs")

    @transaction
    def resume(self, db: Connection, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; without ids, all of them, and those that were postponed. A batch that
        has a fallback is resumed completely. Returns how many jobs were parked."""
        if job_ids is None:
            execute(db, "hurry_jobs")
            return execute(db, "resume_jobs").rowcount
        resumed = 0
        for job_id in job_ids:
            resumed += execute(db, "resume_batch", id=job_id).rowcount  # else part of it would replace it all
            resumed += execute(db, "resume_job", id=job_id).rowcount
        return resumed

    @transaction
    def drop(self, db: Connection, job_ids: Sequence[int]) -> int:
        """Settle parked jobs without observing them; they stay as evidence, and a fallback stays as memory.
        Returns how many were parked."""
        now = self._clock()
        dropped = sum(execute(db, "drop_job", id=id, reason=DROPPED, now=now).rowcount for id in job_ids)
        execute(db, "forget_dropped_fallbacks", ids=json.dumps(list(job_ids)))
        return dropped

    def spent(self, session_id: int, now: int) -> SpentSoFar:
        """What this session has spent in total, and all sessions since midnight UTC."""
        with self._readers.read() as db:
            session = execute(db, "spent_in_session", session_id=session_id).fetchone()
            day = spent_today(db, now)
        return SpentSoFar(day["tokens"], session["tokens"], day["usd"], session["usd"])

    def spending(self, since: int) -> list[CostRow]:
        with self._readers.read() as db:
            return spending_since(db, since)

    def figures(self) -> QueueFigures:
        with self._readers.read() as db:
            return figures(db)

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state, by id, each with its reason."""
        page = self._rows("jobs_in_state", state=state, limit=max(0, limit), after=after)
        return [(job_of_row(row), row["reason"]) for row in page]

    def counters(self) -> dict[str, int]:
        """Counters over the store's lifetime: accepted, duplicate, set_aside, …"""
        return {row["name"]: row["value"] for row in self._rows("counters")}

    def count(self, name: str, by: int = 1) -> None:
        self._change("count", name=name, by=by)

    def last_event_at(self) -> int | None:
        return self._number("last_event_at") or None

    def _end(
        self, db: Connection, statement: str, lease: Lease, spend: CallCost | None, **change: Value
    ) -> None:
        """Ends the lease of all of its jobs or, if another worker has leased one of them by now, of none."""
        for job in lease.jobs:
            if execute(db, statement, id=job.id, number=lease.number, **change).rowcount != 1:
                raise StoreError(
                    f"The lease on job {job.id} is stale: another worker holds it, or it is settled."
                )
        if spend is not None:
            now = self._clock()
            paid = columns(spend) | {"created_at": iso(now), "created_at_epoch": now}
            execute(db, "add_spend", **paid, session_id=lease.session_id)


def job_of_row(row: Row) -> Job:
    """A queued event as it was reported, with the project and the prompt number from the store."""
    tool = None
    if row["tool_name"] is not None:
        tool = ToolCall(row["tool_name"], row["tool_input"], row["tool_response"], row["tool_use_id"])
    kind = _kind(row["kind"], tool)
    event = value_of(
        Event,
        row,
        id=row["event_id"],
        at=row["created_at_epoch"],
        kind=kind,
        session=row["claude_session_id"],
        tool=tool,
        text=row["prompt"] if kind is Kind.PROMPT else row["text"],
    )
    return Job(row["id"], event, row["prompt_number"], row["attempts"])


def _kind(word: str, tool: ToolCall | None) -> Kind:
    """SQLite does not detect a flipped bit in a text; one such row must not block all others."""
    try:
        return Kind(word)
    except ValueError:
        return Kind.TOOL_USE if tool else Kind.SESSION_START


def _run(ready: Iterable[Row], now: int) -> Iterator[Job]:
    """Up to the end of a turn, which gets its own summary, or the first job that must wait: what comes
    after that must not overtake it."""
    for row in ready:
        if now < row["not_before_epoch"] <= now + HORIZON_MS:
            return
        job = job_of_row(row)
        yield job
        if job.event.kind is Kind.STOP:
            return


def _backlog(db: Connection, head: Row) -> SessionBacklog:
    found = execute(db, "gathered_jobs", session_id=head["session_id"], limit=JOBS).fetchone()
    return value_of(
        SessionBacklog,
        dict(head) | dict(found),
        turn_ended=bool(found["stopped"]) or head["status"] in _NO_MORE_TO_COME,
        due_at=head["not_before_epoch"],
    )


def figures(db: Connection) -> QueueFigures:
    by_state = dict(execute(db, "figures").fetchall())
    oldest = execute(db, "oldest_ready").fetchone()
    (fallback,) = execute(db, "parked_with_fallback").fetchone()
    return QueueFigures(**by_state, fallback=fallback, oldest_ready_at=oldest and oldest[0])


def count(db: Connection, name: str, by: int) -> None:
    execute(db, "count", name=name, by=by)


def spent_today(db: Connection, now: int) -> Row:
    """What all sessions have spent since midnight UTC: the time zone can change while the worker runs, and
    the budget must not be spent twice because of that."""
    midnight = now - now % DAY_MS
    day: Row = execute(db, "spent_between", since=midnight, until=midnight + DAY_MS).fetchone()
    return day


def spending_since(db: Connection, at: int) -> list[CostRow]:
    return [CostRow(**row) for row in execute(db, "spending_since", since=at)]
