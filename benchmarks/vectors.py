"""Measures the cost of vectors: the model, storing and comparing them; and the loss with one byte per
dimension.

    python benchmarks/vectors.py                        at 100,000 memories, less than a minute
    python benchmarks/vectors.py --memories 1000000     in ten projects, some minutes
    python benchmarks/vectors.py --chroma               Chroma in a folder as well, at 20,000

Beside the model's files as we read them: its own package. Beside bytes in blocks: single and half precision.
Beside the backend: single precision in a plain table, a row and a commit each, all of it read and compared
for each question. The texts and the questions of "how exactly" are those of real sessions; where only time
is measured, vectors are random. Processor time of the process, all its threads together, unless it says
otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import corpora
from claude_mem.hook import paths
from claude_mem.model.refs import Ref, memory_key, project_at, span
from claude_mem.store.sqlite import SqliteStore
from claude_mem.vectors.backend import STATIC_BATCH as BATCH
from claude_mem.vectors.backend import VectorBackend
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.indexer import NEAREST
from measure import machine, table
from quantization import DIMENSIONS, TOP, best, comparing, cpu_ms, drawn, said

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

NOW = 1_780_000_000_000
OF_A_PROJECT, OF_A_SESSION = 100_000, 20
PLAIN_PUTS, CHROMA = 2_000, 20_000

LOADS = {
    "bare Python": "def embed(texts): return texts",
    "WordLlama.load()": (
        "import pathlib, wordllama\n"
        "model = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent,"
        " disable_download=True)\n"
        "embed = model.embed"
    ),
    "its two files (ours)": (
        "from claude_mem.vectors.embedders import WordLlama\n"
        "model = WordLlama()\n"
        "model.embed(['a'])\n"
        "embed = model.embed"
    ),
}
LOAD = """
import json, sys, time
from pathlib import Path
{load}
cpu = time.process_time()
pages = int(Path("/proc/self/statm").read_text().split()[1])
texts = json.load(sys.stdin)
began = time.process_time()
for text in texts:
    embed([text])
