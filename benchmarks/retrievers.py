"""The search methods that are compared: ours, with a corpus in a real store, and SQLite's own full text."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import corpora
from claude_mem.model.full_text import STOP_WORDS
from claude_mem.model.refs import Card, Filters
from claude_mem.recall.search import Search
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.vectors.backend import Embedder
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import observer_setup
from corpora import Corpus, Question

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

MOST = 100
ASKED_AGAIN = 600
"""Queries whose matches are kept: they are asked again with other vectors and other constants."""

Finder = Callable[[Question], list[str]]
"""The sessions, the best first."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A corpus in a store, with its indexes made."""

    store: SqliteStore
    near: dict[str, Similarity]  # by the embedder's name
    clock: Callable[[], int]

    def search(self, embedder: str | None) -> Search:
        """None: full text alone."""
        return Search(self.store.memories, self.clock, self.near[embedder] if embedder else None, no_git)


@contextmanager
def filled(
    corpus: Corpus,
    embedders: Sequence[Embedder] = (),
    *,
    as_hooks_see_it: bool = False,
    tasks_speak: bool = False,
    backfilled: bool = False,
) -> Iterator[Filled]:
    now = max(session.started for sessions in corpus.sessions.values() for session in sessions) + 1

    def clock() -> int:
        return now

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with SqliteStore.open(home / "claude-mem.db", clock=clock, backups=home / "backups") as store:
            for project, sessions in corpus.sessions.items():
                if backfilled:
                    corpora.backfill(store, project, sessions)
                else:
                    corpora.fill(
                        store, project, sessions, as_hooks_see_it=as_hooks_see_it, tasks_speak=tasks_speak
                    )
            settings = Settings(home, provider="offline")
            pump = observer_setup.build(
                settings, store, mode=observer_setup.mode_of(settings), notify=print
            ).pump
            # A conversation has nothing to observe.
            while corpus.name in (*corpora.CODE, corpora.POOLED) and store.queue.figures().ready:
                pump.step()
            store.text_index.catch_up()
            matched = lru_cache(ASKED_AGAIN)(store.memories.match)
            store.memories.match = matched  # type: ignore[method-assign]
            yield Filled(store, {each.name: _embedded(store, home, each, now) for each in embedders}, clock)


def _embedded(store: SqliteStore, home: Path, embedder: Embedder, now: int) -> Similarity:
    """Each embedder's vectors in a copy of the store: one has room for one model's."""
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("VACUUM INTO ?", (str(home / f"{embedder.weight}.db"),))
    copy = SqliteStore.open(home / f"{embedder.weight}.db", clock=lambda: now, backups=home / "backups")
    vectors = Builtin(copy.vectors)
    embedding = VectorIndexer(copy.embeddings, vectors, embedder)
    while embedding.step(now):
        pass
    return Similarity(embedder, vectors)


class SavedVectors:
    """An embedder whose vectors are saved in a file: a sentence model takes minutes for what it is asked in
    every run."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self.name, self.weight, self.batch = embedder.name, embedder.weight, embedder.batch
        self._embedder = embedder
        self._db = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS v (h BLOB PRIMARY KEY, v BLOB)")

    def is_ready(self) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        hashes = {text: hashlib.sha1(text.encode("utf-8", "replace")).digest() for text in texts}
        missing = [text for text in hashes if self._saved(hashes[text]) is None]
        for text, vector in zip(missing, self._embedder.embed(missing) if missing else (), strict=True):
            self._db.execute("INSERT OR IGNORE INTO v VALUES (?, ?)", (hashes[text], vector.tobytes()))
        return [np.frombuffer(self._saved(hashes[text]) or b"", dtype=np.float32) for text in texts]

    def embed_query(self, text: str, within_s: float) -> Vector:
        del within_s
        return self.embed([text])[0]

    def close(self) -> None:
        self._db.close()

    def _saved(self, digest: bytes) -> bytes | None:
        row = self._db.execute("SELECT v FROM v WHERE h = ?", (digest,)).fetchone()
        return row[0] if row else None


def ours(corpus: Filled, embedder: str | None) -> Finder:
    search = corpus.search(embedder)

    def find(question: Question) -> list[str]:
        project = corpus.store.projects.find(question.project)
        assert project is not None
        found = search(question.text, Filters(project_id=project.id), MOST)
        return list(dict.fromkeys(hit.card.session for hit in found.hits))

    return find


Rows = Iterable[tuple[str, str]]
"""Sessions and texts."""


class Plain:
    """The baselines: SQLite's own full text with stemming, stop words dropped, any word."""

    def __init__(self, corpus: Corpus, *, as_hooks_see_it: bool = False) -> None:
        self._lists = {
            project: _lists([(s.id, corpora.heard(s) if as_hooks_see_it else s.events) for s in sessions])
            for project, sessions in corpus.sessions.items()
        }

    def best_event(self, question: Question) -> list[str]:
        """One row an event; a session stands where its best event does."""
        events, _, _ = self._lists[question.project]
        return list(dict.fromkeys(session for session, _ in _matches(events, question.text)))

    def fusion(self, question: Question) -> list[str]:
        """Reciprocal ranks (k = 60) of four lists: all events; prompts and replies; whole sessions of those;
        the sum over the best 60 of those."""
        events, prose, whole = (_matches(db, question.text) for db in self._lists[question.project])
        summed: Counter[str] = Counter()
        for session, score in prose[:60]:
            summed[session] += score  # type: ignore[assignment]  # a Counter adds up any number
        lists = [list(dict.fromkeys(session for session, _ in found)) for found in (events, prose, whole)]
        fused: dict[str, float] = {}
        for each in (*lists, [session for session, _ in summed.most_common()]):
            for rank, session in enumerate(each, 1):
                fused[session] = fused.get(session, 0.0) + 1 / (60 + rank)
        return sorted(fused, key=lambda session: -fused[session])


def _lists(sessions: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> tuple[sqlite3.Connection, ...]:
    events = [(session, text) for session, texts in sessions for _, text in texts]
    prose = [(session, text) for session, texts in sessions for kind, text in texts if kind != "tool"]
    whole = [
        (session, "\n".join(text for kind, text in texts if kind != "tool")) for session, texts in sessions
    ]
    return _table(events), _table(prose), _table(whole)


def _table(rows: Rows) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(session UNINDEXED, text, tokenize='porter unicode61')")
    db.executemany("INSERT INTO t VALUES (?, ?)", rows)
    return db


def _matches(db: sqlite3.Connection, question: str) -> list[tuple[str, float]]:
    words = [word.lower() for word in re.findall(r"\w+", question)]
    content_words = [word for word in words if word not in STOP_WORDS] or words
    expression = " OR ".join(f'"{word}"' for word in content_words)
    statement = "SELECT session, -bm25(t) FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 2000"
    return db.execute(statement, (expression,)).fetchall()


def no_git(card: Card) -> tuple[str, ...]:
    """There is no repository to ask."""
    del card
    return ()
