"""What an agent says in plain sentences at the end: what is left, what was decided, and mere courtesy."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import Acting

from claude_mem.model.memory import Summary


def summary(message: str) -> Summary:
    (told,) = Acting("round the prices").edit("a.py", "+y = 1").stop(message).memory().summaries
    return told


def answered(message: str) -> Summary:
    """Of a turn in which nothing was done."""
    (told,) = Acting("round the prices").stop(message).memory().summaries
    return told


def weighs(message: str) -> bool:
    """Whether it says what was chosen, and why or over what."""
    return "trade-off" in Acting("round the prices").edit("a.py", "+y = 1").stop(message).only().concepts


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (
            "Prices are rounded and it is committed. Next: discounts are still computed before rounding; "
            "checkout.py needs the same.",
            "discounts are still computed before rounding; checkout.py needs the same",
        ),
        ("Done. Remaining: ask Maria.", "ask Maria"),
        ("Rounded.\nStill open: the refund page\nTODO: the changelog", "the refund page\nthe changelog"),
        ("Rounded. **Follow-ups:** move the test; drop the flag.", "move the test; drop the flag"),
        ("Left to do: the refund page.", "the refund page"),
        ("Not done yet: the refund page.", "the refund page"),
        ("Fertig. Noch offen: die Rückzahlung.", "die Rückzahlung"),
        ("完成。下一步：更新文档。", "更新文档。"),
        ("Prices are rounded. checkout.py still needs the same.", "checkout.py still needs the same"),
        ("Prices are rounded. The cache remains to be cleared.", "The cache remains to be cleared"),
        ("Rounded. I have not yet run the slow tests.", "I have not yet run the slow tests"),
        ("Rounded. You may want to tell Maria.", "You may want to tell Maria"),
        ("Rounded and committed. Not pushed — say the word if you want that.", "Not pushed"),
        (
            "All prices in the shop are rounded now. Still open:\n\n- ask Maria\n- refunds",
            "ask Maria\nrefunds",
        ),
    ],
)
def test_what_is_left_is_a_next_step_without_any_heading(message: str, left: str) -> None:
    assert summary(message).next_steps == left


@pytest.mark.parametrize(
    "message",
    [
        "Prices are rounded. Remaining: nothing.",
        "Prices are rounded. Nothing remains to be done in checkout.py.",
        "Prices are rounded. If the cache is cold you may want to wait.",
        "Prices are rounded. Do we still need the flag?",
        'Prices are rounded. The comment said "checkout.py still needs this" before.',
        "Each node of the list has two fields.\n\n- next: a pointer to the node after it",
        "Secrets are not committed to the repository here.",
        "The next prompt reads the remaining prices from the cache.",
        "Two new commits on next:\n\n- 3798066d rounds the prices of the shop",
        "## Rounding, confirmed against next\n\nThe prices of the shop are rounded twice.",
        "It remains to be seen what Maria says of it.",
        "Prices are rounded. There are two options:\n\n- Round in the database\n- Round in the view",
    ],
)
def test_what_only_sounds_like_it_is_no_next_step(message: str) -> None:
    assert summary(message).next_steps is None


def test_what_is_left_is_not_told_as_learned_too() -> None:
    told = answered("Rounding happens in shop/price.py before the tax. Next: the refund page.")
    assert told.learned == "Rounding happens in shop/price.py before the tax"
    assert told.next_steps == "the refund page"


@pytest.mark.parametrize(
    "message",
    ["Done.", "Done. See memory.", "Hello! I'm ready to help with it.", "All set. Let me know if it breaks."],
)
def test_courtesy_is_nothing_learned(message: str) -> None:
    told = answered(message)
    assert (told.request, told.learned) == ("round the prices", None)
    said = answered(f"{message} Rounding happens before the tax is added.")
    assert said.learned == "Rounding happens before the tax is added"


@pytest.mark.parametrize(
    "sentence",
    [
        "I decided against a config file because containers set variables anyway.",
        "I chose integers over decimals for all prices.",
        "We went with SQLite because one process needs no server.",
        "I decided to round once, not at every step.",
        "Opted for a table rather than a chain of conditions.",
        "Ich habe mich dagegen entschieden, weil Container Variablen setzen.",
    ],
)
def test_a_choice_in_a_plain_sentence_is_seen(sentence: str) -> None:
    assert weighs(f"Prices are rounded now. {sentence} All tests pass.")


@pytest.mark.parametrize(
    "sentence",
    [
        "I decided to round the prices of the shop.",
        "I chose to iterate over the prices of the shop.",
        "The width is decided on every render because it changes.",
        "If you decided against a file, it is because of containers.",
        "Have you decided against a file because of the containers?",
        "I'm flagging it rather than fixing it now, since it would mean a larger change.",
    ],
)
def test_a_choice_without_a_reason_or_an_alternative_is_none(sentence: str) -> None:
    assert not weighs(f"Prices are rounded now. {sentence} All tests pass.")


def test_a_commit_of_which_git_told_nothing_has_no_fact_that_only_says_commit() -> None:
    silent = Acting("x").edit("a.py", "+y = 1").run("git commit -qm 'round prices'").only()
    assert silent.title == "round prices"
    assert "commit" not in silent.facts
    told = (
        Acting("x").edit("a.py", "+y = 1").run("git commit -m 'round prices'", "[main abcdef1] round prices")
    )
    assert "commit abcdef1 on main" in told.only().facts


WISH = "From now on, never edit the generated parser by hand."


def test_a_standing_wish_counts_although_nothing_came_of_its_turn() -> None:
    (kept,) = Acting(WISH).memory().observations
    assert kept.type == "decision"
    assert any(WISH in fact for fact in kept.facts)
    assert Acting("Round the prices of the shop.").memory().observations == ()


def test_a_standing_wish_that_is_recorded_already_is_not_recorded_again() -> None:
    (kept,) = Acting(WISH).memory().observations
    again = Acting(WISH).stop("Understood.").memory(recorded=(kept.title or "",))
    assert again.observations == ()


def test_a_turn_that_the_clients_limit_ended_before_anything_was_done_leaves_nothing() -> None:
    limit = "You've hit your monthly spend limit · raise it at a.b"
    left = Acting("continue but use sonnet 5 as subagents").stop(limit).memory()
    assert (left.observations, left.summaries) == ((), ())
    (worked,) = Acting("round the prices").edit("a.py", "+y = 1").stop(limit).memory().summaries
    assert "limit" not in str(worked)
