"""How many realistic secrets are hidden, by group, and how many look-alikes are not.

`benchmarks/secret_corpus.py` prints the same as a table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from tests.harness import payloads
from tests.harness.secret_corpus.cases import Case, lookalikes, secret_cases

from claude_mem.privacy import scrub, secret_rules, secrets, suspect

CASES = secret_cases(rounds=1)
LEAST, LEAST_OF_A_GROUP, MOST_LOOKALIKES = 0.95, 0.92, 0.03


def kept(text: str) -> str:
    """What a hook would store of a tool's output."""
    if not suspect.is_suspect(payloads.bash("toolu_1", stdout=text)):
        return text
    clean, _ = scrub.scrub({"tool_response": {"stdout": text}}, field_cap=1 << 20)
    response = clean["tool_response"]
    assert isinstance(response, dict)
    return str(response["stdout"])


def share(cases: list[Case]) -> float:
    return sum(not case.leaks(kept(case.text)) for case in cases) / len(cases)


def test_nearly_all_secrets_of_every_group_are_hidden(subtests: pytest.Subtests) -> None:
    for group in dict.fromkeys(case.group for case in CASES):
        with subtests.test(group):
            assert share([case for case in CASES if case.group == group]) >= LEAST_OF_A_GROUP
    assert share(CASES) >= LEAST


def test_templates_that_the_rules_were_not_written_with_are_hidden_as_well() -> None:
    assert share([case for case in CASES if case.held_out]) >= LEAST


def test_lookalikes_are_left_alone() -> None:
    texts = lookalikes()
    changed = [text for text in texts if kept(text) != text]
    assert len(changed) <= MOST_LOOKALIKES * len(texts), changed


def test_scrubbing_a_secret_twice_is_scrubbing_it_once(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case.text):
            once = secrets.redact(case.text)
            assert secrets.redact(once) == once


@pytest.mark.prove
def test_a_secret_in_other_surroundings_is_hidden_as_well() -> None:
    """In JSON, in JSON within JSON, as a line of a file, between others, after colors."""
    around: dict[str, Callable[[str], str]] = {
        "JSON": json.dumps,
        "JSON in JSON": lambda text: json.dumps({"body": json.dumps({"text": text})}),
        "a line": lambda text: f"first line\n{text}\nlast line",
        "quoted in Markdown": lambda text: f"> {text}",
        "an indented block": lambda text: "    " + text.replace("\n", "\n    "),
    }
    hidden: Counter[str] = Counter()
    for name, mutate in around.items():
        hidden[name] = sum(not case.leaks(kept(mutate(case.text))) for case in CASES)
    assert min(hidden.values()) >= 0.85 * len(CASES), hidden


# They may hide what any row does.
GENERAL = frozenset(
    ("assignment", "prefixed-token", "sk-key", "url-signature", "command-login", "call-login")
)


def test_without_its_row_an_example_is_not_hidden(subtests: pytest.Subtests) -> None:
    """A row that others make superfluous is one too many."""
    rows = (*secret_rules.VENDOR_TOKENS, *secret_rules.CREDENTIAL_FILES, *secret_rules.CREDENTIAL_COMMANDS)
    for name, keywords, pattern, example in rows:
        with subtests.test(name, keywords=keywords):
            own = secrets.find(example, tuple(rule for rule in secrets.RULES if rule[2] == pattern))
            others = tuple(rule for rule in secrets.RULES if rule[2] != pattern and rule[0] not in GENERAL)
            rest = secrets.find(example, others)
            assert own
            assert not all(any(a <= start and end <= b for a, b, _ in rest) for start, end, _ in own)
