"""Members that push to a team server during faults, and the check of the result."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from tests.harness import team_servers
from tests.harness.team_servers import Caller, session_records
from tests.harness.workers import PATIENCE_S, until

SHARED = "git.example/acme/shared"
TITLES = 3
PAUSE_S = 0.02
"""Between two attempts of one push, as long as it fails."""


@dataclass
class Pushed:
    """Titles, by the project and the member: those that the server said it has, and those that were sent."""

    accepted: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    sent: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    _grown: threading.Condition = field(default_factory=threading.Condition)

    def note(self, where: tuple[str, str], titles: Sequence[str], *, accepted: bool) -> None:
        with self._grown:
            (self.accepted if accepted else self.sent).setdefault(where, set()).update(titles)
            self._grown.notify_all()

    def note_failure(self, what: str) -> None:
        with self._grown:
            self.failures[what] += 1
            self._grown.notify_all()

    def wait_for_failures(self, what: str, more: int) -> None:
        target = self.failures[what] + more
        with self._grown:
            assert self._grown.wait_for(lambda: self.failures[what] >= target, PATIENCE_S * 2), self.failures

    @property
    def count(self) -> int:
        with self._grown:
            return sum(map(len, self.accepted.values()))

    def wait_for(self, more: int) -> None:
        """Until so many more were accepted."""
        target = self.count + more
        with self._grown:
            found = self._grown.wait_for(
                lambda: sum(map(len, self.accepted.values())) >= target, PATIENCE_S * 2
            )
        assert found, f"nothing more is accepted: {dict(self.failures)}"


@dataclass
class Load:
    """`ports`: of the servers, or of proxies before them; a member goes on to the next if one fails. Each
    member pushes to a project that all share, and to one of its own, which nobody else may read."""

    url: str
    members: tuple[str, ...]
    ports: Sequence[int]
    pushed: Pushed = field(default_factory=Pushed)
    keys: dict[str, str] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def prepare(self) -> None:
        first, *others = self.members
        self.keys = team_servers.new_team(self.url, *others, admin=first)

    def open_projects(self) -> None:
        """The first shares, and the others may write."""
        first, *others = self.members
        records = session_records("begin", SHARED, "begin")
        assert Caller(self.ports[0], self.keys[first]).ask("POST", "/api/team/push", records).status == 200
        self.pushed.note((SHARED, first), ["begin"], accepted=True)
        self.pushed.note((SHARED, first), ["begin"], accepted=False)
        for name in others:
            team_servers.grant(self.url, SHARED, name, "write")

    @contextmanager
    def running(self) -> Iterator[Pushed]:
        """Each push is sent until it is accepted, and now and then once more."""
        with ThreadPoolExecutor(len(self.members)) as threads:
            pushing: list[Future[None]] = [threads.submit(self._push_on, name) for name in self.members]
            try:
                yield self.pushed
            finally:
                self._ended.set()
            for each in pushing:
                each.result(PATIENCE_S * 2)

    def _push_on(self, member: str) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            project = SHARED if number % 2 else f"git.example/{member}/own"
            titles = [f"{member}.{number}.{nth}" for nth in range(TITLES)]
            records = session_records(f"{member}-{number}", project, *titles, words="heron egret")
            self.pushed.note((project, member), titles, accepted=False)
            for _ in range(1 + (number % 5 == 0)):
                if not self._push(member, records):
                    return
            self.pushed.note((project, member), titles, accepted=True)

    def _push(self, member: str, records: list[dict[str, Any]]) -> bool:
        """False: it was not accepted before the end."""
        attempt = self.members.index(member)
        while True:
            port = self.ports[attempt % len(self.ports)]
            try:
                reply = Caller(port, self.keys[member]).ask("POST", "/api/team/push", records)
            except (OSError, http.client.HTTPException) as error:
                self.pushed.note_failure(type(error).__name__)
            else:
                if reply.status == 200:
                    assert not reply.json["refused"], reply.raw
                    return True
                self.pushed.note_failure(str(reply.status))
                assert reply.status in (429, 500, 503), reply.raw
            attempt += 1
            if self._ended.wait(PAUSE_S):
                return False


def check(load: Load, port: int) -> int:
    """After a fault: what was accepted is there once, nothing is from nowhere, indexes hold what rows say,
    and a member is sent and finds what the member may read, and nothing else. Returns how many memories there
    are."""
    pushed = load.pushed
    with psycopg.connect(load.url, autocommit=True) as db:
        until(lambda: not _rows(db, "SELECT 1 FROM claude_mem.unindexed LIMIT 1"), "all is indexed")
        found = _rows(
            db,
            "SELECT p.key, s.author, o.title FROM claude_mem.observations AS o"
            " JOIN claude_mem.sdk_sessions AS s ON s.id = o.session_id"
            " JOIN claude_mem.projects AS p ON p.id = o.project_id",
        )
        assert [what for what, times in Counter(found).items() if times > 1] == [], "stored twice"
        stored: dict[tuple[str, str], set[str]] = {}
        for key, author, title in found:
            stored.setdefault((key, author), set()).add(title)
        for where, titles in pushed.accepted.items():
            assert titles <= stored.get(where, set()), (
                f"lost: {sorted(titles - stored.get(where, set()))[:5]}"
            )
        for where, titles in stored.items():
            assert titles <= pushed.sent.get(where, set()), f"from nowhere in {where}"
        for what, statement in NOTHING.items():
            assert _rows(db, statement) == [], what
    for member in load.members:
        _check_member(load, member, port, stored)
    return len(found)


def _check_member(load: Load, member: str, port: int, stored: dict[tuple[str, str], set[str]]) -> None:
    caller = Caller(port, load.keys[member])
    may_read = {SHARED, f"git.example/{member}/own"}
    others = set().union(
        *(titles for (key, author), titles in stored.items() if key in may_read and author != member)
    )
    assert pulled(caller) == others, "a pull brings what others shared, and nothing else"
    items = caller.get("/api/search", q="heron egret", limit=100)["results"]
    assert items
    of_own = {titles for (key, _), all in stored.items() if key not in may_read for titles in all}
    assert not {item["title"] for item in items} & of_own, "found what the member may not read"


def pulled(caller: Caller) -> set[str]:
    """The titles of all observations that a machine is sent which begins anew."""
    titles, cursor = set[str](), ""
    while True:
        reply = caller.ask("GET", "/api/team/pull", cursor=cursor, limit=200)
        assert reply.status == 200, reply.raw
        *lines, end = reply.lines
        titles |= {each["title"] for each in lines if each["kind"] == "observation"}
        cursor = end["cursor"]
        if not end["more"]:
            return titles


NOTHING = {
    "words of memories that are not there": (
        "SELECT 1 FROM claude_mem.memory_documents AS d WHERE kind = 'observation'"
        " AND NOT EXISTS (SELECT 1 FROM claude_mem.observations AS o WHERE o.id = d.id)"
        " UNION ALL SELECT 1 FROM claude_mem.memory_words AS w"
        " WHERE NOT EXISTS (SELECT 1 FROM claude_mem.memory_documents AS d WHERE d.memory_key = w.memory_key)"
    ),
    "memories without words": (
        "SELECT 1 FROM claude_mem.observations AS o WHERE NOT EXISTS"
        " (SELECT 1 FROM claude_mem.memory_documents AS d WHERE d.kind = 'observation' AND d.id = o.id)"
    ),
    "totals that are not the sum": (
        "SELECT 1 WHERE (SELECT COALESCE(SUM(documents), 0) FROM claude_mem.text_totals)"
        " <> (SELECT COUNT(*) FROM claude_mem.memory_documents)"
    ),
    "vectors of memories that are not there": (
        "SELECT 1 FROM claude_mem.memory_vectors AS v"
        " WHERE NOT EXISTS (SELECT 1 FROM claude_mem.memory_documents AS d WHERE d.memory_key = v.memory_key)"
    ),
    "memories that nobody is sent": (
        "SELECT 1 FROM claude_mem.observations AS o WHERE NOT EXISTS"
        " (SELECT 1 FROM claude_mem.team_changes AS c WHERE c.kind = 'observation' AND c.memory_id = o.id)"
    ),
}
"""What there must be none of."""


def _rows(db: psycopg.Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    return db.execute(statement.encode()).fetchall()
