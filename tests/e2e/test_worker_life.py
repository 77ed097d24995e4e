"""The worker's life under fault and attack: rows 15 to 18, and what else may happen to a long life."""

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
from tests.harness import hook_process, workers
from tests.unit.serve import driving
from tests.unit.serve.driving import answers, until

from claude_mem.model.errors import WorkerFailed, WorkerHung
from claude_mem.serve import control, lock

ONCE_MORE = pytest.mark.prove
"""The same again, or another of its kind: `make test` keeps some of every class here."""
PAYLOAD = (
    b'{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/","tool_name":"Read","tool_use_id":"toolu_%d",'
    b'"tool_input":{},"tool_response":"ok"}'
)


def starts(data: Path) -> list[str]:
    """The versions of the workers that got as far as building their parts."""
    return (data / "starts").read_text().split() if (data / "starts").exists() else []


def spooled(data: Path) -> int:
    return len(list((data / "spool").glob("[0-9]*.json")))


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
            listening.join(driving.DEADLINE_S)


class TestRow15ThePortIsTaken:
    def test_another_port_is_found_and_hooks_tell_the_stranger_nothing(self, data: Path) -> None:
        with stranger() as (port, heard), driving.started(data, "--port", str(port)) as worker:
            assert worker.port != port
            assert worker.ask("GET", "/health")[1]["port"] == worker.port
            for number in range(5):
                assert hook_process.run(data, PAYLOAD % number).code == 0
            until("the events arrive", lambda: worker.counters().get("accepted") == 5)
            assert control.status(data).port == worker.port
        assert heard == []

    @ONCE_MORE
    def test_with_no_worker_the_stranger_is_told_nothing_either(self, data: Path) -> None:
        with stranger() as (port, heard), driving.started(data, "--port", str(port)) as worker:
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
                        env=driving.environment(),
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
        racers = [driving.launched(data, *option) for _ in range(4)]
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
                driving.end(racer)

    def test_a_refused_worker_says_who_is_there(self, data: Path) -> None:
        with driving.started(data) as worker:
            second = driving.launched(data)
            assert second.wait(driving.DEADLINE_S) == 1
            assert second.stderr
            assert str(worker.pid) in second.stderr.read().decode()
            driving.end(second)

    @pytest.mark.parametrize("running", [True, pytest.param(False, marks=ONCE_MORE)])
    def test_a_forged_number_gets_no_innocent_killed(self, data: Path, running: bool) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
            try:
                with ExitStack() as stack:
                    if running:
                        stack.enter_context(driving.started(data))
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
        with driving.started(data) as first:
            token = first.token
            os.kill(first.pid, signal.SIGKILL)
            until("the lock is free", lambda: control.status(data).state == "stopped")
            assert (data / "hook.sock").exists(), "a killed worker cleans nothing up"
            with driving.started(data) as second:
                assert second.announced["pid"] == second.pid
                assert second.token == token
                assert second.say(b'{"type":"ask"}\n', replies=1)


class TestRow17TheWorkerIsStopped:
    def test_it_is_named_hooks_do_not_wait_and_it_drains_when_it_wakes(self, data: Path) -> None:
        with driving.started(data) as worker:
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
        with driving.started(data) as worker:
            os.kill(worker.pid, signal.SIGSTOP)
            assert control.stop(data, deadline_s=15)
            until("it ends", lambda: worker.process.poll() is not None)
            assert control.status(data).state == "stopped"


