"""Builds a store with any number of synthetic memories from real words: sessions of twenty observations,
their requests and summaries, in several projects; with its indexes, as the worker makes them."""

from __future__ import annotations

import gzip
import json
import random
import re
import sqlite3
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import numpy as np

from claude_mem.git import Origins
from claude_mem.hook import paths
from claude_mem.serve.services import Recall
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.vectors import builtin
from claude_mem.vectors.embedders import WordLlama
from claude_mem.wiring import worker_services
from corpora import DATA

OF_A_SESSION = 20
VOCABULARY = 50_000
BIG_SHARE = 0.5
"""Of all sessions, those of the first project; the others share the rest."""
OTHERS = 9
NOW = 1_780_000_000_000
EMBEDDED_UPTO = 100_000
"""Vectors are the model's own up to here, and random above: comparing takes as long."""
DONE = "made"
TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision")
FOLDERS = ("src", "src/segments", "src/runtime", "tests", "website/docs", "cli", "internal/cache", "scripts")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{1,30}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Words:
    """Real words by how often they are said, drawn as often as Zipf has it."""

    ranked: list[str]
    _cumulated: list[float]

    @classmethod
    def read(cls) -> Words:
        counts: Counter[str] = Counter()
        for file in (*(DATA / "transcripts").glob("*.gz"), *(DATA / "codemem").glob("*.gz")):
            with gzip.open(file, "rt", encoding="utf-8") as text:
                for line in text:
                    counts.update(_WORD.findall(line[:200_000]))
        # What is said in small letters is a word; a name is one if its parts are. The rest is hashes.
        plain = {word for word, times in counts.items() if word.islower() and word.isalpha() and times > 1}
        ranked = [
            word
            for word, _ in counts.most_common()
            if word in plain or all(part.lower() in plain for part in _PART.findall(word) or [""])
        ][:VOCABULARY]
        # There are fewer than wanted: the rest are names of two words, as in code.
        draw = random.Random(5)
        first = [word for word in ranked if word.islower() and word.isalpha()][:4000]
        while len(ranked) < VOCABULARY:
            ranked.append(draw.choice(first) + draw.choice(("_", "")) + draw.choice(first).capitalize())
        return cls(ranked, list(accumulate(1 / (rank + 2.7) for rank in range(len(ranked)))))

    def draw(self, count: int, by: random.Random) -> list[str]:
        total, cumulated = self._cumulated[-1], self._cumulated
        return [self.ranked[bisect_left(cumulated, by.random() * total)] for _ in range(count)]

    def between(self, first: int, last: int, count: int, by: random.Random) -> list[str]:
        """So many of those between two ranks."""
        return by.sample(self.ranked[first:last], count)


@dataclass(frozen=True, slots=True)
class Made:
    """How many memories a second were indexed and embedded; 0: they were not, or before."""

    indexed: float = 0.0
    embedded: float = 0.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def make(data: Path, words: Words, size: int) -> Made:
    """A data directory with so many observations, ready to be searched; or nothing, where one is ready."""
    if (data / DONE).exists():
        return Made()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _opened(data) as store:
        say(f"{size:,} observations: rows …")
        _fill(store.path, words, size)
        say("  full text …")
        indexed = _per_second(store.text_index)
        if size > EMBEDDED_UPTO:
            say("  random vectors …")
            _random_vectors(store.path)
    say("  vectors …")
    began = time.perf_counter()
    with recalling(data):
        took = time.perf_counter() - began
    with sqlite3.connect(data / paths.DATABASE) as db:
        (vectors,) = db.execute("SELECT COUNT(*) FROM memory_vectors").fetchone()
    db.close()
    (data / DONE).touch()
    return Made(indexed, 0.0 if size > EMBEDDED_UPTO else vectors / took)


@contextmanager
def recalling(data: Path) -> Iterator[Recall]:
    """As the worker has it, with nothing left to be made ready."""
    with _opened(data) as store, ExitStack() as closing:
        origins = Origins(lambda: NOW)
        assembled = worker_services.build_recall(
            Settings(data_dir=data),
            store,
            closing,
            note=store.injections.note_injection,
            origin_of=origins.of,
            clean=str,
            drain=lambda: 0,
            instructions="",
        )
        while assembled.background.step() or assembled.background.embed():
            pass
        yield assembled


