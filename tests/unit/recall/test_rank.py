"""Priors tip the balance; they never keep a memory from being found."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.unit.recall.cards import DAY, NOW, card

from claude_mem.model.refs import Card, Hit, MemoryKind, Ref
from claude_mem.model.structs import replace
from claude_mem.recall import rank
from claude_mem.recall.rank import WorkContext, currency, ordered, prior, spread

HERE = WorkContext(frozenset(("src/a.py",)), "main")


def weighed(one: Card) -> float:
    return prior(one, NOW, HERE, 1.0)


@pytest.mark.parametrize(
    "better",
    [
        {"pinned": True},
        {"created_at": NOW},
        {"branch": "main"},
        {"files": ("src/a.py",)},
        {"source": "user"},
        {"seen_again": 2},
        {"type": "decision"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_between_equals_it_tips_the_balance(better: dict[str, Any]) -> None:
    plain = card(type="change", created_at=NOW - 40 * DAY)
    assert weighed(replace(plain, **better)) > weighed(plain)


@pytest.mark.parametrize(
    "worse", [{"superseded_by": 9}, {"source": "external"}], ids=lambda given: next(iter(given))
)
def test_and_the_other_way(worse: dict[str, Any]) -> None:
    assert weighed(replace(card(), **worse)) < weighed(card())


def test_what_the_code_has_left_behind_counts_less() -> None:
    assert prior(card(), NOW, HERE, 0.8) == pytest.approx(0.8 * weighed(card()))


def test_all_that_speaks_against_a_memory_leaves_it_a_good_part_of_its_score() -> None:
    worst = card(
        ref=Ref("evidence", 1), created_at=0, type="change", superseded_by=2, source="external", branch="dead"
    )
    best = card(
        type="decision",
        pinned=True,
        created_at=NOW,
        seen_again=9,
        branch="main",
        files=("src/a.py",),
        source="user",
    )
    assert weighed(worst) > 0.5
    assert weighed(best) < 1.6
    assert weighed(best) < 3 * weighed(worst)


def test_a_clock_that_was_set_back_makes_no_memory_better_than_new() -> None:
    assert weighed(card(created_at=NOW + 99 * DAY)) == weighed(card(created_at=NOW))


def test_without_a_question_the_new_comes_first_and_of_the_old_what_lasts() -> None:
    order = [
        card(type="change", created_at=NOW),
        card(type="decision", created_at=NOW - 60 * DAY),
        card(type="change", created_at=NOW - 60 * DAY),
    ]
    values = [currency(each, NOW, WorkContext(), 1.0) for each in order]
    assert values == sorted(values, reverse=True)
    assert min(values) > 0


def hits(*given: tuple[str, str, float]) -> list[Hit]:
    """Session, title, score: all of it by its words."""
    return [
        Hit(replace(card(id, title), session=session), score, {"words": score})
        for id, (session, title, score) in enumerate(given, 1)
    ]


def ids(found: list[Hit]) -> list[int]:
    return [hit.card.ref.id for hit in found]


def of(session: str, *scores: float) -> list[tuple[str, str, float]]:
    return [(session, f"{session} {score} {place}", score) for place, score in enumerate(scores)]


def sessions(found: list[Hit]) -> list[str]:
    return [hit.card.session for hit in found]


def test_of_a_session_three_come_before_what_others_have_that_is_comparably_good() -> None:
    found = spread(hits(*of("loud", 9.0, 8.0, 7.0, 6.0, 5.0), *of("quiet", 4.0), *of("other", 3.5)))
    assert sessions(found) == ["loud"] * 3 + ["quiet", "other"] + ["loud"] * 2


@pytest.mark.parametrize("near", [[2.6, 2.5], [2.6], []], ids=len)
def test_what_hardly_answers_does_not_come_before_any_that_does(near: list[float]) -> None:
    nothing = [each for n in range(20) for each in of(f"unrelated {n}", 0.05)]
    found = spread(hits(*of("loud", *[3.7] * 12), *of("near", *near), *of("faint", 0.07), *nothing))
    answers = ["loud"] * 3 + ["near"] * len(near) + ["loud"] * 9
    assert sessions(found)[: len(answers) + 1] == [*answers, "faint"]


def test_what_is_put_behind_is_given_no_more_than_what_is_before_it_and_nothing_else_is_changed() -> None:
    given = hits(*of("loud", 9.0, 8.0, 7.0, 6.0, 5.0, 0.9), *of("quiet", 4.0, 3.9, 1.0, 0.5))
    found = spread(ordered(given))
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True), "a list is in the order of its scores"
    assert {id for id, hit in zip(ids(found), found, strict=True) if hit not in given} == {4, 5}
    assert {hit.score for hit in found if hit.card.ref.id in (4, 5)} == {3.9}


def test_a_session_alone_keeps_its_order_and_its_scores() -> None:
    given = hits(*of("only", 9.0, 3.0, 2.0, 1.0, 0.1, -0.1))
    assert spread(given) == given


def test_what_says_the_same_is_said_once_by_the_best_of_them() -> None:
    found = spread(
        hits(
            ("a", "Fixed the parser of dates", 2.0),
            ("b", "fixed THE parser of dates", 1.9),
            ("c", "Fixed the parser of times", 1.0),
        )
    )
    assert ids(found) == [1, 3]


def test_a_sessions_best_stays_though_one_before_it_has_the_same_among_its_lesser() -> None:
    same = "Fixed the parser of dates"
    assert ids(spread(hits(("a", "Dropped ours", 3.0), ("a", same, 2.0), ("b", same, 1.9)))) == [1, 3]
    both = hits(("a", same, 3.0), ("b", same, 1.9), ("b", "Dropped ours", 1.0), ("c", same, 0.9))
    assert ids(spread(both)) == [1, 3], "the best of all of them is the same"


@pytest.mark.parametrize("differs", ["kind", "project_id"])
def test_another_kinds_or_projects_memory_is_another(differs: str) -> None:
    one, other = hits(("a", "Fixed the parser", 2.0), ("b", "Fixed the parser", 1.0))
    changed = {"ref": Ref("summary", 2)} if differs == "kind" else {"project_id": 2}
    assert len(spread([one, replace(other, card=replace(other.card, **changed))])) == 2


def test_a_request_made_twice_is_two_but_one_that_a_fork_repeats_is_one() -> None:
    one, other = (
        Hit(replace(card(ref=Ref("prompt", id)), text=text), 1.0)
        for id, text in ((1, "do it"), (2, "do it well"))
    )
    assert len(spread([one, other])) == 2
    assert len(spread([one, replace(other, card=replace(other.card, text="do it"))])) == 1


def copies(score: float, *, kind: MemoryKind = "prompt") -> list[Hit]:
    """What a session said and the fork of it repeats, with this score; and what another session said."""
    said = replace(card(), ref=Ref(kind, 1), session="first", created_at=NOW - DAY)
    fork = replace(said, ref=Ref(kind, 2), session="fork", created_at=NOW)
    return [Hit(said, 2.0), Hit(fork, score), Hit(replace(said, ref=Ref(kind, 3), text="else"), 1.9)]


def test_what_a_fork_repeats_is_shown_from_the_newest_session_that_ranks_about_as_high() -> None:
    assert sessions(spread(ordered(rank.newest_copies(copies(1.8)))))[0] == "fork"
    assert rank.newest_copies(copies(1.5)) == copies(1.5), "the same words in a session about something else"
    seen = copies(1.8, kind="observation")
    assert rank.newest_copies(seen) == seen, "observations have their own newer ones, and may be pinned"


def test_copies_change_places_and_all_else_is_left_as_it_is() -> None:
    assert [hit.score for hit in rank.newest_copies(copies(1.8))] == [1.8, 2.0, 1.9]
    assert rank.newest_copies([]) == []
    against = [replace(hit, score=-1.0) for hit in copies(1.8)]
    assert rank.newest_copies(against) == against


def test_of_equals_the_newest_is_first_and_the_order_is_always_the_same() -> None:
    old, new = Hit(card(1, created_at=NOW - DAY), 1.0), Hit(card(2, created_at=NOW), 1.0)
    best = Hit(card(3, created_at=0), 1.1)
    assert {
        tuple(ids(ordered(each)))
        for each in product((old, new, best), repeat=3)
        if len(set(map(id, each))) == 3
    } == {(3, 2, 1)}


def test_an_answer_comes_before_the_question_it_was_given_to() -> None:
    def hit(ref: Ref, score: float, session: str = "s1") -> Hit:
        return Hit(replace(card(), ref=ref, session=session), score)

    asked = hit(Ref("prompt", 1), 1.0)
    answered, hardly = hit(Ref("observation", 1), 0.8), hit(Ref("observation", 2), 0.5)
    elsewhere = hit(Ref("observation", 3), 0.9, "s2")
    ranked = ordered(rank.answers_first([asked, answered, hardly, elsewhere]))
    assert [str(each.card.ref) for each in ranked] == ["1", "p1", "3", "2"]


def test_answers_stay_in_their_order_before_the_question() -> None:
    better, worse = Hit(card(1, created_at=NOW - DAY), 0.9), Hit(card(2, created_at=NOW), 0.8)
    asked = Hit(replace(card(), ref=Ref("prompt", 1)), 1.0)
    assert ids(ordered(rank.answers_first([asked, worse, better]))) == [1, 2, 1]
