"""kill -9 of hooks and workers at random moments, hundreds of times (row 1, and rows 2 and 9 on the way)."""

import contextlib
import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.harness import checker, hook_process, payloads, workers

from claude_mem.serve import lock

SETTLING = Path(__file__).with_name("settling_worker.py")


class Client:
    """A coding agent that keeps using tools; a fifth of its hooks are killed in mid-flight."""

    def __init__(self, data: Path, session: str, seed: int, env: Mapping[str, str]) -> None:
        self.data, self.session, self.chance, self.env = data, session, random.Random(seed), env
        self.accepted: list[str] = []
        self.maybe: list[str] = []
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        n = 0
        while not self.enough.is_set():
            n += 1
            id = f"toolu_{self.session}_{n}"
            hook = subprocess.Popen(
                hook_process.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=hook_process.environment(self.data, **self.env),
            )
            try:
                hook.stdin.write(payloads.bash(id, session=self.session))  # type: ignore[union-attr]
                hook.stdin.close()  # type: ignore[union-attr]
            except BrokenPipeError:
                pass
            if self.chance.random() < 0.2:
                try:
                    hook.wait(self.chance.uniform(0, 0.02))
                except subprocess.TimeoutExpired:
                    hook.kill()
            (self.accepted if hook.wait(hook_process.DEADLINE_S) == 0 else self.maybe).append(id)


def torment(
    data: Path,
    kills: int,
    start: Callable[[], subprocess.Popen[bytes]],
    longest: float,
    env: Mapping[str, str] = {},
) -> list[Client]:
    """Kill whoever is the worker, so often and until more is accepted, while three sessions go on working."""
    chance = random.Random(kills)
    clients = [Client(data, f"session-{n}", seed=n, env=env) for n in range(3)]
    for client in clients:
        client.thread.start()
    try:
        for killed in itertools.count():
            if killed >= kills and len(everything(clients)[0]) > kills:
                break
            worker = start()
            try:
                worker.wait(chance.uniform(0, longest))
            except subprocess.TimeoutExpired:
                worker.kill()
            assert worker.wait() in (0, -signal.SIGKILL)
            kill_holder(data)
    finally:
        for client in clients:
            client.enough.set()
            client.thread.join()
        workers.finish(data)
    return clients


def kill_holder(data: Path) -> None:
    """A hook may have started a worker of its own in between."""
    while pid := lock.holder(data / "worker.lock"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def everything(clients: list[Client]) -> tuple[list[str], list[str]]:
    return [id for c in clients for id in c.accepted], [id for c in clients for id in c.maybe]


def settling_worker(data: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(SETTLING), str(data)], env=hook_process.environment(data))


def settle_all(data: Path, accepted: list[str], maybe: list[str]) -> dict[str, int]:
    """Let a last worker finish in peace."""
    worker = settling_worker(data)
    try:
        while True:
            where = {}
            if (data / "claude-mem.db").exists():
                try:
                    where = checker.check(data, accepted, maybe, titles_are_ids=True)
                except sqlite3.OperationalError as why:
                    # The last one was killed: until this one has opened the database, nobody can read it.
                    # READONLY_RECOVERY or READONLY_CANTINIT, whichever comes first.
                    if not why.sqlite_errorname.startswith("SQLITE_READONLY"):
                        raise
                    where = {"spooled": 1}
                if not (where["spooled"] or where.get("ready") or where.get("leased")):
                    return where
            try:
                worker.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
            pytest.fail(f"the last worker left with {worker.returncode} before all was settled: {where}")
    finally:
        worker.kill()
        worker.wait()


def run_settling(data: Path, kills: int) -> None:
    data.mkdir(mode=0o700)
    # A worker that a hook starts must not observe in our observer's place: with this it does not even begin.
    env = {"CLAUDE_MEM_PROVIDER": "nobody"}
    clients = torment(data, kills, lambda: settling_worker(data), longest=0.25, env=env)
    accepted, maybe = everything(clients)
    where = settle_all(data, accepted, maybe)
    assert where["done"] >= len(accepted)
    print(f"{kills} kills, {len(accepted)} accepted, {len(maybe)} hooks killed, {where}")


@pytest.mark.parametrize(
    "kills", [pytest.param(8, marks=pytest.mark.short), pytest.param(200, marks=pytest.mark.prove)]
)
def test_nothing_accepted_is_lost_or_doubled_however_often_a_settling_worker_is_killed(
    data: Path, kills: int
) -> None:
    run_settling(data, kills)


@pytest.mark.prove
@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_same_for_an_hour(data: Path) -> None:
    run_settling(data, kills=12_000)


@pytest.mark.prove
def test_nothing_accepted_is_lost_or_doubled_however_often_the_real_worker_is_killed(data: Path) -> None:
    data.mkdir(mode=0o700)

    def start() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-E", "-P", "-m", "claude_mem.worker", "--from-hook"]
        return subprocess.Popen(words, env=hook_process.environment(data, CLAUDE_MEM_WORKER_PORT="39200"))

    clients = torment(data, 60, start, longest=1.0)
    accepted, maybe = everything(clients)
    where = checker.check(data, accepted, maybe)
    assert sum(where.values()) >= len(accepted)
