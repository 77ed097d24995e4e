"""Measures how long a prompt and a session's start wait with a large memory, and the worker's memory use.

    python benchmarks/prompts.py            at 100,000 observations, 3 minutes
    python benchmarks/prompts.py --quick    at 10,000, fewer rounds
    python benchmarks/prompts.py --size 1000000

A real worker answers real hooks from the memories that `search.py` searches (`synthetic_store.py`). The
baseline, in the same rounds, is a capture hook: a tool use that is recorded and asks nothing.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness import hook_process, payloads

import synthetic_store
from claude_mem.hook import paths
from claude_mem.serve import control
from measure import Run, machine, once, table
from synthetic_store import Words, say
from worker import free_port, rss_mib, until

PROMPT_MOST, START_MOST, RSS_MOST, RSS_WITHOUT_MOST = 3.0, 1.3, 250, 80


@contextmanager
def worker(data: Path, **settings: str) -> Iterator[int]:
    os.environ |= {"CLAUDE_MEM_WORKER_PORT": str(free_port()), "CLAUDE_MEM_PROVIDER": "offline", **settings}
    try:
        pid = control.start(data, deadline_s=60).pid
        assert pid
        yield pid
    finally:
        control.stop(data)
        for name in settings:
            del os.environ[name]


PAUSE_S = 0.5
"""Before each hook: whoever types a prompt finds the worker at rest, not in the middle of the last event."""
BUSY = "prompt at once"
"""And beside it one that comes on the heels of another hook."""


def hooked(data: Path, rounds: int) -> list[tuple[str, ...]]:
    """What hooks cost against a worker on this much memory, and what the worker weighs."""
    rows: list[tuple[str, ...]] = []
    cwd = "/crowd/p1"
    env = hook_process.environment(data)
    context = data / paths.directory_context(cwd.encode())
    context.unlink(missing_ok=True)
    with sqlite3.connect(data / paths.DATABASE) as db:
        prompts = [
            " ".join(row[0].split()[:14])
            for row in db.execute(
                "SELECT narrative FROM observations WHERE project = 'p1' ORDER BY id % 997, id LIMIT ?",
                (rounds + 3,),
            )
        ]

    def prompt(n: int) -> bytes:
        return payloads.payload(
            "UserPromptSubmit", f"hooked-{os.getpid()}-{n}", cwd=cwd, prompt_id=f"p-{n}", prompt=prompts[n]
        )

    with worker(data) as pid:
        until(context.exists)
        fresh = rss_mib(pid)
        for n in range(3):
            hook_process.run(data, prompt(n))
        until(lambda: _is_settled(pid))
        costs: dict[str, list[tuple[float, float]]] = {"capture": [], BUSY: [], "prompt": [], "start": []}
        for n in range(3, rounds + 3):
            capture = payloads.payload(
                "PostToolUse",
                f"hooked-{os.getpid()}-{n}",
                cwd=cwd,
                tool_name="Bash",
                tool_input={"command": "ls"},
                tool_response={"stdout": "line of output\n" * 110},
                tool_use_id=f"toolu_{n}",
            )
            start = payloads.payload("SessionStart", f"hooked-{os.getpid()}-{n}", cwd=cwd, source="startup")
            at_once = prompt(n).replace(b"hooked-", b"at-once-")
            for name, sent in (
                ("capture", capture),
                (BUSY, at_once),
                ("prompt", prompt(n)),
                ("start", start),
            ):
                if name != BUSY:
                    time.sleep(PAUSE_S)
                costs[name].append(once(Run(hook_process.command(), sent, env)))
        # Not timed: whether there was anything to wait for. Sessions of their own, for nothing is told twice.
        answers = [
            hook_process.run(data, prompt(n).replace(b"hooked-", b"again-")).out for n in range(rounds)
        ]
        answered = sum(b"additionalContext" in answer for answer in answers)
        searched = rss_mib(pid)
    with worker(data, CLAUDE_MEM_VECTORS="off") as pid:
        time.sleep(0.5)
        without = rss_mib(pid)
        for n in range(3):
            hook_process.run(data, prompt(n))
        without_searched = rss_mib(pid)
    wall = {name: statistics.median(wall for _, wall in some) for name, some in costs.items()}
    cpu = {name: statistics.median(cpu for cpu, _ in some) for name, some in costs.items()}
    rows.append(("a capture hook", f"{wall['capture'] * 1000:.1f} ms", "", "1"))
    rows.append(
        _verdict(
            "a prompt's recall, hook included, wall p50",
            wall["prompt"] * 1000,
            wall["prompt"] / wall["capture"],
            PROMPT_MOST,
        )
    )
    slowest = sorted(wall for _, wall in costs["prompt"])[max(0, round(0.95 * rounds) - 1)]
    rows.append(("  wall p95", f"{slowest * 1000:.1f} ms", "", f"{slowest / wall['capture']:.2f} x"))
    heels = wall[BUSY] / wall["capture"]
    rows.append(("  on the heels of another hook", f"{wall[BUSY] * 1000:.1f} ms", "", f"{heels:.2f} x"))
    rows.append(
        _verdict(
            "a start from the rendered file, CPU p50",
            cpu["start"] * 1000,
            cpu["start"] / cpu["capture"],
            START_MOST,
        )
    )
    rows.append(("  prompts that were told something", f"{answered} of {rounds}", "", ""))
    rows.append(("worker, MiB: just started", f"{fresh:.0f}", "", ""))
    rows.append(
        (
            "  model and vectors loaded, after searches",
            f"{searched:.0f}",
            f"<= {RSS_MOST}",
            _met(searched, RSS_MOST),
        )
    )
    rows.append(
        (
            "  vectors off, just started",
            f"{without:.0f}",
            f"<= {RSS_WITHOUT_MOST}",
            _met(without, RSS_WITHOUT_MOST),
        )
    )
    rows.append(
        (
            "  vectors off, after searches",
            f"{without_searched:.0f}",
            f"<= {RSS_WITHOUT_MOST}",
            _met(without_searched, RSS_WITHOUT_MOST),
        )
    )
    return rows


def _is_settled(pid: int) -> bool:
    before = rss_mib(pid)
    time.sleep(1.0)
    return abs(rss_mib(pid) - before) < 0.5


def _verdict(name: str, ms: float, ratio: float, most: float) -> tuple[str, ...]:
    return name, f"{ms:.1f} ms", f"<= {most:g} x", f"{ratio:.2f} x {_met(ratio, most)}"


def _met(found: float, most: float) -> str:
    return "met" if found <= most else "MISSED"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true", help="10,000 observations, fewer rounds")
    options.add_argument("--size", type=int, default=100_000, help="observations (100,000)")
    options.add_argument(
        "--data", type=Path, metavar="FOLDER", help="keep what is made here, or use it again"
    )
    args = options.parse_args()
    size = 10_000 if args.quick else args.size
    with tempfile.TemporaryDirectory(prefix="claude-mem-prompts-") as temporary:
        data = (args.data or Path(temporary)) / str(size)
        synthetic_store.make(data, Words.read(), size)
        say("  hooks and a worker …")
        rows = hooked(data, 10 if args.quick else 30)
    print(f"Hooks and the worker at {size:,} observations. {machine()}\n")
    print(table(("", "", "target", ""), rows))


if __name__ == "__main__":
    main()
