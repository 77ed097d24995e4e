"""Does the right memory come up? Measured on real coding work and on long conversations, beside plain BM25.

    python benchmarks/recall.py                       all of it, about three minutes
    python benchmarks/recall.py --quick               every fifth LoCoMo question
    python benchmarks/recall.py --plot docs/images    and draw it

A question counts as answered at k when one of the sessions that hold the answer is among the first k found.
The store holds what ours would: prompts, raw evidence, and what the offline observer made of them; plain
BM25 has the same text.

Constants were chosen on the odd half of the questions. What is to be reported is the other half; it and all
questions are held against each target.

What to know about two targets: of context-evaluator's commits two have a right session that says none of
the question's words (of one, another session's prompt is that very commit); of oh-my-posh's files a quarter
are named in no session that counts as right, for a command changed them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import corpora
import dots
from claude_mem.model.events import Origin
from claude_mem.model.refs import Card, Filters, Hit, MemoryKind
from claude_mem.recall import render
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.inject import Injector
from claude_mem.store.sqlite.memories import Memories
from claude_mem.store.values import Injection
from corpora import Corpus, Question, Session
from finders import Filled, Finder, filled, no_git, ours, plain

TARGETS = {
    ("LoCoMo", "questions"): {"any@5": 93.0, "any@10": 97.5},
    ("oh-my-posh", "commits"): {"any@5": 95.0, "MRR": 80.0},
    ("context-evaluator", "commits"): {"any@5": 98.0},
    ("oh-my-posh", "files"): {"any@5": 98.0},
    ("context-evaluator", "files"): {"any@5": 98.0},
}
MEMORY: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")


@dataclass(frozen=True, slots=True)
class Figures:
    ranks: list[int | None]

    def any_at(self, k: int) -> float:
        return 100 * sum(1 for rank in self.ranks if rank and rank <= k) / max(1, len(self.ranks))

    @property
    def mrr(self) -> float:
        return 100 * sum(1 / rank for rank in self.ranks if rank) / max(1, len(self.ranks))

    @property
    def tuned(self) -> Figures:
        """The odd half, on which constants were chosen."""
        return Figures(self.ranks[1::2])

    @property
    def reported(self) -> Figures:
        """The other half."""
        return Figures(self.ranks[::2])

    def value(self, name: str) -> float:
        return self.mrr if name == "MRR" else self.any_at(int(name.removeprefix("any@")))


def measure(find: Finder, questions: Sequence[Question]) -> Figures:
    ranks: list[int | None] = []
    for question in questions:
        places = enumerate(find(question), 1)
        ranks.append(next((rank for rank, session in places if session in question.gold), None))
    return Figures(ranks)


def report(
    corpus: Corpus, kind: str, questions: Sequence[Question], ways: dict[str, Finder]
) -> dict[str, Figures]:
    targets = TARGETS[corpus.name, kind]
    sessions = sum(map(len, corpus.sessions.values()))
    print(f"\n{corpus.name}, {kind}: {len(questions)} questions, {sessions} sessions")
    print(f"  {'':28} any@1   any@5  any@10     MRR   any@5: odd half  other half")
    every: dict[str, Figures] = {}
    for name, find in ways.items():
        began = time.perf_counter()
        found = every[name] = measure(find, questions)
        each_ms = (time.perf_counter() - began) * 1000 / len(questions)
        values = (found.any_at(1), found.any_at(5), found.any_at(10), found.mrr)
        shown = "".join(f"{value:8.1f}" for value in values)
        halves = f"{found.tuned.any_at(5):15.1f}  {found.reported.any_at(5):10.1f}"
        print(f"  {name:26}{shown}   {halves}  ({each_ms:.0f} ms each)")
    for name, wanted in targets.items():
        half, all_ = found.reported.value(name), found.value(name)
        print(
            f"  target {name} >= {wanted}: other half {half:.2f}, {_met(half >= wanted)};"
            f" all questions {all_:.2f}, {_met(all_ >= wanted)}"
        )
    return every


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def plotted(every: dict[tuple[str, str], dict[str, Figures]]) -> str:
    tasks = [
        dots.Task(
            name,
            f"{len(ways['ours'].ranks):,} {kind}",
            TARGETS[name, kind]["any@5"],
            [dots.Dot(found.any_at(5), found.reported.any_at(5)) for found in ways.values()],
        )
        for (name, kind), ways in every.items()
    ]
    return dots.drawn(
        "A right session is among the first five (any@5)",
        ways=list(next(iter(every.values()))),
        whole="all questions",
        part="the half no constant was tuned on",
        tasks=tasks,
    )


def report_observed(corpus: Corpus, raw: Filled) -> None:
    """Only what the offline observer made of it, and the prompts: no raw text of tools is searched."""
    print(f"\n{corpus.name}: the offline observer's memory and the prompts, instead of raw text")
    with filled(corpus, as_hooks_see_it=True) as memory:
        for kind, questions in corpus.questions.items():
            first, second = ours(raw, vectors=True), ours(memory, vectors=True, kinds=MEMORY)
            with_raw, without = measure(first, questions).any_at(5), measure(second, questions).any_at(5)
            met = _met(without >= with_raw - 5)
            print(f"  {kind:10} any@5 {with_raw:5.1f} -> {without:5.1f} (at most 5 lower: {met})")
        report_injection(corpus, memory)


def report_backfilled(corpus: Corpus) -> None:
    """The same sessions, told long after they were: what is found must not suffer."""
    print(f"\n{corpus.name}: backfilled, instead of captured as it happened")
    with filled(corpus, tasks_speak=True) as raw, filled(corpus, backfilled=True) as memory:
        for kind, questions in corpus.questions.items():
            live = measure(ours(raw, vectors=True), questions)
            past = measure(ours(memory, vectors=True), questions)
            for name in ("any@5", "any@10", "MRR"):
                met = _met(past.value(name) >= live.value(name) - 2)
                shown = f"{live.value(name):5.1f} -> {past.value(name):5.1f}"
                print(f"  {kind:10} {name:7} {shown} (at most 2 lower: {met})")


def report_injection(corpus: Corpus, memory: Filled) -> None:
    """Each session's first prompt, asked of what was remembered before it: how much of what it is told is
    about files that the session then touched? Beside the newest memories, as many as have as many tokens."""
    ((name, sessions),) = corpus.sessions.items()
    project = memory.library.project(name)
    assert project is not None
    occasions = Injector(
        store=memory.store,
        search=memory.search(vectors=True),
        resolver=FilterResolver(
            store=memory.store,
            clock=memory.clock,
            zone=lambda: UTC,
            key_of=str,
            facts_of=lambda _root: None,
        ),
        truth=no_git,
        origin_of=lambda cwd: Origin(key=cwd, name=cwd, root=""),
        is_excluded=lambda _cwd: False,
        clock=memory.clock,
        zone=lambda: UTC,
        note=_unnoted,
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
        f"{ratio:.2f} x (at least 2: {_met(ratio >= 2)})"
    )


def _unnoted(injection: Injection) -> None:
    del injection


def recent(library: Memories, project_id: int, session: Session) -> list[Card]:
    before = Filters(project_id=project_id, kinds=("observation", "summary"), until=session.started)
    return library.list_cards(before, limit=50)


def as_many_tokens(cards: list[Card], tokens: int, now: int) -> list[Card]:
    """The first of them, told as we tell ours, until they cost as much."""
    chosen: list[Card] = []
    for card in cards:
        chosen.append(card)
        hits = [Hit(each, 0.0) for each in chosen]
        if render.render_prompt(hits, now=now, budget=10**6).tokens >= tokens:
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
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write recall-quality.svg there")
    parser.add_argument("--backfilled", action="store_true", help="only what becomes of sessions told later")
    args = parser.parse_args()
    if not corpora.DATA.is_dir():
        sys.exit(f"The corpora are not there: {corpora.DATA.name} is not beside the project.")
    every: dict[tuple[str, str], dict[str, Figures]] = {}
    codes = map(corpora.code, corpora.CODE)
    for corpus in codes if args.backfilled else (*codes, corpora.locomo()):
        with filled(corpus) as raw:
            for kind, questions in () if args.backfilled else corpus.questions.items():
                step = 5 if args.quick and corpus.name == "LoCoMo" else 1
                ways = {
                    "plain BM25, best event": plain(corpus),
                    "ours, full text alone": ours(raw, vectors=False),
                    "ours": ours(raw, vectors=True),
                }
                every[corpus.name, kind] = report(corpus, kind, questions[::step], ways)
            if corpus.name in corpora.CODE:
                report_backfilled(corpus)
                if not args.backfilled:
                    report_observed(corpus, raw)
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        (args.plot / "recall-quality.svg").write_text(plotted(every), encoding="utf-8")


if __name__ == "__main__":
    main()
