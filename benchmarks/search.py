"""How fast memory is searched as it grows, beside plain FTS5 over the same texts in the same run.

    python benchmarks/search.py                                  at 10,000 and 100,000 observations, 3 minutes
    python benchmarks/search.py --quick                          at 10,000
    python benchmarks/search.py --sizes 10000,100000,1000000 --plot docs/images

The memories are made up of real words, drawn as often as Zipf has it (`crowd.py`): half of them in one
project, the rest in nine. Vectors are the model's own up to 100,000, random above (comparing takes as long).
Questions go to the desk as HTTP and MCP ask it. Plain FTS5 is one table of the same texts: an OR of all
words, ordered by bm25, no bound. Each question is asked several times and its fastest answer counts, in
processor time: other programs' work is not ours. Wall time stands beside it; all pages are in memory, so on
an idle machine the two are the same.

At 100,000 a real worker answers real hooks from the same data: what a prompt and a session's start cost
beside a capture, and how much memory the worker takes.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import crowd
from claude_mem.capture import places
from claude_mem.ports.desk import Narrowing, Page
from claude_mem.queue.origin import Origins
from claude_mem.recall.desk import Desk
from claude_mem.serve import control
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.testing import hooks, payloads
from claude_mem.vectors import blocks
from claude_mem.vectors.embed import WordLlama
from claude_mem.wiring import recall
from crowd import Words
from measure import Run, machine, once, table
from plot import Line, drawn
from worker import free_port, rss_mib, until

SCOPES = {"all projects": "", "the big project": "p1", "a small project": "p2"}
KINDS = ("rare", "mid", "frequent", "mixed", "a prompt", "a path")
TARGETS_MS = {100_000: 50.0, 1_000_000: 250.0}
PROMPT_MOST, START_MOST, RSS_MOST, RSS_WITHOUT_MOST = 3.0, 1.3, 250, 80
EMBEDDED_UPTO = 100_000

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
    ours: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    naive: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    wall: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    cold: dict[str, float] = field(default_factory=dict)
    indexed: float = 0.0  # rows a second
    embedded: float = 0.0
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
            return f"{by.choice(crowd.FOLDERS)}/{'_'.join(words.draw(2, by)).lower()}.py"


def p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, round(0.95 * len(times)) - 1)]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fill(data: Path, words: Words, size: int) -> Measured:
    measured = Measured(size)
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _store(data) as store:
        say(f"{size:,} observations: rows …")
        crowd.fill(store.path, words, size)
        say("  full text …")
        began = time.perf_counter()
        measured.indexed = crowd.index(store) / (time.perf_counter() - began)
        if size > EMBEDDED_UPTO:
            say("  random vectors …")
            _random_vectors(store.path)
    say("  plain FTS5 …")
    with sqlite3.connect(data / "naive.db") as db:
        db.executescript(
            "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;" + NAIVE.format(store=store.path)
        )
    return measured


def _random_vectors(path: Path) -> None:
    made = np.random.default_rng(7)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    spots = db.execute("SELECT id FROM memory_text_docsize ORDER BY id")
    while some := spots.fetchmany(20_000):
        vectors = made.standard_normal((len(some), 256), dtype=np.float32)
        packed = map(blocks.packed, vectors)
        db.executemany(
            "INSERT INTO memory_vectors VALUES (?, ?)", zip((row[0] for row in some), packed, strict=True)
        )
    notes = {"vectors_made_by": f"builtin {WordLlama.name}", "vectors_stamp": "0"}
    for kind, rows in (
        ("observation", "observations"),
        ("summary", "session_summaries"),
        ("prompt", "user_prompts"),
    ):
        (last,) = db.execute(f"SELECT MAX(id) FROM {rows}").fetchone()
        notes[f"vectors_upto_{kind}"] = str(last)
    db.executemany("INSERT OR REPLACE INTO derived VALUES (?, ?)", notes.items())
    db.execute("COMMIT")
    db.close()


def _store(data: Path) -> SqliteStore:
    return SqliteStore.open(data / places.DATABASE, clock=lambda: crowd.NOW, backups=data / places.BACKUPS)


@contextmanager
def desk(data: Path, measured: Measured) -> Iterator[Desk]:
    """As the worker has it, with nothing left to be made ready."""
    with _store(data) as store:
        origins = Origins(lambda: crowd.NOW)
        recalling = recall.assemble(Settings(data_dir=data), store, origins.of, str, lambda: 0)
        with sqlite3.connect(store.path) as db:
            (before,) = db.execute("SELECT COUNT(*) FROM memory_vectors").fetchone()
            say("  vectors …")
            began = time.perf_counter()
            while recalling.step():
                pass
            took = time.perf_counter() - began
            (after,) = db.execute("SELECT COUNT(*) FROM memory_vectors").fetchone()
        measured.embedded = (after - before) / took
        try:
            yield recalling.desk
        finally:
            recalling.close()


def searches(data: Path, words: Words, measured: Measured, questions: int, rounds: int) -> None:
    naive = sqlite3.connect(f"file:{data / 'naive.db'}?mode=ro", uri=True)
    by = random.Random(11)
    with desk(data, measured) as ours:
        for scope, project in SCOPES.items():
            began = time.perf_counter()
            ours.search("hello world", Narrowing(project=project), Page())
            measured.cold[scope] = (time.perf_counter() - began) * 1000
            for kind in KINDS:
                say(f"  searching {scope}: {kind} …")
                asked = [question(kind, words, by) for _ in range(questions)]
                few = 8 if measured.size <= 100_000 else 4  # it takes so long
                times = [
                    _fastest(partial(ours.search, text, Narrowing(project=project), Page()), rounds)
                    for text in asked
                ]
                measured.ours[scope, kind] = [cpu for cpu, _ in times]
                measured.wall[scope, kind] = [wall for _, wall in times]
                measured.naive[scope, kind] = [
                    _fastest(partial(_naively, naive, text, project), 2)[0] for text in asked[:few]
                ]
    naive.close()
    measured.bytes = (data / places.DATABASE).stat().st_size


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
    env = hooks.environment(data)
    context = data / places.directory_context(cwd.encode())
    context.unlink(missing_ok=True)
    with sqlite3.connect(data / places.DATABASE) as db:
        asked = [
            " ".join(row[0].split()[:14])
            for row in db.execute(
                "SELECT narrative FROM observations WHERE project = 'p1' ORDER BY id % 997, id LIMIT ?",
                (rounds + 3,),
            )
        ]

    def prompt(n: int) -> bytes:
        return payloads.payload(
            "UserPromptSubmit", f"hooked-{os.getpid()}-{n}", cwd=cwd, prompt_id=f"p-{n}", prompt=asked[n]
        )

    with worker(data) as pid:
        until(context.exists)
        fresh = rss_mib(pid)
        for n in range(3):
            hooks.run(data, prompt(n))
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
                costs[name].append(once(Run(hooks.command(), sent, env)))
        # Not timed: whether there was anything to wait for. Sessions of their own, for nothing is told twice.
        answers = [hooks.run(data, prompt(n).replace(b"hooked-", b"again-")).out for n in range(rounds)]
        answered = sum(b"additionalContext" in answer for answer in answers)
        searched = rss_mib(pid)
    with worker(data, CLAUDE_MEM_VECTORS="off") as pid:
        time.sleep(0.5)
        without = rss_mib(pid)
        for n in range(3):
            hooks.run(data, prompt(n))
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


def told(all_: Sequence[Measured]) -> str:
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
        f"{one.size:,}: indexed {one.indexed:,.0f} rows a second"
        + (f", embedded {one.embedded:,.0f} a second" if one.size <= EMBEDDED_UPTO and one.embedded else "")
        + f"; {one.bytes / 2**20:,.0f} MiB"
        for one in all_
        if one.indexed
    )
    detail = table((f"p95 ms at {last.size:,}, ours / FTS5", *SCOPES), kinds)
    return f"{table(head, rows)}\n\n{detail}\n\n{made}"


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
    measured, rows = [], []
    with tempfile.TemporaryDirectory(prefix="claude-mem-search-") as temporary:
        for size in sizes:
            data = (args.data or Path(temporary)) / str(size)
            one = Measured(size) if (data / "naive.db").exists() else fill(data, words, size)
            searches(data, words, one, questions, rounds)
            measured.append(one)
            if size == 100_000 or args.quick:
                say("  hooks and a worker …")
                rows = hooked(data, 10 if args.quick else 30)
    print(f"Search as memory grows; processor time, the fastest of {rounds} times each. {machine()}\n")
    print(told(measured))
    if rows:
        print(f"\n{table(('hooks and the worker', '', 'target', ''), rows)}")
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
