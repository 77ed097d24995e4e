"""Measures how fast search is as memory grows, compared with plain FTS5 on the same texts in the same run.

    python benchmarks/search.py                                  at 10,000 and 100,000 observations, 3 minutes
    python benchmarks/search.py --quick                          at 10,000
    python benchmarks/search.py --sizes 10000,100000,1000000 --plot docs/images

The memories are made up of real words, drawn as often as Zipf has it (`synthetic_store.py`): half of them in
one project, the rest in nine. Vectors are the model's own up to 100,000, random above (comparing takes as
long). Questions go to the desk as HTTP and MCP ask it. Plain FTS5 is one table of the same texts: an OR of
all words, ordered by bm25, no bound. Each question is asked several times and its fastest answer counts, in
processor time: other programs' work is not ours. Wall time stands beside it; all pages are in memory, so on
an idle machine the two are the same.

What a prompt's hook waits for on as much memory, and what the worker weighs: `prompts.py`.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import synthetic_store
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.hook import paths
from line_chart import Line, drawn
from measure import machine, table
from synthetic_store import Words, say

SCOPES = {"all projects": "", "the big project": "p1", "a small project": "p2"}
FILTERED = {
    "--type bugfix": FilterRequest(project="p1", types=("bugfix",)),
    "--since, the last month": FilterRequest(project="p1", since="2026-04-28"),
    "--until, the first year": FilterRequest(project="p1", until="2025-05-28"),
    "--file src/": FilterRequest(project="p1", file="src/"),
    "--branch main": FilterRequest(project="p1", branch="main"),
    "--raw": FilterRequest(project="p1", raw=True),
}
"""In the big project, whose newest memory is of 2026-05-28. Of its memories a sixth to all pass, but for the
last month's: a 24th."""
KINDS = ("rare", "mid", "frequent", "mixed", "a prompt", "a path")
TARGETS_MS = {100_000: 50.0, 1_000_000: 250.0}

NAIVE = """
CREATE VIRTUAL TABLE texts USING fts5(title, body, project UNINDEXED, tokenize='porter unicode61');
ATTACH DATABASE '{store}' AS store;
INSERT INTO texts SELECT title, narrative || ' ' || facts || ' ' || files_modified, project
    FROM store.observations;
INSERT INTO texts SELECT '', p.prompt, s.project FROM store.user_prompts AS p
    JOIN store.sdk_sessions AS s ON s.id = p.session_id;
INSERT INTO texts SELECT request, learned || ' ' || completed || ' ' || next_steps, project
    FROM store.session_summaries;
"""
NAIVE_SEARCH = """
SELECT rowid, title FROM texts WHERE texts MATCH ? AND (? = '' OR project = ?) ORDER BY bm25(texts) LIMIT 20
"""


@dataclass(slots=True)
class Measured:
    """Of one size; milliseconds by scope and kind."""

    size: int
    made: synthetic_store.Made
    ours: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    naive: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    wall: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    filtered: dict[str, list[float]] = field(default_factory=dict)
    cold: dict[str, float] = field(default_factory=dict)
    bytes: int = 0

    def of(self, times: Mapping[tuple[str, str], list[float]], scope: str) -> list[float]:
        return [ms for (where, _), some in times.items() if where == scope for ms in some]


def question(kind: str, words: Words, by: random.Random) -> str:
    match kind:
        case "rare":
            return " ".join(words.between(8_000, 40_000, 3, by))
        case "mid":
            return " ".join(words.between(300, 5_000, 4, by))
        case "frequent":
            return " ".join(words.between(0, 200, 5, by))
        case "mixed":
            return " ".join(words.between(0, 300, 4, by) + words.between(300, 40_000, 4, by))
        case "a prompt":
            return " ".join(words.draw(30, by))
        case _:
            return f"{by.choice(synthetic_store.FOLDERS)}/{'_'.join(words.draw(2, by)).lower()}.py"


def p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, round(0.95 * len(times)) - 1)]


def fill(data: Path, words: Words, size: int) -> Measured:
    measured = Measured(size, synthetic_store.make(data, words, size))
    if not (data / "naive.db").exists():
        say("  plain FTS5 …")
        with sqlite3.connect(data / "naive.db") as db:
            db.executescript(
                "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;"
                + NAIVE.format(store=data / paths.DATABASE)
            )
        db.close()
    return measured


