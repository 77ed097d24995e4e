"""The exchange with the team's server, in limited steps: send what is due, report deletions,
pull what is new, acknowledge. It may be killed at any point: what was not recorded as done is repeated,
which changes nothing.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from claude_mem.http_client import OpenCalls
from claude_mem.model.clock import Clock
from claude_mem.model.errors import TeamFailure
from claude_mem.model.records import Record
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import ForgetLine, OutboxItem, OwnLoss, Pull, TeamLink
from claude_mem.model.structs import replace
from claude_mem.store.outbox import Outbox
from claude_mem.store.values import ImportResult
from claude_mem.team import outgoing, policy
from claude_mem.team.merged import MergedBranches
from claude_mem.team.wire import TOO_LONG, TeamServer, is_late

BATCH = 200
PAGE = 500
NAMES = 500
ROUNDS = 20  # of each kind in a step, so that a long first sharing does not hold up the pulls
PULL_EVERY_MS = 30_000
LOOK_AGAIN_MS = 3 * 60 * 1000  # whether a branch is merged
REFUSED_MS = 60 * 60 * 1000  # what the server refused is sent again so seldom: a grant may have come
IDLE_S = 60.0
_MEMBER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MEMORIES = ("observation", "summary", "prompt")


class StepResult(Struct, frozen=True):
    """The result of a step."""

    wait_s: float  # after which there may be more, if nothing changes before
    received: bool = False  # something of others is here now


class Sides(Struct, frozen=True, kw_only=True):
    """The two sides of the exchange: this machine's memory, and the server."""

    absorb: Callable[[Sequence[Record], str], ImportResult]
    """Stores records of a member."""
    forget: Callable[[Sequence[Ref], Sequence[str]], object]
    """Deletes memories and sessions as the user's own `forget` does, to the byte."""
    fit: outgoing.Fit
    key: Callable[[], str | None]
    notify: Callable[[str], None]
    """Notifies the user at the next session start."""
    connect: Callable[[TeamLink, str, OpenCalls], TeamServer] = lambda link, key, calls: TeamServer(
        link.url, key, ca=link.ca, calls=calls
    )


