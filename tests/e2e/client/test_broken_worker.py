"""A worker that is down, killed, hung or kept from its port: the client does not notice, nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pytest
from tests.e2e.client import client_outcome
from tests.e2e.client.client_outcome import (
    Course,
    all_hooks_ran_happily,
    everything_is_there_once,
    kept_of,
    run,
    unhappy_hooks,
)
from tests.harness import workers
from tests.harness.claude import Claude
from tests.harness.model_script import Request

from claude_mem.serve import control


@pytest.fixture(scope="module")
def without_us(tmp_path_factory: pytest.TempPathFactory, only_the_loopback: None) -> Course:
    return client_outcome.without_us(tmp_path_factory.mktemp("without"))


@contextmanager
def database_it_refuses(claude: Claude) -> Iterator[None]:
    """Every worker that is started ends at once, with the reason in its log."""
    claude.data.mkdir(mode=0o700, exist_ok=True)
    in_its_place = claude.data / "claude-mem.db"
    in_its_place.mkdir()
    yield
    assert control.status(claude.data).state == "stopped"
    log = claude.data / "logs/start.log"  # which every attempt writes anew
    workers.until(lambda: "claude-mem.db" in log.read_text(), "the log says why")
    in_its_place.rmdir()


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def lock_held_by_another(claude: Claude) -> Iterator[None]:
    """Somebody who is no worker keeps all workers out."""
    claude.data.mkdir(mode=0o700, exist_ok=True)
    words = [sys.executable, "-c", HOLDER, str(claude.data / "worker.lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        yield
        assert control.status(claude.data).pid == holder.pid
        holder.communicate()


@contextmanager
def hung(claude: Claude) -> Iterator[None]:
    claude.mem("worker", "start")
    pid = control.status(claude.data).pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    yield
    assert control.status(claude.data).state == "hung"
    os.kill(pid, signal.SIGCONT)


FAULTS: dict[str, Callable[[Claude], AbstractContextManager[None]]] = {
    "it cannot be started": database_it_refuses,
    "another holds its lock": lock_held_by_another,
    "it is hung": hung,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_worker_that_is_not_there_changes_nothing_and_loses_nothing(
    claude: Claude, without_us: Course, fault: Callable[[Claude], AbstractContextManager[None]]
) -> None:
    with fault(claude):
        ran, course = run(claude)
        assert not (claude.data / "claude-mem.db").is_file() or kept_of(claude, ran) == {}, "it was there"
    assert course == without_us
    all_hooks_ran_happily(claude, ran)
    everything_is_there_once(claude, ran)


def test_a_worker_killed_again_and_again_in_mid_turn_changes_nothing_and_loses_nothing(
    claude: Claude, without_us: Course
) -> None:
    claude.mem("worker", "start")
    killed = []

    def kill(_: Request) -> None:
        for pid in workers.processes(claude.data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        (claude.data / "start.stamp").unlink(missing_ok=True)  # the next hook may start another at once

    ran, course = run(claude, kill)
    assert len(set(killed)) > 1
    assert course == without_us
    all_hooks_ran_happily(claude, ran)
    everything_is_there_once(claude, ran)


class Stranger:
    """Listens where the worker was to listen, takes whoever comes, and keeps what they say."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Stranger:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection:
                    connection.settimeout(1)
                    said = b""  # also who only comes by is noted
                    with suppress(TimeoutError):
                        said = connection.recv(65536)
                    self.heard.append(said)


@pytest.mark.parametrize("worker", ["elsewhere", "down"])
def test_a_stranger_on_our_port_is_told_nothing(claude: Claude, without_us: Course, worker: str) -> None:
    with Stranger() as stranger:
        if worker == "elsewhere":
            claude.mem("worker", "start", CLAUDE_MEM_WORKER_PORT=str(stranger.port))
            status = control.status(claude.data)
            assert (status.state, status.port == stranger.port) == ("running", False)
            ran, course = run(claude, port=stranger.port)
        else:
            with database_it_refuses(claude):
                (claude.data / "worker.json").write_text(json.dumps({"pid": 1, "port": stranger.port}))
                ran, course = run(claude, port=stranger.port)
        assert stranger.heard == []
        with socket.create_connection(("127.0.0.1", stranger.port)) as told:
            told.sendall(b"hello")
            workers.until(lambda: stranger.heard == [b"hello"], "it does hear who talks to it")
    assert course == without_us
    all_hooks_ran_happily(claude, ran)
    everything_is_there_once(claude, ran)


FAILING = {
    "it fails": "echo oh no >&2; exit 1",
    "it is late": "sleep 60",
    "it complains": "echo oh no >&2",
}


@pytest.mark.parametrize("does", FAILING.values(), ids=FAILING)
def test_a_hook_that_is_in_the_way_would_be_seen(bare: Claude, does: str) -> None:
    entry = {"type": "command", "command": does, "timeout": 1}
    settings = {"hooks": {"PostToolUse": [{"hooks": [entry]}]}}
    (bare.config / "settings.json").write_text(json.dumps(settings))
    ran, _ = run(bare)
    assert unhappy_hooks(bare, ran) != []
