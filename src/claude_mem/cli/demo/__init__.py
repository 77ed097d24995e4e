"""`claude-mem demo`: replays a recorded session through the real hooks and worker, and shows the result."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, field, to_builtins

from claude_mem import __version__
from claude_mem.agents import launcher, short_id
from claude_mem.cli import memory_text, output
from claude_mem.cli.commands import OK, WRONG, Commands
from claude_mem.cli.commands.worker_process import last_lines
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.privacy import suspect
from claude_mem.serve import control

WIDTH = 80
ANSWER = {"continue": True, "suppressOutput": True}


def add(commands: Commands) -> None:
    parser = commands.add("demo", run=_demo)
    parser.flag("--keep", "keep the directory and leave its worker running, to look around")


def _demo(args: argparse.Namespace) -> int:
    """Runs the real hook command and a real worker in a throwaway data directory: no account, no network,
    your own memory untouched. Leaves nothing behind.
    """
    payloads = recorded()
    show = output.message if args.json else print
    show(
        f"claude-mem {__version__}: a recorded session of {len(payloads)} events runs through the real hook\n"
        "command into a throwaway data directory. No account, no network.\n"
    )
    with throwaway_directory(keep=args.keep) as data_dir:
        made = play(payloads, data_dir)
        text = render(made, output.Paint(sys.stdout))
        output.result(args, to_builtins(made), text)
        if args.keep:
            show(
                "\nThe data directory is still there and its worker is running. Look around:\n\n"
                f"  export CLAUDE_MEM_DATA_DIR={data_dir}\n"
                "  claude-mem doctor\n"
                "  claude-mem timeline\n"
                "  claude-mem search why did the test fail\n\n"
                "When you are done:\n\n"
                f"  claude-mem worker stop && rm -r {data_dir.parent} && unset CLAUDE_MEM_DATA_DIR"
            )
    if not args.keep:
        show("\nThe worker was stopped and the data directory removed.")
    wrong = problems(made)
    for problem in wrong:
        output.message(f"claude-mem: the demo failed: {problem}.")
    return WRONG if wrong else OK


def problems(made: Replay) -> list[str]:
    """The demo's failures, if there are any."""
    session = made.session
    failed = any(hook.code != 0 or hook.answer != ANSWER for hook in made.hooks)
    observers = {observation["provider"] for observation in session["observations"]}
    wrong = {
        "a hook failed or gave a wrong answer": failed,
        **{f"{what} was found": bool(made.found[text]) for what, text in HIDDEN.items()},
        f"the scan finds nothing, not even {PUBLIC!r}": not made.found[PUBLIC],
        "no observations or summaries were stored": not session["observations"] or not session["summaries"],
        "an observer other than the offline one was used": bool(observers - {"offline"}),
        "nothing was injected into the next session": not made.context,
        "search did not find what was stored": not made.results or not made.history,
    }
    return [problem for problem, is_so in wrong.items() if is_so]


def render(made: Replay, paint: output.Paint) -> str:
    def table(introduction: str, results: Sequence[memory_text.Result]) -> str:
        lines = memory_text.table(results, WIDTH - 2, paint).splitlines()
        return "\n".join([output.fit(introduction, WIDTH), "", *(f"  {line}" for line in lines)])

    session = made.session["session"]
    memory = [*made.session["prompts"], *made.session["observations"], *made.session["summaries"]]
    memory.sort(key=lambda each: (each["created_at_epoch"], each["kind"] != "prompt"))
    parts = (
        f"Hooks   {len(made.hooks)} run, each in its own process; all answered and exited 0\n"
        f"Worker  started by the first hook; stored everything {made.drained_after_s:.1f} s after the last\n"
        f"        hook, and had observed everything after {made.observed_after_s:.1f} s",
        table(
            f"Session {short_id(session['id'])}, {session['project']}: {session['status']}, "
            f"{output.plural(session['prompts'], 'prompt')} (1 private), "
            f"{output.plural(session['observations'], 'observation')}",
            memory,
        ),
        _hidden(made, paint),
        _cost(made),
        _quoted("Injected into the next session there, before its first prompt:", made.context),
        # Empty if it did not come in time: no prompt waits for it.
        _quoted(f"Injected with the prompt “{made.prompt}”:", made.reminder) if made.reminder else "",
        table(f"Search it: claude-mem search '{made.query}'", made.results),
        table(f"Show a file's history: claude-mem file {made.file}", made.history),
    )
    return "\n\n".join(filter(None, parts))


def _hidden(made: Replay, paint: output.Paint) -> str:
    lines = [f"Searched for in all {made.files} files of the data directory, byte by byte:", ""]
    for what, text in HIDDEN.items():
        verdict = paint("red", "FOUND    ") if made.found[text] else paint("green", "not found")
        instead = INSTEAD.get(what, "")
        lines.append(f"  {verdict}  {what:<39}{instead if made.found.get(instead) else ''}".rstrip())
    return "\n".join([*lines, f"  found      {PUBLIC!r}, which was not private: the search works"])


