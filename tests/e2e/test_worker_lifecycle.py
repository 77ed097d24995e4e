"""The worker's life: what may happen to a long one, a slow start, and the command line's side."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness import workers
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import answers, spooled, starts, until

from claude_mem.model.errors import WorkerFailed
from claude_mem.serve import control, lock

ONCE_MORE = pytest.mark.prove
"""The same again, or another of its kind: `make test` keeps some of every class here."""


class TestDoorsAndFloor:
    @pytest.mark.parametrize("how", ["replaced", pytest.param("deleted", marks=ONCE_MORE)])
    def test_files_that_are_lost_come_back_by_themselves(self, data: Path, how: str) -> None:
        files = [data / name for name in ("hook.sock", "worker.sock", "worker.json")]
        with worker_driver.started(data) as worker:
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
        with worker_driver.started(data):
            (data / "hook.sock").unlink()
            until("it is back", (data / "hook.sock").exists)

    @ONCE_MORE
    def test_a_rebound_socket_still_stops_cleanly(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            (data / "worker.sock").unlink()
            until("it is back", lambda: answers(data))
            assert control.stop(data)
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0

    @ONCE_MORE
    def test_a_worker_whose_lock_was_deleted_makes_way(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            (data / "worker.lock").unlink()
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0

    @ONCE_MORE
    def test_a_worker_whose_home_was_moved_away_leaves(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            moved = data.rename(data.with_name("moved"))
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            assert not data.exists(), "it does not come back to where it was"
            assert not (moved / "hook.sock").exists()

    @pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=ONCE_MORE)])
    def test_a_signal_ends_it_in_order_and_nothing_is_left(self, data: Path, number: signal.Signals) -> None:
        with worker_driver.started(data) as worker:
            os.kill(worker.pid, number)
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
        assert (data / "closed").exists()
        for name in ("hook.sock", "worker.sock", "worker.json"):
            assert not (data / name).exists()
        assert not list(data.rglob("*.tmp"))

    @ONCE_MORE
    def test_a_hang_up_is_ignored(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            os.kill(worker.pid, signal.SIGHUP)
            assert worker.ask("GET", "/health")[0] == 200

    @ONCE_MORE
    def test_work_that_never_ends_does_not_keep_it_from_stopping(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            (data / "drain-is-slow").touch()
            worker.poke()
            until("a drain is running", (data / "draining").exists)
            assert control.stop(data)
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            assert not (data / "hook.sock").exists()

    @ONCE_MORE
    def test_a_model_that_hangs_is_let_go_of(self, data: Path) -> None:
        data.mkdir()
        (data / "model-hangs").touch()
        with worker_driver.started(data) as worker:
            until("it is asked", (data / "asking").exists)
            assert control.stop(data)
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            assert (data / "closed").exists(), "it ended in order"

    @ONCE_MORE
    def test_an_observer_that_finds_the_damage_leaves_it_to_the_next_worker(self, data: Path) -> None:
        with worker_driver.started(data) as worker:
            (data / "store-is-damaged").touch()
            worker_driver.spool(data, 1)
            worker.poke()
            assert worker.process.wait(worker_driver.DEADLINE_S) == 0
            assert "store failed" in worker.log()

    @ONCE_MORE
    def test_upkeep_and_a_first_drain_happen_by_themselves(self, data: Path) -> None:
        (data / "spool").mkdir(parents=True)
        worker_driver.spool(data, 1)
        with worker_driver.started(data) as worker:
            until("the spool is drained", lambda: spooled(data) == 0)
            until("upkeep was done", (data / "maintained").exists)
            worker_driver.spool(data, 2)
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
        with worker_driver.started(data, wrap=["sh", "-c", 'umask 000; exec "$@"', "sh"]):
            for path in (data, *data.rglob("*")):
                assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


class TestASlowStart:
    """An upgrade or a check of a large database, during which nobody can answer."""

    @pytest.fixture
    def slow(self, data: Path) -> Iterator[subprocess.Popen[bytes]]:
        data.mkdir()
        (data / "build-is-slow").touch()
        process = worker_driver.launched(data, "--port", str(worker_driver.free_port()))
        try:
            until("it builds", (data / "building").exists)
            yield process
        finally:
            (data / "build-is-slow").unlink(missing_ok=True)
            worker_driver.end(process)

    @pytest.fixture
    def seen(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The states that were seen; once it was seen starting three times, the start goes on."""
        states: list[str] = []

        def look(data_dir: Path, *, deadline_s: float = 0) -> control.WorkerStatus:
            building = (data / "build-is-slow").exists()
            found = status(data_dir, deadline_s=0.1 if building else worker_driver.DEADLINE_S)
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
        assert lock.is_starting(data)
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
        monkeypatch.setenv("PYTHONPATH", str(worker_driver.SOURCE))
        try:
            command = worker_driver.command(data, "--port", str(worker_driver.free_port()))
            assert (
                control.start(data, deadline_s=worker_driver.DEADLINE_S, command=command).state == "running"
            )
            assert seen.count("starting") >= 3
        finally:
            (data / "build-is-slow").unlink(missing_ok=True)
            control.stop(data)

    def test_stop_waits_for_it(self, data: Path, slow: subprocess.Popen[bytes], seen: list[str]) -> None:
        assert control.stop(data)
        assert seen[:3] == ["starting"] * 3
        assert slow.wait(worker_driver.DEADLINE_S) == 0
        assert (data / "closed").exists(), "it was asked, not killed"

    @ONCE_MORE
    def test_stop_by_force_does_not_and_what_is_left_confuses_nobody(
        self, data: Path, slow: subprocess.Popen[bytes]
    ) -> None:
        assert control.stop(data, force=True)
        assert slow.wait(worker_driver.DEADLINE_S) == -signal.SIGTERM
        assert (data / "starting.json").exists()
        assert control.status(data).state == "stopped"
        assert not control.stop(data)
        (data / "build-is-slow").unlink()
        with worker_driver.started(data):
            until("it says so no more", lambda: not (data / "starting.json").exists())

    @ONCE_MORE
    def test_a_start_that_fails_is_over(self, data: Path) -> None:
        data.mkdir()
        (data / "starts").mkdir()  # where it wants to write
        process = worker_driver.launched(data)
        try:
            assert process.wait(worker_driver.DEADLINE_S) == 1
            assert not (data / "starting.json").exists()
        finally:
            worker_driver.end(process)


class TestTheCommandLinesSide:
    def test_start_status_request_stop(self, data: Path) -> None:
        command = worker_driver.command(data, "--port", str(worker_driver.free_port()))
        assert control.status(data) == control.WorkerStatus("stopped")
        os.environ["PYTHONPATH"], before = str(worker_driver.SOURCE), os.environ.get("PYTHONPATH")
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
        with worker_driver.started(data) as worker:
            assert control.status(data).pid == worker.pid
            assert control.stop(data)

    @ONCE_MORE
    def test_another_users_data_directory_is_refused_in_one_sentence(self, data: Path) -> None:
        data.mkdir()
        script = (
            "import os, sys; real = os.getuid(); os.getuid = lambda: real + 1\n"
            f"sys.argv = ['worker', {str(data)!r}]\n"
            f"import runpy; runpy.run_path({str(worker_driver.PROGRAM)!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=worker_driver.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "another user" in done.stderr
        assert starts(data) == []