class Exchange:
    """Any thread may call it; one step runs at a time. `close` ends a call that is under way."""

    def __init__(
        self,
        outbox: Outbox,
        sides: Sides,
        branches: MergedBranches,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self.outbox, self.sides, self._branches = outbox, sides, branches
        self._clock, self._jitter = clock, jitter
        self.changing = threading.Lock()
        """Held during a step, and while this machine joins or leaves."""
        self._calls = OpenCalls()
        self._failures = 0
        self._not_before = 0
        self._next_pull = 0
        self._batch, self._page = BATCH, PAGE
        self._received = False

    def close(self) -> None:
        self._calls.close()

    def server(self) -> tuple[TeamLink, TeamServer] | None:
        """The server; None: this machine has joined none, or its key is gone."""
        link, key = self.outbox.link(), self.sides.key()
        return None if link is None or key is None else (link, self.sides.connect(link, key, self._calls))

    def step(self) -> StepResult:
        with self.changing:
            self._received = False
            return StepResult(self._step(), self._received)

    def _step(self) -> float:
        found, progress = self.server(), self.outbox.progress()
        if found is None or progress.stopped is not None:
            return IDLE_S
        now = self._clock()
        if now < self._not_before <= now + policy.LONGEST_RETRY_AFTER_MS * 2:
            return (self._not_before - now) / 1000
        return self._exchanged(found[1], pulls=not now < self._next_pull <= now + PULL_EVERY_MS)

    def now(self) -> None:
        """Also what waited for git or after a failure, because the user asks for it: all of it, unless the
        server never comes to an end."""
        with self.changing:
            self._branches.discard_results()
            self.outbox.judge_again()
            if (found := self.server()) is None:
                return
            for _ in range(ROUNDS):
                if self._exchanged(found[1], pulls=True) > 0.0:
                    break

    def reset(self) -> None:
        """Discards earlier failures, because the server or the key has changed."""
        self._failures = self._not_before = self._next_pull = 0

    def _exchanged(self, server: TeamServer, *, pulls: bool) -> float:
        refused: TeamFailure | None = None
        try:
            more = False
            try:
                more = self._send(server)
                more = self._report_forgets(server) or more
            except TeamFailure as failure:
                if failure.status != 403:
                    raise
                refused = failure  # a key that may only read
            if pulls:
                more = self._pull(server) or more
                self._next_pull = self._clock() + PULL_EVERY_MS
            self._acknowledge(server)
        except TeamFailure as failure:
            self._failed(failure)
            return max(1.0, (self._not_before - self._clock()) / 1000)
        self._succeeded(refused, pulls=pulls)
        return 0.0 if more and refused is None else self._wait_s()

    def _wait_s(self) -> float:
        now, due = self._clock(), self.outbox.next_due()
        until = self._next_pull if due is None else min(self._next_pull, due)
        return min(max((until - now) / 1000, 1.0), IDLE_S)

    def _succeeded(self, refused: TeamFailure | None, *, pulls: bool) -> None:
        self._failures = self._not_before = 0
        before = self.outbox.progress()
        error = None if refused is None else f"{refused} This key permits reading, but not sharing."
        after = replace(
            before,
            error=error,
            failing_since=None,
            noticed=False,
            stopped=None,
            last_at=self._clock() if pulls else before.last_at,
        )
        if after != before:
            self.outbox.note(after)

    def _failed(self, failure: TeamFailure) -> None:
        if self._calls.closed:
            return  # the worker stops
        self._failures += 1
        now, before = self._clock(), self.outbox.progress()
        since = now if before.failing_since is None else before.failing_since
        after = replace(before, error=str(failure), failing_since=since)
        match policy.decide(failure, self._failures, now, self._jitter()):
            case policy.Retry(until=until):
                self._not_before = until
            case policy.Stop(reason=reason):
                after = replace(after, stopped=reason)
                self.sides.notify(f"{reason} Ask an admin for a new key, then run: claude-mem join URL")
        if after.stopped is None and policy.is_notice_due(since, now, noticed=before.noticed):
            after = replace(after, noticed=True)
            self.sides.notify(
                f"memory has not been exchanged with the team for a day. {failure} See: claude-mem team"
            )
        self.outbox.note(after)

    # -- Sending --

    def _send(self, server: TeamServer) -> bool:
        """Whether there is more."""
        link = self.outbox.link()
        machine = f"{link.member}/{link.machine}" if link else ""
        for _ in range(ROUNDS):
            items = self.outbox.due(self._batch)
            if not items:
                self._batch = BATCH
                return False
            waiting = self._branches.reasons(items)
            if waiting:
                self.outbox.postpone(waiting, self._clock() + LOOK_AGAIN_MS)
            if ready := [item for item in items if item not in waiting]:
                self._send_some(server, ready, machine)
        return True

    def _send_some(self, server: TeamServer, items: Sequence[OutboxItem], machine: str) -> None:
        parcel = outgoing.pack(*self.outbox.records(items), self.sides.fit, machine=machine)
        if parcel.unfit:
            self.outbox.postpone(parcel.unfit, self._clock() + REFUSED_MS)
        offered = self.outbox.offer(parcel.items)
        if not offered:
            return
        try:
            answer = server.push(parcel.body(offered))
        except TeamFailure as failure:
            if is_late(failure):  # as many again would be late again, on a server as busy
                self._batch = max(1, self._batch // 4)
            raise
        first = len(parcel.heads)
        refused = {
            offered[index - first].item: f"refused: {why}"
            for index, why in answer.refused or ()
            if first <= index < first + len(offered)
        }
        if refused:
            self.outbox.postpone(refused, self._clock() + REFUSED_MS)
        self.outbox.settle(each.item for each in offered if each.item not in refused)

    def _report_forgets(self, server: TeamServer) -> bool:
        """Whether there is more."""
        for _ in range(ROUNDS):
            listed = self.outbox.forgets(NAMES)
            if not listed:
                return False
            server.forget([name for _, name in listed])
            self.outbox.forgotten([id for id, _ in listed])
        return True

    # -- Pulling --

    def _pull(self, server: TeamServer) -> bool:
        """Whether there is more."""
        for _ in range(ROUNDS):
            progress = self.outbox.progress()
            try:
                page = server.pull(progress.cursor, self._page)
            except TeamFailure as failure:
                if failure.code != TOO_LONG or self._page == 1:
                    raise
                self._page = max(1, self._page // 4)
                continue
            self._take(page)
            self._acknowledge(server)
            self.outbox.note(replace(progress, cursor=page.cursor))
            if not page.more:
                self._page = PAGE
                return False
        return True

    def _take(self, page: Pull) -> None:
        projects = [record for record in page.records if record.get("kind") == "project"]
        by_author: dict[str, list[Record]] = {}
        for record in page.records:
            author = record.get("author")
            is_named = isinstance(author, str) and _MEMBER.fullmatch(author)
            # A session that contains, or will contain, this user's own memories does not belong to anyone
            # else.
            is_free = not outgoing.is_of_project(str(record.get("session_id")))
            if is_named and is_free and record.get("kind") in ("session", *_MEMORIES):
                by_author.setdefault(str(author), []).append(_named(record))
        for author, records in by_author.items():
            self._take_from(author, projects, records)
        self._received = self._received or bool(by_author or page.forgets)
        if page.forgets:
            self._carry_out(page.forgets)

    def _take_from(self, author: str, projects: Iterable[Record], records: Sequence[Record]) -> None:
        names = [str(each["name"]) for each in records if "name" in each]
        barred = self.outbox.barred(names)
        left = [each for each in records if each.get("name") not in barred]
        self.sides.absorb([*projects, *self.outbox.with_marks(left)], author)
        self.outbox.note_pins(
            [str(each["name"]) for each in left if each.get("pinned") and each["kind"] == "observation"]
        )

    def _carry_out(self, lines: Sequence[ForgetLine]) -> None:
        """As the user's own `forget`, then to be acknowledged. What is not here needs no deletion; what would
        delete much of one's own waits for consent."""
        deletion = self.outbox.found(lines)
        since = self._clock() - policy.LOSS_OF
        projects = {each.project_id for each in deletion.losses}
        own_counts = {project: self.outbox.own_memories(project, since=since) for project in projects}
        if held := policy.held(deletion.losses, own_counts):
            self._hold([line for line in lines if line.id in held], deletion.losses)
            lines = [line for line in lines if line.id not in held]
            deletion = self.outbox.found(lines)
        if deletion.refs or deletion.sessions:
            self.sides.forget(deletion.refs, deletion.sessions)
        self.outbox.carried_out(lines, deletion.names, deletion.losses)

    def _hold(self, lines: Sequence[ForgetLine], losses: Sequence[OwnLoss]) -> None:
        if self.outbox.hold(lines, losses):
            names = ", ".join(sorted({line.by for line in lines if _MEMBER.fullmatch(line.by)})) or "somebody"
            self.sides.notify(
                f"{names} wants to delete many memories that you shared, on this machine too. They stay "
                "until you agree. See: claude-mem team"
            )

    def answer_held(self, *, consents: bool) -> int:
        """Applies the user's answer to all held deletions. Returns how many there were."""
        with self.changing:
            lines = self.outbox.held()
            if not consents:
                self.outbox.refuse(lines)
                return len(lines)
            for at in range(0, len(lines), NAMES):
                some = lines[at : at + NAMES]
                deletion = self.outbox.found(some)
                self.sides.forget(deletion.refs, deletion.sessions)
                self.outbox.carried_out(some, deletion.names)
            return len(lines)

    def _acknowledge(self, server: TeamServer) -> None:
        while listed := self.outbox.acknowledgements(NAMES):
            for answer in sorted({answer for _, answer in listed}):
                server.acknowledge([id for id, given in listed if given == answer], answer)
            self.outbox.acknowledged([id for id, _ in listed])


def _named(record: Record) -> Record:
    if record["kind"] not in _MEMORIES:
        return record
    try:
        return {**record, "name": outgoing.record_name(record)}
    except (LookupError, TypeError, ValueError, AttributeError):
        return record  # it is refused for its shape
