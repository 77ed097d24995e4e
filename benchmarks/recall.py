"""Measures whether the right memory is found, and only when it is needed, on coding sessions and
conversations.

    python benchmarks/recall.py                       all of it, about half an hour; --jobs 2 for half of that
    python benchmarks/recall.py --quick               the six projects alone, every third question
    python benchmarks/recall.py --plot docs/images    and draw it
    python benchmarks/recall.py --sentence FOLDER     and with a sentence model (ONNX file and tokenizer)
    python benchmarks/recall.py --saved FOLDER        save vectors and figures there; a run that was
                                                      stopped goes on with the next corpus
    python benchmarks/recall.py --backfilled          only what becomes of sessions imported later

A question counts as answered at k when one of the sessions that hold the answer is among the first k found.
The store holds what ours would: prompts, raw evidence, and what the offline observer made of them. The
baselines have the same text: plain BM25 over events, and the plain fusion of four such lists. "live" is what
is captured while it happens: of the agent's words the last of each turn, and where the worker reads the
transcript at the turn's end (Claude Code), what was said on the way.

What may be chosen is chosen with each project left out, on the other projects, and its figures are those of
the project left out (`chosen`).
"""

from __future__ import annotations

import argparse
import math
import pickle
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache, partial
from pathlib import Path
from statistics import mean

import corpora
import dot_chart
from claude_mem.model.events import Origin
from claude_mem.recall import fuse, rank, reminders
from claude_mem.recall.filter_resolver import FilterResolver
from claude_mem.recall.inject import Injector
from claude_mem.store.values import Injection
from claude_mem.vectors.backend import Embedder
from claude_mem.vectors.embedders import WordLlama
from claude_mem.vectors.sentence import OnnxFolder
from corpora import Corpus, Question
from retrievers import Filled, Finder, Plain, SavedVectors, filled, no_git, ours

OWNER = re.compile("^(clustercockpit|eitatech|entityprocess|savekirk)-")
TARGETS = {"any@5": 95.0, "MRR": 85.0}
SENTENCE_TARGETS = {"any@5": 96.5, "MRR": 88.0}
PROMPT_TARGETS = {"right": 80.0, "precise": 70.0, "silent": 95.0}
PLAIN, FUSION, TEXT, SENTENCE, OURS = (
    "plain BM25",
    "plain fusion",
    "ours, text alone",
    "ours, sentence",
    "ours",
)


def _best(of_sessions: Mapping[int, float]) -> float:
    return max(of_sessions.values(), default=0.0) or 1.0


ABLATIONS: dict[str, tuple[object, str, object]] = {
    "shares of the best instead of deviations": (fuse, "_deviation", _best),
    "whole sessions without their length": (fuse, "BY_LENGTH", 0.0),
    "copies as they come, not the newest": (rank, "FORK", 1.0),
    "without phrases": (fuse, "PHRASE", 0.0),
    "without recency": (rank, "RECENT", 0.0),
}
Choice = tuple[float, float, float]
CHOICES: tuple[Choice, ...] = (
    (5.0, 0.5, 0.75),
    (2.0, 0.5, 0.75),
    (10.0, 0.5, 0.75),
    (5.0, 0.25, 0.75),
    (5.0, 0.75, 0.75),
    (5.0, 0.5, 0.5),
    (5.0, 0.5, 1.0),
)
"""SATURATION, BY_LENGTH and the static vectors' weight: as shipped, and with one of them changed."""
ENOUGH = tuple(half / 2 for half in range(8, 25))
"""Thresholds of evidence at the prompt."""
TIMED = (PLAIN, FUSION, TEXT)
"""The others use the matches that were found for these."""


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
class Prompt:
    """What a prompt would be told if there were enough evidence for it."""

    evidence: float
    is_right: list[bool]  # of each memory
    by_file: list[bool]  # told whatever the evidence

    def told(self, enough: float) -> list[bool]:
        return [
            right
            for right, named in zip(self.is_right, self.by_file, strict=True)
            if named or self.evidence >= enough
        ]