def _cost(made: Replay) -> str:
    def column(of: Callable[[ProcessRun], float], runs: list[ProcessRun]) -> str:
        median, baseline = statistics.median(map(of, runs)), statistics.median(map(of, made.baseline))
        ratio = f"x {median / baseline:.2f}" if baseline and runs is not made.baseline else ""
        return f"{median:>9.1f} ms  {ratio:<6}"

    rows = {
        "python -I -S -c pass": made.baseline,
        "a hook": [hook for hook in made.hooks if not hook.scrubs],
        "a hook that scrubs": [hook for hook in made.hooks if hook.scrubs],
    }
    lines = ["What a hook costs (medians, compared with a bare interpreter)", ""]
    lines.append(f"{'time':>40}{'processor':>20}")
    for name, runs in rows.items():
        columns = column(lambda run: run.wall_ms, runs) + column(lambda run: run.cpu_ms, runs)
        lines.append(f"  {name:<26}{columns}".rstrip())
    return "\n".join(lines)


def _quoted(introduction: str, text: str) -> str:
    lines = [output.fit(introduction, WIDTH), ""]
    for line in text.splitlines():
        item = line.removeprefix("- ")
        indent = "  " if item == line else "    "
        first, *rest = output.wrap(item, WIDTH, indent) or [""]
        lines += [first if item == line else f"  - {first.lstrip()}", *rest]
    return "\n".join(lines)


DEADLINE_S = 10.0
WAIT_S = 20.0
LOOK_EVERY_S = 0.02
COMMAND = launcher.hook_command(launcher.this_machine())
BARE = [sys.executable, "-I", "-S", "-c", "pass"]

QUERY = "which decimal separator do weights accept?"
FILE = "src/parcel/weight.py"
RESULTS = 3

HIDDEN = {
    "a name inside <private> in a prompt": "Harbour Foods",
    "tool output of an entirely private turn": "31 percent off",
    "a password in a test's output": "t1de-p00l-9921",
    "a token in the output of git push": "ghp_ThisTokenIsMadeUpForTheDemo",
    "the contents of a .env file": "correct-horse-7731",
}
INSTEAD = {
    "a password in a test's output": "[redacted:url-password]",
    "a token in the output of git push": "[redacted:github-token]",
    "the contents of a .env file": "[excluded: contents of .env]",
}
"""The replacements of some of them."""
PUBLIC = "parse_weight"
"""A public word that occurs throughout the session: a scan that finds it would find the others."""


class ProcessRun(Struct, frozen=True):
    wall_ms: float
    cpu_ms: float
    code: int = 0
    answer: object = None
    scrubs: bool = False  # the hook had to parse it: it may contain a secret or something private


class Replay(Struct, frozen=True):
    hooks: list[ProcessRun]
    baseline: list[ProcessRun] = field(name="bare")  # an empty interpreter, measured next to each hook
    drained_after_s: float
    observed_after_s: float
    session: dict[str, Any]  # as /api/session answers
    context: str  # injected at the start of the next session
    prompt: str
    reminder: str  # injected with its first prompt
    query: str
    results: list[dict[str, Any]]
    file: str
    history: list[dict[str, Any]]
    files: int  # of the data directory
    found: dict[str, int]  # in how many of them a text is


def recorded(file: str = "session.jsonl") -> list[bytes]:
    return (resources.files(__package__) / file).read_bytes().splitlines()


def play(payloads: list[bytes], data_dir: Path) -> Replay:
    # Remove everything that refers to the user's own memory or disables it, and any model that is configured
    # here.
    env = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_MEM_")}
    env |= {"CLAUDE_MEM_DATA_DIR": str(data_dir), "CLAUDE_MEM_PROVIDER": "offline"}
    env["CLAUDE_MEM_WORKER_PORT"] = str(_free_port())
    hooks, baseline = [], []
    for payload in payloads:
        scrubs = suspect.is_suspect(payload) or (data_dir / paths.PRIVATE).exists()
        baseline.append(_run(BARE, b"", env, data_dir))
        hooks.append(_run(COMMAND, payload, env, data_dir, scrubs=scrubs))
    drained_after_s, observed_after_s = _wait_for_memory(data_dir)
    start, prompt = recorded("next.jsonl")
    session = _query(data_dir, f"/api/session/{json.loads(payloads[0])['session_id']}")
    context = _injected(_run(COMMAND, start, env, data_dir))
    # Queried before the prompt itself is among the memories.
    results = _query(data_dir, "/api/search", q=QUERY, limit=RESULTS)["results"]
    history = _query(data_dir, "/api/file", path=FILE, limit=RESULTS)["results"]
    reminder = _injected(_run(COMMAND, prompt, env, data_dir))
    _wait_for_drain(data_dir)
    contents = list(_contents(data_dir))
    searched = (*HIDDEN.values(), *INSTEAD.values(), PUBLIC)
    return Replay(
        hooks=hooks,
        baseline=baseline,
        drained_after_s=drained_after_s,
        observed_after_s=observed_after_s,
        session=session,
        context=context,
        prompt=json.loads(prompt)["prompt"],
        reminder=reminder,
        query=QUERY,
        results=results,
        file=FILE,
        history=history,
        files=len(contents),
        found={text: sum(text.lower().encode() in each for each in contents) for text in searched},
    )


