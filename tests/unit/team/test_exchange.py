"""Steps of the exchange with a server that fails, refuses or sends too much; the clock is the test's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.harness.scripted_team import Answer, ScriptedTeam, healthy, lines

from claude_mem.http_client import MOST_BYTES
from claude_mem.model.clock import DAY_MS
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.records import Record, digest_of, name_of_session
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import TeamLink
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import ForgetPlan, ImportResult
from claude_mem.team.exchange import LOOK_AGAIN_MS, PULL_EVERY_MS, ROUNDS, Exchange, Sides
from claude_mem.team.merged import MergedBranches
from claude_mem.team.outgoing import record_name

NOON = 1_760_000_000_000
PROJECT = {"kind": "project", "key": "git.example/shop", "name": "shop"}


class Desk:
    """An exchange between a store and a scripted server."""

    def __init__(self, store: SqliteStore, team: ScriptedTeam, clock: list[int]) -> None:
        self.store, self.team, self.clock = store, team, clock
        self.notices: list[str] = []
        link = TeamLink(url=team.url, member="ada", machine="laptop", key_id="k1", joined_at=NOON)
        store.outbox.join(link)

        def absorb(records: Sequence[Record], author: str) -> ImportResult:
            return store.transfer.absorb(records, own=False, author=author)

        def forget(refs: Sequence[Ref], sessions: Sequence[str]) -> None:
            store.deletion.forget(ForgetPlan(tuple(refs), tuple(sessions)))

        self.exchange = Exchange(
            store.outbox,
            Sides(absorb=absorb, forget=forget, fit=dict, key=lambda: "cmk_x", notify=self.notices.append),
            MergedBranches(store.outbox, lambda: clock[0]),
            lambda: clock[0],
            lambda: 0.0,
        )

    def share(self, title: str, branch: str | None = None) -> None:
        observation = Observation("decision", title=title, narrative=f"{title}, for a reason.")
        origin = Origin(key="git.example/shop", name="shop", root="", branch=branch)
        self.store.memories.remember(
            observation, origin, session="s1", at=NOON, source="work", client="claude"
        )
        project = self.store.projects.by_key(origin.key)
        assert project is not None
        self.store.outbox.share(project.id, prompts=False)

    def later(self, ms: int) -> None:
        self.clock[0] += ms


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clock = [NOON]
    database, backups = tmp_path / "x.db", tmp_path / "backups"
    with (
        ScriptedTeam() as team,
        SqliteStore.open(database, clock=lambda: clock[0], backups=backups) as store,
    ):
        yield Desk(store, team, clock)


def session(id: str, author: str) -> dict[str, Any]:
    return {
        "kind": "session",
        "session_id": id,
        "project": "git.example/shop",
        "client": "codex",
        "created_at": NOON,
        "author": author,
    }


def observation(id: str, author: str, title: str) -> dict[str, Any]:
    return {
        "kind": "observation",
        "session_id": id,
        "type": "decision",
        "title": title,
        "at": NOON,
        "author": author,
    }


def test_a_machine_that_has_joined_nothing_calls_nobody(desk: Desk) -> None:
    desk.share("Prices are integers")
    desk.store.outbox.leave()
    assert desk.exchange.step().wait_s > 0
    assert desk.team.requests == []


def test_a_step_sends_what_is_due_then_pulls_and_the_next_one_waits(desk: Desk) -> None:
    desk.share("Prices are integers")
    assert desk.exchange.step().wait_s > 0
    assert desk.team.paths() == ["/push", "/pull"]
    sent = [json.loads(line) for line in desk.team.requests[0][2].splitlines()]
    assert [each["kind"] for each in sent] == ["project", "session", "observation"]
    desk.exchange.step()
    assert len(desk.team.requests) == 2
    desk.later(PULL_EVERY_MS)
    desk.exchange.step()
    assert desk.team.paths()[2:] == ["/pull"]


def test_a_failure_keeps_all_listed_and_the_server_is_left_alone_for_a_while(desk: Desk) -> None:
    desk.share("Prices are integers")
    desk.team.script = lambda *_: (500, b"{}")
    wait_s = desk.exchange.step().wait_s
    desk.exchange.step()
    assert desk.team.paths() == ["/push"]
    assert desk.store.outbox.figures().due == 1
    assert desk.store.outbox.progress().failing_since == NOON
    desk.team.script = healthy
    desk.later(int(wait_s * 1000))
    desk.exchange.step()
    progress = desk.store.outbox.progress()
    assert (desk.store.outbox.figures().due, progress.error, progress.failing_since) == (0, None, None)


def test_a_clock_that_is_set_back_does_not_hold_up_the_next_call_for_ever(desk: Desk) -> None:
    desk.team.script = lambda *_: (500, b"{}")
    desk.exchange.step()
    desk.later(-2 * DAY_MS)
    desk.team.script = healthy
    desk.exchange.step()
    assert desk.store.outbox.progress().error is None


def test_the_user_is_told_once_when_it_has_failed_for_a_day(desk: Desk) -> None:
    desk.team.script = lambda *_: (503, b"{}")
    for _ in range(4):
        desk.exchange.step()
        desk.later(DAY_MS // 2)
    assert len(desk.notices) == 1


def test_a_key_that_is_not_accepted_is_told_once_and_not_tried_again(desk: Desk) -> None:
    desk.team.script = lambda *_: (401, b"{}")
    for _ in range(3):
        desk.exchange.step()
        desk.later(DAY_MS)
    assert (len(desk.team.requests), len(desk.notices)) == (1, 1)
    assert desk.store.outbox.progress().stopped is not None


def test_a_key_that_may_only_read_goes_on_pulling(desk: Desk) -> None:
    desk.share("Prices are integers")

    def reading_only(method: str, path: str, body: bytes) -> Answer:
        return (403, b"{}") if path == "/api/team/push" else healthy(method, path, body)

    desk.team.script = reading_only
    desk.exchange.step()
    assert desk.team.paths() == ["/push", "/pull"]
    progress = desk.store.outbox.progress()
    assert progress.error is not None
    assert progress.failing_since is None
    assert desk.store.outbox.figures().due == 1


def test_what_the_server_refuses_waits_with_its_reason_and_holds_up_nothing(desk: Desk) -> None:
    desk.share("Prices are integers")
    desk.share("Names are lower-case")

    def refusing(method: str, path: str, body: bytes) -> Answer:
        if path == "/api/team/push":
            return 200, json.dumps({"refused": [[2, "It was forgotten."]]}).encode()
        return healthy(method, path, body)

    desk.team.script = refusing
    desk.exchange.step()
    assert desk.store.outbox.figures().waiting == {"refused: It was forgotten.": 1}
    assert desk.store.outbox.figures().due == 0


def test_a_memory_whose_branch_cannot_be_looked_at_waits_and_the_others_go(desk: Desk) -> None:
    desk.share("Prices are integers", branch="fix")
    desk.share("Names are lower-case")
    desk.exchange.step()
    figures = desk.store.outbox.figures()
    assert (figures.due, sum(figures.waiting.values())) == (0, 1)
    desk.later(LOOK_AGAIN_MS)
    assert desk.store.outbox.figures().due == 1


def test_what_a_busy_server_does_not_take_in_time_is_sent_in_smaller_parts(desk: Desk) -> None:
    for number in range(9):
        desk.share(f"Rule {number} holds")
    parts: list[int] = []

    def busy(method: str, path: str, body: bytes) -> Answer:
        if path != "/api/team/push":
            return healthy(method, path, body)
        parts.append(body.count(b'"observation"'))
        return healthy(method, path, body) if parts[-1] <= 3 else (504, b"{}")

    desk.team.script, desk.exchange._batch = busy, 9
    desk.exchange.step()
    desk.later(DAY_MS)
    desk.exchange.step()
    assert parts == [9, 2, 2, 2, 2, 1]
    assert desk.store.outbox.figures().due == 0


def test_a_pull_that_is_too_long_is_requested_in_smaller_pages(desk: Desk) -> None:
    limits: list[int] = []

    def long(method: str, path: str, body: bytes) -> Answer:
        if not path.startswith("/api/team/pull"):
            return healthy(method, path, body)
        limits.append(int(path.rpartition("=")[2]))
        return lines() if limits[-1] < 100 else (200, b" " * (MOST_BYTES + 1))

    desk.team.script = long
    desk.exchange.step()
    assert limits == [500, 125, 31]
    assert desk.store.outbox.progress().cursor == "1"


def test_a_page_that_came_twice_changes_nothing_and_the_cursor_follows_what_is_stored(desk: Desk) -> None:
    page = [PROJECT, session("b1", "ben"), observation("b1", "ben", "Tests are sentences")]
    failing = [True]

    def script(method: str, path: str, body: bytes) -> Answer:
        if path.startswith("/api/team/pull"):
            return lines(*page, cursor="9")
        return healthy(method, path, body)

    absorb = desk.exchange.sides.absorb

    def killed(records: Sequence[Record], author: str) -> ImportResult:
        done = absorb(records, author)
        if failing:
            failing.clear()
            raise KeyboardInterrupt  # after it was stored, before that was noted
        return done

    desk.team.script = script
    desk.exchange.sides = replace(desk.exchange.sides, absorb=killed)
    with pytest.raises(KeyboardInterrupt):
        desk.exchange.step()
    assert desk.store.outbox.progress().cursor == ""
    assert desk.exchange.step().received
    assert desk.store.outbox.progress().cursor == "9"
    with desk.store.readers.read() as db:
        assert db.tuples("SELECT COUNT(*) FROM observations", {}) == [(1,)]


def test_what_others_forgot_is_deleted_and_acknowledged_also_if_it_never_was_here(desk: Desk) -> None:
    forgets = [
        {
            "kind": "forget",
            "id": "f1",
            "of": "session",
            "digest": digest_of(name_of_session("b1")),
            "at": NOON,
        },
        {"kind": "forget", "id": "f2", "of": "prompt", "digest": "0" * 64, "at": NOON},
    ]
    pages = [
        lines(PROJECT, session("b1", "ben"), observation("b1", "ben", "Tests are sentences")),
        lines(*forgets),
    ]

    def script(method: str, path: str, body: bytes) -> Answer:
        return pages.pop(0) if path.startswith("/api/team/pull") else healthy(method, path, body)

    desk.team.script = script
    desk.exchange.step()
    assert desk.store.sessions.find("b1") is not None
    desk.later(PULL_EVERY_MS)
    desk.exchange.step()
    assert desk.store.sessions.find("b1") is None
    assert desk.team.paths()[-1] == "/acknowledge"
    assert json.loads(desk.team.requests[-1][2]) == {"ids": ["f1", "f2"], "answer": "done"}


def forgets_of_all(desk: Desk, count: int) -> list[dict[str, Any]]:
    """A hostile server's: so many of ada's own memories, after they were sent, in her own name."""
    origin = Origin(key="git.example/shop", name="shop", root="")
    for number in range(count):
        desk.store.memories.remember(
            Observation("decision", title=f"Number {number}"),
            origin,
            session="s1",
            at=NOON + number,
            source="work",
            client="claude",
        )
    project = desk.store.projects.by_key(origin.key)
    assert project is not None
    desk.store.outbox.share(project.id, prompts=False)
    names = {}

    def script(method: str, path: str, body: bytes) -> Answer:
        for each in map(json.loads, body.splitlines() if path == "/api/team/push" else ()):
            if each["kind"] == "observation":
                names[each["at"]] = record_name(each)
        return healthy(method, path, body)

    desk.team.script = script
    desk.exchange.now()
    assert len(names) == count
    return [
        {"kind": "forget", "id": f"f{at}", "of": "observation", "digest": digest_of(name), "at": at, "by": by}
        for (at, name), by in zip(names.items(), cycle(("ada", "ben")), strict=False)
    ]


def pulled(desk: Desk, forgets: Sequence[dict[str, Any]]) -> None:
    def script(method: str, path: str, body: bytes) -> Answer:
        return lines(*forgets) if path.startswith("/api/team/pull") else healthy(method, path, body)

    desk.team.script = script
    desk.later(PULL_EVERY_MS)
    desk.exchange.step()


def answers(desk: Desk) -> dict[str, int]:
    """How many forgets the server was given each answer to."""
    found = Counter[str]()
    for _, path, body in desk.team.requests:
        if path == "/api/team/acknowledge":
            found[json.loads(body)["answer"]] += len(json.loads(body)["ids"])
    return dict(found)


def test_forgets_that_would_delete_most_of_ones_own_wait_for_consent(desk: Desk) -> None:
    forgets = forgets_of_all(desk, 110)
    pulled(desk, forgets)
    assert desk.store.statistics.figures()["observations"] == 110
    assert answers(desk) == {"consent": 110}
    (notice,) = desk.notices
    assert "ada, ben wants to delete many memories that you shared" in notice
    assert sum(each.memories for each in desk.store.outbox.figures().held) == 110
    pulled(desk, forgets)
    assert len(desk.notices) == 1, "the user knows"
    assert desk.exchange.answer_held(consents=True) == 110
    pulled(desk, [])
    assert desk.store.statistics.figures()["observations"] == 0
    assert answers(desk)["done"] == 110
    assert desk.store.outbox.figures().held == ()


def test_what_its_user_refuses_to_delete_stays(desk: Desk) -> None:
    pulled(desk, forgets_of_all(desk, 110))
    desk.exchange.answer_held(consents=False)
    pulled(desk, [])
    assert desk.store.statistics.figures()["observations"] == 110
    assert answers(desk) == {"consent": 110, "refused": 110}
    assert desk.exchange.answer_held(consents=True) == 0


def test_a_server_that_deletes_little_at_a_time_does_not_get_further(desk: Desk) -> None:
    forgets = forgets_of_all(desk, 130)
    for at in range(0, 130, 10):
        pulled(desk, forgets[at : at + 10])
    assert desk.store.statistics.figures()["observations"] == 30
    assert sum(each.memories for each in desk.store.outbox.figures().held) == 30


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "observation", "author": "ben"},
        {"kind": "summary", "author": "ben", "session_id": "b1", "at": "late"},
        {"kind": "prompt", "author": "ben", "session_id": [], "number": {}},
        {**session("b1", "ben"), "author": ["ben"]},
        session("b1", "ben\x1b[31m"),
        {"kind": "event", "author": "ben"},
        {"kind": 7},
    ],
)
def test_a_record_of_another_shape_is_left_out_and_the_cursor_goes_on(
    desk: Desk, record: dict[str, Any]
) -> None:
    def script(method: str, path: str, body: bytes) -> Answer:
        pulls = path.startswith("/api/team/pull")
        return lines(PROJECT, record, cursor="5") if pulls else healthy(method, path, body)

    desk.team.script = script
    desk.exchange.step()
    assert desk.store.outbox.progress().cursor == "5"
    assert desk.store.outbox.sessions_of_others() == {}


def test_a_session_that_ones_own_memories_go_to_is_taken_from_nobody(desk: Desk) -> None:
    """Its id is made of the project's key, which every member knows."""
    saved = "user-0123456789ab"
    page = [PROJECT, session(saved, "ben"), observation(saved, "ben", "Tests are sentences")]

    def script(method: str, path: str, body: bytes) -> Answer:
        pulls = path.startswith("/api/team/pull")
        return lines(*page, cursor="5") if pulls else healthy(method, path, body)

    desk.team.script = script
    desk.exchange.step()
    assert desk.store.outbox.progress().cursor == "5"
    assert desk.store.outbox.sessions_of_others() == {}
    assert desk.store.sessions.find(saved) is None


def test_a_server_that_never_comes_to_an_end_does_not_hold_the_machine_for_ever(desk: Desk) -> None:
    most = ROUNDS * ROUNDS

    def script(method: str, path: str, body: bytes) -> Answer:
        pulls = path.startswith("/api/team/pull")
        more = len(desk.team.requests) <= 2 * most  # so that a failure is one, and no hang
        return lines(cursor="5", more=more) if pulls else healthy(method, path, body)

    desk.team.script = script
    desk.exchange.now()
    assert len(desk.team.requests) <= most
    assert not desk.exchange.changing.locked()


@pytest.mark.parametrize("at", [2**63, -(2**70)])
def test_a_forget_of_no_time_that_there_is_is_no_pull(desk: Desk, at: int) -> None:
    forget = {"kind": "forget", "id": "f1", "of": "observation", "digest": "0" * 64, "at": at}

    def script(method: str, path: str, body: bytes) -> Answer:
        return lines(forget, cursor="5") if path.startswith("/api/team/pull") else healthy(method, path, body)

    desk.team.script = script
    desk.exchange.step()
    assert desk.store.outbox.progress().error is not None
    assert desk.store.outbox.progress().cursor == ""
