"""Measures what the MCP bridge costs a session, and the first message the worker, each with a baseline.

    python benchmarks/mcp.py

Baselines: bare Python for the start and the memory; the official SDK's own stdio server, which a session
would run if there were no bridge; the same message sent to worker.sock without one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness import hook_process, workers

from claude_mem.cli import bridge
from claude_mem.serve import control
from measure import Run, in_turn, machine, table

PYTHON = sys.executable
BRIDGE = [PYTHON, "-I", "-S", str(Path(bridge.__file__).with_name("stdio.py"))]
COMMAND = [str(Path(PYTHON).with_name("claude-mem")), "mcp"]
BARE = [PYTHON, "-I", "-S", "-c", "pass"]
BARE_WAITING = [PYTHON, "-I", "-S", "-c", "import posix; print(flush=True); posix.read(0, 1)"]
SDK = [PYTHON, "-c", "from mcp.server.mcpserver import MCPServer; MCPServer('x', log_level='ERROR').run()"]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "search", "arguments": {"query": "login"}},
}


class Talking:
    """A stdio server, asked one message at a time."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def ask(self, message: dict[str, object]) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    @property
    def mib(self) -> float:
        return rss_mib(self._process.pid)

    def end(self) -> None:
        self._process.communicate()


@contextmanager
def talking(words: list[str], env: dict[str, str]) -> Iterator[Talking]:
    server = Talking(words, env)
    try:
        yield server
    finally:
        server.end()


def rss_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(call: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def starts(env: dict[str, str], rounds: int) -> None:
    runs = {
        "bare Python": Run(BARE, env=env),
        "the bridge, as a client runs it": Run(BRIDGE, env=env),
        "the bridge, by `claude-mem mcp`": Run(COMMAND, env=env),
    }
    costs = in_turn(runs, rounds)
    bare = costs["bare Python"]
    rows = [
        [
            name,
            f"{cost.wall_ms:.1f}",
            f"{cost.wall_ms / bare.wall_ms:.2f} x",
            f"{cost.cpu_ms:.1f}",
            f"{cost.cpu_ms / bare.cpu_ms:.2f} x",
        ]
        for name, cost in costs.items()
    ]
    print(table(["start and end", "wall ms", "", "CPU ms", ""], rows), end="\n\n")


def sizes(env: dict[str, str]) -> None:
    process = subprocess.Popen(BARE_WAITING, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert process.stdout is not None
    process.stdout.readline()
    bare = rss_mib(process.pid)
    process.communicate()
    found = {"bare Python": bare}
    for name, words in (("the bridge", BRIDGE), ("the SDK's own stdio server", SDK)):
        with talking(words, env) as server:
            server.ask(HELLO)
            found[f"{name}, after hello"] = server.mib
            if words is BRIDGE:
                for _ in range(200):
                    server.ask(SEARCH)
                found[f"{name}, after 200 calls"] = server.mib
    rows = [[name, f"{mib:.1f}", f"{mib / bare:.2f} x"] for name, mib in found.items()]
    print(table(["a session's process", "MiB", ""], rows), end="\n\n")


def first_answers(env: dict[str, str], rounds: int) -> None:
    def hello(words: list[str]) -> float:
        began = time.perf_counter()
        with talking(words, env) as server:
            server.ask(HELLO)
            return time.perf_counter() - began

    ours = statistics.median(hello(BRIDGE) for _ in range(rounds)) * 1000
    sdk = statistics.median(hello(SDK) for _ in range(max(3, rounds // 5))) * 1000
    rows = [
        ["the SDK's own stdio server", f"{sdk:.0f}", ""],
        ["the bridge, worker up", f"{ours:.0f}", f"1/{sdk / ours:.0f}"],
    ]
    print(table(["from start to hello's answer", "ms", ""], rows), end="\n\n")


def calls(data: Path, env: dict[str, str], rounds: int) -> None:
    rows = []
    with talking(BRIDGE, env) as server:
        server.ask(HELLO)
        for name, message in (("ping", PING), ("search", SEARCH)):
            direct, bridged = [], []
            for _ in range(rounds):
                direct.append(timed(control.request, data, "POST", "/mcp", message))
                bridged.append(timed(server.ask, message))
            plain, ours = statistics.median(direct) * 1000, statistics.median(bridged) * 1000
            rows.append([name, f"{plain:.2f}", f"{ours:.2f}", f"{ours / plain:.2f} x"])
    print(table(["a call", "to worker.sock, ms", "by the bridge, ms", ""], rows), end="\n\n")


def first_use(data: Path) -> None:
    """The SDK is imported by the first message; meanwhile everybody else asks on."""
    pid = control.status(data).pid
    assert pid
    before = rss_mib(pid)
    quiet = [timed(control.request, data, "GET", "/health") for _ in range(50)]
    waits: list[float] = []
    done = threading.Event()

    def others() -> None:
        while not done.is_set():
            waits.append(timed(control.request, data, "GET", "/health"))

    asking = threading.Thread(target=others)
    asking.start()
    first = timed(control.request, data, "POST", "/mcp", PING)
    done.set()
    asking.join()
    rows = [
        ["the first message, ms", f"{first * 1000:.0f}"],
        ["memory before / after, MiB", f"{before:.0f} / {rss_mib(pid):.0f}"],
        ["others meanwhile, median ms", f"{statistics.median(waits) * 1000:.1f}"],
        ["others meanwhile, longest ms", f"{max(waits) * 1000:.1f}"],
        ["others in peace, median ms", f"{statistics.median(quiet) * 1000:.1f}"],
    ]
    print(table(["the worker's first MCP message", ""], rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    print(machine(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder, workers.running(Path(folder) / "data") as data:
        env = hook_process.environment(data)
        first_use(data)
        print()
        starts(env, rounds)
        first_answers(env, rounds)
        sizes(env)
        calls(data, env, rounds * 5)


if __name__ == "__main__":
    main()
