"""Row 27 for an agent's last message: time grows with its length, whatever is in it."""

from __future__ import annotations

import pytest
from tests.security.test_grammar_growth import assert_linear
from tests.unit.providers.acting import Acting

from claude_mem.providers.offline import courtesies, findings, unfinished
from claude_mem.providers.offline.markdown import LONGEST

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


def end(message: str) -> None:
    findings.statements.cache_clear()
    Acting("x").edit("a.py", "+y = 1").stop(message).memory()


def read(text: str) -> None:
    """Without the bound that a message has."""
    unfinished.split(text, phrases=True)
    courtesies.is_one(text)


def sizes(unit: str, characters: int) -> list[str]:
    return [unit * (size * characters // len(unit)) for size in (1, 2, 4)]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_message_twice_as_long_is_observed_in_less_than_three_times_the_time(kind: str) -> None:
    assert_linear(end, sizes(HOSTILE[kind], LONGEST // 12))


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_paragraph_twice_as_long_is_split_in_less_than_three_times_the_time(kind: str) -> None:
    assert_linear(read, sizes(HOSTILE[kind], 10_000))
