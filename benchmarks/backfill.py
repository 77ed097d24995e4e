"""Measures how fast past sessions are imported, end to end, and whether time and memory stay within limits.

    python benchmarks/backfill.py [--sessions 10,100,1000] [--cores N]

Real transcripts, copied under new names and into new projects until there are enough, are imported by the
command itself into a fresh data directory, offline: read, scrubbed, queued, observed, indexed and rendered,
each as it is for a user. Command and worker share one core. The baseline reads the same lines with
`json.loads` and does nothing with them. Targets: 5 MB/s of transcript for a core's second (the processor time
of both; the clock on the wall also counts what others do on that core), time in proportion to the sessions,
memory flat.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.harness import hook_process, workers

from measure import machine, table

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
TARGET_MB_S = 5.0
LINEAR = 1.5  # how much slower the largest may be for each megabyte than the smallest but one
FLAT_MB = 64  # how much more memory the largest may take

_UUID = re.compile(rb'"uuid":"([^"]+)"')
_CWD = re.compile(rb'("cwd":"[^"]+)"')


@dataclass(frozen=True, slots=True)
class Measured:
    sessions: int
    size: int
    events: int
    seconds: float
    cpu: float  # of the command and the worker
    baseline: float
    command_mb: float
    worker_mb: float

    @property
    def mb_s(self) -> float:
        return self.size / 1e6 / self.cpu


def main() -> int:
    parser = argparse.ArgumentParser(description="measure backfill")
    parser.add_argument("--sessions", default="10,100,1000")
    parser.add_argument("--cores", type=int, default=1)
    args = parser.parse_args()
    originals = {
        path.name[:36]: gzip.decompress(path.read_bytes()) for path in sorted(TRANSCRIPTS.glob("*.gz"))
    }
    if not originals:
        print(f"no transcripts in {TRANSCRIPTS}", file=sys.stderr)
        return 2
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cores])
    print(machine())
    print(f"command and worker on {args.cores} core{'s' if args.cores > 1 else ''}\n")
    found = [measured(originals, int(count)) for count in args.sessions.split(",")]
    rows = [
        (
            f"{each.sessions:,}",
            f"{each.size / 1e6:.1f}",
            f"{each.seconds:.2f} s",
            f"{each.size / 1e6 / each.seconds:.1f}",
            f"{each.cpu:.2f} s",
            f"{each.mb_s:.1f}",
            f"{each.events / each.cpu:,.0f}",
            f"{each.size / 1e6 / each.baseline:.0f}",
            f"{each.cpu / each.baseline:.1f}",
            f"{each.command_mb:.0f}",
            f"{each.worker_mb:.0f}",
        )
        for each in found
    ]
    head = (
        *("sessions", "MB", "wall", "MB/s", "processor", "MB/s", "events/s"),
        *("json.loads MB/s", "times that", "command MB", "worker MB"),
    )
    print(table(head, rows))
    return verdict(found)


def verdict(found: list[Measured]) -> int:
    most = found[-1]
    first = found[min(1, len(found) - 1)]  # the smallest pays for the start of two programs
    slower = first.mb_s / most.mb_s
    grown = max(most.command_mb - first.command_mb, most.worker_mb - first.worker_mb)
    checks = (
        (f"{most.mb_s:.1f} MB/s, target {TARGET_MB_S:g}", most.mb_s >= TARGET_MB_S),
        (
            f"{slower:.2f} times the time for a megabyte, {first.sessions:,} to {most.sessions:,}",
            slower <= LINEAR,
        ),
        (f"{grown:+.0f} MB of memory, {first.sessions:,} to {most.sessions:,}", grown <= FLAT_MB),
    )
    print()
    for what, met in checks:
        print(f"{'met   ' if met else 'MISSED'}  {what}")
    return 0 if all(met for _, met in checks) else 1


def measured(originals: dict[str, bytes], sessions: int) -> Measured:
    with tempfile.TemporaryDirectory(prefix="backfill-") as root:
        folder = Path(root, "projects")
        size = sum(copies(originals, sessions, folder))
        began = time.perf_counter()
        for path in folder.rglob("*.jsonl"):
            with path.open("rb") as file:
                for line in file:
                    json.loads(line)
        baseline = time.perf_counter() - began
        with workers.running(Path(root, "data")) as data:
            (worker,) = workers.processes(data)
            before = cpu_s(worker)
            seconds, events, command_mb, cpu = imported(data, folder)
            cpu += cpu_s(worker) - before
            worker_mb = peak_mb(worker)
        return Measured(sessions, size, events, seconds, cpu, baseline, command_mb, worker_mb)


def imported(data: Path, folder: Path) -> tuple[float, int, float, float]:
    words = [sys.executable, "-m", "claude_mem", "backfill", "--from", str(folder), "--yes", "--json"]
    env = hook_process.environment(data, CLAUDE_MEM_PROVIDER="offline")
    peak = 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(words, env=env, stdout=output)
        while process.poll() is None:
            with suppress(OSError, ValueError):
                peak = max(peak, peak_mb(process.pid))
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        output.seek(0)
        return seconds, json.load(output)["events"]["fresh"], peak, cpu


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1000 if found else 0.0


def copies(originals: dict[str, bytes], sessions: int, folder: Path) -> Iterator[int]:
    """Each nine under other names, and of another project: else most of what they teach would be known."""
    names = list(originals)
    for number in range(sessions):
        name, turn = names[number % len(names)], number // len(names)
        text = originals[name].replace(name.encode(), f"{name[:-6]}{number:06}".encode())
        text = _UUID.sub(rb'"uuid":"\1-%d"' % number, text)
        text = _CWD.sub(rb'\1-%d"' % turn, text)
        home = folder / f"project-{turn}"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name[:-6]}{number:06}.jsonl").write_bytes(text)
        yield len(text)


if __name__ == "__main__":
    raise SystemExit(main())
