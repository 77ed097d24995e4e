"""A worker that hangs is replaced without anybody's doing; nobody else is."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.harness import hook_process, workers
from tests.harness.commands import Mem

from claude_mem.hook import paths, worker_link
from claude_mem.serve import control, lock, replacement

HANGS = """
import sys, time
from pathlib import Path
from claude_mem import worker
from claude_mem.serve import lifecycle
watch = lifecycle.watch
async def hanging(*given):
    while Path("hang").exists():
        time.sleep(1)  # in the event loop: nobody is answered
    await watch(*given)
lifecycle.watch, lifecycle.WATCH_EVERY_S = hanging, 0.1
sys.exit(worker.run(from_hook=False))
"""
SILENT_S = 1.5  # enough here: the worker's loop is blocked for good
PROMPT = {"session_id": "s1", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "Go on."}


@contextmanager
def hanging(data: Path, mark: str = replacement.MODULE) -> Iterator[int]:
    """A worker that was up and now answers nobody."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    environ = hook_process.environment(data) | {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port())}
    with subprocess.Popen(
        [sys.executable, "-c", HANGS, mark], env=environ, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            workers.until(lambda: control.status(data).state == "running", "it is up")
            (data / "hang").touch()
            workers.until(lambda: not replacement.answers(data, 0.5), "it hangs")
            yield process.pid
        finally:
            (data / "hang").unlink(missing_ok=True)
            workers.finish(data)
            with suppress(ProcessLookupError):
                process.kill()


def holder(data: Path) -> int | None:
    return lock.holder(data / paths.WORKER_LOCK)


def test_a_worker_that_answers_nobody_is_ended_once_and_the_user_is_told_once(data: Path) -> None:
    with hanging(data) as pid:
        assert replacement.take_place(data, silent_s=SILENT_S) == pid
        assert holder(data) is None
        assert str(pid) in (data / paths.NOTICE).read_text()
        (data / "hang").unlink()
    with hanging(data) as second:
        assert replacement.take_place(data, silent_s=SILENT_S) == "too soon"
        assert holder(data) == second
        long_ago = time.time() - replacement.REST_S - 1
        os.utime(data / paths.REPLACED, (long_ago, long_ago))
        assert replacement.take_place(data, silent_s=SILENT_S) == second


def test_who_answers_starts_is_stopped_or_is_not_our_worker_is_left_alone(data: Path) -> None:
    data.mkdir(mode=0o700)
    assert replacement.take_place(data, silent_s=SILENT_S) == "free"
    with workers.running(data):
        pid = holder(data)
        assert pid
        assert replacement.take_place(data, silent_s=workers.PATIENCE_S) == "answers"
        lock.mark_starting(data, "upgrading the database")
        assert replacement.take_place(data, silent_s=SILENT_S) == "starting"
        lock.clear_starting(data)
        os.kill(pid, signal.SIGSTOP)
        workers.until(lambda: replacement.why_not(data, pid) == "stopped", "it is stopped")
        assert replacement.take_place(data, silent_s=SILENT_S) == "stopped"
        os.kill(pid, signal.SIGCONT)
        assert holder(data) == pid
    with hanging(data, "another program") as pid:
        assert replacement.take_place(data, silent_s=SILENT_S) == "not ours"
        assert holder(data) == pid
    assert not (data / paths.NOTICE).exists()


PTRACE_ATTACH, PTRACE_DETACH = 16, 17


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace by its numbers on Linux")
def test_a_worker_that_a_debugger_holds_counts_as_stopped() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            before = replacement.process(process.pid)
            if libc.ptrace(PTRACE_ATTACH, process.pid, None, None):
                pytest.skip(f"this system lets nobody trace: {os.strerror(ctypes.get_errno())}")
            os.waitpid(process.pid, os.WUNTRACED)
            held = replacement.process(process.pid)
            libc.ptrace(PTRACE_DETACH, process.pid, None, None)
        finally:
            process.kill()
    assert before
    assert held
    assert (before.is_stopped, held.is_stopped) == (False, True)


def test_another_users_worker_and_one_the_kernel_cannot_name_are_left_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.mkdir(mode=0o700)
    assert replacement.why_not(data, lock.UNSEEN) == "unseen"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert replacement.why_not(data, os.getpid()) == "another user's"


def test_a_stopped_worker_is_named_by_doctor_as_left_to_its_user(data: Path) -> None:
    with workers.running(data):
        pid = holder(data)
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            found = json.loads(Mem(data)("doctor", "--json", code=1).stdout)
        finally:
            os.kill(pid, signal.SIGCONT)
    assert found["facts"]["worker"]["state"] == "hung"
    assert found["facts"]["worker"]["is_left"] == "stopped"
    (finding,) = [each for each in found["findings"] if each["check"] == "worker"]
    assert (finding["level"], finding["next"]) == ("bad", "claude-mem worker restart")


def test_hooks_notice_that_nobody_is_answered_and_forget_it_with_the_first_answer(data: Path) -> None:
    silent = data / paths.SILENT
    with hanging(data) as pid:
        assert hook_process.run(data, json.dumps(PROMPT).encode()).code == 0
        first = silent.stat().st_mtime
        assert hook_process.run(data, json.dumps(PROMPT).encode()).code == 0
        assert silent.stat().st_mtime == first  # since when, not how often
        (data / "hang").unlink()
        workers.until(lambda: replacement.answers(data, 5), "it is back")
        assert hook_process.run(data, json.dumps(PROMPT).encode()).code == 0
        assert not silent.exists()
        assert holder(data) == pid


@pytest.mark.prove
def test_a_hook_has_a_hung_worker_replaced_and_the_events_become_memory(data: Path) -> None:
    with hanging(data) as pid:
        hook_process.run(data, json.dumps(PROMPT).encode())
        long_ago = time.time() - worker_link.SILENT_S - 1
        os.utime(data / paths.SILENT, (long_ago, long_ago))
        hook_process.run(data, json.dumps(PROMPT | {"prompt": "And on."}).encode())
        workers.until(lambda: holder(data) not in (pid, None), "another worker holds the lock")
        (data / "hang").unlink()
        workers.drained(data)
        assert f"process {pid} stopped responding" in (data / "logs/worker.log").read_text()
        start = {"session_id": "s2", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"}
        said = json.loads(hook_process.run(data, json.dumps(start).encode()).out)
        assert str(pid) in said["systemMessage"]
        again = json.loads(hook_process.run(data, json.dumps(start).encode()).out)
        assert "systemMessage" not in again