@dataclass(frozen=True, slots=True)
class PromptFigures:
    right: float  # of 100 questions, those for which a right session's memory is injected
    precise: float  # of 100 memories injected, those of a right session
    silent: float  # of 100 negatives, those for which nothing is injected

    @classmethod
    def of(cls, cases: Prompts, enough: float) -> PromptFigures:
        natural, negatives = ([each.told(enough) for each in some] for some in cases)
        verdicts = [is_right for each in natural for is_right in each]
        silent = 100 * mean(not each for each in negatives)
        return cls(100 * mean(map(any, natural)), 100 * mean(verdicts) if verdicts else 100.0, silent)

    def all(self) -> tuple[float, ...]:
        return self.right, self.precise, self.silent


Prompts = tuple[list[Prompt], list[Prompt]]
"""Natural questions, and negatives."""


@dataclass(slots=True)
class Measured:
    """A corpus: figures by way, with all the text and with what hooks hear; and what else was tried."""

    name: str
    full: dict[str, Figures] = field(default_factory=dict)
    live: dict[str, Figures] = field(default_factory=dict)
    prompts: Prompts | None = None
    live_prompts: Prompts | None = None
    without: dict[str, Figures] = field(default_factory=dict)
    choices: dict[Choice, Figures] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    step: int
    sentence: Path | None
    saved: Path | None


def measure(find: Finder, questions: Sequence[Question]) -> Figures:
    ranks: list[int | None] = []
    for question in questions:
        places = enumerate(find(question), 1)
        ranks.append(next((rank for rank, session in places if session in question.gold), None))
    return Figures(ranks)


def report(title: str, questions: Sequence[Question], ways: Mapping[str, Finder]) -> dict[str, Figures]:
    """Printed at once, and in one piece: others print as well."""
    lines = [f"\n{title}: {len(questions)} questions", f"  {'':42} any@1   any@5  any@10     MRR"]
    every: dict[str, Figures] = {}
    for name, find in ways.items():
        began = time.process_time()
        found = every[name] = measure(find, questions)
        each_ms = (time.process_time() - began) * 1000 / max(1, len(questions))
        cost = f"  ({each_ms:.0f} ms of processor time each)" if name in TIMED else ""
        lines.append(f"  {name:40}{_shown(found.all())}{cost}")
    print("\n".join(lines), flush=True)
    return every


def _shown(values: Sequence[float]) -> str:
    return "".join(f"{value:8.1f}" for value in values)


def averaged(
    title: str, every: Sequence[Mapping[str, Figures]], targets: Mapping[str, Mapping[str, float]]
) -> None:
    print(f"\n{title}, average of {len(every)} projects\n  {'':42} any@1   any@5  any@10     MRR")
    for name in every[0]:
        values = [mean(column) for column in zip(*(each[name].all() for each in every), strict=True)]
        found = {"any@5": values[1], "MRR": values[3]}
        against = ", ".join(_against(of, found[of], wanted) for of, wanted in targets.get(name, {}).items())
        print(f"  {name:40}{_shown(values)}  {against}")


def _against(name: str, found: float, wanted: float) -> str:
    return f"{name} >= {wanted:g}: {'met' if found >= wanted else 'MISSED'}"


def prompted(corpus: Corpus, memory: Filled, embedder: str, step: int) -> Prompts:
    project = memory.store.projects.find(corpus.name)
    assert project is not None
    injector = Injector(
        store=memory.store,
        search=memory.search(embedder),
        resolver=FilterResolver(
            store=memory.store, clock=memory.clock, zone=lambda: UTC, key_of=str, facts_of=lambda _root: None
        ),
        check_staleness=no_git,
        origin_of=lambda cwd: Origin(key=cwd, name=cwd, root=""),
        is_excluded=lambda _cwd, _name: False,
        clock=memory.clock,
        zone=lambda: UTC,
        note=_unnoted,
    )

    def answered(question: Question) -> Prompt:
        with changed(reminders, "ENOUGH", -math.inf):
            evidence, considered = injector.candidates(project, "", corpora.ROOT, question.text)
        hits = [hit for hit, is_injected in considered if is_injected]
        by_file = [bool(hit.parts.get("file")) for hit in hits]
        return Prompt(evidence, [hit.card.session in question.gold for hit in hits], by_file)

    natural = [answered(question) for question in corpus.questions["natural"][::step]]
    return natural, [answered(question) for question in corpus.questions["negatives"]]


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
    """Each without its effect."""
    every = {}
    for name, (module, constant, value) in ABLATIONS.items():
        with changed(module, constant, value):
            every[name] = measure(ours(memory, embedder), questions)
    return every


