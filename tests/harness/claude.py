"""The real Claude Code in a throwaway home, against a scripted model server.

claude = Claude(tmp_path)
claude.connect()                      # `claude-mem install`, as a person would
with ModelServer(Playing([Say("", uses=(Use("Bash", {"command": "ls"}),)), Say("Done.")])) as server:
    ran = claude.run(server, "What is here?")
claude.settle()
claude.rows("SELECT title FROM observations")
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.homes import PATIENCE_S, Home
from tests.harness.model_script import Request, Say, Step
from tests.harness.model_server import ModelServer

COMPACTS = "create a detailed summary of"  # how the client asks its model for a compaction
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "IS_SANDBOX": "1",  # lets root do without permission dialogs
    "ANTHROPIC_API_KEY": "dummy",
    # Nobody is there. `claude plugin …` would ask the real one, and try again for 17 s without a network.
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
}


class Playing:
    """A model that says `main` in the main conversation, step by step, the last one for ever; in a subagent
    what is kept under a phrase of its task; and a compaction's summary when it is asked for one."""

    def __init__(
        self,
        main: Sequence[Step],
        *,
        subagents: Mapping[str, Sequence[Step]] | None = None,
        summary: str = "<summary>What was said so far.</summary>",
    ) -> None:
        self._left = {"": list(main)} | {task: list(steps) for task, steps in (subagents or {}).items()}
        self._summary = summary

    def __call__(self, request: Request) -> Step:
        messages = request.body.get("messages", [])
        if compaction(request):
            return Say(self._summary)
        first = texts(messages[0]) if messages else ""
        steps = self._left[next((task for task in self._left if task and task in first), "")]
        return steps.pop(0) if len(steps) > 1 else steps[0]


def texts(message: Mapping[str, Any]) -> str:
    """All the text of a message of the Messages API, tool results included."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(
        block.get("text") or texts(block) for block in content if block.get("type") in ("text", "tool_result")
    )


def compaction(request: Request) -> str:
    """What the model is told where it is asked to compact; empty: it is not. After it the client may add what
    it has meanwhile learned of its tools: whether it does depends on how soon they are there."""
    last = (texts(message) for message in request.body.get("messages", [])[-3:])
    return next((text for text in last if COMPACTS in text), "")


def read(request: Request) -> str:
    """All the text the model was sent in a request: what it was told, and what its tools said."""
    return "\n".join(texts(message) for message in request.body.get("messages", []))


@dataclass(frozen=True, slots=True)
class Ran:
    """One `claude -p`: its exit code, what it printed as stream-json, and what it complained of."""

    code: int
    lines: tuple[dict[str, Any], ...]
    err: str

    @property
    def session(self) -> str:
        return str(self.lines[-1]["session_id"])

    @property
    def result(self) -> str:
        return str(self.lines[-1].get("result"))

    def hooks(self, event: str) -> list[dict[str, Any]]:
        """What the client says of the hooks it ran for an event: output, exit_code, outcome, stderr."""
        return [
            line
            for line in self.lines
            if line.get("subtype") == "hook_response" and line["hook_event"] == event
        ]


class Claude(Home):
    """A user's home, and the real client."""

    def __init__(self, at: Path, *, like: Claude | None = None) -> None:
        """`like` another home: a copy of it, in which all that names the other's place names this one's."""
        super().__init__(at)
        self.config = self.home / ".claude"
        if like is None:
            self.config.mkdir(parents=True)
            self.repository(self.project)
        else:
            self._copy(like.home)

    def _copy(self, home: Path) -> None:
        shutil.copytree(home, self.home, symlinks=True)
        there, here = os.fsencode(home), os.fsencode(self.home)
        for file in self.home.rglob("*.json"):
            if there in (text := file.read_bytes()):
                file.write_bytes(text.replace(there, here))

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment() | QUIET | more

    def programs(self) -> dict[str, Path]:
        return super().programs() | {"claude": real_client()}

    def client(
        self, *arguments: str, check: bool = True, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """`claude …`, typed in the project, for what asks no model."""
        return self._typed([str(self.commands() / "claude"), *arguments], check=check, env=env, cwd=cwd)

    def run(self, server: ModelServer, prompt: str, *more: str, cwd: Path | None = None, **env: str) -> Ran:
        """`claude -p`, to its end."""
        with self.started(server, prompt, *more, cwd=cwd, **env) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return Ran(process.returncode, tuple(json.loads(line) for line in out.splitlines()), err)

    def piped(self, server: ModelServer, prompt: str, *more: str, cwd: Path | None = None, **env: str) -> Ran:
        """`… | claude -p`, to its end: for a prompt that is too long for a command line."""
        with self.started(server, None, *more, cwd=cwd, **env) as process:
            out, err = process.communicate(prompt, timeout=PATIENCE_S)
        return Ran(process.returncode, tuple(json.loads(line) for line in out.splitlines()), err)

    def started(
        self, server: ModelServer, prompt: str | None, *more: str, cwd: Path | None = None, **env: str
    ) -> subprocess.Popen[str]:
        """`claude -p`, left running: for whoever wants to interrupt or to kill it, or to type (None)."""
        return subprocess.Popen(
            [
                str(self.commands() / "claude"),
                *("-p", *([] if prompt is None else [prompt])),
                *("--output-format", "stream-json", "--verbose", "--include-hook-events"),
                *("--permission-mode", "bypassPermissions", *more),
            ],
            env=self.environment(ANTHROPIC_BASE_URL=server.url, **env),
            cwd=cwd or self.project,
            stdin=subprocess.PIPE if prompt is None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def write_login(config: Path) -> None:
    """As /login leaves it, for an account that nobody has."""
    token = {
        "accessToken": "sk-ant-oat01-dummy",
        "refreshToken": "sk-ant-ort01-dummy",
        "expiresAt": 4_102_444_800_000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    file = config / ".credentials.json"
    file.write_text(json.dumps({"claudeAiOauth": token}))
    file.chmod(0o600)


def real_client() -> Path:
    """The real Claude Code: a registry's way to carry it is the Agent SDK, of which nothing else is used."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    found = Path(spec.origin).with_name("_bundled") / "claude" if spec and spec.origin else None
    if found is None or not found.exists():
        raise AssertionError("the real Claude Code comes with claude-agent-sdk: run `make test`")
    return found
