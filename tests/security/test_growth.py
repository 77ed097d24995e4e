"""Row 27 of the promises: hostile text costs work in proportion to its length, never its square."""

from __future__ import annotations

import re
from functools import partial

import pytest
from tests.harness.growth import Finish, assert_steps_grow_with_length, many_long_runs, repeated

from claude_mem.privacy import excluded_files, scrub_payload, secret_rules, secrets, suspect, tags

HOSTILE_TAGS = [
    *(
        "<private>",
        "</private>",
        "<private",
        "</private",
        "</private ",
        "<private></private>",
        "<",
        "<<<<<",
        "</",
    ),
    *("private", "<pri<private>x</private>vate>", "</private>x<private>", "&lt;", "&lt;private", "&amp;lt;"),
    *(
        "\\",
        "\\u003c",
        "\\\\\\u003cprivate",
        "\\u003cprivate\\u003e",
        "u003c",
        "<\\/private>",
        " ",
        "İ<private>",
    ),
    *("<system-reminder><private>", "<private><system-reminder></private>"),
]


AROUND_TAGS = (("", ""), ("<private>", ""), ("</private", "private>"))


def test_stripping_tags_takes_steps_in_proportion_to_the_text(subtests: pytest.Subtests) -> None:
    for piece in HOSTILE_TAGS:
        with subtests.test(piece):
            for prefix, suffix in AROUND_TAGS:
                assert_steps_grow_with_length(tags.strip, piece, prefix, suffix)


@pytest.mark.prove
@many_long_runs
def test_many_thousand_characters_of_tags_are_stripped(finish: Finish) -> None:
    for piece in HOSTILE_TAGS:
        for prefix, suffix in AROUND_TAGS:
            finish(tags.strip, piece, prefix, suffix)


# Rows that differ in the keyword alone share their pattern or scanner.
RULES = list({(rule[0], rule[2], rule[3]): rule for rule in secrets.RULES}.values())
PREFIXED = [
    row[2] for row in secret_rules.VENDOR_TOKENS[len(secret_rules.VENDOR_TABLE) :]
]  # all of one shape: some will do
PATTERNS = [rule for rule in RULES if rule[2] and rule[2] not in (*PREFIXED[:40], *PREFIXED[41:])]
SCANNERS = [rule for rule in RULES if not rule[2]]
RUNS = ("a", "A", "0", "-", "_", ".", "=", "/", "eyJ", "\\n", ":", "Aa0", " ")

Rule = tuple[str, str, str, str]
Case = tuple[str, str, str]


def likely_cases(rule: Rule) -> list[Case]:
    """What makes most careless patterns quadratic, each with what stands before and after."""
    _, keyword, _, example = rule
    begun = f"{keyword} {example[: len(example) // 2]}"
    pieces = (keyword, example[: len(example) * 2 // 3])
    return [*((piece, keyword, "") for piece in pieces), *((run, begun, keyword) for run in ("Aa0", "-"))]


def cases(rule: Rule) -> list[Case]:
    _, keyword, _, example = rule
    begun = f"{keyword} {example[: len(example) // 2]}"
    pieces = (keyword + "a", keyword + "=", example, example.upper(), example + " ", *RUNS)
    more = [*((piece, keyword, "") for piece in pieces), *((run, begun, keyword) for run in RUNS)]
    return list(dict.fromkeys(likely_cases(rule) + more))


def test_every_scanner_takes_steps_in_proportion_to_the_text(subtests: pytest.Subtests) -> None:
    for rule in SCANNERS:
        for piece, prefix, suffix in cases(rule):
            with subtests.test(rule[0], keyword=rule[1], piece=piece):
                assert_steps_grow_with_length(partial(secrets.find, rules=(rule,)), piece, prefix, suffix)


@many_long_runs
def test_every_pattern_reads_many_thousand_likely_characters(finish: Finish) -> None:
    for number, rule in enumerate(PATTERNS):
        for piece, prefix, suffix in likely_cases(rule)[number % 3 :: 3]:  # all of them in `make prove`
            finish(partial(secrets.find, rules=(rule,)), piece, prefix, suffix)


@pytest.mark.prove
@many_long_runs
@pytest.mark.parametrize("rules", [RULES[part::12] for part in range(12)], ids=range(12))
def test_every_rule_reads_many_thousand_characters_of_any_kind(finish: Finish, rules: list[Rule]) -> None:
    for rule in rules:
        for piece, prefix, suffix in cases(rule):
            finish(partial(secrets.find, rules=(rule,)), piece, prefix, suffix)


def test_matching_globs_takes_steps_in_proportion_to_the_path(subtests: pytest.Subtests) -> None:
    globs = (*excluded_files.DEFAULT_GLOBS, "*a*a*a*a*a*b", "**/a/**/a/**/a/**/b", "a*?a*?a*?b")
    for piece in ("a", "*", "a/", "/", ".env", " ", ".", "b*", "aab", "**/", "\\"):
        with subtests.test(piece):
            assert_steps_grow_with_length(lambda text: excluded_files.is_excluded(text, globs), piece)
            assert_steps_grow_with_length(lambda text: excluded_files.excluded_word(text, globs), piece)


@many_long_runs
def test_many_thousand_characters_are_judged_suspect_or_not(finish: Finish) -> None:
    for piece in ("://", "://a:", "<private", "\\", "token ", ".env", "x"):
        finish(lambda text: suspect.is_suspect(text.encode()), piece)


HOSTILE_CUTS = [
    *('\\"', "\\\\", "\\u00e9", "\\n", "{", "}", "[", "]", "{}", "[]", ",", ":", "x", " ", '"', "[1,", "[{"),
    *('"a":"b",', '"a",', "1,", "[],", '\\"a\\": {', "\\\\\\u12", '"a":1,'),
]


def test_salvaging_looks_at_each_character_once(subtests: pytest.Subtests) -> None:
    """A token that is begun is taken, so that no search begins in it again."""
    for piece in HOSTILE_CUTS:
        for inside in ('"', "[", "{", ""):
            with subtests.test(piece, inside=inside):
                head = repeated(piece, 12_000, '{"session_id":"s","a":' + inside)
                assert not set('"{}[]') & set(re.sub(scrub_payload.LEXEME, "", head))
                if '"' not in piece.replace('\\"', "") and inside == '"':
                    kept = scrub_payload.salvage(head, "")
                    assert kept is not None
                    assert kept["session_id"] == "s"