def _opened(data: Path) -> SqliteStore:
    return SqliteStore.open(data / paths.DATABASE, clock=lambda: NOW, backups=data / paths.BACKUPS)


def _per_second(indexing: TextIndex) -> float:
    began, done = time.perf_counter(), 0
    indexing.prepare()
    while some := indexing.step():
        done += some
    return done / (time.perf_counter() - began)


def _fill(path: Path, words: Words, observations: int) -> None:
    by = random.Random(observations)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -200000")
    db.execute("BEGIN")
    for project in range(1, OTHERS + 2):
        db.execute(
            "INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES (?,?,?,?,?)",
            (f"/crowd/p{project}", f"p{project}", f"/crowd/p{project}", _iso(NOW), NOW),
        )
    sessions = max(1, observations // OF_A_SESSION)
    apart = 2 * 365 * 86_400_000 // sessions
    for number in range(1, sessions + 1):
        project = 1 if by.random() < BIG_SHARE else by.randint(2, OTHERS + 1)
        _session(db, number, project, NOW - (sessions - number + 1) * apart, words, by)
    db.execute("COMMIT")
    db.close()


def _session(
    db: sqlite3.Connection, number: int, project: int, at: int, words: Words, by: random.Random
) -> None:
    name, cwd = f"p{project}", f"/crowd/p{project}"
    topic = words.draw(12, by)  # a session speaks of something: some of its words come again
    files = [f"{by.choice(FOLDERS)}/{'_'.join(words.draw(2, by)).lower()}.py" for _ in range(6)]
    request = " ".join(_sentence_words(18, topic, words, by))
    db.execute(
        "INSERT INTO sdk_sessions (claude_session_id, project, project_id, first_user_prompt, prompt_counter,"
        " status, client, cwd, branch, created_at, created_at_epoch, updated_at, updated_at_epoch)"
        " VALUES (?,?,?,?,?,'completed','claude-code',?,'main',?,?,?,?)",
        (f"crowd-{number:07d}", name, project, request, 2, cwd, _iso(at), at, _iso(at), at),
    )
    db.executemany(
        "INSERT INTO user_prompts (session_id, prompt_number, prompt, created_at, created_at_epoch)"
        " VALUES (?,?,?,?,?)",
        [
            (number, turn, text, _iso(at), at)
            for turn, text in ((1, request), (2, " ".join(_sentence_words(12, topic, words, by))))
        ],
    )
    db.executemany(
        "INSERT INTO observations (session_id, project, project_id, type, title, narrative, facts, concepts,"
        " files_read, files_modified, prompt_number, client, branch, created_at, created_at_epoch, provider)"
        " VALUES (?,?,?,?,?,?,?,'[]',?,?,?,'claude-code','main',?,?,'offline')",
        [
            (
                number,
                name,
                project,
                by.choice(TYPES),
                " ".join(_sentence_words(8, topic, words, by)),
                " ".join(_sentence_words(40, topic, words, by)),
                json.dumps([" ".join(_sentence_words(7, topic, words, by)) for _ in range(3)]),
                json.dumps(by.sample(files, 2)),
                json.dumps(by.sample(files, 1)),
                1 + (nth > OF_A_SESSION // 2),
                _iso(at + nth * 60_000),
                at + nth * 60_000,
            )
            for nth in range(OF_A_SESSION)
        ],
    )
    db.execute(
        "INSERT INTO session_summaries (session_id, project, request, learned, completed, next_steps,"
        " files_edited, prompt_number, created_at, created_at_epoch) VALUES (?,?,?,?,?,?,?,1,?,?)",
        (
            number,
            name,
            request,
            *(" ".join(_sentence_words(15, topic, words, by)) for _ in range(3)),
            json.dumps(files[:3]),
            _iso(at + 3_600_000),
            at + 3_600_000,
        ),
    )


def _sentence_words(count: int, topic: list[str], words: Words, by: random.Random) -> list[str]:
    drawn = words.draw(count, by)
    for at in range(0, count, 5):
        drawn[at] = by.choice(topic)
    return drawn


def _random_vectors(path: Path) -> None:
    made = np.random.default_rng(7)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    memory_keys = db.execute("SELECT id FROM memory_text_docsize ORDER BY id")
    while some := memory_keys.fetchmany(20_000):
        vectors = made.standard_normal((len(some), 256), dtype=np.float32)
        packed = map(builtin.packed, vectors)
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


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
