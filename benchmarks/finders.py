"""The ways to find that are compared: ours, over a corpus in a real store, and SQLite's own full text."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import corpora
from claude_mem.model.full_text import STOP_WORDS
from claude_mem.model.refs import Card, Filters, MemoryKind
from claude_mem.recall.search import Search
from claude_mem.settings import Settings
from claude_mem.store.sqlite import Store
from claude_mem.store.sqlite.memories import Memories
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.embed import WordLlama
from claude_mem.vectors.indexer import Similarity, VectorIndexer
from claude_mem.wiring import observer
from corpora import Corpus, Question

MOST = 100

Finder = Callable[[Question], list[str]]
"""The sessions, the best first."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A corpus in a store, with its indexes made."""

    store: Store
    library: Memories
    near: Similarity
    clock: Callable[[], int]

    def search(self, *, vectors: bool) -> Search:
        return Search(self.library, self.clock, self.near if vectors else None, no_git)


@contextmanager
def filled(
    corpus: Corpus, *, as_hooks_see_it: bool = False, tasks_speak: bool = False, backfilled: bool = False
) -> Iterator[Filled]:
    now = max(session.started for sessions in corpus.sessions.values() for session in sessions) + 1

    def clock() -> int:
        return now

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Store.open(home / "claude-mem.db", clock=clock, backups=home / "backups") as store:
            for project, sessions in corpus.sessions.items():
                if backfilled:
                    corpora.backfill(store, project, sessions)
                else:
                    corpora.fill(
                        store, project, sessions, as_hooks_see_it=as_hooks_see_it, tasks_speak=tasks_speak
                    )
            settings = Settings(home, provider="offline")
            pump = observer.assemble(settings, store, mode=observer.mode_of(settings), tell=print).pump
            while (
                corpus.name in corpora.CODE and store.queue.figures().ready
            ):  # a conversation has nothing to observe
                pump.step()
            store.text_index.catch_up()
            embedder, vectors = WordLlama(), Builtin(store.vectors)
            embedding = VectorIndexer(store.embeddings, vectors, embedder)
            while embedding.step(clock()):
                pass
            yield Filled(store, store.memories, Similarity(embedder, vectors), clock)


def ours(corpus: Filled, *, vectors: bool, kinds: tuple[MemoryKind, ...] = ()) -> Finder:
    search = corpus.search(vectors=vectors)

    def find(question: Question) -> list[str]:
        project = corpus.library.project(question.project)
        assert project is not None
        found = search(question.text, Filters(project_id=project.id, kinds=kinds), MOST)
        return list(dict.fromkeys(hit.card.session for hit in found.hits))

    return find


def plain(corpus: Corpus) -> Finder:
    """The baseline: SQLite's own full text with stemming, stop words dropped, any word, one row an event; a
    session stands where its best event does."""
    tables: dict[str, sqlite3.Connection] = {}
    for project, sessions in corpus.sessions.items():
        db = tables[project] = sqlite3.connect(":memory:")
        db.execute("CREATE VIRTUAL TABLE t USING fts5(session UNINDEXED, text, tokenize='porter unicode61')")
        rows = ((session.id, text) for session in sessions for _, text in session.events)
        db.executemany("INSERT INTO t VALUES (?, ?)", rows)

    def find(question: Question) -> list[str]:
        words = [word.lower() for word in re.findall(r"\w+", question.text)]
        telling = [word for word in words if word not in STOP_WORDS] or words
        expression = " OR ".join(f'"{word}"' for word in telling)
        asked = "SELECT session FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 2000"
        return list(dict.fromkeys(row[0] for row in tables[question.project].execute(asked, (expression,))))

    return find


def no_git(card: Card) -> tuple[tuple[str, ...], float]:
    """There is no repository to ask."""
    del card
    return (), 1.0
