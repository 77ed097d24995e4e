"""Replays a recorded session in a throwaway data directory, then a second one that profits from it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, cast
from urllib.parse import urlencode

from msgspec import Struct

from claude_mem.agents import launcher
from claude_mem.cli.commands import worker
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.privacy import suspect
from claude_mem.serve import control

DEADLINE_S = 10.0
COMMAND = launcher.hook_command(launcher.this_machine())
BARE = [sys.executable, "-I", "-S", "-c", "pass"]


class Run(Struct, frozen=True):
    """One process's cost."""

    wall_ms: float
    cpu_ms: float


class Answered(Run, frozen=True):
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


QUESTION = "which decimal separator do weights accept?"
FILE = "src/parcel/weight.py"
RESULTS = 3


class Recalled(Struct, frozen=True):
    context: str  # what the client shows the model at the session's start
    prompt: str
    reminder: str  # what it shows the model beside the prompt
    question: str
    found: list[dict[str, Any]]
    file: str
    history: list[dict[str, Any]]


def recall_in_next_session(env: Mapping[str, str], data_dir: Path) -> Recalled:
    def injected(payload: bytes) -> str:
        """The text inside the hook's answer, as the client hands it on."""
        match _json(_timed(COMMAND, payload, env, data_dir.parent)[2]):
            case {"hookSpecificOutput": {"additionalContext": str(text)}}:
                return text
        return ""

    start, prompt = recorded("next.jsonl")
    context = injected(start)
    # Asked before the prompt is one of the things that are remembered.
    found = _ask(data_dir, "/api/search", q=QUESTION, limit=RESULTS)
    history = _ask(data_dir, "/api/file", path=FILE, limit=RESULTS)
    reminder = injected(prompt)
    return Recalled(context, str(json.loads(prompt)["prompt"]), reminder, QUESTION, found, FILE, history)


def _ask(data_dir: Path, route: str, /, **query: object) -> list[dict[str, Any]]:
    status, answer = control.request(data_dir, "GET", f"{route}?{urlencode(query)}")
    if status != 200:
        raise ClaudeMemError(f"The demo could not query {route}: {answer}")
    return cast("list[dict[str, Any]]", answer["results"])


WAIT_S = 20.0
LOOK_EVERY_S = 0.02
ENDS = (signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], NoReturn] | signal.Handlers


@contextmanager
def throwaway_directory(*, keep: bool) -> Iterator[Path]:
    """A data directory that does not exist yet. Afterwards its worker is stopped and it is removed."""
    home = Path(tempfile.mkdtemp(prefix="claude-mem-demo-"))
    with _signals(ENDS, _leave):  # a polite kill unwinds like Ctrl-C does, so that everything is removed
        try:
            yield home / "data"
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                # A second Ctrl-C must not leave the worker behind.
                with _signals((signal.SIGINT,), signal.SIG_IGN):
                    _remove(home)


def until(condition: Callable[[], bool], what: str, data_dir: Path, deadline_s: float = WAIT_S) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            said = " ".join(worker.last_lines(data_dir / paths.START_LOG, 1))
            raise ClaudeMemError(f"The demo timed out after {deadline_s:.0f} s: {what}. {said}".rstrip())
        time.sleep(LOOK_EVERY_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _remove(home: Path) -> None:
    data_dir = home / "data"
    try:
        if (data_dir / paths.START_STAMP).exists() and control.status(data_dir).state == "stopped":
            # A hook has just started a worker that is not up yet; it would outlive its directory and us.
            until(
                lambda: control.status(data_dir).state != "stopped", "the worker did not start", data_dir, 5.0
            )
    except ClaudeMemError:
        pass  # it failed to start: nothing to stop
    try:
        control.stop(data_dir)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _signals(numbers: Iterable[signal.Signals], handle: Handler) -> Iterator[None]:
    """With another handler for these signals."""
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