def tried(memory: Filled, questions: Sequence[Question], embedder: str) -> dict[Choice, Figures]:
    """Every choice of the constants that may be chosen."""
    found: dict[Choice, Figures] = {}
    for choice in CHOICES:
        saturation, by_length, weight = choice
        with (
            changed(fuse, "SATURATION", saturation),
            changed(fuse, "BY_LENGTH", by_length),
            changed(memory.near[embedder], "weight", weight),
        ):
            found[choice] = measure(ours(memory, embedder), questions)
    return found


def chosen(every: Sequence[Measured]) -> None:
    """For each project the choice that is best on the others, and its figures on the one left out."""
    print(f"\nConstants chosen with the project left out\n  {'':50} any@5     MRR")
    left_out = []
    for own in every:
        others = [each.choices for each in every if each is not own]
        best = max(CHOICES, key=lambda choice: mean(figures[choice].mrr for figures in others))
        left_out.append(own.choices[best])
        print(f"  {own.name:28}{best!s:20}{_shown((left_out[-1].any_at(5), left_out[-1].mrr))}")
    print(f"  {'average':48}{_shown((mean(f.any_at(5) for f in left_out), mean(f.mrr for f in left_out)))}")


def silence(title: str, every: Mapping[str, Prompts]) -> None:
    """At the prompt: with the threshold that is shipped, and with the one that the other projects choose. It
    leaves the most room above the target they are closest to."""
    print(f"\nAt the prompt, {title}\n  {'':34}   right precise  silent   left out")
    shipped, left_out = [], []
    for name, prompts in every.items():
        others = [each for other, each in every.items() if other != name]
        enough = max(ENOUGH, key=lambda threshold: _room(others, threshold))
        shipped.append(PromptFigures.of(prompts, reminders.ENOUGH).all())
        left_out.append(PromptFigures.of(prompts, enough).all())
        print(f"  {name:34}{_shown(shipped[-1])}   {_shown(left_out[-1])}  (at {enough:g})")
    averages = [[mean(column) for column in zip(*some, strict=True)] for some in (shipped, left_out)]
    print(f"  {'average':34}{_shown(averages[0])}   {_shown(averages[1])}")
    for (field_name, wanted), found in zip(PROMPT_TARGETS.items(), averages[1], strict=True):
        print(f"  {_against(field_name, found, wanted)}")


def _room(every: Sequence[Prompts], enough: float) -> float:
    figures = (PromptFigures.of(each, enough).all() for each in every)
    averages = (mean(column) for column in zip(*figures, strict=True))
    return float(min(found - wanted for found, wanted in zip(averages, PROMPT_TARGETS.values(), strict=True)))


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
    ways = [PLAIN, FUSION, OURS]
    tasks = [
        dot_chart.Task(
            OWNER.sub("", name),
            f"{len(found[OURS].ranks)} questions",
            TARGETS["any@5"],
            [dot_chart.Dot(found[way].any_at(5), live[name][way].any_at(5)) for way in ways],
        )
        for name, found in full.items()
    ]
    return dot_chart.drawn(
        "A right session is among the first five (any@5)", ways=ways, whole="full", part="live", tasks=tasks
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the six projects, every third question")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write recall-quality.svg there")
    parser.add_argument("--sentence", type=Path, metavar="FOLDER", help="and with this sentence model")
    parser.add_argument("--saved", type=Path, metavar="FOLDER", help="go on with what is saved there")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many corpora at a time")
    parser.add_argument("--backfilled", action="store_true", help="only what becomes of imported sessions")
    args = parser.parse_args()
    if not corpora.DATA.is_dir():
        sys.exit(f"The corpora are not there: {corpora.DATA.name} is not beside the project.")
    if args.backfilled:
        for name in corpora.CODE[:2]:
            report_backfilled(corpora.code(name), static())
        return
    options = Options(3 if args.quick else 1, args.sentence, args.saved)
    names = [*corpora.CODE] if args.quick else [corpora.POOLED, "entire-cli", *corpora.CODE, "LoCoMo"]
    with ProcessPoolExecutor(args.jobs) as pool:  # the longest first
        found = {
            each.name: each for each in pool.map(partial(measured, options=options), dict.fromkeys(names))
        }
    with_prompts = [found[name] for name in corpora.CODE if found[name].prompts]
    targets = {SENTENCE: SENTENCE_TARGETS, OURS: TARGETS}
    averaged("natural questions", [each.full for each in with_prompts], targets)
    averaged("the same, live", [each.live for each in with_prompts], {})
    averaged("what each is worth", [each.without for each in with_prompts], {})
    chosen(with_prompts)
    silence("all the text", {each.name: each.prompts for each in with_prompts if each.prompts})
    silence("live", {each.name: each.live_prompts for each in with_prompts if each.live_prompts})
    if args.plot:
        shown = [*with_prompts, *([found[corpora.POOLED]] if corpora.POOLED in found else [])]
        args.plot.mkdir(parents=True, exist_ok=True)
        drawn = plotted({each.name: each.full for each in shown}, {each.name: each.live for each in shown})
        (args.plot / "recall-quality.svg").write_text(drawn, encoding="utf-8")


