"""Drives a worker from outside, as its users do: processes, signals, sockets."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import claude_mem
from claude_mem.serve import control

PROGRAM = Path(__file__).with_name("faulty_worker.py")
SOURCE = Path(claude_mem.__file__).parents[1]
DEADLINE_S = 60.0  # far more than anything takes; a hang fails instead of blocking the suite

T = TypeVar("T")


def until(what: str, found: Callable[[], T | None], within_s: float = DEADLINE_S) -> T:
    """Wait for `found` to return something true; the one way these tests wait."""
    end = time.monotonic() + within_s
    while not (value := found()):
        assert time.monotonic() < end, f"waited {within_s:g} s in vain: {what}"
        time.sleep(0.01)
    return value


def command(data: Path, *options: str) -> list[str]:
    return [sys.executable, "-P", str(PROGRAM), str(data), *options]


def environment() -> dict[str, str]:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE")}
    return keep | {"PYTHONPATH": str(SOURCE)}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Driven:
    """A running worker."""

    data: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def announced(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "worker.json").read_bytes())
        return found

    @property
    def port(self) -> int:
        return int(self.announced["port"])

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Over worker.sock."""
        return control.request(self.data, method, path, body, deadline_s=DEADLINE_S)

    def tcp(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Over TCP, with exactly these headers; a host of None leaves the header out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": f"127.0.0.1:{self.port}"} | (headers or {})).items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, named, response.read())
        finally:
            connection.close()

    def with_token(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"} | more

    def counters(self) -> dict[str, int]:
        counters: dict[str, int] = self.ask("GET", "/api/queue")[1]["counters"]
        return counters

    def poke(self, version: str = "0.1.0") -> None:
        self.say(f'{{"type":"wake","version":"{version}"}}\n'.encode(), replies=0)

    def say(self, *lines: bytes, replies: int) -> list[Any]:
        """Over hook.sock: all lines, then as many answers."""
        with connected(self.data / "hook.sock") as sock, sock.makefile("rb") as answers:
            for line in lines:
                sock.sendall(line)
            return [json.loads(answers.readline()) for _ in range(replies)]

    def log(self) -> str:
        return (self.data / "logs" / "worker.log").read_text()


@contextmanager
def connected(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(DEADLINE_S)
        sock.connect(str(path))
        yield sock


@contextmanager
def started(data: Path, *options: str, wrap: Sequence[str] = ()) -> Iterator[Driven]:
    """A worker that answers; ended with the block, whatever became of it."""
    if "--port" not in options:
        options = (*options, "--port", str(free_port()))
    process = launched(data, *options, wrap=wrap)
    try:
        until("the worker answers", lambda: process.poll() is not None or answers(data))
        assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
        yield Driven(data, process)
    finally:
        end(process)


def launched(data: Path, *options: str, wrap: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*wrap, *command(data, *options)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait(DEADLINE_S)
    if process.stderr:
        process.stderr.close()


def answers(data: Path) -> bool:
    return control.status(data, deadline_s=0.5).state == "running"


def spool(data: Path, number: int) -> None:
    """An event in the spool, as a hook would have left it."""
    id = f"{number:020}-1-aaaa"
    payload = {"session_id": "spooled", "cwd": "/", "tool_name": "Bash", "tool_use_id": f"toolu_{number}"}
    event = {"v": 1, "id": id, "at": number, "event": "PostToolUse", "payload": payload}
    (data / "spool" / f"{id}.json").write_text(json.dumps(event))


def starts(data: Path) -> list[str]:
    """The versions of the workers that got as far as building their parts."""
    return (data / "starts").read_text().split() if (data / "starts").exists() else []


def spooled(data: Path) -> int:
    return len(list((data / "spool").glob("[0-9]*.json")))


def free_port() -> int:
    """A port nobody uses now; the worker takes the next one if that changes."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
