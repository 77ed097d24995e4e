"""A session that is interrupted or killed in the middle of a turn: what it did until then is remembered."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.client.session_runs import greet, memories, recorded, rendered_work, source, taught, times
from tests.harness import checker, workers
from tests.harness.claude import Claude, Playing
from tests.harness.homes import PATIENCE_S
from tests.harness.model_script import Hang, Say, Step, Use
from tests.harness.model_server import ModelServer

from claude_mem.queue import schedule


@pytest.fixture(scope="module")
def claude(house: Claude) -> Claude:
    return house


@dataclass(frozen=True)
class Cut:
    """What became of a client, and where and with what tools it had worked."""

    name: str
    place: Path
    session: str
    code: int
    err: str

    @property
    def file(self) -> str:
        return f"{self.name}.py"

    def events(self, state: str, *more: tuple[str, None, str]) -> list[tuple[str, str | None, str]]:
        """All it had done, and where that is by now."""
        return [
            ("session_start", None, "done"),
            ("prompt", None, state),
            ("tool_use", f"toolu_write_{self.name}", state),
            ("tool_use", f"toolu_look_{self.name}", state),
            *more,
        ]


def cut(claude: Claude, name: str, how: signal.Signals) -> Cut:
    """A turn in a project of its own: a file is made and looked at; then the model thinks for ever, and
    somebody loses patience."""
    place = claude.repository(claude.home / name)
    write = {"file_path": str(place / f"{name}.py"), "content": source(name)}
    steps: list[Step] = [
        Say("Writing.", uses=(Use("Write", write, f"toolu_write_{name}"),)),
        Say("Looking.", uses=(Use("Bash", {"command": f"cat {name}.py"}, f"toolu_look_{name}"),)),
        Hang(),
    ]
    with (
        ModelServer(Playing(steps)) as server,
        claude.started(server, f"Add {name}.py: {name}() returns the number seven.", cwd=place) as process,
    ):
        server.wait_for_request(len(steps))
        process.send_signal(how)
        out, err = process.communicate(timeout=PATIENCE_S)
    workers.drained(claude.data)
    return Cut(name, place, json.loads(out.splitlines()[0])["session_id"], process.returncode, err)


def only_a_worker_is_left(claude: Claude) -> None:
    """Of a client that was killed, what it had started notices a moment later."""
    workers.until(
        lambda: claude.processes() == set(workers.processes(claude.data)),
        "the client and all of its are gone",
    )
    assert len(claude.processes()) == 1


def pass_time(claude: Claude, ms: int) -> None:
    """So much later: nothing has happened meanwhile."""
    claude.mem("worker", "stop")
    with closing(sqlite3.connect(claude.data / "claude-mem.db")) as db:
        db.execute("UPDATE pending_messages SET created_at_epoch = created_at_epoch - ?", (ms,))
        db.execute("UPDATE sdk_sessions SET updated_at_epoch = updated_at_epoch - ?", (ms,))
        db.commit()
    claude.mem("worker", "start")


def the_next_start_is_told(claude: Claude, of: Cut) -> None:
    rendered_work(claude, of.file, cwd=of.place)
    _, request = greet(claude, cwd=of.place)
    assert times(request, of.file, claude) == 1


@pytest.mark.parametrize(("name", "how"), [("wren", signal.SIGINT), ("finch", signal.SIGTERM)])
def test_an_interrupted_session_is_remembered_at_once_with_all_it_had_done(
    claude: Claude, name: str, how: signal.Signals
) -> None:
    left = cut(claude, name, how)
    assert left.err == ""
    only_a_worker_is_left(claude)
    claude.settle()
    assert recorded(claude, left.session) == left.events("done", ("session_end", None, "done"))
    assert taught(claude, left.session) == [left.file]
    the_next_start_is_told(claude, left)


def test_a_killed_session_loses_nothing_and_is_remembered_once_it_has_been_silent_for_long_enough(
    claude: Claude,
) -> None:
    left = cut(claude, "robin", signal.SIGKILL)
    assert (left.code, left.err) == (-signal.SIGKILL, "")
    only_a_worker_is_left(claude)
    assert recorded(claude, left.session) == left.events("ready"), "it may only be thinking"
    pass_time(claude, schedule.IDLE_MS)
    claude.settle()
    assert recorded(claude, left.session) == left.events("done")
    assert taught(claude, left.session) == [left.file]
    the_next_start_is_told(claude, left)


def test_a_killed_session_that_is_resumed_is_remembered_with_its_next_turn(claude: Claude) -> None:
    left = cut(claude, "heron", signal.SIGKILL)
    assert taught(claude, left.session) == []
    again, request = greet(claude, "--resume", left.session, cwd=left.place)
    assert again.session == left.session
    assert memories(request) == [], "its own work it knows"
    assert taught(claude, left.session) == [left.file]


def test_nothing_of_them_is_lost_or_doubled(claude: Claude) -> None:
    uses = claude.rows("SELECT tool_use_id FROM pending_messages WHERE tool_use_id NOT NULL")
    names = ("wren", "finch", "robin", "heron")
    assert sorted(uses) == sorted((f"toolu_{did}_{name}",) for name in names for did in ("write", "look"))
    assert checker.check(claude.data, [use for (use,) in uses]) == {"done": 8, "spooled": 0}