@cache
def static() -> WordLlama:
    model = WordLlama()
    model.embed(["loaded"])
    return model


def measured(name: str, *, options: Options) -> Measured:
    """All that is asked of a corpus, in a process of its own; or what is saved of it."""
    if options.saved is None:
        return _measured(name, options)
    saved = options.saved / f"{name}-{options.step}.pickle"
    if saved.exists():
        return pickle.loads(saved.read_bytes())  # type: ignore[no-any-return]  # our own
    found = _measured(name, options)
    saved.write_bytes(pickle.dumps(found))
    return found


def _measured(name: str, options: Options) -> Measured:
    if name == "LoCoMo":
        return conversations()
    is_pooled = name == corpora.POOLED
    corpus = corpora.pooled(map(corpora.code, corpora.CODE)) if is_pooled else corpora.code(name)
    embedders: list[Embedder] = [static()]
    if options.sentence:
        model = OnnxFolder(options.sentence)
        embedders.append(SavedVectors(model, options.saved / "vectors.db") if options.saved else model)
    found = Measured(name)
    questions = corpus.questions.get("natural", [])[:: options.step]
    plain = Plain(corpus)
    with filled(corpus, embedders if questions else embedders[:1]) as memory:
        if questions:
            found.full = report(f"{name}, full text", questions, _ways(plain, memory, embedders))
            if not is_pooled:
                found.prompts = prompted(corpus, memory, static().name, options.step)
                found.without = {"as it is": found.full[OURS], "without vectors": found.full[TEXT]}
                found.without |= ablated(memory, questions, static().name)
                found.choices = tried(memory, questions, static().name)
        if not is_pooled and options.step == 1:
            for kind in ("commits", "files"):
                ways = {PLAIN: plain.best_event, OURS: ours(memory, static().name)}
                report(f"{name}, {kind}", corpus.questions[kind], ways)
    if questions:
        plain = Plain(corpus, as_hooks_see_it=True)
        with filled(corpus, embedders[:1], as_hooks_see_it=True) as memory:
            found.live = report(f"{name}, live text", questions, _ways(plain, memory, embedders[:1]))
            if not is_pooled:
                found.live_prompts = prompted(corpus, memory, static().name, options.step)
    return found


def _ways(plain: Plain, memory: Filled, embedders: Sequence[Embedder]) -> dict[str, Finder]:
    ways: dict[str, Finder] = {PLAIN: plain.best_event, FUSION: plain.fusion, TEXT: ours(memory, None)}
    for each in embedders[1:]:
        ways[SENTENCE] = ours(memory, each.name)
    return ways | {OURS: ours(memory, embedders[0].name)}


def conversations() -> Measured:
    corpus = corpora.locomo()
    with filled(corpus, [static()]) as memory:
        ways = {PLAIN: Plain(corpus).best_event, OURS: ours(memory, static().name)}
        return Measured("LoCoMo", report("LoCoMo", corpus.questions["questions"], ways))


if __name__ == "__main__":
    main()
