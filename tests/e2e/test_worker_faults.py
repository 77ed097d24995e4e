"""Rows 15 to 18 of the fault matrix: the port is taken, two workers race, one is stopped, versions differ."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.harness import hook_process
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import answers, spooled, starts, until

from claude_mem.model.errors import WorkerHung
from claude_mem.serve import control, lock

ONCE_MORE = pytest.mark.prove
"""The same again, or another of its kind: `make test` keeps some of every class here."""
PAYLOAD = (
    b'{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/","tool_name":"Read","tool_use_id":"toolu_%d",'
    b'"tool_input":{},"tool_response":"ok"}'
)


@contextmanager
def stranger(port: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Somebody else listens on our port and keeps all that is said to it."""
    heard: list[bytes] = []

    def listen(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.2)
                try:
                    heard.append(connection.recv(65536))
                except OSError:
                    heard.append(b"")

    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        listening = threading.Thread(target=listen, args=(server,))
        listening.start()
        try:
            yield server.getsockname()[1], heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            listening.join(worker_driver.DEADLINE_S)


class TestRow15ThePortIsTaken:
    def test_another_port_is_found_and_hooks_tell_the_stranger_nothing(self, data: Path) -> None:
        with stranger() as (port, heard), worker_driver.started(data, "--port", str(port)) as worker:
            assert worker.port != port
            assert worker.ask("GET", "/health")[1]["port"] == worker.port
            for number in range(5):
                assert hook_process.run(data, PAYLOAD % number).code == 0
            until("the events arrive", lambda: worker.counters().get("accepted") == 5)
            assert control.status(data).port == worker.port
        assert heard == []

    @ONCE_MORE
    def test_with_no_worker_the_stranger_is_told_nothing_either(self, data: Path) -> None:
        with stranger() as (port, heard), worker_driver.started(data, "--port", str(port)) as worker:
            control.stop(data)
            until("the worker ends", lambda: worker.process.poll() is not None)
            assert control.status(data).state == "stopped"
            assert not control.stop(data)
        assert heard == []


RACER = """
import sys, time
from pathlib import Path
from claude_mem.serve import lock
for line in sys.stdin:
    path, at = line.split()
    while time.monotonic() < float(at):
        pass
    try:
        with lock.hold(Path(path)):
            print("held", flush=True)
            sys.stdin.readline()
    except lock.LockHeld as held:
        print(held.pid, flush=True)
        sys.stdin.readline()
"""