def searches(data: Path, words: Words, measured: Measured, questions: int, rounds: int) -> None:
    naive = sqlite3.connect(f"file:{data / 'naive.db'}?mode=ro", uri=True)
    by = random.Random(11)
    with synthetic_store.recalling(data) as recalling:
        ours = recalling.memory
        for scope, project in SCOPES.items():
            began = time.perf_counter()
            ours.search("hello world", FilterRequest(project=project), Page())
            measured.cold[scope] = (time.perf_counter() - began) * 1000
            for kind in KINDS:
                say(f"  searching {scope}: {kind} …")
                queries = [question(kind, words, by) for _ in range(questions)]
                few = 8 if measured.size <= 100_000 else 4  # it takes so long
                times = [
                    _fastest(partial(ours.search, text, FilterRequest(project=project), Page()), rounds)
                    for text in queries
                ]
                measured.ours[scope, kind] = [cpu for cpu, _ in times]
                measured.wall[scope, kind] = [wall for _, wall in times]
                measured.naive[scope, kind] = [
                    _fastest(partial(_naively, naive, text, project), 2)[0] for text in queries[:few]
                ]
        for name, filters in FILTERED.items():
            say(f"  searching with {name} …")
            queries = [question(kind, words, by) for kind in KINDS for _ in range(questions // 2)]
            measured.filtered[name] = [
                _fastest(partial(ours.search, text, filters, Page()), rounds)[0] for text in queries
            ]
    naive.close()
    measured.bytes = (data / paths.DATABASE).stat().st_size


def _fastest(ask: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Milliseconds of this thread's processor time, and by the clock on the wall."""
    cpu, wall = [], []
    for _ in range(rounds):
        began, started = time.perf_counter(), time.thread_time()
        ask()
        cpu.append(time.thread_time() - started)
        wall.append(time.perf_counter() - began)
        if wall[-1] > 1.0:
            break
    return min(cpu) * 1000, min(wall) * 1000


def _naively(db: sqlite3.Connection, text: str, project: str) -> list[object]:
    expression = " OR ".join(f'"{word}"' for word in text.replace("/", " ").replace(".", " ").split())
    return db.execute(NAIVE_SEARCH, (expression, project, project)).fetchall()


def _met(found: float, most: float) -> str:
    return "met" if found <= most else "MISSED"


def report(all_: Sequence[Measured]) -> str:
    rows: list[tuple[str, ...]] = []
    for one in all_:
        target = TARGETS_MS.get(one.size)
        for scope in SCOPES:
            ours, naive = one.of(one.ours, scope), one.of(one.naive, scope)
            verdict = f"<= {target:g}: {_met(p95(ours), target)}" if target else ""
            rows.append(
                (
                    f"{one.size:,} in {scope}",
                    f"{statistics.median(ours):.1f}",
                    f"{p95(ours):.1f}",
                    f"{p95(one.of(one.wall, scope)):.1f}",
                    f"{one.cold[scope]:.0f}",
                    f"{statistics.median(naive):.1f}",
                    f"{p95(naive):.1f}",
                    f"{p95(naive) / p95(ours):.1f}",
                    verdict,
                )
            )
    head = (
        "observations",
        "p50 ms",
        "p95 ms",
        "wall p95",
        "first",
        "FTS5 p50",
        "FTS5 p95",
        "x at p95",
        "target",
    )
    last = all_[-1]
    kinds = [
        (
            kind,
            *(f"{p95(last.ours[scope, kind]):.1f} / {p95(last.naive[scope, kind]):.1f}" for scope in SCOPES),
        )
        for kind in KINDS
    ]
    made = "\n".join(
        f"{one.size:,}: indexed {one.made.indexed:,.0f} rows a second"
        + (f", embedded {one.made.embedded:,.0f} a second" if one.made.embedded else "")
        + f"; {one.bytes / 2**20:,.0f} MiB"
        for one in all_
        if one.made.indexed
    )
    narrowed = [(name, *(_p50_p95(one.filtered[name]) for one in all_)) for name in FILTERED]
    filtered = table(("the big project, p50 / p95 ms", *(f"{one.size:,}" for one in all_)), narrowed)
    detail = table((f"p95 ms at {last.size:,}, ours / FTS5", *SCOPES), kinds)
    return f"{table(head, rows)}\n\n{detail}\n\n{filtered}\n\n{made}"


def _p50_p95(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} / {p95(times):.1f}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sizes", default="10000,100000", help="observations, with commas between")
    options.add_argument("--quick", action="store_true", help="10,000 alone, fewer questions")
    options.add_argument("--plot", type=Path, metavar="FOLDER", help="write search-growth.svg there")
    options.add_argument(
        "--data", type=Path, metavar="FOLDER", help="keep what is made here, or use it again"
    )
    args = options.parse_args()
    sizes = [10_000] if args.quick else sorted(int(size) for size in args.sizes.split(","))
    questions, rounds = (8, 2) if args.quick else (20, 3)
    words = Words.read()
    measured = []
    with tempfile.TemporaryDirectory(prefix="claude-mem-search-") as temporary:
        for size in sizes:
            data = (args.data or Path(temporary)) / str(size)
            one = fill(data, words, size)
            searches(data, words, one, questions, rounds)
            measured.append(one)
    print(f"Search as memory grows; processor time, the fastest of {rounds} times each. {machine()}\n")
    print(report(measured))
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        lines = [
            Line(
                name,
                [(one.size, p95([ms for some in times.values() for ms in some])) for one, times in taken],
            )
            for name, taken in (
                ("plain FTS5", [(one, one.naive) for one in measured]),
                ("claude-mem", [(one, one.ours) for one in measured]),
            )
        ]
        (args.plot / "search-growth.svg").write_text(
            drawn("Search, p95 over all questions", "observations", "milliseconds", lines), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
