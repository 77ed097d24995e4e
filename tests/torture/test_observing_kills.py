"""kill -9 between claim and settle: afterwards a batch has left either both its memory and its settlement, or
neither and is done again. Never a double, never a loss (rows 1 and 3, through the observer)."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.e2e.test_hook_to_memory import telling_apart
from tests.harness import checker, hook_process, payloads, workers
from tests.harness.model_script import Hang, Request, Step
from tests.harness.model_server import ModelServer
from tests.torture.test_kills import kill_holder

from claude_mem.settings import worker_environment

pytestmark = pytest.mark.prove

Kill = Callable[[subprocess.Popen[bytes], random.Random], None]


class Agent:
    """A session that keeps taking turns: a prompt, some tools, a stop; each by a hook of its own."""

    def __init__(self, data: Path, session: str, env: Mapping[str, str]) -> None:
        self.data, self.session, self.env = data, session, env
        self.accepted: list[str] = []
        self.turns = 0
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self.enough.is_set():
            self.turns += 1
            turn, session = f"p-{self.turns}", self.session
            ids = [f"toolu_{session}_{self.turns}_{n}" for n in range(3)]
            self._hook(payloads.prompt(f"turn {self.turns} of {session}", session, turn))
            for id in ids:
                command, answer = f"npm install {id}", f"added {id}"
                self._hook(payloads.bash(id, command, answer, session=session, prompt_id=turn))
            self._hook(payloads.stop(f"Turn {self.turns} of {session} is done.", session, turn))
            self.accepted += ids

    def _hook(self, payload: bytes) -> None:
        assert hook_process.run(self.data, payload, more=self.env).code == 0


def start(data: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-E", "-P", "-m", "claude_mem.worker", "--from-hook"]
    return subprocess.Popen(words, env=hook_process.environment(data, **env))


def torment(data: Path, env: Mapping[str, str], kills: int, kill: Kill) -> list[Agent]:
    """Kill whoever is the worker, again and again, while two sessions go on; then let one finish in peace."""
    data.mkdir(mode=0o700)
    worker_environment.approve(env, data)
    chance = random.Random(kills)
    agents = [Agent(data, f"session-{n}", env) for n in range(2)]
    for agent in agents:
        agent.thread.start()
    try:
        for _ in range(kills):
            worker = start(data, env)
            kill(worker, chance)
            worker.kill()
            assert worker.wait() in (0, -signal.SIGKILL)  # 0: a hook had started one before
            kill_holder(data)
    finally:
        for agent in agents:
            agent.enough.set()
        for agent in agents:
            agent.thread.join()
        workers.finish(data)
    with workers.running(data, **env):
        workers.settled(data)
    return agents


def judge(data: Path, agents: list[Agent], *, by_model: bool) -> None:
    """`by_model`: it was told to remember every turn; the offline observer leaves errands out."""
    accepted = [id for agent in agents for id in agent.accepted]
    assert checker.check(data, accepted) == {"done": len(accepted), "spooled": 0}
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        summed_up = db.execute("SELECT session_id, prompt_number FROM session_summaries").fetchall()
        again = db.execute("SELECT count(*) FROM observation_sightings").fetchone()
        shown = db.execute("SELECT tool_use_ids FROM observations").fetchall()
    assert [turn for turn, times in Counter(summed_up).items() if times > 1] == [], "summed up twice"
    assert again == (0,), "nothing was said twice, so nothing was settled twice"
    observed = {id for (ids,) in shown for id in json.loads(ids)}
    assert observed == set(accepted) if by_model else observed <= set(accepted), "all of it was observed"
    turns = sum(agent.turns for agent in agents)
    assert leases(data) > turns, "some were handed out in vain: those kills fell between claim and settle"
    print(f"{len(accepted)} tool uses in {turns} turns, handed out {leases(data)} times")


def leases(data: Path) -> int:
    """How often something was handed out so far; read as others may, while the worker writes."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db,
    ):
        found = db.execute("SELECT value FROM counters WHERE name = 'leases'").fetchone()
        return int(found[0]) if found else 0
    return 0


@pytest.mark.timeout(600)
def test_killed_just_after_a_claim_the_offline_observer_does_each_batch_once(data: Path) -> None:
    env = {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port())}

    def kill(worker: subprocess.Popen[bytes], chance: random.Random) -> None:
        before, patience = leases(data), time.monotonic() + 3
        while leases(data) == before and time.monotonic() < patience:
            time.sleep(0.0005)  # a batch is done in milliseconds: whoever slept longer would come too late
        with suppress(subprocess.TimeoutExpired):
            worker.wait(chance.choice((0, 0, 0.001, 0.002, 0.005, 0.02)))

    judge(data, torment(data, env, 25, kill), by_model=False)


@pytest.mark.timeout(600)
def test_killed_while_a_model_is_asked_or_has_just_answered_each_batch_is_done_once(data: Path) -> None:
    kills, mood, answer = 20, random.Random(7), telling_apart()
    killed: list[int] = []

    def script(request: Request) -> Step:
        return answer(request) if len(killed) == kills or mood.random() < 0.7 else Hang()

    with ModelServer(script) as server:
        env = {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port()), **workers.asking(server.url)}

        def kill(worker: subprocess.Popen[bytes], chance: random.Random) -> None:
            with suppress(AssertionError):  # both sessions may be hanging already: that is a good moment too
                server.wait_for_request(len(server.requests) + 1, deadline_s=3)
            with suppress(subprocess.TimeoutExpired):
                worker.wait(chance.choice((0, 0.002, 0.005, 0.01, 0.02, 0.05)))
            killed.append(worker.pid)

        agents = torment(data, env, kills, kill)
    judge(data, agents, by_model=True)
    with closing(sqlite3.connect(data / "claude-mem.db")) as db:
        (observed,) = db.execute("SELECT count(*) FROM observations").fetchone()
        (paid,) = db.execute("SELECT count(*) FROM spending").fetchone()
    assert observed == paid, "each answer that was kept was kept whole, with its price"
    assert len(server.requests) > observed, (
        "some were asked in vain: those kills fell between claim and settle"
    )
    print(f"{kills} kills, {len(server.requests)} requests, {observed} kept")
