"""Replays a recorded session through the real hook command: one process per event, as the client runs it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from claude_mem.agents.claude_code import hooks
from claude_mem.hook import paths
from claude_mem.privacy import suspect

DEADLINE_S = 10.0
COMMAND = hooks.hook(hooks.here())
BARE = [sys.executable, "-I", "-S", "-c", "pass"]


@dataclass(frozen=True, slots=True)
class Run:
    """One process's cost."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Answered(Run):
    event: str
    careful: (
        bool  # it had to be parsed: it names something that may be secret, or its session something private
    )
    code: int
    answer: object


def recorded(file: str = "session.jsonl") -> list[bytes]:
    """The recorded payloads, in their order."""
    return (resources.files(__package__) / file).read_bytes().splitlines()


def environment(data_dir: Path, port: int, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """This shell's, but for anything that would lead the demo to the user's own memory, or switch it off. No
    model is asked, whatever is set up here: the demo costs nothing and tells nobody."""
    rest = {key: value for key, value in environ.items() if not key.startswith("CLAUDE_MEM_")}
    return rest | {
        "CLAUDE_MEM_DATA_DIR": str(data_dir),
        "CLAUDE_MEM_WORKER_PORT": str(port),
        "CLAUDE_MEM_PROVIDER": "offline",
    }


def replay(payloads: list[bytes], env: Mapping[str, str], data_dir: Path) -> Iterator[tuple[Answered, Run]]:
    """Each hook's run, with a bare interpreter's beside it, measured in the same moment."""
    for payload in payloads:
        careful = suspect.is_suspect(payload) or (data_dir / paths.PRIVATE).exists()
        bare, _, _ = _timed(BARE, b"", env, data_dir.parent)
        run, code, out = _timed(COMMAND, payload, env, data_dir.parent)
        event = json.loads(payload)["hook_event_name"]
        yield Answered(run.wall_ms, run.cpu_ms, event, careful, code, _json(out)), bare


def answer(payload: bytes, env: Mapping[str, str], data_dir: Path) -> object:
    """What one hook answers."""
    return _json(_timed(COMMAND, payload, env, data_dir.parent)[2])


def _timed(command: list[str], said: bytes, env: Mapping[str, str], cwd: Path) -> tuple[Run, int, bytes]:
    before, began = _children_ms(), time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own hook and interpreter
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=cwd
    ) as process:
        try:
            out, _ = process.communicate(said, timeout=DEADLINE_S)
        except BaseException:
            process.kill()
            raise
    took = (time.perf_counter() - began) * 1000
    return Run(took, _children_ms() - before), process.returncode, out


def _children_ms() -> float:
    """Processor time of all processes waited for so far; a worker that a hook started is never waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def _json(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
