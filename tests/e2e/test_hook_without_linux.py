"""The hook on a system that lacks what only Linux has, as macOS does: it wakes the worker, or starts one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness import hook_process, payloads, workers

from claude_mem.hook import paths
from claude_mem.serve import control

# What macOS's Python does not have, of the modules that the hook and whoever stops a worker use.
LINUX_ONLY = """
import os, posix, signal, _signal, socket, _socket, sys
for module in (os, posix, signal, _signal, socket, _socket):
    for name in list(vars(module)):
        if name.startswith(("SOCK_NONBLOCK", "SOCK_CLOEXEC", "SO_PEERCRED", "SO_PASSCRED", "MSG_CMSG_CLOEXEC",
                "pidfd_", "memfd_", "eventfd", "sched_", "posix_fa", "fdatasync", "copy_file_range", "splice",
                "getrandom", "pipe2", "sigtimedwait", "sigwaitinfo", "O_PATH", "O_TMPFILE", "O_DIRECT")):
            if name != "O_DIRECTORY":
                delattr(module, name)
sys.platform = "darwin"
"""
HOOK = "from claude_mem.hook.entry import main; main('hook')"
STOP = """
from pathlib import Path
from claude_mem.serve import control
with control.signalling(int(sys.argv[2])) as send:
    send(signal.SIGTERM)
"""


def run_elsewhere(program: str, *arguments: str, data: Path, given: bytes = b"") -> bytes:
    package = f"import sys; sys.path.insert(0, sys.argv[1])\n{LINUX_ONLY}\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", package, hook_process.MACHINE.package, *arguments],
        input=given,
        capture_output=True,
        env=hook_process.environment(data),
        timeout=hook_process.DEADLINE_S,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


def test_a_listening_worker_is_woken_where_sockets_know_no_flags(data: Path) -> None:
    with hook_process.listening(data) as worker:
        assert json.loads(run_elsewhere(HOOK, data=data, given=payloads.bash("toolu_1")))["continue"]
        (line,) = hook_process.lines(worker)
    assert json.loads(line)["type"] == "wake"
    assert len(hook_process.spooled(data)) == 1


def test_where_nobody_listens_a_worker_is_started_and_takes_the_event_in(data: Path) -> None:
    try:
        run_elsewhere(HOOK, data=data, given=payloads.bash("toolu_1"))
        workers.drained(data)
    finally:
        workers.finish(data)


def test_a_process_is_signalled_where_there_are_no_process_descriptors(data: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as waiting:
        try:
            run_elsewhere(STOP, str(waiting.pid), data=data)
            assert waiting.wait(hook_process.DEADLINE_S) == -15
        finally:
            waiting.kill()


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_socket_below_a_long_path_is_reached_on_either_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    data = tmp_path / ("long" * 30)
    data.mkdir()
    monkeypatch.chdir(data)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(paths.HOOK_SOCK)
        server.listen(1)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "platform", system)
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client,
            control.socket_address(data, paths.HOOK_SOCK) as address,
        ):
            client.connect(address)
    assert Path.cwd() == tmp_path
