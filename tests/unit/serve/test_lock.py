import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.unit.serve import worker_driver

from claude_mem.model.errors import WorkerFailed
from claude_mem.serve import lock

HOLDER = """
import sys
from pathlib import Path
from claude_mem.serve import lock
with lock.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def somebody_holds(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        env=worker_driver.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_kernel_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    assert lock.holder(path) is None
    with somebody_holds(path) as process:
        assert lock.holder(path) == process.pid


def test_a_held_lock_is_refused_with_the_holders_process_id(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with somebody_holds(path) as process, pytest.raises(lock.LockHeld) as refused, lock.hold(path):
        pass
    assert refused.value.pid == process.pid
    assert str(process.pid) in str(refused.value)


def test_a_killed_holder_blocks_nobody_even_before_it_is_reaped(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with somebody_holds(path) as process:
        os.kill(process.pid, signal.SIGKILL)
        worker_driver.until("the lock is free", lambda: lock.holder(path) is None)
        with lock.hold(path):
            pass


def test_a_stopped_holder_still_holds(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with somebody_holds(path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        assert lock.holder(path) == process.pid


def test_the_lock_is_free_after_the_block_and_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with lock.hold(path) as held:
        assert held.is_at(path)
        path.rename(tmp_path / "elsewhere")
        assert not held.is_at(path)
        path.touch()
        assert not held.is_at(path)
        path.unlink()
        (tmp_path / "elsewhere").rename(path)
        assert held.is_at(path)
    assert lock.holder(path) is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_the_file_says_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    path.write_text("1\n")
    assert lock.holder(path) is None
    with lock.hold(path):
        pass


def test_a_symlink_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkerFailed, match=r"worker\.lock"), lock.hold(path):
        pass
    assert not (tmp_path / "elsewhere").exists()
