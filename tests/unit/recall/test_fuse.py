"""Weighing words, sessions, vectors and files against each other."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from claude_mem.model.refs import MemoryKind, Ref, kind_at, memory_key, session_at, wide_key
from claude_mem.recall import fuse as fusing
from claude_mem.recall.fuse import ONLY_FILES, Fused, apart_from, ranked, score_words
from claude_mem.store.values import IndexSizes, TextMatch, TextMatches

SIZES = IndexSizes(100, 80, dict.fromkeys(range(1, 11), 10))
NOTHING = TextMatches(SIZES)


def at(session: int, id: int, kind: MemoryKind = "observation") -> int:
    return memory_key(1, session, Ref(kind, id))


def fuse(
    matches: TextMatches,
    cosines: dict[int, float] | None = None,
    weight: float = 0.5,
    files: dict[int, float] | None = None,
    file_weight: float = 1.0,
) -> Fused:
    return fusing.fuse(score_words(matches), cosines or {}, weight, files or {}, file_weight=file_weight)


def matches(
    *found: tuple[str, dict[int, float]],
    phrases: dict[str, dict[int, float]] | None = None,
    sizes: IndexSizes = SIZES,
) -> TextMatches:
    """All of it was said."""
    told = [TextMatch(word, scores, scores) for word, scores in found]
    told += [TextMatch(word, scores, scores, is_phrase=True) for word, scores in (phrases or {}).items()]
    return TextMatches(sizes, tuple(told))


def test_more_of_the_querys_words_are_more() -> None:
    both, one = at(1, 1), at(2, 2)
    fused = fuse(matches(("a", {both: 1.0, one: 1.0}), ("b", {both: 1.0})))
    assert fused.score(both) > fused.score(one) > 0


@pytest.mark.parametrize("leading", [1, 7, 40, 200])
def test_the_leading_memories_come_in_the_order_of_all(leading: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(leading)
    scores = {
        at(session, id): chance.choice((0.5, 1.0, chance.random()))
        for session in range(1, 41)
        for id in range(9)
    }
    close = {key: chance.random() for key in chance.sample(sorted(scores), 90)}
    fused = fuse(matches(("a", scores)), close)
    by_score = sorted(scores, key=lambda key: (fused.score(key), key), reverse=True)
    of_session: Counter[int] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for key in by_score:
        of_session[session_at(key)] += 1
        (first if of_session[session_at(key)] <= 3 else rest).append(key)
    monkeypatch.setattr(fusing, "LEADING", leading)
    assert list(ranked(fused, 3)) == [*first, *rest]


def test_a_phrase_lifts_its_hits_beside_its_words() -> None:
    whole, parts = at(1, 1), at(2, 2)
    words = ("dry", {whole: 1.0, parts: 1.0}), ("run", {whole: 1.0, parts: 1.0})
    plain, lifted = fuse(matches(*words)), fuse(matches(*words, phrases={"dry run": {whole: 2.0}}))
    assert plain.score(whole) == plain.score(parts)
    assert lifted.score(whole) > lifted.score(parts)


def test_each_reading_is_in_standard_deviations_whatever_its_scale() -> None:
    here, there = at(1, 1), at(2, 2)
    for scale in (0.01, 1.0, 50.0):
        fused = fuse(matches(("a", {here: 2.0 * scale, there: 1.0 * scale})))
        assert fused.words == pytest.approx({here: 2.0 / (2 / 3) ** 0.5, there: 1.0 / (2 / 3) ** 0.5})


def test_sessions_that_are_all_alike_are_told_from_those_that_have_nothing_and_no_further() -> None:
    alone, alike = at(1, 1), {at(session, 1): 1.0 for session in range(1, 9)}
    assert fuse(matches(("a", {alone: 0.3}))).words == pytest.approx({alone: 2.0})
    some = fuse(matches(("a", alike | {at(9, 1): 1.0 + 1e-9}))).words
    assert min(some.values()) == pytest.approx(max(some.values()))
    assert min(some.values()) > 0


def test_what_was_said_counts_beside_what_a_tool_printed() -> None:
    printed, said = at(1, 1, "evidence"), at(2, 2, "prompt")
    both = {printed: 1.0, said: 1.0}
    fused = fuse(TextMatches(SIZES, (TextMatch("a", both, {said: 1.0}),)))
    assert fused.score(said) > fused.score(printed) > 0


def test_a_session_counts_as_a_whole_but_a_long_one_for_less() -> None:
    often, once = {at(1, id): 1.0 for id in range(3)}, {at(2, 9): 1.0}
    assert fuse(matches(("a", often | once))).score(at(1, 0)) > fuse(matches(("a", often | once))).score(
        at(2, 9)
    )
    long = IndexSizes(1000, 800, {1: 900, 2: 10})
    fused = fuse(matches(("a", {at(1, 1): 1.0, at(2, 2): 1.0}), sizes=long))
    assert fused.score(at(2, 2)) > fused.score(at(1, 1))


def test_a_session_four_times_as_long_needs_a_word_twice_as_often() -> None:
    sizes = IndexSizes(1000, 800, {1: 800, 2: 200})
    found = matches(("a", {at(1, 1): 1.0, at(1, 2): 1.0, at(2, 3): 1.0}), sizes=sizes)
    whole = score_words(found).session_scores
    assert whole[session_at(at(1, 1))] == pytest.approx(whole[session_at(at(2, 3))])


def test_a_frequent_word_says_nothing_of_whole_sessions() -> None:
    """It was looked for in some of its memories only."""
    frequent = TextMatch("the", {at(2, 2): 0.1}, {}, rows=90)
    rare = TextMatch("walrus", {at(1, 1): 3.0, at(2, 2): 2.0}, {})
    scores = score_words(TextMatches(SIZES, (rare, frequent)))
    assert scores.session_scores[1] == scores.session_scores[2]
    assert scores.memories[at(2, 2)] == pytest.approx(2.1)


def test_vectors_count_by_how_close_the_closest_memory_of_a_session_comes() -> None:
    near, between, far = at(1, 1), at(2, 2), at(3, 3)
    fused = fuse(NOTHING, {near: 0.8, between: 0.5, far: 0.2}, 0.5)
    first, second, last = (fused.score(key) for key in (near, between, far))
    assert (second, last) == pytest.approx((first / 2, 0.0))
    assert fuse(NOTHING, {near: 0.8, between: 0.5, far: 0.2}, 1.0).score(near) == pytest.approx(2 * first)
    assert fuse(NOTHING, {near: 0.8, far: 0.8}).score(near) == 0.0
    assert fuse(NOTHING, {near: 0.8, far: 0.2}, 0.0).score(near) == 0.0


def test_a_file_that_is_named_counts_as_one_reading_and_as_three_if_nothing_else_is_asked() -> None:
    named, worded = at(1, 1), at(2, 2)
    asked = matches(("a", {worded: 1.0}))
    beside, alone = fuse(asked, files={named: 0.7}), fuse(asked, files={named: 0.7}, file_weight=ONLY_FILES)
    assert 3 * beside.score(named) == pytest.approx(beside.score(worded))
    assert alone.score(named) == pytest.approx(alone.score(worded))


def test_what_a_score_is_made_of_adds_up_to_it() -> None:
    here = at(1, 1)
    fused = fuse(matches(("a", {here: 1.0, at(1, 2): 2.0})), {here: 0.9, at(2, 2): 0.1}, 0.3, {here: 0.7})
    parts = fused.parts(here)
    assert sum(parts.values()) == pytest.approx(fused.score(here))
    assert parts["file"] > 0
    assert parts["words"] == pytest.approx(fused.words[at(1, 2)] / 2)
    assert parts["session"] >= 0


def test_a_sessions_few_best_come_before_all_the_rest_and_nothing_is_lost() -> None:
    loud = {at(1, id): 10.0 - id for id in range(1, 9)}
    quiet = at(2, 99)
    near = {at(3, 5): 0.1}
    order = list(ranked(fuse(matches(("a", loud | {quiet: 0.1})), near, 0.1), per_session=2))
    assert set(order) == {*loud, quiet, *near}
    assert [session_at(key) for key in order[:4]].count(1) == 2
    assert order[0] == at(1, 1)


def test_of_equals_the_later_sessions_come_first_whatever_their_projects_and_keys() -> None:
    """Both stores rank alike: PostgreSQL's keys have no project, SQLite's begin with it."""
    places = [(9, 1), (1, 2), (5, 3), (2, 4)]
    in_a_file = [memory_key(project, session, Ref("observation", 7)) for project, session in places]
    wide = [wide_key(session, Ref("observation", 7)) for _, session in places]
    for keys in (in_a_file, wide):
        order = list(ranked(fuse(matches(("a", dict.fromkeys(keys, 1.0)))), per_session=5))
        assert [session_at(key) for key in order] == [4, 3, 2, 1]


def test_what_nobody_asked_for_speaks_for_its_session_and_takes_no_place() -> None:
    """A session's raw text says the words best; its one summary stands where it would."""
    loud = {at(1, id, "evidence"): 10.0 - id for id in range(1, 9)}
    told, other = at(1, 1, "summary"), at(2, 2, "summary")
    scores = score_words(matches(("a", loud | {told: 0.1, other: 0.2})))
    fused = fusing.fuse(scores, {}, 0.5, {}, lambda key: kind_at(key) == "summary")
    assert list(ranked(fused, 2)) == [told, other]
    assert fused.score(told) == pytest.approx(fused.sessions[1])