class TestRow18VersionSkew:
    def test_an_upgrade_in_place_takes_over_once(self, data: Path) -> None:
        newer = driving.command(data, "--version", "0.2.0", "--from-hook", "--port", str(driving.free_port()))
        with driving.started(data, "--version", "0.1.0", "--successor", json.dumps(newer)) as worker:
            try:
                worker.poke("0.2.0")
                until("the new one answers", lambda: control.status(data).version == "0.2.0")
                assert worker.process.wait(driving.DEADLINE_S) == 0
                for _ in range(20):
                    for version in ("0.2.0", "0.1.0", "0.2.0rc1", "garbage", ""):
                        worker.poke(version)
                assert control.status(data).version == "0.2.0"
                assert starts(data) == ["0.1.0", "0.2.0"]
            finally:
                control.stop(data)

    @ONCE_MORE
    def test_two_installs_side_by_side_do_not_hand_over_back_and_forth(self, data: Path) -> None:
        older = driving.command(data, "--version", "0.1.0", "--from-hook")
        with driving.started(data, "--version", "0.1.0", "--successor", json.dumps(older)) as worker:
            worker.poke("0.2.0")
            assert worker.process.wait(driving.DEADLINE_S) == 0
            until("the successor has looked and left", lambda: control.status(data).state == "stopped")
        for _ in range(3):
            late = driving.launched(data, "--version", "0.1.0", "--from-hook")
            assert late.wait(driving.DEADLINE_S) == 0
            driving.end(late)
        assert starts(data) == ["0.1.0"], "the older install's hooks stay away"
        with driving.started(data, "--version", "0.2.0", "--from-hook") as newer:
            newer.poke("0.1.0")
            assert newer.ask("GET", "/health")[1]["version"] == "0.2.0"
        assert starts(data) == ["0.1.0", "0.2.0"]

    @ONCE_MORE
    def test_a_person_may_start_the_older_one_and_it_is_left_alone(self, data: Path) -> None:
        data.mkdir()
        handed_over = {"to": "0.2.0", "at": time.time_ns() // 1_000_000}
        (data / "handover.json").write_text(json.dumps(handed_over))
        with driving.started(data, "--version", "0.1.0") as worker:
            for _ in range(5):
                worker.poke("0.2.0")
            assert worker.say(b'{"type":"ask"}\n', replies=1), "all pokes before this line were heard"
            assert worker.process.poll() is None
        assert starts(data) == ["0.1.0"]

    @ONCE_MORE
    def test_work_that_never_ends_does_not_keep_the_new_one_from_starting(self, data: Path) -> None:
        newer = driving.command(data, "--version", "0.2.0", "--from-hook", "--port", str(driving.free_port()))
        with driving.started(data, "--version", "0.1.0", "--successor", json.dumps(newer)) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            try:
                worker.poke("0.2.0")
                until("the new one answers", lambda: control.status(data).version == "0.2.0")
                assert worker.process.wait(driving.DEADLINE_S) == 0
                assert not (data / "closed").exists(), "the old one was cut off"
            finally:
                (data / "drain-is-slow").unlink()
                control.stop(data)

    def test_running_work_is_finished_before_the_handover(self, data: Path) -> None:
        with driving.started(data, "--successor", json.dumps([sys.executable, "-c", "pass"])) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            (data / "spool" / "00000000000000000001-1-aaaa.json").write_text("{}")
            worker.poke("0.2.0")
            until("it stops listening", lambda: not (data / "hook.sock").exists())
            assert worker.process.poll() is None, "a drain is still running"
            (data / "drain-is-slow").unlink()
            assert worker.process.wait(driving.DEADLINE_S) == 0
            assert spooled(data) == 0
            assert (data / "closed").exists()


class TestDoorsAndFloor:
    @pytest.mark.parametrize("how", ["replaced", pytest.param("deleted", marks=ONCE_MORE)])
    def test_files_that_are_lost_come_back_by_themselves(self, data: Path, how: str) -> None:
        files = [data / name for name in ("hook.sock", "worker.sock", "worker.json")]
        with driving.started(data) as worker:
            for file in files:
                file.unlink()
                if how == "replaced":
                    file.write_text("{}")

            def healed() -> bool:
                try:
                    assert worker.ask("GET", "/health")
                    assert worker.say(b'{"type":"ask"}\n', replies=1)
                    return bool(worker.announced["pid"] == worker.pid)
                except (OSError, KeyError):
                    return False

            until("all of them are back", healed)
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            assert worker.process.poll() is None

    @ONCE_MORE
    def test_one_lost_file_is_enough_to_be_noticed(self, data: Path) -> None:
        with driving.started(data):
            (data / "hook.sock").unlink()
            until("it is back", (data / "hook.sock").exists)

    @ONCE_MORE
    def test_a_rebound_socket_still_stops_cleanly(self, data: Path) -> None:
        with driving.started(data) as worker:
            (data / "worker.sock").unlink()
            until("it is back", lambda: answers(data))
            assert control.stop(data)
            assert worker.process.wait(driving.DEADLINE_S) == 0

    @ONCE_MORE
    def test_a_worker_whose_lock_was_deleted_makes_way(self, data: Path) -> None:
        with driving.started(data) as worker:
            (data / "worker.lock").unlink()
            assert worker.process.wait(driving.DEADLINE_S) == 0

    @ONCE_MORE
    def test_a_worker_whose_home_was_moved_away_leaves(self, data: Path) -> None:
        with driving.started(data) as worker:
            moved = data.rename(data.with_name("moved"))
            assert worker.process.wait(driving.DEADLINE_S) == 0
            assert not data.exists(), "it does not come back to where it was"
            assert not (moved / "hook.sock").exists()

    @pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=ONCE_MORE)])
    def test_a_signal_ends_it_in_order_and_nothing_is_left(self, data: Path, number: signal.Signals) -> None:
        with driving.started(data) as worker:
            os.kill(worker.pid, number)
            assert worker.process.wait(driving.DEADLINE_S) == 0
        assert (data / "closed").exists()
        for name in ("hook.sock", "worker.sock", "worker.json"):
            assert not (data / name).exists()
        assert not list(data.rglob("*.tmp"))

    @ONCE_MORE
    def test_a_hang_up_is_ignored(self, data: Path) -> None:
        with driving.started(data) as worker:
            os.kill(worker.pid, signal.SIGHUP)
            assert worker.ask("GET", "/health")[0] == 200

    @ONCE_MORE
    def test_work_that_never_ends_does_not_keep_it_from_stopping(self, data: Path) -> None:
        with driving.started(data) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            assert control.stop(data)
            assert worker.process.wait(driving.DEADLINE_S) == 0
            assert not (data / "hook.sock").exists()

    @ONCE_MORE
    def test_a_model_that_hangs_is_let_go_of(self, data: Path) -> None:
        data.mkdir()
        (data / "model-hangs").touch()
        with driving.started(data) as worker:
            until("it is asked", (data / "asking").exists)
            assert control.stop(data)
            assert worker.process.wait(driving.DEADLINE_S) == 0
            assert (data / "closed").exists(), "it ended in order"

    @ONCE_MORE
    def test_an_observer_that_finds_the_damage_leaves_it_to_the_next_worker(self, data: Path) -> None:
        with driving.started(data) as worker:
            (data / "store-is-damaged").touch()
            (data / "spool" / "00000000000000000001-1-aaaa.json").write_text("{}")
            worker.poke()
            assert worker.process.wait(driving.DEADLINE_S) == 0
            assert "store failed" in worker.log()

    @ONCE_MORE
    def test_upkeep_and_a_first_drain_happen_by_themselves(self, data: Path) -> None:
        (data / "spool").mkdir(parents=True)
        (data / "spool" / "00000000000000000001-1-aaaa.json").write_text("{}")
        with driving.started(data) as worker:
            until("the spool is drained", lambda: spooled(data) == 0)
            until("upkeep was done", (data / "maintained").exists)
            (data / "spool" / "00000000000000000002-1-aaaa.json").write_text("{}")
            until("it is drained without a wake", lambda: spooled(data) == 0)
            assert worker.counters()["accepted"] == 2

    def test_a_step_of_the_upkeep_that_fails_is_counted_and_the_next_ones_are_done(self, data: Path) -> None:
        stuck = data / "context" / "in-the-way"  # a directory where only files are made
        stuck.mkdir(parents=True)
        os.utime(stuck, (1, 1))
        with workers.running(data):
            until("a backup is made", lambda: any((data / "backups").glob("*.db")))
            health = control.status(data).health
            assert health is not None
            assert health["mishaps"] == {"maintain.contexts": 1}

    def test_everything_is_its_owners_alone_under_any_umask(self, data: Path) -> None:
        data.mkdir()
        (data / "settings.json").write_text("{}")
        (data / "settings.json").chmod(0o666)
        with driving.started(data, wrap=["sh", "-c", 'umask 000; exec "$@"', "sh"]):
            for path in (data, *data.rglob("*")):
                assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


