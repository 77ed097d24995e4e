"""kill -9 of the workers while they send and pull: afterwards each memory is on the other machine once, what
was forgotten is gone, and nothing is left to be sent."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.harness import checker, team_servers, workers
from tests.harness.postgres import new_database
from tests.harness.team_machines import Machine, machines

from claude_mem.model.clock import now
from claude_mem.serve import control

pytestmark = pytest.mark.prove
KILLS = 12
MEMORIES = 600
FORGOTTEN = 40
KEY = "git.example/acme/shop"


def records(member: str) -> Iterator[bytes]:
    """A member's own past: sessions with observations and summaries, as an export has them."""
    at = now() - 1_000_000
    yield json.dumps({"kind": "claude-mem", "version": 1}).encode()
    yield json.dumps({"kind": "project", "key": KEY, "name": "shop"}).encode()
    for number in range(MEMORIES):
        session = f"{member}-{number // 20}"
        if number % 20 == 0:
            head = {"kind": "session", "session_id": session, "project": KEY, "client": "codex"}
            yield json.dumps(head | {"created_at": at + number}).encode()
        memory = {"kind": "observation", "session_id": session, "type": "change", "at": at + number}
        yield json.dumps(memory | {"title": f"{member} {number}", "narrative": f"word{number}."}).encode()


def add(machine: Machine) -> None:
    raw = b"\n".join(records(machine.member))
    machine.mem("import", "--own", "-", given=raw + b"\n")


def titles(machine: Machine, author: str | None) -> Counter[str]:
    sql = "SELECT o.title FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id"
    rows = machine.rows(f"{sql} WHERE s.author IS ?", author)
    return Counter(title for (title,) in rows)


def has_more_to_send(machine: Machine) -> bool:
    status = machine.sync()
    return bool(status["error"] or status["due"] or status["waiting"] or status["forgets"])


def kill_at_random(machines: list[Machine], chance: random.Random, enough: threading.Event) -> None:
    """A worker is killed and started again, now this one, now that one, wherever it is."""
    for number in range(KILLS):
        victim = machines[number % len(machines)]
        enough.wait(chance.uniform(0.05, 0.6))
        for pid in workers.processes(victim.data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        workers.until(lambda found=victim: not workers.processes(found.data), "it is dead")  # type: ignore[misc]
        control.start(victim.data, deadline_s=workers.PATIENCE_S)


def test_kills_while_sending_and_pulling_lose_and_double_nothing(tmp_path: Path) -> None:
    database = new_database()
    keys = team_servers.new_team(database, "ben")
    with (
        team_servers.running(database) as server,
        machines(tmp_path, "ada", "ben") as (ada, ben),
    ):
        for each in (ada, ben):
            add(each)
            each.join(f"http://127.0.0.1:{server.port}", keys[each.member])
        ada.mem("share", "shop")
        ada.sync()
        team_servers.grant(database, KEY, "ben", "write")
        ada.mem("unshare", "shop")
        ben.mem("share", "shop")
        ada.mem("share", "shop")
        kill_at_random([ada, ben], random.Random(7), threading.Event())
        refs = [
            id
            for (id,) in ada.rows("SELECT id FROM observations WHERE title LIKE 'ada %' LIMIT ?", FORGOTTEN)
        ]
        gone = {
            title
            for (title,) in ada.rows(
                f"SELECT title FROM observations WHERE id IN ({','.join(map(str, refs))})"
            )
        }
        ada.mem("forget", *refs, "--yes")
        kill_at_random([ada, ben], random.Random(8), threading.Event())
        workers.until(lambda: not any(map(has_more_to_send, (ada, ben))), "all is sent")
        for each in (ada, ben):  # all is sent: what they pull now is all there is
            assert each.sync()["error"] is None
        assert titles(ada, "ben") == titles(ben, None) == Counter(f"ben {n}" for n in range(MEMORIES))
        expected = Counter(f"ada {n}" for n in range(MEMORIES) if f"ada {n}" not in gone)
        assert titles(ben, "ada") == titles(ada, None) == expected
        assert [each["waiting_for"] for each in ada.mem.json("forget", "--status")["items"]] == [
            []
        ] * FORGOTTEN
        for each in (ada, ben):
            checker.check(each.data, ())