took = time.process_time() - began
print(json.dumps([cpu, pages * 4096 / 2**20, len(texts) / took]))
"""


def loading(texts: Sequence[str], rounds: int = 3) -> str:
    found: dict[str, list[list[float]]] = {name: [] for name in LOADS}
    given = json.dumps([(text * 300)[:300] for text in texts[:2_000]])
    for _ in range(rounds):
        for name, load in LOADS.items():
            command = [sys.executable, "-c", LOAD.format(load=load)]
            done = subprocess.run(
                command, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
            )
            found[name].append(json.loads(done.stdout))
    middle = {name: [statistics.median(of) for of in zip(*runs, strict=True)] for name, runs in found.items()}
    (bare_cpu, bare_mib, _), *rest = middle.values()
    rows = [
        (name, f"{cpu - bare_cpu:.2f} s", f"{mib - bare_mib:.0f} MiB", f"{rate:,.0f}")
        for name, (cpu, mib, rate) in zip(list(LOADS)[1:], rest, strict=True)
    ]
    return table(
        ("import and load, over bare Python", "CPU", "memory", "texts of 300 characters a second"), rows
    )


def batches(memory_keys: Sequence[int]) -> Iterator[dict[int, Vector]]:
    for at in range(0, len(memory_keys), BATCH):
        some = memory_keys[at : at + BATCH]
        yield dict(zip(some, drawn(len(some), at), strict=True))


def memories(path: Path, count: int) -> list[int]:
    """Rows for vectors to belong to, in as many projects as it takes; their memory_keys."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript("PRAGMA synchronous = OFF; BEGIN")
        for project in range(1, (count - 1) // OF_A_PROJECT + 2):
            named = (f"/v/p{project}", f"p{project}", "", "", NOW)
            db.execute(
                "INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES (?,?,?,?,?)",
                named,
            )
        db.executemany(
            "INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, created_at,"
            " created_at_epoch, updated_at, updated_at_epoch) VALUES (?,'p',?,'completed','c','',?,'',?)",
            (
                (f"v-{session}", session * OF_A_SESSION // OF_A_PROJECT + 1, NOW, NOW)
                for session in range((count - 1) // OF_A_SESSION + 1)
            ),
        )
        db.executemany(
            "INSERT INTO observations (session_id, project, project_id, type, title, created_at,"
            " created_at_epoch) VALUES (?,'p',?,'change','t','',?)",
            ((at // OF_A_SESSION + 1, at // OF_A_PROJECT + 1, NOW) for at in range(count)),
        )
        found = db.execute("SELECT project_id, session_id, id FROM observations ORDER BY id").fetchall()
        db.execute("COMMIT")
    return [memory_key(project, session, Ref("observation", id)) for project, session, id in found]


class Plain:
    """The baseline: a row and a commit for each vector, and all rows read for each question."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE vectors (memory_key INTEGER PRIMARY KEY, vector BLOB)")

    def put(self, vectors: Mapping[int, Vector]) -> None:
        for key, vector in vectors.items():
            self._db.execute("INSERT INTO vectors VALUES (?, ?)", (key, vector.tobytes()))

    def fill(self, memory_keys: Sequence[int]) -> None:
        """Not measured, so all at once."""
        self._db.execute("BEGIN")
        for some in batches(memory_keys):
            self.put(some)
        self._db.execute("COMMIT")

    def nearest(self, vector: Vector, project_id: int | None, limit: int) -> list[tuple[int, float]]:
        first, last = (0, 1 << 62) if project_id is None else span(project_id)
        query = "SELECT memory_key, vector FROM vectors WHERE memory_key BETWEEN ? AND ?"
        rows = self._db.execute(query, (first, last)).fetchall()
        matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype=np.float32).reshape(len(rows), -1)
        return [(rows[at][0], cosine) for at, cosine in best(matrix @ vector, limit)]

    def cosines(self, vector: Vector, memory_keys: Sequence[int]) -> dict[int, float]:
        marks = ",".join("?" * len(memory_keys))
        rows = self._db.execute(
            f"SELECT memory_key, vector FROM vectors WHERE memory_key IN ({marks})", list(memory_keys)
        )
        return {key: float(np.frombuffer(blob, dtype=np.float32) @ vector) for key, blob in rows}

    def close(self) -> None:
        self._db.close()


def put(keeper: VectorBackend | Plain, memory_keys: Sequence[int]) -> float:
    """How many a second, by the clock on the wall: it waits for the disk."""
    took = 0.0
    for some in batches(memory_keys):
        began = time.perf_counter()
        keeper.put(some)
        took += time.perf_counter() - began
    return len(memory_keys) / took


def timings(keeper: VectorBackend | Plain, memory_keys: Sequence[int], questions: int) -> tuple[str, ...]:
    """Milliseconds: the first question, the middle and the slow ones in a project, of all, and of some."""
    vectors = drawn(questions, 11)
    project_id = 1
    cold = cpu_ms(partial(keeper.nearest, vectors[0], project_id, NEAREST))
    inside = sorted(cpu_ms(partial(keeper.nearest, each, project_id, NEAREST)) for each in vectors)
    keeper.nearest(vectors[0], None, NEAREST)
    of_all = statistics.median(cpu_ms(partial(keeper.nearest, each, None, NEAREST)) for each in vectors)
    some = random.Random(5).sample(memory_keys, 300)
    known = statistics.median(cpu_ms(partial(keeper.cosines, each, some)) for each in vectors)
    slow = inside[max(0, round(0.95 * len(inside)) - 1)]
    return tuple(f"{ms:.1f}" for ms in (cold, statistics.median(inside), slow, of_all, known))


def keeping(home: Path, count: int) -> str:
    """The backend as the product uses it, and the baseline beside it."""
    home.mkdir()
    with SqliteStore.open(home / paths.DATABASE, clock=lambda: NOW, backups=home / paths.BACKUPS) as store:
        memory_keys = memories(store.path, count)
        shelf = store.vectors
        ours = (f"{put(Builtin(shelf), memory_keys):,.0f}", *timings(Builtin(shelf), memory_keys, 60))
    with closing(Plain(home / "plain.db")) as plain:
        rate = put(plain, memory_keys[:PLAIN_PUTS])
        plain.fill(memory_keys[PLAIN_PUTS:])
        theirs = (f"{rate:,.0f}", *timings(plain, memory_keys, 3))
    head = "put a second", "first question", "p50 ms", "p95 ms", "of all, p50", "cosines of 300"
    return table((f"{count:,} memories", *head), [("builtin (ours)", *ours), ("a plain table", *theirs)])


def chroma(home: Path) -> str:
    from claude_mem.vectors.chroma import Chroma

    memory_keys = [
        memory_key(1 + at % 2, 1 + at // OF_A_SESSION, Ref("observation", at + 1)) for at in range(CHROMA)
    ]
    keeper = Chroma(home, projects=lambda keys: {key: project_at(key) for key in keys})
    with closing(keeper), closing(Plain(home.with_suffix(".db"))) as plain:
        keeper.begin("benchmark", None)
        rate = put(keeper, memory_keys)
        plain.fill(memory_keys)
        figures = timings(keeper, memory_keys, 20)
        questions = drawn(20, 11)
        exact = [dict(plain.nearest(question, None, TOP)).keys() for question in questions]
        found = [dict(keeper.nearest(question, None, NEAREST)[:TOP]).keys() for question in questions]
    recall = statistics.mean(len(e & f) / TOP for e, f in zip(exact, found, strict=True))
    head = "put a second", "first question", "p50 ms", "p95 ms", "of all, p50", "cosines of 300", "recall"
    return table(
        (f"{CHROMA:,} memories, two projects", *head), [("chroma", f"{rate:,.0f}", *figures, f"{recall:.2f}")]
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--memories", type=int, default=OF_A_PROJECT, metavar="N", help="100,000 to a project"
    )
    options.add_argument("--chroma", action="store_true", help="Chroma as well (extra [chroma])")
    args = options.parse_args()
    if not corpora.DATA.is_dir():
        sys.exit(f"The corpora are not there: {corpora.DATA.name} is not beside the project.")
    texts, questions = said()
    print(f"Vectors of {DIMENSIONS} dimensions. {machine()}\n")
    print(loading(texts), "\n", sep="\n", flush=True)
    print(comparing(texts, questions), "\n", sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="claude-mem-vectors-") as folder:
        print(keeping(Path(folder) / "data", args.memories), flush=True)
        if args.chroma:
            print(f"\n{chroma(Path(folder) / 'chroma')}")


if __name__ == "__main__":
    main()
