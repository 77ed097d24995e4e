"""Does the right memory come up, and only when it is needed? On real coding work and on long conversations.

    python benchmarks/recall.py                       all of it, about half an hour
    python benchmarks/recall.py --quick               the six projects alone, every third question
    python benchmarks/recall.py --plot docs/images    and draw it
    python benchmarks/recall.py --sentence FOLDER     and with a sentence model (ONNX file and tokenizer)
    python benchmarks/recall.py --backfilled          only what becomes of sessions imported later

A question counts as answered at k when one of the sessions that hold the answer is among the first k found.
The store holds what ours would: prompts, raw evidence, and what the offline observer made of them. The
baselines have the same text: plain BM25 over events, and the plain fusion of four such lists. "live" is what
hooks alone hear: of the agent's words only the last of each turn. The worker also reads what was said on the
way from the transcript, at the turn's end: with it, the text is that of "full".

What may be chosen is chosen with each project left out, on the other projects, and its figures are those of
the project left out (`chosen`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from statistics import mean

import corpora
import dots
from claude_mem.model.events import Origin
from claude_mem.recall import fuse, rank
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.inject import Injector
from claude_mem.store.values import Injection
from claude_mem.vectors.backend import Embedder
from claude_mem.vectors.embed import WordLlama
from claude_mem.vectors.sentence import OnnxFolder
from corpora import Corpus, Question
from finders import Filled, Finder, Plain, filled, no_git, ours

TARGETS = {"any@5": 95.0, "MRR": 85.0}
PROMPT_TARGETS = {"right": 80.0, "precise": 70.0, "silent": 95.0}
ABLATIONS: dict[str, tuple[object, str, object]] = {
    "whole sessions by length alone (k1 = 0.5)": (fuse, "SATURATION", 0.5),
    "whole sessions without their length": (fuse, "BY_LENGTH", 0.0),
    "without phrases": (fuse, "PHRASE", 0.0),
    "without recency": (rank, "RECENT", 0.0),
}
CHOICES = {"SATURATION": (2.0, 5.0, 10.0), "BY_LENGTH": (0.5, 0.75, 0.9)}


@dataclass(frozen=True, slots=True)
class Figures:
    ranks: list[int | None]

    def any_at(self, k: int) -> float:
        return 100 * sum(1 for rank in self.ranks if rank and rank <= k) / max(1, len(self.ranks))

    @property
    def mrr(self) -> float:
        return 100 * sum(1 / rank for rank in self.ranks if rank) / max(1, len(self.ranks))

    def all(self) -> tuple[float, ...]:
        return self.any_at(1), self.any_at(5), self.any_at(10), self.mrr


@dataclass(frozen=True, slots=True)
class PromptFigures:
    right: float  # of 100 questions, those for which a right session's memory is injected
    precise: float  # of 100 memories injected, those of a right session
    silent: float  # of 100 negatives, those for which nothing is injected


def measure(find: Finder, questions: Sequence[Question]) -> Figures:
    ranks: list[int | None] = []
    for question in questions:
        places = enumerate(find(question), 1)
        ranks.append(next((rank for rank, session in places if session in question.gold), None))
    return Figures(ranks)


def report(title: str, questions: Sequence[Question], ways: Mapping[str, Finder]) -> dict[str, Figures]:
    print(f"\n{title}: {len(questions)} questions\n  {'':28} any@1   any@5  any@10     MRR")
    every: dict[str, Figures] = {}
    for name, find in ways.items():
        began = time.process_time()
        found = every[name] = measure(find, questions)
        each_ms = (time.process_time() - began) * 1000 / max(1, len(questions))
        print(f"  {name:26}{_shown(found.all())}  ({each_ms:.0f} ms of processor time each)", flush=True)
    return every


def _shown(values: Sequence[float]) -> str:
    return "".join(f"{value:8.1f}" for value in values)


def averaged(title: str, every: Sequence[Mapping[str, Figures]]) -> None:
    print(f"\n{title}, average of {len(every)} projects\n  {'':28} any@1   any@5  any@10     MRR")
    for name in every[0]:
        values = [mean(column) for column in zip(*(each[name].all() for each in every), strict=True)]
        print(f"  {name:26}{_shown(values)}")
    last = {"any@5": values[1], "MRR": values[3]}
    print("  " + ", ".join(_against(name, last[name], wanted) for name, wanted in TARGETS.items()))


def _against(name: str, found: float, wanted: float) -> str:
    return f"{name} >= {wanted:g}: {'met' if found >= wanted else 'MISSED'}"


def prompted(corpus: Corpus, memory: Filled, embedder: str, step: int) -> PromptFigures:
    project = memory.store.projects.find(corpus.name)
    assert project is not None
    injector = Injector(
        store=memory.store,
        search=memory.search(embedder),
        resolver=FilterResolver(
            store=memory.store, clock=memory.clock, zone=lambda: UTC, key_of=str, facts_of=lambda _root: None
        ),
        truth=no_git,
        origin_of=lambda cwd: Origin(key=cwd, name=cwd, root=""),
        is_excluded=lambda _cwd, _name: False,
        clock=memory.clock,
        zone=lambda: UTC,
        note=_unnoted,
    )

    def injected(question: Question) -> list[bool]:
        _, considered = injector.considered(project, "", corpora.ROOT, question.text)
        return [hit.card.session in question.gold for hit, is_injected in considered if is_injected]

    found = [injected(question) for question in corpus.questions["natural"][::step]]
    told = [is_right for each in found for is_right in each]
    quiet = [not injected(question) for question in corpus.questions["negatives"]]
    figures = PromptFigures(
        100 * mean(map(any, found)), 100 * mean(told) if told else 100.0, 100 * mean(quiet)
    )
    print(
        f"  at the prompt: a right session for {figures.right:.1f} of 100 questions, "
        f"{figures.precise:.1f} of 100 memories right ({len(told) / len(found):.1f} each), "
        f"{figures.silent:.1f} of 100 negatives silent",
        flush=True,
    )
    return figures


def _unnoted(injection: Injection) -> None:
    del injection


@contextmanager
def changed(module: object, name: str, value: object) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def ablated(memory: Filled, questions: Sequence[Question], embedder: str) -> dict[str, Figures]:
    """Each constant without its effect, and vectors without theirs."""
    every = {"as it is": measure(ours(memory, embedder), questions)}
    every["without vectors"] = measure(ours(memory, None), questions)
    for name, (module, constant, value) in ABLATIONS.items():
        with changed(module, constant, value):
            every[name] = measure(ours(memory, embedder), questions)
    return every


Choice = tuple[float, ...]


def tried(memory: Filled, questions: Sequence[Question], embedder: str) -> dict[Choice, Figures]:
    """Every choice of the constants that may be chosen."""
    found: dict[Choice, Figures] = {}
    for saturation in CHOICES["SATURATION"]:
        for by_length in CHOICES["BY_LENGTH"]:
            with changed(fuse, "SATURATION", saturation), changed(fuse, "BY_LENGTH", by_length):
                found[saturation, by_length] = measure(ours(memory, embedder), questions)
    return found


def chosen(every: Mapping[str, Mapping[Choice, Figures]]) -> None:
    """For each project the choice that is best on the others, and its figures on the one left out."""
    print(f"\n{' and '.join(CHOICES)}, chosen with the project left out\n  {'':42} any@5     MRR")
    left_out = []
    for name, own in every.items():
        others = [figures for other, figures in every.items() if other != name]
        best = max(own, key=lambda choice: mean(figures[choice].mrr for figures in others))
        left_out.append(own[best])
        print(f"  {name:28}{best!s:14}{_shown((own[best].any_at(5), own[best].mrr))}")
    print(f"  {'average':42}{_shown((mean(f.any_at(5) for f in left_out), mean(f.mrr for f in left_out)))}")


def report_backfilled(corpus: Corpus, embedder: Embedder) -> None:
    """The same sessions, told long after they were: what is found must not suffer."""
    print(f"\n{corpus.name}: backfilled, instead of captured as it happened")
    with (
        filled(corpus, [embedder], tasks_speak=True) as raw,
        filled(corpus, [embedder], backfilled=True) as memory,
    ):
        for kind in ("natural", "commits"):
            questions = corpus.questions.get(kind, [])
            live = measure(ours(raw, embedder.name), questions)
            past = measure(ours(memory, embedder.name), questions)
            for name, was, now in (("any@5", live.any_at(5), past.any_at(5)), ("MRR", live.mrr, past.mrr)):
                met = "met" if now >= was - 2 else "MISSED"
                print(f"  {kind:10} {name:7} {was:5.1f} -> {now:5.1f} (at most 2 lower: {met})")


def plotted(full: Mapping[str, Mapping[str, Figures]], live: Mapping[str, Mapping[str, Figures]]) -> str:
    ways = ["plain BM25", "plain fusion", "ours"]
    tasks = [
        dots.Task(
            name[:22],
            f"{len(found['ours'].ranks)} questions",
            TARGETS["any@5"],
            [dots.Dot(found[way].any_at(5), live[name][way].any_at(5)) for way in ways],
        )
        for name, found in full.items()
    ]
    return dots.drawn(
        "A right session is among the first five (any@5)", ways=ways, whole="full", part="live", tasks=tasks
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the six projects, every third question")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write recall-quality.svg there")
    parser.add_argument("--sentence", type=Path, metavar="FOLDER", help="and with this sentence model")
    parser.add_argument("--backfilled", action="store_true", help="only what becomes of imported sessions")
    args = parser.parse_args()
    if not corpora.DATA.is_dir():
        sys.exit(f"The corpora are not there: {corpora.DATA.name} is not beside the project.")
    static = WordLlama()
    static.embed(["loaded"])
    codes = [corpora.code(name) for name in corpora.CODE]
    if args.backfilled:
        for corpus in codes[:2]:
            report_backfilled(corpus, static)
        return
    embedders: list[Embedder] = [static, *([OnnxFolder(args.sentence)] if args.sentence else [])]
    step = 3 if args.quick else 1
    asked = [corpus for corpus in codes if "natural" in corpus.questions]
    full, live, prompts, without, choices = run(asked, embedders, step)
    averaged("natural questions", list(full.values()))
    averaged("the same, live", list(live.values()))
    for field, wanted in PROMPT_TARGETS.items():
        print(
            f"  at the prompt, average: {_against(field, mean(getattr(p, field) for p in prompts), wanted)}"
        )
    averaged("what each is worth", list(without.values()))
    chosen(choices)
    if not args.quick:
        pooled = corpora.pooled(codes)
        full[pooled.name], live[pooled.name] = both(pooled, embedders, 1, lambda _memory: None)
        for corpus in codes:
            with filled(corpus, [static]) as memory:
                for kind in ("commits", "files"):
                    ways = {
                        "plain BM25": Plain(corpus).best_event,
                        "text": ours(memory, None),
                        "ours": ours(memory, static.name),
                    }
                    report(f"{corpus.name}, {kind}", corpus.questions[kind], ways)
        told = corpora.locomo()
        with filled(told, [static]) as memory:
            ways = {"plain BM25": Plain(told).best_event, "ours": ours(memory, static.name)}
            report("LoCoMo", told.questions["questions"], ways)
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        (args.plot / "recall-quality.svg").write_text(plotted(full, live), encoding="utf-8")


Table = dict[str, dict[str, Figures]]


def run(
    asked: Sequence[Corpus], embedders: Sequence[Embedder], step: int
) -> tuple[Table, Table, list[PromptFigures], Table, dict[str, dict[Choice, Figures]]]:
    full: Table = {}
    live: Table = {}
    without: Table = {}
    prompts: list[PromptFigures] = []
    choices: dict[str, dict[Choice, Figures]] = {}
    name = embedders[0].name
    for corpus in asked:
        questions = corpus.questions["natural"][::step]

        def more(memory: Filled, corpus: Corpus = corpus, questions: Sequence[Question] = questions) -> None:
            prompts.append(prompted(corpus, memory, name, step))
            without[corpus.name] = ablated(memory, questions, name)
            choices[corpus.name] = tried(memory, questions, name)

        full[corpus.name], live[corpus.name] = both(corpus, embedders, step, more)
    return full, live, prompts, without, choices


def both(
    corpus: Corpus, embedders: Sequence[Embedder], step: int, more: Callable[[Filled], None]
) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """With all the text there is, and with what hooks hear. `more`: what else to do with all of it."""
    questions = corpus.questions["natural"][::step]
    found = []
    for as_hooks_see_it in (False, True):
        plain = Plain(corpus, as_hooks_see_it=as_hooks_see_it)
        with filled(corpus, embedders, as_hooks_see_it=as_hooks_see_it) as memory:
            ways: dict[str, Finder] = {"plain BM25": plain.best_event, "plain fusion": plain.fusion}
            ways |= {"ours, text alone": ours(memory, None)}
            ways |= {f"ours, {each.name[:18]}": ours(memory, each.name) for each in embedders[1:]}
            ways |= {"ours": ours(memory, embedders[0].name)}
            title = f"{corpus.name}, {'live' if as_hooks_see_it else 'full'} text"
            found.append(report(title, questions, ways))
            if not as_hooks_see_it:
                more(memory)
    return found[0], found[1]


if __name__ == "__main__":
    main()
