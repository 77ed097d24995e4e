"""What every agent goes through: it is connected, a session mends the postage of heavy parcels while its
worker is killed, and a second session is asked about it; then claude-mem is uninstalled."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.client import first_session, session_runs
from tests.harness import workers
from tests.harness.agent_clients.agent_home import AgentHome, Ran, internal
from tests.harness.agent_clients.clients import Client
from tests.harness.home_snapshot import Picture, picture
from tests.harness.model_script import Request, Say, Use

HIDDEN = f"intimate{hashlib.sha256(b'hidden').hexdigest()[:20]}"
SECRET = f"{hashlib.sha256(b'secret').hexdigest()[:20]}"
TOKEN = f"ghp_{SECRET}{'Z' * 16}"
ASKED = f"{first_session.ASKED} <private>{HIDDEN}</private> The token is {TOKEN}."
QUESTION = "Why did a parcel of exactly one kilo pay for two?"
BROKEN = "echo heavy; ls missing.txt"


@dataclass(frozen=True, slots=True)
class Session:
    ran: Ran
    requests: list[Request]  # in which the agent's model was to work: no titles, no checks
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class TwoSessions:
    home: AgentHome
    first: Session
    second: Session
    on_disk: bytes  # the data directory after both, in lower case
    before: Picture  # the home, before claude-mem was installed
    left: Picture  # after it was uninstalled; neither with our data directory

    def events(self, *columns: str) -> list[list[tuple[Any, ...]]]:
        """What is recorded of each session, in order."""
        ids = [id for (id,) in self.home.rows("SELECT id FROM sdk_sessions ORDER BY id")]
        named = ", ".join(columns)
        of = f"SELECT {named} FROM pending_messages WHERE session_id = ? ORDER BY id"
        return [self.home.rows(of, id) for id in ids]


def play(at: Path, client: Client) -> Iterator[TwoSessions]:
    home = AgentHome(at, client)
    try:
        home.commands()
        before = picture(home.home, ".claude-mem")
        home.connect("--agent", client.name)
        first = _session(home, ASKED, _mending(home), kill_before=3)
        _kill_the_worker(home)
        home.mem("worker", "start")
        home.settle()
        session_runs.rendered(home, "postage")
        file = home.project / first_session.FILE
        second = _session(home, QUESTION, (client.read(file), client.shell("echo light")))
        home.settle()
        on_disk = _on_disk(home)
        workers.finish(home.data)
        on_disk += _on_disk(home)
        home.mem("uninstall", "--yes", "--agent", client.name)
        left = picture(home.home, ".claude-mem")
        yield TwoSessions(home, first, second, on_disk, before, left)
    finally:
        home.end()


def _mending(home: AgentHome) -> tuple[Use, ...]:
    client, file = home.client, home.project / first_session.FILE
    return (
        client.write(file, f"def postage(grams):\n    return {first_session.WRONG}\n"),
        client.edit(file, f"    return {first_session.WRONG}", f"    return {first_session.RIGHT}"),
        client.shell(f"echo {TOKEN}"),
        client.shell(BROKEN),
    )


def _session(
    home: AgentHome, prompt: str, uses: tuple[Use, ...], *, kill_before: int | None = None
) -> Session:
    """The worker dies while the model thinks of what to do in that step."""
    steps: list[Say | Callable[[], Say]] = [Say("", uses=(use,)) for use in uses]
    steps.append(Say(first_session.SAID if kill_before else "Because it was rounded up twice."))
    if kill_before is not None:
        step = steps[kill_before]
        assert isinstance(step, Say)

        def killing() -> Say:
            workers.until(lambda: bool(workers.processes(home.data)), "a worker runs")
            _kill_the_worker(home)
            return step

        steps[kill_before] = killing
    with home.model(steps) as server:
        ran = home.run(prompt)
    assert ran.code == 0, ran.out + ran.err
    asked = [request for request in server.requests if not internal(request)]
    return Session(ran, asked, uses)


def _kill_the_worker(home: AgentHome) -> None:
    """If there is one: after a kill nobody starts the next at once."""
    for pid in workers.processes(home.data):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    workers.until(lambda: not workers.processes(home.data), "it is gone")


def _on_disk(home: AgentHome) -> bytes:
    return b"\n".join(content for _, content in home.bytes_of_the_data_directory()).lower()
