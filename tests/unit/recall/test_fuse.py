"""Weighing words, sessions and vectors against each other."""

from __future__ import annotations

import pytest

from claude_mem.model.refs import MemoryKind, Ref, memory_key, session_at
from claude_mem.recall import fuse as fusing
from claude_mem.recall.fuse import PHRASE, Fused, ranked
from claude_mem.store.values import TextMatch, TextMatches


def at(session: int, id: int, kind: MemoryKind = "observation") -> int:
    return memory_key(1, session, Ref(kind, id))


def fuse(
    matches: TextMatches,
    cosines: dict[int, float],
    weight: float,
    extra: dict[int, float],
    share: float = 1.0,
) -> Fused:
    return fusing.fuse(fusing.weigh(matches, share), cosines, weight, extra)


def matches(
    *found: tuple[str, dict[int, float]], phrases: dict[str, dict[int, float]] | None = None
) -> TextMatches:
    told = [TextMatch(word, scores) for word, scores in found]
    told += [TextMatch(word, scores, is_phrase=True) for word, scores in (phrases or {}).items()]
    return TextMatches(100, tuple(told))


def test_more_of_the_querys_words_are_more() -> None:
    both, one = at(1, 1), at(2, 2)
    fused = fuse(matches(("a", {both: 1.0, one: 1.0}), ("b", {both: 1.0})), {}, 0.0, {})
    assert fused.score(both) > fused.score(one) > 0


def test_a_phrase_lifts_its_hits_beside_its_words() -> None:
    whole, parts = at(1, 1), at(2, 2)
    words = ("dry", {whole: 1.0, parts: 1.0}), ("run", {whole: 1.0, parts: 1.0})
    plain, lifted = (
        fuse(matches(*words), {}, 0.0, {}),
        fuse(matches(*words, phrases={"dry run": {whole: 2.0}}), {}, 0.0, {}),
    )
    assert plain.score(whole) == plain.score(parts)
    assert lifted.score(whole) > lifted.score(parts) == plain.score(parts)
    assert fuse(matches(phrases={"2 1 0": {whole: 2.0}}), {}, 0.0, {}).score(whole) == pytest.approx(
        2 * PHRASE
    )


def test_a_score_means_the_same_however_long_the_question() -> None:
    here = at(1, 1)
    short = fuse(matches(("a", {here: 2.0})), {}, 0.0, {})
    long = fuse(matches(*((word, {here: 2.0}) for word in "abcdefgh")), {}, 0.0, {})
    assert long.score(here) == pytest.approx(short.score(here))


def test_a_session_that_covers_the_question_speaks_for_each_of_its_memories_but_never_without_bound() -> None:
    lone, beside = at(1, 1), at(2, 2)
    fused = fuse(matches(("a", {lone: 1.0, beside: 1.0}), ("b", {at(2, 3): 1.0})), {}, 0.0, {})
    assert fused.score(beside) > fused.score(lone)
    many = fuse(matches(("a", {at(3, id): 1.0 for id in range(90)})), {}, 0.0, {})
    assert many.coverage[3] < 1.0


def test_vectors_count_by_how_far_a_session_stands_out_and_by_their_weight() -> None:
    near, far = at(1, 1), at(2, 2)
    fused = fuse(TextMatches(10), {near: 0.8, far: 0.2}, 0.5, {})
    assert (fused.score(near), fused.score(far)) == pytest.approx((0.5, -0.5))
    alike = fuse(TextMatches(10), {near: 0.8, far: 0.8}, 0.5, {})
    assert alike.score(near) == alike.score(far) == 0.0
    assert fuse(TextMatches(10), {near: 0.8, far: 0.2}, 0.0, {}).score(near) == 0.0


def test_what_a_score_is_made_of_adds_up_to_it() -> None:
    here = at(1, 1)
    fused = fuse(matches(("a", {here: 1.0})), {here: 0.9, at(2, 2): 0.1}, 0.3, {here: 0.7}, share=0.3)
    assert sum(fused.parts(here).values()) == pytest.approx(fused.score(here))
    assert fused.parts(here)["file"] == 0.7


def test_a_sessions_few_best_come_before_all_the_rest_and_nothing_is_lost() -> None:
    loud = {at(1, id): 10.0 - id for id in range(1, 9)}
    quiet = at(2, 99)
    near = {at(3, 5): 0.1}
    order = list(ranked(fuse(matches(("a", loud | {quiet: 0.1})), near, 0.1, {}), near, per_session=2))
    assert set(order) == {*loud, quiet, *near}
    assert [session_at(place) for place in order[:4]].count(1) == 2
    assert order[0] == at(1, 1)


def test_what_nobody_asked_for_takes_no_place_of_what_was_asked_for() -> None:
    """A session's raw text says the words best; its one summary must not wait behind everybody's."""
    loud = {at(1, id, "evidence"): 10.0 - id for id in range(1, 9)}
    told, other = at(1, 1, "summary"), at(2, 2, "summary")
    fused = fuse(matches(("a", loud | {told: 0.2, other: 0.1})), {}, 0.0, {})
    kinds: tuple[MemoryKind, ...] = ("summary",)
    assert list(ranked(fused, {}, 2, kinds)) == [told, other]
    assert list(ranked(fused, {}, 2))[:3] == [at(1, 1, "evidence"), at(1, 2, "evidence"), other], (
        "else it waits"
    )