class TestASlowStart:
    """An upgrade or a check of a large database, during which nobody can answer."""

    @pytest.fixture
    def slow(self, data: Path) -> Iterator[subprocess.Popen[bytes]]:
        data.mkdir()
        (data / "build-is-slow").touch()
        process = driving.launched(data, "--port", str(driving.free_port()))
        try:
            until("it builds", (data / "building").exists)
            yield process
        finally:
            (data / "build-is-slow").unlink(missing_ok=True)
            driving.end(process)

    @pytest.fixture
    def seen(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The states that were seen; once it was seen starting three times, the start goes on."""
        states: list[str] = []

        def look(data_dir: Path, *, deadline_s: float = 0) -> control.WorkerStatus:
            building = (data / "build-is-slow").exists()
            found = status(data_dir, deadline_s=0.1 if building else driving.DEADLINE_S)
            states.append(found.state)
            if states.count("starting") == 3:
                (data / "build-is-slow").unlink(missing_ok=True)
            return found

        status = control.status
        monkeypatch.setattr(control, "status", look)
        return states

    def test_it_is_told_from_a_hang(self, data: Path, slow: subprocess.Popen[bytes]) -> None:
        found = control.status(data, deadline_s=0.5)
        assert (found.state, found.pid) == ("starting", slow.pid)
        said = json.loads((data / "starting.json").read_bytes())
        assert said["doing"]
        assert control.is_starting(data)
        (data / "build-is-slow").unlink()
        until("it answers", lambda: answers(data))
        until("it says so no more", lambda: not (data / "starting.json").exists())
        os.kill(slow.pid, signal.SIGSTOP)
        assert control.status(data, deadline_s=0.1).state == "hung"

    def test_start_waits_for_it(self, data: Path, slow: subprocess.Popen[bytes], seen: list[str]) -> None:
        assert control.start(data, deadline_s=0.1).pid == slow.pid
        assert seen[:3] == ["starting"] * 3
        assert starts(data) == ["0.1.0"]

    @ONCE_MORE
    def test_start_waits_for_its_own(
        self, data: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data.mkdir()
        (data / "build-is-slow").touch()
        monkeypatch.setenv("PYTHONPATH", str(driving.SOURCE))
        try:
            command = driving.command(data, "--port", str(driving.free_port()))
            assert control.start(data, deadline_s=driving.DEADLINE_S, command=command).state == "running"
            assert seen.count("starting") >= 3
        finally:
            (data / "build-is-slow").unlink(missing_ok=True)
            control.stop(data)

    def test_stop_waits_for_it(self, data: Path, slow: subprocess.Popen[bytes], seen: list[str]) -> None:
        assert control.stop(data)
        assert seen[:3] == ["starting"] * 3
        assert slow.wait(driving.DEADLINE_S) == 0
        assert (data / "closed").exists(), "it was asked, not killed"

    @ONCE_MORE
    def test_stop_by_force_does_not_and_what_is_left_confuses_nobody(
        self, data: Path, slow: subprocess.Popen[bytes]
    ) -> None:
        assert control.stop(data, force=True)
        assert slow.wait(driving.DEADLINE_S) == -signal.SIGTERM
        assert (data / "starting.json").exists()
        assert control.status(data).state == "stopped"
        assert not control.stop(data)
        (data / "build-is-slow").unlink()
        with driving.started(data):
            until("it says so no more", lambda: not (data / "starting.json").exists())

    @ONCE_MORE
    def test_a_start_that_fails_is_over(self, data: Path) -> None:
        data.mkdir()
        (data / "starts").mkdir()  # where it wants to write
        process = driving.launched(data)
        try:
            assert process.wait(driving.DEADLINE_S) == 1
            assert not (data / "starting.json").exists()
        finally:
            driving.end(process)


class TestTheCommandLinesSide:
    def test_start_status_request_stop(self, data: Path) -> None:
        command = driving.command(data, "--port", str(driving.free_port()))
        assert control.status(data) == control.WorkerStatus("stopped")
        os.environ["PYTHONPATH"], before = str(driving.SOURCE), os.environ.get("PYTHONPATH")
        try:
            found = control.start(data, command=command)
        finally:
            os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
        try:
            assert found.state == "running"
            assert found.health
            assert found.health["pid"] == found.pid == lock.holder(data / "worker.lock")
            assert control.start(data, command=command).pid == found.pid, "the one that is there will do"
            assert control.request(data, "GET", "/metrics")[1]["text"]
            assert control.request(data, "GET", "/nowhere")[0] == 404
        finally:
            assert control.stop(data)
        assert control.status(data).state == "stopped"
        assert not control.stop(data)
        with pytest.raises(FileNotFoundError):
            control.request(data, "GET", "/health")

    def test_a_worker_that_does_not_come_up_says_why(self, data: Path) -> None:
        with pytest.raises(WorkerFailed, match="no luck today"):
            control.start(data, command=[sys.executable, "-c", "raise SystemExit('no luck today')"])

    @ONCE_MORE
    def test_a_data_directory_longer_than_a_sockets_address_will_do(self, tmp_path: Path) -> None:
        data = tmp_path / ("long" * 20) / ("longer" * 20)
        with driving.started(data) as worker:
            assert control.status(data).pid == worker.pid
            assert control.stop(data)

    @ONCE_MORE
    def test_another_users_data_directory_is_refused_in_one_sentence(self, data: Path) -> None:
        data.mkdir()
        script = (
            "import os, sys; real = os.getuid(); os.getuid = lambda: real + 1\n"
            f"sys.argv = ['standin', {str(data)!r}]\n"
            f"import runpy; runpy.run_path({str(driving.STANDIN)!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=driving.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "another user" in done.stderr
        assert starts(data) == []
