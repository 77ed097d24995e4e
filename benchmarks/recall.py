"""Does the right memory come up? Measured on real coding work and on long conversations, beside plain BM25.

    python benchmarks/recall.py            all of it, about three minutes
    python benchmarks/recall.py --quick    every fifth LoCoMo question

A question counts as answered at k when one of the sessions that hold the answer is among the first k found.
The store holds what ours would: prompts, raw evidence, and what the offline observer made of them; plain
BM25 has the same text. Constants were chosen on the odd half of the questions; the other half stands beside
it.

What to know about two targets: of context-evaluator's commits two have a right session that says none of
the question's words (of one, another session's prompt is that very commit); of oh-my-posh's files a quarter
are named in no session that counts as right, for a command changed them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import corpora
from claude_mem.model.origin import Origin
from claude_mem.model.recall import Card, Filters, Hit, MemoryKind
from claude_mem.model.wording import STOP_WORDS
from claude_mem.ports.keeping import Injection
from claude_mem.recall import prompted
from claude_mem.recall.occasions import Occasions
from claude_mem.recall.search import Search
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.embedding import SqliteEmbedding
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.store.sqlite.shelves import SqliteShelves
from claude_mem.store.sqlite.vectors import SqliteVectors
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.embed import WordLlama
from claude_mem.vectors.embedding import Embedding
from claude_mem.vectors.near import Nearby
from claude_mem.wiring import observer
from corpora import Corpus, Question, Session

MOST = 100
TARGETS = {
    ("LoCoMo", "questions"): {"any@5": 93.0, "any@10": 97.5},
    ("oh-my-posh", "commits"): {"any@5": 95.0, "MRR": 80.0},
    ("context-evaluator", "commits"): {"any@5": 98.0},
    ("oh-my-posh", "files"): {"any@5": 98.0},
    ("context-evaluator", "files"): {"any@5": 98.0},
}
MEMORY: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")

Finder = Callable[[Question], list[str]]


@dataclass(frozen=True, slots=True)
class Figures:
    ranks: list[int | None]

    def any_at(self, k: int) -> float:
        return 100 * sum(1 for rank in self.ranks if rank and rank <= k) / max(1, len(self.ranks))

    @property
    def mrr(self) -> float:
        return 100 * sum(1 / rank for rank in self.ranks if rank) / max(1, len(self.ranks))

    def half(self, odd: bool) -> Figures:
        return Figures(self.ranks[int(odd) :: 2])

    def value(self, name: str) -> float:
        return self.mrr if name == "MRR" else self.any_at(int(name.removeprefix("any@")))


@dataclass(frozen=True, slots=True)
class Filled:
    """A corpus in a store, with its indexes made."""

    store: SqliteStore
    library: SqliteLibrary
    near: Nearby
    clock: Callable[[], int]

    def search(self, *, vectors: bool) -> Search:
        return Search(self.library, self.clock, self.near if vectors else None, _true)


@contextmanager
def filled(corpus: Corpus, *, as_hooks_see_it: bool = False) -> Iterator[Filled]:
    now = max(session.started for sessions in corpus.sessions.values() for session in sessions) + 1

    def clock() -> int:
        return now

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with SqliteStore.open(home / "claude-mem.db", clock=clock, backups=home / "backups") as store:
            for project, sessions in corpus.sessions.items():
                corpora.fill(store, project, sessions, as_hooks_see_it=as_hooks_see_it)
            pump = observer.assemble(Settings(home, provider="offline"), store, tell=print).pump
            while (
                corpus.name in corpora.CODE and store.figures().ready
            ):  # a conversation has nothing to observe
                pump.step()
            Indexing(store.readers, store.writer).catch_up()
            embedder, vectors = WordLlama(), Builtin(SqliteVectors(store.readers, store.writer))
            embedding = Embedding(SqliteEmbedding(store.readers, store.writer), vectors, embedder)
            while embedding.step(clock()):
                pass
            yield Filled(store, SqliteLibrary(store.readers), Nearby(embedder, vectors), clock)


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
    import re
    import sqlite3

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


def measure(find: Finder, questions: Sequence[Question]) -> Figures:
    ranks: list[int | None] = []
    for question in questions:
        places = enumerate(find(question), 1)
        ranks.append(next((rank for rank, session in places if session in question.gold), None))
    return Figures(ranks)


def report(corpus: Corpus, kind: str, questions: Sequence[Question], ways: dict[str, Finder]) -> None:
    targets = TARGETS[corpus.name, kind]
    sessions = sum(map(len, corpus.sessions.values()))
    print(f"\n{corpus.name}, {kind}: {len(questions)} questions, {sessions} sessions")
    print(f"  {'':28} any@1   any@5  any@10     MRR   odd half   other half")
    for name, find in ways.items():
        began = time.perf_counter()
        found = measure(find, questions)
        each_ms = (time.perf_counter() - began) * 1000 / len(questions)
        first = next(iter(targets))
        halves = f"{found.half(True).value(first):8.1f}   {found.half(False).value(first):8.1f}"
        shown = "".join(
            f"{value:8.1f}" for value in (found.any_at(1), found.any_at(5), found.any_at(10), found.mrr)
        )
        print(f"  {name:26}{shown}   {halves}  ({first}; {each_ms:.0f} ms each)")
        last = found
    for name, wanted in targets.items():
        got = last.value(name)
        print(f"  target {name} >= {wanted}: {got:.1f}, {'met' if got >= wanted else 'MISSED'}")


def report_observed(corpus: Corpus, raw: Filled) -> None:
    """Only what the offline observer made of it, and the prompts: no raw text of tools is searched."""
    print(f"\n{corpus.name}: the offline observer's memory and the prompts, instead of raw text")
    with filled(corpus, as_hooks_see_it=True) as memory:
        for kind, questions in corpus.questions.items():
            first, second = ours(raw, vectors=True), ours(memory, vectors=True, kinds=MEMORY)
            with_raw, without = measure(first, questions).any_at(5), measure(second, questions).any_at(5)
            met = "met" if without >= with_raw - 5 else "MISSED"
            print(f"  {kind:10} any@5 {with_raw:5.1f} -> {without:5.1f} (at most 5 lower: {met})")
        report_injection(corpus, memory)


def report_injection(corpus: Corpus, memory: Filled) -> None:
    """Each session's first prompt, asked of what was remembered before it: how much of what it is told is
    about files that the session then touched? Beside the newest memories, as many as have as many tokens."""
    ((name, sessions),) = corpus.sessions.items()
    project = memory.library.project(name)
    assert project is not None
    keeping = SqliteKeeping(memory.store.readers, memory.store.writer, memory.clock)
    shelves = SqliteShelves(memory.store.readers)
    occasions = Occasions(
        memory.library,
        shelves,
        keeping,
        memory.search(vectors=True),
        _true,
        lambda cwd: Origin(key=cwd, name=cwd, root=""),
        memory.clock,
        lambda: UTC,
        _unnoted,
    )
    right = told = newest_right = newest_told = asked = answered = 0
    for session in sessions:
        prompt = next((text for kind, text in session.events if kind == "prompt"), "")
        if not session.touched or not prompt:
            continue
        asked += 1
        found = occasions.prompted(project, session.id, corpora.ROOT, prompt, session.started)
        if not found.refs:
            continue
        answered += 1
        injected = memory.library.cards(found.refs)
        told += len(injected)
        right += sum(is_about(card, session.touched) for card in injected)
        newest = as_many_tokens(recent(memory.library, project.id, session), found.tokens, memory.clock())
        newest_told += len(newest)
        newest_right += sum(is_about(card, session.touched) for card in newest)
    ours_, theirs = 100 * right / max(1, told), 100 * newest_right / max(1, newest_told)
    ratio = ours_ / theirs if theirs else float("inf")
    print(f"  injection: {answered} of {asked} first prompts were answered, with {told} memories.")
    print(
        f"             about files then touched: {ours_:.1f} %, of the newest as many {theirs:.1f} %: "
        f"{ratio:.2f} x (at least 2: {'met' if ratio >= 2 else 'MISSED'})"
    )


def _true(card: Card) -> tuple[tuple[str, ...], float]:
    """There is no repository to ask."""
    del card
    return (), 1.0


def _unnoted(injection: Injection) -> None:
    del injection


def recent(library: SqliteLibrary, project_id: int, session: Session) -> list[Card]:
    before = Filters(project_id=project_id, kinds=("observation", "summary"), until=session.started)
    return library.listed(before, limit=50)


def as_many_tokens(cards: list[Card], tokens: int, now: int) -> list[Card]:
    """The first of them, told as we tell ours, until they cost as much."""
    chosen: list[Card] = []
    for card in cards:
        chosen.append(card)
        hits = [Hit(each, 0.0) for each in chosen]
        if prompted.render_prompted(hits, now=now, budget=10**6).tokens >= tokens:
            break
    return chosen


def is_about(card: Card, touched: Iterable[str]) -> bool:
    files = {file.replace("\\", "/").lower() for file in card.files}
    return any(
        file == each.lower() or file.endswith(f"/{each.lower()}") for file in files for each in touched
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="every fifth LoCoMo question")
    args = parser.parse_args()
    if not corpora.DATA.is_dir():
        sys.exit(f"The corpora are not there: {corpora.DATA.name} is not beside the project.")
    for corpus in (*map(corpora.code, corpora.CODE), corpora.locomo()):
        with filled(corpus) as raw:
            for kind, questions in corpus.questions.items():
                step = 5 if args.quick and corpus.name == "LoCoMo" else 1
                ways = {
                    "plain BM25, best event": plain(corpus),
                    "ours, full text alone": ours(raw, vectors=False),
                    "ours": ours(raw, vectors=True),
                }
                report(corpus, kind, questions[::step], ways)
            if corpus.name in corpora.CODE:
                report_observed(corpus, raw)


if __name__ == "__main__":
    main()