def test_what_one_session_has_can_be_left_out_of_account() -> None:
    own, other = at(1, 1, "prompt"), at(2, 2)
    asked = matches(("a", {own: 9.0, other: 1.0}), ("b", {own: 9.0}))
    scores = score_words(apart_from(asked, 1))
    assert scores.memories == {other: 1.0}
    assert scores.unknown == 0.5


def test_the_share_of_unknown_words_and_the_strength_of_the_best_are_told() -> None:
    scores = score_words(matches(("a", {at(1, 1): 4.0}), ("b", {}), ("c", {}), phrases={"a b": {}}))
    assert scores.unknown == pytest.approx(2 / 3)
    twice = score_words(matches(("a", {at(1, 1): 8.0})))
    assert twice.strength == pytest.approx(2 * scores.strength)
    assert score_words(NOTHING).strength == score_words(NOTHING).unknown == 0.0


def test_how_much_of_the_words_the_best_memory_has_is_told_and_a_rare_word_weighs_more() -> None:
    common, rare = {at(session, 1): 0.1 for session in range(1, 9)}, {at(1, 1): 4.0}
    best_has_both = score_words(matches(("common", common), ("rare", rare)))
    best_has_one = score_words(
        matches(("common", common), ("rare", {at(1, 1): 4.0}), ("other", {at(2, 1): 1.0}))
    )
    assert best_has_both.covered == pytest.approx(1.0)
    assert 0.5 < best_has_one.covered < 1.0
    assert best_has_both.shared == best_has_one.shared == {"common", "rare"}
    without_rare = score_words(matches(("common", {at(1, 1): 9.0} | common), ("unknown", {})))
    assert without_rare.covered < 0.5
    assert score_words(matches(("unknown", {}))).covered == score_words(NOTHING).covered == 0.0