class TestRow16StaleNumbersAndRaces:
    @pytest.mark.parametrize("rounds", [10, pytest.param(97, marks=ONCE_MORE)])
    def test_of_four_racing_at_a_barrier_one_holds_and_the_others_know_which(
        self, tmp_path: Path, rounds: int
    ) -> None:
        with ExitStack() as stack:
            racers = [
                stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-c", RACER],
                        env=worker_driver.environment(),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                        bufsize=1,
                    )
                )
                for _ in range(4)
            ]
            for number in range(rounds):
                # The same file every time, so that the last holder's leaving is part of the race.
                barrier = time.monotonic() + (0.2 if number == 0 else 0.01)
                for racer in racers:
                    assert racer.stdin
                    racer.stdin.write(f"{tmp_path / 'worker.lock'} {barrier}\n")
                said = {racer.pid: racer.stdout.readline().strip() for racer in racers if racer.stdout}
                held = [pid for pid, word in said.items() if word == "held"]
                assert len(held) == 1, said
                assert all(word == str(held[0]) for word in said.values() if word != "held"), said
                for racer in sorted(racers, key=lambda racer: racer.pid == held[0]):
                    assert racer.stdin
                    racer.stdin.write("end\n")
                until("the lock is free", lambda: lock.holder(tmp_path / "worker.lock") is None)
            for racer in racers:
                assert racer.stdin
                racer.stdin.close()

    @pytest.mark.parametrize("number", [1, *(pytest.param(each, marks=ONCE_MORE) for each in (0, 2))])
    def test_of_four_whole_workers_started_at_once_one_lives(self, data: Path, number: int) -> None:
        option = ["--from-hook"] if number % 2 else []
        racers = [worker_driver.launched(data, *option) for _ in range(4)]
        try:
            until("the others leave", lambda: sum(racer.poll() is None for racer in racers) == 1)
            until("the one answers", lambda: answers(data))
            [living] = [racer for racer in racers if racer.poll() is None]
            assert lock.holder(data / "worker.lock") == living.pid
            assert starts(data) == ["0.1.0"], "only the lock's holder touches the store"
            left = [racer.returncode for racer in racers if racer is not living]
            assert left == [0 if option else 1] * 3
        finally:
            for racer in racers:
                worker_driver.end(racer)

    def test_a_refused_worker_says_who_is_there(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            second = worker_driver.launched(data)
            assert second.wait(worker_driver.DEADLINE_S) == 1
            assert second.stderr
            assert str(worker.pid) in second.stderr.read().decode()
            worker_driver.end(second)

    @pytest.mark.parametrize("running", [True, pytest.param(False, marks=ONCE_MORE)])
    def test_a_forged_number_gets_no_innocent_killed(self, data: Path, running: bool) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
            try:
                with ExitStack() as stack:
                    if running:
                        stack.enter_context(worker_driver.started(data))
                    data.mkdir(exist_ok=True)
                    forged = {"pid": innocent.pid, "port": 1, "protocol": 1, "version": "0.1.0", "started": 0}
                    (data / "worker.json").write_text(json.dumps(forged))
                    (data / "worker.lock").touch()
                    assert control.status(data).pid != innocent.pid
                    assert control.stop(data) is running
                    assert innocent.poll() is None
            finally:
                innocent.kill()

    def test_a_worker_that_was_killed_leaves_nothing_in_the_next_ones_way(self, data: Path) -> None:
        with worker_driver.started(data) as first:
            token = first.token
            os.kill(first.pid, signal.SIGKILL)
            until("the lock is free", lambda: control.status(data).state == "stopped")
            assert (data / "hook.sock").exists(), "a killed worker cleans nothing up"
            with worker_driver.started(data) as second:
                assert second.announced["pid"] == second.pid
                assert second.token == token
                assert second.say(b'{"type":"ask"}\n', replies=1)


class TestRow17TheWorkerIsStopped:
    def test_it_is_named_hooks_do_not_wait_and_it_drains_when_it_wakes(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            os.kill(worker.pid, signal.SIGSTOP)
            found = control.status(data, deadline_s=0.3)
            assert (found.state, found.pid) == ("hung", worker.pid)
            with pytest.raises(WorkerHung) as hung:
                control.start(data, deadline_s=0.3)
            assert hung.value.pid == worker.pid
            for number in range(10):
                answered, waits = hook_process.run_watched(data, PAYLOAD % number)
                assert (answered.code, waits) == (0, []), "a hook that only records waits for nobody"
            assert spooled(data) == 10
            os.kill(worker.pid, signal.SIGCONT)
            until("it drains", lambda: spooled(data) == 0)
            assert worker.counters()["accepted"] == 10
            assert starts(data) == ["0.1.0"], "nobody started a second one"

    @ONCE_MORE
    def test_stop_ends_even_a_worker_that_cannot_answer(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            os.kill(worker.pid, signal.SIGSTOP)
            assert control.stop(data, deadline_s=15)
            until("it ends", lambda: worker.process.poll() is not None)
            assert control.status(data).state == "stopped"


class TestRow18VersionSkew:
    def test_an_upgrade_in_place_takes_over_once(self, data: Path) -> None:
        newer = worker_driver.command(
            data, "--version", "0.2.0", "--from-hook", "--port", str(worker_driver.free_port())
        )
        with worker_driver.started(data, "--version", "0.1.0", "--successor", json.dumps(newer)) as worker:
            try:
                worker.poke("0.2.0")
                until("the new one answers", lambda: control.status(data).version == "0.2.0")
                assert worker.process.wait(worker_driver.DEADLINE_S) == 0
                for _ in range(20):
                    for version in ("0.2.0", "0.1.0", "0.2.0rc1", "garbage", ""):
                        worker.poke(version)
                assert control.status(data).version == "0.2.0"
                assert starts(data) == ["0.1.0", "0.2.0"]
            finally:
                control.stop(data)

    @ONCE_MORE
    def test_two_installs_side_by_side_do_not_hand_over_back_and_forth(self, data: Path) -> None:
        older = worker_driver.command(data, "--version", "0.1.0", "--from-hook")
        with worker_driver.started(data, "--version", "0.1.0", "--successor", json.dumps(older)) as worker:
            worker.poke("0.2.0")
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            until("the successor has looked and left", lambda: control.status(data).state == "stopped")
        for _ in range(3):
            late = worker_driver.launched(data, "--version", "0.1.0", "--from-hook")
            assert late.wait(worker_driver.DEADLINE_S) == 0
            worker_driver.end(late)
        assert starts(data) == ["0.1.0"], "the older install's hooks stay away"
        with worker_driver.started(data, "--version", "0.2.0", "--from-hook") as newer:
            newer.poke("0.1.0")
            assert newer.ask("GET", "/health")[1]["version"] == "0.2.0"
        assert starts(data) == ["0.1.0", "0.2.0"]

    @ONCE_MORE
    def test_a_person_may_start_the_older_one_and_it_is_left_alone(self, data: Path) -> None:
        data.mkdir()
        handed_over = {"to": "0.2.0", "at": time.time_ns() // 1_000_000}
        (data / "handover.json").write_text(json.dumps(handed_over))
        with worker_driver.started(data, "--version", "0.1.0") as worker:
            for _ in range(5):
                worker.poke("0.2.0")
            assert worker.say(b'{"type":"ask"}\n', replies=1), "all pokes before this line were heard"
            assert worker.process.poll() is None
        assert starts(data) == ["0.1.0"]

    @ONCE_MORE
    def test_work_that_never_ends_does_not_keep_the_new_one_from_starting(self, data: Path) -> None:
        newer = worker_driver.command(
            data, "--version", "0.2.0", "--from-hook", "--port", str(worker_driver.free_port())
        )
        with worker_driver.started(data, "--version", "0.1.0", "--successor", json.dumps(newer)) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            try:
                worker.poke("0.2.0")
                until("the new one answers", lambda: control.status(data).version == "0.2.0")
                assert worker.process.wait(worker_driver.DEADLINE_S) == 0
                assert not (data / "closed").exists(), "the old one was cut off"
            finally:
                (data / "drain-is-slow").unlink()
                control.stop(data)

    def test_running_work_is_finished_before_the_handover(self, data: Path) -> None:
        with worker_driver.started(data, "--successor", json.dumps([sys.executable, "-c", "pass"])) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            worker_driver.spool(data, 1)
            worker.poke("0.2.0")
            until("it stops listening", lambda: not (data / "hook.sock").exists())
            assert worker.process.poll() is None, "a drain is still running"
            (data / "drain-is-slow").unlink()
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            assert spooled(data) == 0
            assert (data / "closed").exists()