def _wait_for_memory(data_dir: Path) -> tuple[float, float]:
    """Until all of it is observed and ready to be injected. Returns when the spool was drained and when all
    was observed, in seconds from now."""
    began = time.monotonic()

    def is_observed() -> bool:
        match control.status(data_dir).health:
            case {"queue": {"ready": 0, "leased": 0}}:
                return True
        return False

    def is_ready() -> bool:
        match control.status(data_dir).health:
            case {"recall": {"index": {"waiting": 0}, "context": {"fresh": True}}}:
                return True
        return False

    _wait(lambda: control.status(data_dir).state == "running", "the worker did not start", data_dir)
    _wait_for_drain(data_dir)
    drained_after_s = time.monotonic() - began
    _wait(is_observed, "some events were not observed", data_dir)
    observed_after_s = time.monotonic() - began
    _wait(is_ready, "the context was not rendered", data_dir)
    return drained_after_s, observed_after_s


def _wait_for_drain(data_dir: Path) -> None:
    def is_drained() -> bool:
        return not any((data_dir / paths.SPOOL).glob("*.json"))

    _wait(is_drained, "the spool was not drained", data_dir)


def _run(
    command: list[str], payload: bytes, env: Mapping[str, str], data_dir: Path, *, scrubs: bool = False
) -> ProcessRun:
    def children_ms() -> float:
        """Of all processes waited for so far; a worker that a hook started is never waited for."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (used.ru_utime + used.ru_stime) * 1000

    before, began = children_ms(), time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own hook and interpreter
        command,
        input=payload,
        stdout=subprocess.PIPE,
        env=env,
        cwd=data_dir.parent,
        timeout=DEADLINE_S,
        check=False,
    )
    wall_ms, answer = (time.perf_counter() - began) * 1000, None
    with suppress(ValueError):
        answer = json.loads(done.stdout)
    return ProcessRun(wall_ms, children_ms() - before, done.returncode, answer, scrubs)


def _injected(run: ProcessRun) -> str:
    match run.answer:
        case {"hookSpecificOutput": {"additionalContext": str(text)}}:
            return text
    return ""


def _query(data_dir: Path, route: str, /, **query: object) -> dict[str, Any]:
    status, answer = control.request(data_dir, "GET", f"{route}?{urlencode(query)}")
    if status != 200:
        raise ClaudeMemError(f"The demo could not query {route}: {answer}")
    return answer


def _contents(data_dir: Path) -> Iterator[bytes]:
    """Of every file, in lower case, as the full-text index has it."""
    for path in data_dir.rglob("*"):
        with suppress(FileNotFoundError):  # the worker is at work: it has its final name by now
            if path.is_file() and not path.is_symlink():
                yield path.read_bytes().lower()


def _wait(condition: Callable[[], bool], what: str, data_dir: Path, deadline_s: float = WAIT_S) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            log = " ".join(last_lines(data_dir / paths.START_LOG, 1))
            raise ClaudeMemError(f"The demo timed out after {deadline_s:.0f} s: {what}. {log}".rstrip())
        time.sleep(LOOK_EVERY_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def throwaway_directory(*, keep: bool) -> Iterator[Path]:
    """A data directory that does not exist yet. Afterwards its worker is stopped and it is removed."""
    home = Path(tempfile.mkdtemp(prefix="claude-mem-demo-"))
    # SIGTERM is handled like Ctrl-C, so that everything is removed.
    with _signals((signal.SIGTERM, signal.SIGHUP), lambda number, _: sys.exit(128 + number)):
        try:
            yield home / "data"
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                with _signals((signal.SIGINT,), signal.SIG_IGN):  # a second Ctrl-C must not leave the worker
                    _remove(home)


def _remove(home: Path) -> None:
    data_dir = home / "data"

    def is_up() -> bool:
        return control.status(data_dir).state != "stopped"

    with suppress(ClaudeMemError):  # it failed to start: nothing to stop
        if (data_dir / paths.START_STAMP).exists():
            # A hook may have just started a worker that is not ready yet; it would outlive its directory and
            # this process.
            _wait(is_up, "the worker did not start", data_dir, 5.0)
    try:
        control.stop(data_dir)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _signals(numbers: Iterable[signal.Signals], handle: Any) -> Iterator[None]:
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
