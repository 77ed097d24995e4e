"""Runs the hook as the client does: a process of its own, JSON on its standard input."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import faults

from claude_mem.agents import launcher
from claude_mem.hook import paths
from claude_mem.hook.json_text import integer

MACHINE = launcher.this_machine()
DEADLINE_S = 180  # for the test, not the hook: a hang fails instead of blocking the suite


@dataclass(frozen=True, slots=True)
class Answered:
    code: int
    out: bytes
    err: bytes

    @property
    def json(self) -> dict[str, Any]:
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer


def command(verb: str = "hook") -> list[str]:
    return launcher.hook_command(MACHINE, verb)


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    """A clean environment: nothing of the tester's own claude-mem leaks in, and a worker that a hook starts
    observes offline."""
    keep = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE")}
    return keep | {"CLAUDE_MEM_DATA_DIR": str(data_dir), "CLAUDE_MEM_PROVIDER": "offline"} | more


def run(
    data_dir: Path,
    payload: bytes,
    verb: str = "hook",
    *,
    wrap: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Answered:
    """`wrap` puts another program (strace) before the hook's command, `more` adds to its environment."""
    done = subprocess.run(
        [*wrap, *command(verb)],
        input=payload,
        capture_output=True,
        env=environment(data_dir, **(more or {})),
        cwd=cwd,
        timeout=DEADLINE_S,
        check=False,
    )
    return Answered(done.returncode, done.stdout, done.stderr)


_WAITS = "?poll,?ppoll,?select,?pselect6,?epoll_wait,?epoll_pwait,?nanosleep,?clock_nanosleep"
_POLL = re.compile(r"poll\(.*?, \d+, (?:(\d+)|\{tv_sec=(\d+), tv_nsec=(\d+)\})")


def run_watched(data_dir: Path, payload: bytes) -> tuple[Answered, list[int]]:
    """`run`, and for how many milliseconds at most it was ready to wait, each time that it waited."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "waits"
        answered = run(data_dir, payload, wrap=faults.watching(_WAITS, log))
        lines = log.read_text().splitlines()
    found = [_POLL.search(line) for line in lines]
    assert all(found), f"it waits without a bound that is known: {lines}"
    return answered, [_milliseconds(*each.groups()) for each in found if each]


def _milliseconds(whole: str | None, seconds: str | None, nanoseconds: str | None) -> int:
    return int(whole) if whole else int(seconds or 0) * 1000 + int(nanoseconds or 0) // 1_000_000


def spooled(data_dir: Path) -> list[dict[str, Any]]:
    """The envelopes waiting in the spool, in their order."""
    files = sorted((data_dir / "spool").glob("[0-9]*.json"))
    return [json.loads(f.read_text(errors="replace"), strict=False, parse_int=integer) for f in files]


@contextmanager
def listening(data_dir: Path) -> Iterator[socket.socket]:
    """Somebody listens on hook.sock, so hooks wake it and start no worker. Its backlog holds their lines."""
    data_dir.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(data_dir / "hook.sock"))
        server.listen(128)
        yield server


@contextmanager
def starting_no_worker(data_dir: Path) -> Iterator[None]:
    """Hooks find nobody who listens, and leave it to another hook to start a worker: to us, who do not."""
    data_dir.mkdir(mode=0o700, exist_ok=True)
    with (data_dir / paths.START_STAMP).open("a") as stamp:
        fcntl.lockf(stamp, fcntl.LOCK_EX)  # until it is closed
        yield


def lines(server: socket.socket) -> list[bytes]:
    """What a listener has received so far."""
    received: list[bytes] = []
    server.setblocking(False)
    while True:
        try:
            connection, _ = server.accept()
        except BlockingIOError:
            return received
        with connection:
            received.append(connection.recv(4096))
