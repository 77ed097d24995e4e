"""Measures what a hook costs the user's agent, compared with an empty Python script.

    python benchmarks/hooks.py
    python benchmarks/hooks.py --beside 'incumbent=node /path/to/save-hook.js'

Every command gets the same payload on its standard input, once a round, in turn. Targets are CPU time as a
ratio to `python -I -S -c pass` in the same run: 1.35 on the fast path, 2.5 on the careful path, and with the
worker down at most 1.5 times what it is with the worker up. A session's start that shows a rendered context
may cost 1.3 times a capture; a prompt that waits for the worker's answer, 3 times a capture in wall time; a
paused hook no more than a capture. The hook of the repository's plugin, whose script finds the program, may
cost 1.5 times the installed one. Other agents run a hook by a shell: their fast path may cost 1.35 times a
Python that a shell runs and that does nothing; 1.5 times where the hook after a tool also asks the worker.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.contracts.agent_payloads import SENT
from tests.harness import hook_process, payloads

from claude_mem.agents import launcher
from claude_mem.hook import paths
from claude_mem.serve import control
from claude_mem.serve.data_dir import pause_recording
from measure import Run, in_turn, machine, table

PLAIN = payloads.bash("toolu_1", stdout="line of output\n" * 110)
SECRETS = "<private>x</private> PASSWORD=hunter2hunter2"
CAREFUL = payloads.bash("toolu_1", session="careful", stdout="line of output\n" * 100 + SECRETS)
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
START, PROMPT = payloads.start(), payloads.prompt("why does the parser drop the last line of a file? " * 20)
TOOL = payloads.payload(
    "PreToolUse",
    tool_name="Edit",
    tool_input={"file_path": "/home/u/proj/a.py", "old_string": "line\n" * 300},
)
FAST, SLOW, DOWN = 1.35, 2.5, 1.5
START_MOST, PROMPT_MOST = 1.3, 3.0
PAUSED_MOST = 1.05
PLUGIN_MOST = 1.5
AFTER_A_TOOL = 1.5
ASKING_AFTER_A_TOOL = ("gemini", "qwen", "droid")  # where others ask before one
SCRIPT = Path(__file__).resolve().parents[1] / "plugin/bin/claude-mem"


@contextmanager
def worker(folder: Path, name: str) -> Iterator[Path]:
    """A real worker on a data directory of its own."""
    data = folder / name
    data.mkdir(mode=0o700)
    os.environ["CLAUDE_MEM_WORKER_PORT"] = "38777"
    control.start(data)
    try:
        yield data
    finally:
        control.stop(data)


@contextmanager
def hung(folder: Path) -> Iterator[Path]:
    with worker(folder, "hung") as data:
        pid = control.status(data).pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield data
        finally:
            os.kill(pid, signal.SIGCONT)


def absent(folder: Path, name: str, spooled: int = 0) -> Path:
    """No worker, and none can be started: its interpreter's stamp says one was started just now."""
    data = folder / name
    (data / "spool").mkdir(parents=True, mode=0o700)
    for n in range(spooled):
        (data / "spool" / f"{n:020d}-1-0000.json").write_bytes(b"{}")
    return data


def just_started(data: Path) -> None:
    (data / "start.stamp").write_text("by the benchmark\n")


