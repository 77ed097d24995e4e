"""A coding agent in a throwaway home, against a scripted model server.

agent = AgentHome(tmp_path, CLIENTS["codex"])
agent.connect()                       # `claude-mem install`, as a person would
with agent.model([Say("", uses=(agent.client.shell("ls"),)), Say("Done.")]) as server:
    ran = agent.run("What is here?")
agent.settle()
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.harness import workers
from tests.harness.agent_clients.clients import Client
from tests.harness.homes import PATIENCE_S, Home
from tests.harness.model_script import Request, Say, Step
from tests.harness.model_server import ModelServer

Steps = Sequence[Step | Callable[[], Step]]


def internal(request: Request) -> bool:
    """Of the client's own doing: a title, a check who speaks next. The model is offered no tools for it."""
    return not request.body.get("tools")


class Conversation:
    """A model that says these steps one by one, the last one for ever, and something to internal calls. A
    step may be a function: whatever it does, it does while the client waits."""

    def __init__(self, steps: Steps) -> None:
        self._left = list(steps)

    def __call__(self, request: Request) -> Step:
        if internal(request):
            return Say("Parcels")
        step = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return step() if callable(step) else step


def sent(request: Request) -> str:
    """All the text that the model was sent, in whichever protocol."""
    return "\n".join(_texts({key: body for key, body in request.body.items() if key != "tools"}))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


class AgentHome(Home):
    """A user's home in which one agent is configured: its model is at a port of this home's own."""

    def __init__(self, at: Path, client: Client, *, beside: Home | None = None) -> None:
        """`beside`: the user of that home has this agent too."""
        super().__init__(at)
        self.client = client
        self.model_port = workers.free_port()
        if beside:
            assert beside.home == self.home
            self.port = beside.port
        else:
            self.repository(self.project)
        for name, text in client.files(self.home, self.model_url).items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text if isinstance(text, str) else json.dumps(text, indent=2) + "\n")

    @property
    def model_url(self) -> str:
        return f"http://127.0.0.1:{self.model_port}"

    def model(self, steps: Steps) -> ModelServer:
        return ModelServer(Conversation(steps), port=self.model_port)

    def programs(self) -> dict[str, Path]:
        return super().programs() | {self.client.name: self.client.program(self.home)}

    def environment(self, **more: str) -> dict[str, str]:
        ours = {"PWD": str(self.project)} | self.client.environment(self.model_url)
        return super().environment() | ours | more

    def run(self, prompt: str, *more: str, **env: str) -> Ran:
        """One headless session. What the client leaves running (Cline a daemon) runs on until `end`."""
        command = [str(self.commands() / self.client.name), *self.client.arguments(prompt), *more]
        done = subprocess.run(
            command,
            env=self.environment(**env),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)
