"""Measures the cost of starting a command and the worker, each with a baseline from the same run.

    python benchmarks/startup.py

Baselines: `python -c pass` for commands (processor time), a bare Starlette application on uvicorn for the
worker (time to its first answer, idle memory).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness import hook_process

from claude_mem.serve import control
from measure import Run, in_turn, machine, table
from worker import bare_start, rss_mib, worker_start

COMMANDS = ("version", "--help", "search --help", "statusline")


def commands(folder: Path, rounds: int) -> list[tuple[str, ...]]:
    """CPU milliseconds of each, and as a multiple of a bare interpreter."""
    env = hook_process.environment(folder / "data")
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start would compile every module
    bare = "python -c pass"
    runs = {bare: Run([sys.executable, "-c", "pass"], env=env)}
    for words in COMMANDS:
        runs[f"claude-mem {words}"] = Run(
            [sys.executable, "-m", "claude_mem", *words.split()], b'{"session_id":"s"}', env=env
        )
    in_turn(runs, 1)  # which compiles
    costs = in_turn(runs, rounds)
    base = costs[bare].cpu_ms
    targets = {"claude-mem version": "<= 3 x"}
    return [
        (name, f"{base:.1f}", f"{cost.cpu_ms:.1f}", f"{cost.cpu_ms / base:.2f}", targets.get(name, ""))
        for name, cost in costs.items()
        if name != bare
    ]


def cpu_ms(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def workers(folder: Path, rounds: int) -> list[tuple[str, ...]]:
    bare: list[tuple[float, ...]] = []
    ours: list[tuple[float, ...]] = []
    for n in range(rounds):
        process, _, seconds = bare_start()
        bare.append((seconds * 1000, cpu_ms(process.pid), rss_mib(process.pid)))
        process.terminate()
        process.wait()
        data = folder / f"start{n}"
        data.mkdir(mode=0o700)
        seconds = worker_start(data)
        pid = control.status(data).pid
        assert pid
        ours.append((seconds * 1000, cpu_ms(pid), rss_mib(pid)))
        control.stop(data)
    rows: list[tuple[str, ...]] = []
    names = (("worker to healthy", "<= 1.6 x"), ("the same, processor time", ""), ("idle MiB", "<= 60 MiB"))
    for column, (name, target) in enumerate(names):
        base, own = (statistics.median(run[column] for run in runs) for runs in (bare, ours))
        rows.append((name, f"{base:.0f}", f"{own:.0f}", f"{own / base:.2f}", target))
    return rows


def modules(target: str) -> int:
    """How many modules of ours it imports."""
    probe = f"import sys, {target}; print(sum(name.startswith('claude_mem') for name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return int(result.stdout)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=15)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = commands(Path(name), args.rounds) + workers(Path(name), args.rounds)
    print(f"Starts, in ms (commands: processor time). {machine()}\n")
    print(table(("", "bare", "ours", "ours/bare", "target"), rows))
    count = modules("claude_mem.serve.lifecycle, claude_mem.wiring.worker_services")
    print(f"\nModules of ours that a worker has imported: {count}")


if __name__ == "__main__":
    main()
