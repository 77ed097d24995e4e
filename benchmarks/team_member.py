"""Simulates one member's machine: its worker has joined, pulls what others share, and answers prompts."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness import hook_process, payloads
from tests.harness.team_machines import Machine, machine

from team_servers import Fleet

PAUSE_S = 0.5
"""Between two prompts: a person types."""


@dataclass(slots=True)
class Prompts:
    """How long the hook of a prompt takes, from its start to its end, in milliseconds."""

    at_rest: list[float] = field(default_factory=list)
    under_load: list[float] = field(default_factory=list)
    recalled: int = 0


@dataclass(slots=True)
class MemberMachine:
    machine: Machine
    cwd: Path
    titles: list[str]
    prompts: Prompts = field(default_factory=Prompts)
    _asked: int = 0

    def ask(self, into: list[float]) -> None:
        """A prompt of a new session, about something that somebody else has shared."""
        self._asked += 1
        words = random.Random(self._asked).choice(self.titles)
        payload = payloads.payload(
            "UserPromptSubmit",
            f"bench-{self._asked}",
            cwd=str(self.cwd),
            prompt_id=f"p-{self._asked}",
            prompt=f"why {words} again",
        )
        began = time.perf_counter()
        answer = hook_process.run(self.machine.data, payload)
        into.append((time.perf_counter() - began) * 1000)
        self.prompts.recalled += b"additionalContext" in answer.out

    def rest(self, rounds: int) -> None:
        for _ in range(rounds):
            time.sleep(PAUSE_S)
            self.ask(self.prompts.at_rest)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While the block lasts."""
        ended = threading.Event()

        def ask() -> None:
            while not ended.wait(PAUSE_S):
                self.ask(self.prompts.under_load)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@contextmanager
def member_machine(folder: Path, servers: Fleet, member: str, project: str) -> Iterator[MemberMachine]:
    """Joined, and with all that its project's members have shared so far."""
    with machine(folder, member) as own:
        own.join(f"http://127.0.0.1:{servers.servers[0].port}", servers.new_key(member, "desktop"))
        cwd = own.clone("clone", project)
        own.sync()
        titles = [row[0] for row in own.rows("SELECT title FROM observations")]
        yield MemberMachine(own, cwd, titles)
