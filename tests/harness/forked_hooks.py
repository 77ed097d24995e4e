"""Hooks for sessions of thousands of events, where the point is what a hook does with its payload.

Each is a process of its own, as in `hook_process`, but forked from one that has imported what hooks import.
Most of a hook's time goes into that.

    with forked_hooks.Hooks(data) as hooks:
        hooks.run(payload)
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness import hook_process
from tests.harness.hook_process import Answered

import claude_mem

# It is sent the length of a payload, and the payload. It sends the exit code, the length of the answer, and
# the answer. The hook reads its payload from a pipe, as from a client.
PARENT = """
import posix, struct, sys
sys.path.insert(0, sys.argv[1])
from claude_mem.hook import entry, notices, session_context, slash_command, worker_link
from claude_mem.privacy import scrub, scrub_payload, secrets
scrub.scrub({"prompt": "".join(rule[3] for rule in secrets.RULES)}, field_cap=1000)  # what is compiled once

while length := sys.stdin.buffer.read(4):
    payload = sys.stdin.buffer.read(*struct.unpack("=I", length))
    read, write = posix.pipe()
    answer = posix.memfd_create("answer")
    child = posix.fork()
    if not child:
        posix.dup2(read, 0)
        posix.dup2(answer, 1)
        for fd in (read, write, answer):
            posix.close(fd)
        entry.main("hook")
    posix.close(read)
    try:
        while payload:
            payload = payload[posix.write(write, payload):]
    except BrokenPipeError:
        pass
    posix.close(write)
    code = posix.waitstatus_to_exitcode(posix.waitpid(child, 0)[1])
    posix.lseek(answer, 0, 0)
    said = b""
    while chunk := posix.read(answer, 1 << 20):
        said += chunk
    posix.close(answer)
    sys.stdout.buffer.write(struct.pack("=iI", code, len(said)) + said)
    sys.stdout.buffer.flush()
"""


class Hooks:
    """Of the client that uses one data directory; `more` adds to its environment."""

    def __init__(self, data_dir: Path, more: Mapping[str, str] | None = None) -> None:
        self._data_dir, self._more = data_dir, more or {}

    def __enter__(self) -> Self:
        source = str(Path(claude_mem.__file__).parents[1])
        self._parent = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PARENT, source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=hook_process.environment(self._data_dir, **self._more),
        )
        return self

    def run(self, payload: bytes) -> Answered:
        stdin, stdout = self._parent.stdin, self._parent.stdout
        assert stdin
        assert stdout
        stdin.write(struct.pack("=I", len(payload)) + payload)
        stdin.flush()
        code, length = struct.unpack("=iI", stdout.read(8))
        return Answered(code, stdout.read(length), b"")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._parent.communicate()
        assert self._parent.returncode == 0
