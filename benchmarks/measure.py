"""Runs commands alternately and measures their cost; prints tables with a baseline for each figure."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """One program to be run: its words, what it reads, and what is done before each time (not measured)."""

    words: Sequence[str]
    stdin: bytes = b""
    env: Mapping[str, str] | None = None
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: list[float]
    wall: list[float]

    @property
    def cpu_ms(self) -> float:
        return statistics.median(self.cpu) * 1000

    @property
    def wall_ms(self) -> float:
        return statistics.median(self.wall) * 1000


def once(run: Run) -> tuple[float, float]:
    """CPU seconds of the process (user and system) and wall seconds."""
    run.before()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        list(run.words),
        input=run.stdin,
        env=run.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # another product's hook may fail; that has its price too
    )
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def in_turn(runs: Mapping[str, Run], rounds: int) -> dict[str, Cost]:
    """Each command once a round, so that a busy moment falls on all of them alike."""
    costs = {name: Cost([], []) for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            cpu, wall = once(run)
            costs[name].cpu.append(cpu)
            costs[name].wall.append(wall)
    return costs


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if n else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def machine() -> str:
    cores = os.cpu_count()
    return f"{cores} cores, load {os.getloadavg()[0]:.1f}; read the ratios, not the milliseconds"
