"""What a search found, by session: raw events folded, understood first, the question itself left out."""

from __future__ import annotations

from typing import Any

import pytest

from claude_mem.model.refs import Card, Hit, MemoryKind, Ref
from claude_mem.recall.answers import (
    JUST_NOW_MS,
    LISTED_PER_SESSION,
    Fold,
    by_session,
    led_to,
    without_question,
)

NOW = 1_760_000_000_000


def card(kind: MemoryKind, id: int, *, session: str = "a", turn: int | None = 1, **more: Any) -> Card:
    about: dict[str, Any] = {
        "project": "shop",
        "project_id": 1,
        "created_at": NOW - 86_400_000,
        "title": f"{kind} {id}",
    }
    return Card(ref=Ref(kind, id), session=session, session_db_id=1, prompt_number=turn, **about | more)


def hits(*cards: Card) -> list[Hit]:
    """The best first."""
    return [Hit(each, 10.0 - at) for at, each in enumerate(cards)]


def fold(*known: Card) -> Fold:
    return Fold(lambda session: [each for each in known if each.session == session], lambda _: ("marked",))


def refs(found: list[Hit]) -> list[str]:
    return [str(hit.card.ref) for hit in found]


def test_sessions_are_in_the_order_of_their_best_hit_and_each_is_there_once() -> None:
    found = hits(
        card("observation", 1, session="b"), card("observation", 2), card("observation", 3, session="b")
    )
    assert [(group.session, refs(group.hits)) for group in by_session(found, fold())] == [
        ("b", ["1", "3"]),
        ("a", ["2"]),
    ]


def test_what_was_understood_comes_before_what_was_asked() -> None:
    (group,) = by_session(hits(card("prompt", 1, turn=2), card("observation", 2, turn=2)), fold())
    assert refs(group.hits) == ["2", "p1"]


def test_a_raw_event_is_folded_into_the_memory_of_its_turn_with_that_memorys_marks() -> None:
    known = card("observation", 7, turn=2)
    found = hits(card("evidence", 1, turn=2), card("evidence", 2, turn=2))
    (group,) = by_session(found, fold(known, card("observation", 8, turn=1)))
    assert (refs(group.hits), group.events) == (["7"], 2)
    assert group.hits[0].marks == ("marked",)


def test_without_a_fold_raw_events_are_hits_like_others() -> None:
    (group,) = by_session(hits(card("evidence", 1), card("observation", 2)), None)
    assert (refs(group.hits), group.events) == (["2", "e1"], 0)


def test_an_event_nothing_was_understood_of_is_shown() -> None:
    (group,) = by_session(hits(card("evidence", 1)), fold())
    assert refs(group.hits) == ["e1"]


def test_an_event_leads_to_the_observation_about_its_file_else_the_summary_else_the_prompt() -> None:
    event = card("evidence", 1, turn=3, files=("src/b.py",))
    known = [
        card("observation", 4, turn=3, files=("src/a.py",)),
        card("observation", 5, turn=3, files=("src/b.py",)),
        card("summary", 6, turn=3),
        card("prompt", 7, turn=3),
        card("summary", 8, turn=9, created_at=NOW),
    ]
    for expected in ("5", "4", "s6", "p7", "s8"):
        found = led_to(event, known)
        assert found is not None
        assert str(found.ref) == expected
        known.remove(found)
    assert led_to(event, known) is None


def test_the_first_prompt_is_the_sessions_title_and_no_row_beside_what_was_understood() -> None:
    first = card("prompt", 1)
    assert refs(next(by_session(hits(first, card("observation", 2)), fold())).hits) == ["2"]
    assert refs(next(by_session(hits(first), fold())).hits) == ["p1"]


def test_of_a_session_a_few_are_shown_and_the_rest_counted_but_what_the_user_saved_always() -> None:
    found = hits(*(card("observation", id) for id in range(LISTED_PER_SESSION + 2)))
    (group,) = by_session(found, fold())
    assert (len(group.hits), group.more) == (LISTED_PER_SESSION, 2)
    found = hits(*(card("observation", id, source="user") for id in range(LISTED_PER_SESSION + 2)))
    (group,) = by_session(found, fold())
    assert (len(group.hits), group.more) == (LISTED_PER_SESSION + 2, 0)


@pytest.mark.parametrize(
    ("ago", "text", "is_left_out"),
    [
        (5_000, "Why does the login fail?", True),
        (5_000, "why does the login fail, please look", True),
        (5_000, "Rename the cart", False),
        (5_000, "Rename the cart, move the tests, and then look why the login does not fail there", False),
        (JUST_NOW_MS, "Why does the login fail?", False),
    ],
)
def test_the_question_just_asked_is_not_among_its_answers(ago: int, text: str, is_left_out: bool) -> None:
    prompt = card("prompt", 1, text=text, created_at=NOW - ago)
    kept = without_question(hits(prompt, card("observation", 2)), "why does the login fail", NOW)
    assert refs(kept) == (["2"] if is_left_out else ["p1", "2"])


def test_neither_is_a_summary_that_says_no_more_than_the_question() -> None:
    empty = card("summary", 1, title="Why does the login fail?", created_at=NOW - 5_000)
    answered = card("summary", 2, title="Why does the login fail?", text="A token.", created_at=NOW - 5_000)
    assert refs(without_question(hits(empty, answered), "why does the login fail", NOW)) == ["s2"]