def render(data: Path) -> None:
    """What a session in the payloads' directory is told, as the worker renders it: 9,000 characters."""
    shown = {"hookEventName": "SessionStart", "additionalContext": "- a memory, and what it taught\n" * 290}
    answer = {"continue": True, "suppressOutput": True, "hookSpecificOutput": shown}
    file = data / paths.directory_context(json.loads(START)["cwd"].encode())
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(f"{0:016x}\n{json.dumps(answer)}\n")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument(
        "--beside", action="append", default=[], metavar="NAME=COMMAND", help="another hook, in the same run"
    )
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        where = Path(folder)
        up = stack.enter_context(worker(where, "up"))
        stopped = stack.enter_context(hung(where))
        down, full = absent(where, "down"), absent(where, "full", spooled=100_000)
        paused = absent(where, "paused")
        pause_recording(paused, None)

        (where / "home").mkdir()
        home = stack.enter_context(worker(where / "home", ".claude-mem"))
        environ = {**hook_process.environment(home), "HOME": str(where / "home")}
        del environ["CLAUDE_MEM_DATA_DIR"]

        def hook(data: Path, payload: bytes, *, stamped: bool = False) -> Run:
            before = (lambda: just_started(data)) if stamped else (lambda: None)
            return Run(hook_process.command(), payload, hook_process.environment(data), before)

        runs = {
            "python -I -S -c pass": Run(BARE),
            "worker up, fast": hook(up, PLAIN),
            "worker up, careful": hook(up, CAREFUL),
            "worker down, fast": hook(down, PLAIN, stamped=True),
            "worker down, careful": hook(down, CAREFUL, stamped=True),
            "worker hung, fast": hook(stopped, PLAIN),
            "100,000 spooled, fast": hook(full, PLAIN, stamped=True),
            "start, rendered context": Run(
                hook_process.command(), START, hook_process.environment(up), lambda: render(up)
            ),
            "prompt, worker answers": hook(up, PROMPT),
            "before a tool, worker answers": hook(up, TOOL),
            "paused": hook(paused, PLAIN),
            "the repository's plugin": Run(["sh", str(SCRIPT), "hook"], PLAIN, environ),
            "its version check": Run(["sh", str(SCRIPT), "setup"], PLAIN, environ),
            "a bare Python, by a shell": Run(["sh", "-c", f"exec {shlex.join(BARE)}"]),
        }
        for agent in SENT:
            sent = next(each for each in SENT[agent] if each.kind in ("tool_use", "tool_failure"))
            payload = json.dumps(sent.payload, separators=(",", ":")).encode()
            line = launcher.hook_line(hook_process.MACHINE, sent.verb, agent)
            runs[f"{agent}, by a shell"] = Run(["sh", "-c", line], payload, hook_process.environment(up))
        for other in args.beside:
            name, _, words = other.partition("=")
            runs[name] = Run(shlex.split(words), PLAIN)
        costs = in_turn(runs, args.rounds)

    bare, fast, slow = (costs[name].cpu_ms for name in list(runs)[:3])
    targets = {
        "worker up, fast": (fast / bare, FAST, "x bare"),
        "worker up, careful": (slow / bare, SLOW, "x bare"),
        "worker down, fast": (costs["worker down, fast"].cpu_ms / fast, DOWN, "x up"),
        "worker down, careful": (costs["worker down, careful"].cpu_ms / slow, DOWN, "x up"),
        "worker hung, fast": (costs["worker hung, fast"].cpu_ms / fast, DOWN, "x up"),
        "100,000 spooled, fast": (costs["100,000 spooled, fast"].cpu_ms / fast, DOWN, "x up"),
        "start, rendered context": (costs["start, rendered context"].cpu_ms / fast, START_MOST, "x up"),
        "prompt, worker answers": (
            costs["prompt, worker answers"].wall_ms / costs["worker up, fast"].wall_ms,
            PROMPT_MOST,
            "x up, wall",
        ),
        "before a tool, worker answers": (
            costs["before a tool, worker answers"].wall_ms / costs["worker up, fast"].wall_ms,
            PROMPT_MOST,
            "x up, wall",
        ),
        "paused": (costs["paused"].cpu_ms / fast, PAUSED_MOST, "x up"),
        "the repository's plugin": (
            costs["the repository's plugin"].cpu_ms / fast,
            PLUGIN_MOST,
            "x up",
        ),
    }
    by_a_shell = costs["a bare Python, by a shell"].cpu_ms
    for agent in SENT:
        name = f"{agent}, by a shell"
        most = AFTER_A_TOOL if agent in ASKING_AFTER_A_TOOL else FAST
        targets[name] = (costs[name].cpu_ms / by_a_shell, most, "x bare, by a shell")
    rows = []
    for name, cost in costs.items():
        ratio, target, unit = targets.get(name, (0, 0, ""))
        verdict = (
            f"{ratio:.2f} {unit} (<= {target})" + ("" if ratio <= target else "  MISSED") if unit else ""
        )
        rows.append((name, f"{cost.cpu_ms:.1f}", f"{cost.cpu_ms / bare:.2f}", f"{cost.wall_ms:.1f}", verdict))
    print(f"A hook's cost, 2 kB payload, median of {args.rounds} rounds in turn. {machine()}\n")
    print(table(("", "CPU ms", "x bare", "wall ms", "target"), rows))


if __name__ == "__main__":
    main()
