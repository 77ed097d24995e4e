"""Compares vectors stored as bytes with single and half precision, for `vectors.py`."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import corpora
from claude_mem.vectors import builtin
from claude_mem.vectors.embedders import WordLlama
from claude_mem.vectors.indexer import NEAREST
from measure import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from claude_mem.vectors.backend import Vector

DIMENSIONS, TOP = 256, 20
HELD = 100_000
LARGER = 4_096  # rows of a block that the cache does not hold


def said() -> tuple[list[str], list[str]]:
    """Texts of real sessions, and questions about them."""
    texts: dict[str, None] = {}
    questions: list[str] = []
    for corpus in map(corpora.code, corpora.CODE):
        for sessions in corpus.sessions.values():
            texts |= dict.fromkeys(text for each in sessions for kind, text in each.events if kind != "tool")
        questions += [each.text for asked in corpus.questions.values() for each in asked]
    return list(texts), random.Random(3).sample(questions, 300)


Nearest = Callable[["Vector", int], list[tuple[int, float]]]
"""Of a question and a limit: the closest and their cosines."""


def ways(vectors: NDArray[np.float32]) -> dict[str, tuple[int, Nearest]]:
    """How many bytes each way holds, and how it finds the nearest."""
    half = vectors.astype(np.float16)
    rows = [(at, builtin.packed(vector)) for at, vector in enumerate(vectors)]
    steps = range(0, len(rows), builtin.ROWS)

    def in_blocks(of: int) -> tuple[int, Nearest]:
        held = tuple(builtin.block(rows[at : at + of]) for at in range(0, len(rows), of))
        return sum(one.rows.nbytes for one in held), partial(builtin.closest, held)

    def single(question: Vector, limit: int) -> list[tuple[int, float]]:
        return best(vectors @ question, limit)

    def halves(question: Vector, limit: int) -> list[tuple[int, float]]:
        parts = [half[at : at + builtin.ROWS].astype(np.float32) @ question for at in steps]
        return best(np.concatenate(parts), limit)

    return {
        "single precision": (vectors.nbytes, single),
        "half precision, widened in blocks": (half.nbytes, halves),
        f"bytes, widened in blocks of {LARGER:,}": in_blocks(LARGER),
        f"bytes, in blocks of {builtin.ROWS:,} (ours)": in_blocks(builtin.ROWS),
    }


def best(scores: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
    best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
    return [(int(at), float(scores[at])) for at in best[np.argsort(-scores[best])]]


def comparing(texts: Sequence[str], questions: Sequence[str]) -> str:
    """Recall on real texts; time on as many random vectors as a project's."""
    model = WordLlama()
    real, queries = np.stack(model.embed(texts)), model.embed(questions)
    exact = [dict(ways(real)["single precision"][1](question, len(real))) for question in queries]
    top = [set(list(cosines)[:TOP]) for cosines in exact]
    many = ways(drawn(HELD, 7))
    rows = []
    for name, (_, nearest) in ways(real).items():
        found = [nearest(question, TOP) for question in queries]
        recall = statistics.mean(len(t & dict(f).keys()) / TOP for t, f in zip(top, found, strict=True))
        off = max(abs(cosines[at] - got) for cosines, f in zip(exact, found, strict=True) for at, got in f)
        size, timed = many[name]
        ms = statistics.median(cpu_ms(partial(timed, queries[0], NEAREST)) for _ in range(40))
        rows.append((name, f"{recall:.4f}", f"{off:.4f}", f"{size / 1e6:.0f} MB", f"{ms:.1f} ms"))
    head = f"recall of the exact top {TOP}", "largest error", f"{HELD:,} held in", "compared in"
    label = f"kept as ({len(texts):,} texts, {len(questions)} questions)"
    return table((label, *head), rows)


def drawn(count: int, seed: int) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000
