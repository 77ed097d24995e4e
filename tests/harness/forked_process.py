"""Processes forked from one that has imported what they need, and killed at chosen system calls: hundreds of
them begin in a test, and each would take longer to start than to do its work."""

from __future__ import annotations

import multiprocessing
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

FORKS = multiprocessing.get_context("forkserver")
# There is one server for all tests of a process, so there is one list. What is missing is imported each time.
FORKS.set_forkserver_preload(["tests.torture.store_child", "tests.migration.fake_migrations"])


@contextmanager
def injected(pid: int, inject: str) -> Iterator[None]:
    """A fault, as strace names it, waits for the system calls that a process makes from now on."""
    calls = inject.split(":", maxsplit=1)[0]
    trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={inject}"]
    with subprocess.Popen([*trace, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        try:
            yield
        finally:
            tracer.communicate(timeout=30)  # it ends with what it traces


def killed_at(call: str, number: int, work: Callable[..., None], *given: object) -> bool:
    """Does the work in a process that is killed at its `number`th such system call. False: it ended."""
    pipe, child_end = FORKS.Pipe()
    process = FORKS.Process(target=_work_when_told, args=(child_end, work, given))
    process.start()
    child_end.close()
    pid = process.pid
    assert pid
    # `?`: on some processors there is no such call, but another that does the same
    with injected(pid, f"?{call}:signal=SIGKILL:when={number}"):
        pipe.send("go")
        process.join(60)
    pipe.close()
    ended = process.exitcode
    process.close()
    assert ended in (0, -9)
    return ended != 0


def _work_when_told(pipe: Connection, work: Callable[..., None], given: tuple[object, ...]) -> None:
    pipe.recv()
    work(*given)
