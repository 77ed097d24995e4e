"""Row 27 for an agent's last message: work grows with its length, whatever is in it."""

from __future__ import annotations

import pytest
from tests.harness.growth import LONG, Finish, assert_steps_grow_with_length, many_long_runs
from tests.unit.observe.offline.scripted_session import Acting

from claude_mem.observe.offline import message, sentences

HOSTILE = {
    "labels": "Next: ",
    "labels of several words": "Still to do: Follow-ups - ",
    "labels after semicolons": "x; next: ",
    "labels that never end": "Remaining ",
    "lines of labels": "TODO: x\n",
    "phrases": "it still needs to be ",
    "sentences that leave something": "It still needs a test. ",
    "things not pushed": "I haven't yet ",
    "offers": " — say the word",
    "denials": "no if nothing ",
    "open quotation marks": '"“ still needs ',
    "choices": "I chose a over b. ",
    "choices that end nowhere": "decided to over ",
    "reasons": "because rather than ",
    "initials": "A. ",
    "abbreviations": "e.g. ",
    "courtesies": "Done. ",
    "pointers": "see the ",
    "introductions": "here is the a ",
    "dashes": "— ",
    "marks": "...!!!??? ",
    "one word": "x",
}


def end(said: str) -> None:
    message.statements.cache_clear()
    Acting("x").edit("a.py", "+y = 1").stop(said).memory()


def read(text: str) -> None:
    """Without the bound that a message has."""
    message.split_off_next(text, phrases=True)
    sentences.is_courtesy(text)
    sentences.is_status(text)
    sentences.shortened(text, len(text))


def test_observing_a_message_takes_steps_in_proportion_to_it(subtests: pytest.Subtests) -> None:
    for kind, unit in HOSTILE.items():
        with subtests.test(kind):
            assert_steps_grow_with_length(end, unit)


@pytest.mark.prove
@many_long_runs
def test_a_message_of_many_thousand_characters_is_observed(
    finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message, "LONGEST", LONG)  # its patterns are linear without their bound as well
    for unit in HOSTILE.values():
        finish(end, unit)


@many_long_runs
def test_a_paragraph_of_many_thousand_characters_is_split(finish: Finish) -> None:
    for unit in HOSTILE.values():
        finish(read, unit)
