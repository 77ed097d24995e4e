"""What waits and what was given up, what came in and what it cost: as a person asks for it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.harness import hook_process, payloads, workers
from tests.harness.commands import Mem
from tests.harness.model_script import Request, Say, Status, Step
from tests.harness.model_server import ModelServer

from claude_mem.agents import short_id

REASON = "no XML in the reply: Sorry, I cannot do that."
REPLY = "<observation><type>bugfix</type><title>It holds</title></observation>"
OF_SESSION = "session_id = (SELECT id FROM sdk_sessions WHERE claude_session_id = ?)"
NUMBERS = count(1)


def turn(data: Path, number: int = 1, session: str = payloads.SESSION) -> None:
    """A turn from the user's words to the agent's last, by its hooks."""
    here, command = f"p-{number}", "git commit -m 'Mend the fence'"
    for event in (
        payloads.prompt("mend the fence", session, here),
        payloads.bash(f"toolu_{session}_{number}", command, "[main 4e1f0c2] Mend the fence", session=session),
        payloads.stop("The fence is mended.", session, here),
    ):
        hook_process.run(data, event)


def count_of(data: Path, table: str, session: str = payloads.SESSION) -> int:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        (rows,) = db.execute(f"SELECT count(*) FROM {table} WHERE {OF_SESSION}", (session,)).fetchone()
    return int(rows)


def changed(data: Path, session: str, *statements: str) -> None:
    with closing(sqlite3.connect(data / "claude-mem.db", timeout=workers.PATIENCE_S)) as db:
        for statement in statements:
            db.execute(f"{statement} WHERE {OF_SESSION}", (session,))
        db.commit()


@pytest.fixture
def mem(data: Path) -> Iterator[Mem]:
    """No worker runs yet."""
    yield Mem(data, CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
    if data.is_dir():
        workers.finish(data)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mem]:
    with workers.running(tmp_path_factory.mktemp("queue") / "data") as data:
        yield Mem(data)


@dataclass(frozen=True)
class Parked:
    """A turn of one session was given up, and nothing else."""

    mem: Mem
    session: str
    ids: list[int]

    def listed(self) -> Any:
        return self.mem.json("queue", "list")

    def count(self, table: str) -> int:
        return count_of(self.mem.data_dir, table, self.session)


@pytest.fixture
def parked(worker: Mem) -> Iterator[Parked]:
    data, session = worker.data_dir, f"{next(NUMBERS):08x}-0000-4000-8000-000000000001"
    turn(data, session=session)
    workers.settled(data)
    changed(
        data,
        session,
        "DELETE FROM observations",
        "DELETE FROM session_summaries",
        f"UPDATE pending_messages SET state = 'parked', attempts = 3, reason = '{REASON}'",
    )
    listed = worker.json("queue", "list")["items"]
    yield Parked(worker, session, [job["id"] for job in listed])
    changed(data, session, "DELETE FROM pending_messages")


def test_the_queue_of_a_worker_that_is_down_leads_to_its_start(mem: Mem, subtests: pytest.Subtests) -> None:
    for words in (("list",), ("retry",), ("drop", "7", "--yes")):
        with subtests.test(words[0]):
            said = mem("queue", *words, code=1)
            assert said.stdout == ""
            assert said.stderr.startswith("claude-mem: The worker is not running.")
            assert "claude-mem worker start" in said.stderr


def test_what_was_given_up_is_listed_with_its_reason_and_the_next_step(parked: Parked) -> None:
    mem, (first, second, _) = parked.mem, parked.ids
    said = mem("queue", "list")
    assert said.stdout.count(short_id(parked.session)) == 3
    assert REASON[:30] in said.stdout
    assert "claude-mem queue retry" in said.stderr
    assert max(map(len, said.stdout.splitlines())) <= 80
    listed = mem.json("queue", "list", "--limit", "2")
    assert [job["id"] for job in listed["items"]] == [first, second]
    assert (listed["total"], listed["items"][0]["reason"]) == (3, REASON)
    assert "2 of 3" in mem("queue", "list", "--limit", "2").stderr
    assert mem("queue", "list", "--state", "ready").stderr == "No ready events.\n"


def test_what_was_given_up_is_tried_again_and_becomes_memory(parked: Parked) -> None:
    mem = parked.mem
    assert parked.count("session_summaries") == 0
    assert mem("queue", "retry", process=True).stdout == "3 events will be retried.\n"
    workers.settled(mem.data_dir)
    assert parked.count("session_summaries") == 1
    assert mem("queue", "list").stderr == "No parked events.\n"
    assert mem("queue", "retry").stdout.startswith("No parked events.")


def test_one_of_several_is_tried_again_and_a_stranger_among_them_is_named(parked: Parked) -> None:
    first, *rest = parked.ids
    said = parked.mem("queue", "retry", first, "999999", code=1)
    assert said.stdout == "1 event will be retried.\n"
    assert "1 of 2 events" in said.stderr
    assert [job["id"] for job in parked.listed()["items"]] == rest
    parked.mem("queue", "retry", "--all", first, code=2)


def test_giving_up_asks_first_and_keeps_the_evidence(parked: Parked) -> None:
    mem, (first, second, third) = parked.mem, parked.ids
    mem("queue", "drop", first, code=2)
    mem("queue", "drop", first, typed="n", code=1)
    assert parked.listed()["total"] == 3
    said = mem("queue", "drop", first, second, typed="y", process=True)
    assert said.stdout == "2 events dropped.\n"
    mem("queue", "drop", first, "--yes", code=1)  # it is not parked any more
    assert [job["id"] for job in parked.listed()["items"]] == [third]
    assert (parked.count("pending_messages"), parked.count("observations")) == (3, 0)


def diagnosed(mem: Mem) -> tuple[Any, dict[str, str]]:
    """What doctor says, and the first level of each of its checks."""
    report = json.loads(mem("doctor", "--json", code=None).stdout)
    return report, {found["check"]: found["level"] for found in reversed(report["findings"])}


def test_a_pause_is_told_by_doctor_and_ended_by_a_retry(mem: Mem, data: Path) -> None:
    mended = False

    def script(_: Request) -> Step:
        return Say(REPLY) if mended else Status(401)

    with ModelServer(script) as server:
        mem.env |= workers.asking(server.url)
        mem("worker", "start")
        turn(data)
        workers.until(lambda: diagnosed(mem)[0]["observing"] is False, "doctor names the pause")
        report, levels = diagnosed(mem)
        assert levels["paused"] == "bad"
        assert "\nobserving: no, because " in mem("doctor", code=1).stdout
        assert "claude-mem queue retry" in str(report["findings"])
        mended = True
        mem("queue", "retry")
        workers.settled(data)
        assert count_of(data, "observations") == 1
        assert diagnosed(mem)[0]["observing"] is True


# Stats


def test_stats_tell_what_came_in_what_became_of_it_and_what_it_cost(mem: Mem, data: Path) -> None:
    with ModelServer([Say(REPLY, input_tokens=1000, cached_tokens=200, output_tokens=50)]) as server:
        mem.env |= workers.asking(server.url)
        mem("worker", "start")
        turn(data)
        workers.settled(data)
    up = mem.json("stats")
    mem("worker", "stop")
    down = mem.json("stats", "--days", "1")
    assert down == up | {"since": down["since"]}
    assert up["captured"] == {"sessions": 1, "prompts": 1, "events": 3}
    assert (up["became"]["by_type"], up["became"]["summaries"]) == ({"bugfix": 1}, 0)
    assert up["cost"]["calls"] == 1
    assert (up["cost"]["cached_tokens"], up["cost"]["output_tokens"]) == (200, 50)
    assert list(up["cost"]["by_project"]) == ["proj"]
    screen = mem("stats").stdout
    assert "Captured  1 session, 1 prompt, 3 events" in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert mem.json("stats", "--since", "2999-01-01")["captured"]["events"] == 0


def test_stats_without_a_database_say_so_and_make_none(mem: Mem, data: Path) -> None:
    said = mem("stats", code=1)
    assert said.stdout == ""
    assert "There is no database yet" in said.stderr
    assert not data.exists()


def test_a_period_that_makes_no_sense_is_wrong_usage(mem: Mem, subtests: pytest.Subtests) -> None:
    for words in (("--since", "soon"), ("--days", "0"), ("--days", "2", "--since", "2026-01-31")):
        with subtests.test(" ".join(words)):
            mem("stats", *words, code=2)


@pytest.mark.prove  # `make test` has the take-over itself, in test_hook_to_memory.py
def test_a_spent_budget_shows_in_stats_and_doctor_and_the_offline_observer_takes_over(
    mem: Mem, data: Path
) -> None:
    with ModelServer([Say(REPLY, input_tokens=1000)]) as server:
        mem.env |= workers.asking(server.url, CLAUDE_MEM_DAILY_TOKENS="1000")
        mem("worker", "start")
        turn(data)
        workers.settled(data)
        turn(data, 2)
        workers.until(lambda: count_of(data, "session_summaries") == 1, "the offline observer took over")
        assert len(server.requests) == 1
        workers.until(lambda: diagnosed(mem)[1].get("budget") == "warn", "doctor warns of the budget")
        assert diagnosed(mem)[0]["observing"] is True
        assert "the offline observer has taken over" in mem("stats").stdout
        assert set(mem.json("stats")["became"]["by_provider"]) == {"anthropic:scripted", "offline"}
