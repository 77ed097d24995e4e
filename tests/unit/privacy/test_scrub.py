"""One payload, scrubbed of all that must not be kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.privacy import scrub
from claude_mem.privacy.scrub import join_ends, trim

CANARY = "kanarienvogel"
TOKEN = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
CAP = 10_000


def clean(payload: dict[str, object]) -> dict[str, object]:
    return scrub.scrub(payload, field_cap=CAP)[0]


def tool(tool_input: dict[str, object], response: object, **more: object) -> dict[str, object]:
    return {
        "session_id": "s1",
        "tool_name": "Read",
        "tool_input": tool_input,
        "tool_response": response,
        **more,
    }


def test_a_payload_without_anything_to_hide_is_unchanged() -> None:
    payload = tool(
        {"file_path": "/p/a.py"}, {"content": "x = 1\n", "n": 1, "f": 1.5, "b": True, "z": None, "l": []}
    )
    assert scrub.scrub(payload, field_cap=CAP) == (payload, False)


def test_every_string_is_stripped_redacted_and_trimmed_at_any_depth() -> None:
    payload: dict[str, object] = {
        "prompt": f"a <private>{CANARY}</private> b",
        "deep": [{"x": [{"y": f"use {TOKEN} now"}]}],
        "long": "a" * 3 * CAP,
    }
    result, hid_private = scrub.scrub(payload, field_cap=CAP)
    assert result["prompt"] == "a  b"
    assert result["deep"] == [{"x": [{"y": "use [redacted:github-token] now"}]}]
    assert len(str(result["long"])) <= CAP
    assert hid_private


def test_of_a_text_far_over_the_cap_both_ends_are_redacted_and_no_half_of_a_secret_is_left() -> None:
    for offset in range(0, 50, 7):
        filler = "x" * offset + " " + f"{TOKEN} " * 8000
        result, _ = scrub.scrub({"a": f"first {filler} last", "b": 1}, field_cap=3000)
        text = str(result["a"])
        assert text.startswith("first ")
        assert text.endswith(" last")
        assert len(text) <= 3000
        assert "AbCd" not in text


@pytest.mark.parametrize("secret", ["PASSWORD=" + "a1" * 2000, "eyJ" + "a1" * 2000 + ".eyJzdWIiOiIx.c2ln"])
def test_of_a_text_full_of_long_secrets_no_half_of_one_is_left(secret: str) -> None:
    for offset in range(0, 5000, 501):
        filler = "x" * offset + f" {secret}" * 40
        text = str(clean({"a": f"first{filler} last"})["a"])
        assert "a1a1" not in text
        assert text.endswith(" last")


def test_a_private_tag_in_the_middle_of_a_text_far_over_the_cap_hides_its_tail() -> None:
    text = "a " * 100_000 + "<private>" + f"{CANARY} " * 30_000
    result, hid_private = scrub.scrub({"a": text}, field_cap=3000)
    assert CANARY not in str(result)
    assert hid_private


def test_a_list_of_numbers_is_copied() -> None:
    numbers = [1, 2.5, None, True]
    result = clean({"a": numbers})["a"]
    assert result == numbers
    assert result is not numbers


def test_keys_are_scrubbed_too() -> None:
    assert clean({f"k {TOKEN}": 1, f"<private>{CANARY}</private>x": 2}) == {
        "k [redacted:github-token]": 1,
        "x": 2,
    }


def test_the_given_payload_is_not_altered() -> None:
    payload: dict[str, object] = {"a": [f"<private>{CANARY}</private>"]}
    clean(payload)
    assert payload == {"a": [f"<private>{CANARY}</private>"]}


def test_a_reminder_of_the_client_is_removed_but_is_not_private_text() -> None:
    assert scrub.scrub({"prompt": "a<system-reminder>x</system-reminder>b"}, field_cap=CAP) == (
        {"prompt": "ab"},
        False,
    )


def test_a_tag_opened_in_one_line_of_a_list_hides_the_lines_after_it() -> None:
    lines = [" a", "+<private>", f"+{CANARY}", "+</private>", " b"]
    result, hid_private = scrub.scrub({"structuredPatch": [{"lines": lines, "n": 5}]}, field_cap=CAP)
    assert result == {"structuredPatch": [{"lines": [" a", "+", " b"], "n": 5}]}
    assert hid_private


def test_a_tag_left_open_in_a_list_hides_what_follows_in_that_list_and_no_more() -> None:
    payload: dict[str, object] = {
        "blocks": [
            {"text": "<private><private>"},
            7,
            {"text": CANARY},
            f"</private>{CANARY}",
            [CANARY],
            CANARY,
        ],
        "after": "kept",
    }
    result = clean(payload)
    assert CANARY not in json.dumps(result)
    assert result["after"] == "kept"


def test_a_tag_left_open_in_one_field_does_not_hide_the_next() -> None:
    assert clean({"a": "<private>x", "b": "kept"}) == {"a": "", "b": "kept"}


def test_a_private_key_spread_over_the_lines_of_a_list_is_hidden() -> None:
    lines = ["a", "-----BEGIN PRIVATE KEY-----", CANARY, "-----END PRIVATE KEY-----", "b"]
    assert clean({"lines": lines}) == {"lines": ["a", "[redacted:private-key]", "b"]}


def test_lines_that_keep_their_number_keep_their_grouping() -> None:
    assert clean({"l": ["a\nb", f"c {TOKEN}", "d"]}) == {"l": ["a\nb", "c [redacted:github-token]", "d"]}


@pytest.mark.parametrize("key", ["file_path", "path", "notebook_path"])
def test_the_contents_of_an_excluded_file_are_not_recorded(key: str) -> None:
    payload = tool(
        {key: "/p/.env", "old_string": CANARY, "edits": [{"new_string": CANARY}], "limit": 5},
        {"file": {"content": CANARY, "lines": [CANARY], "numLines": 3}},
        error=CANARY,
    )
    hidden = "[excluded: contents of .env]"
    assert clean(payload) == {
        "session_id": "s1",
        "tool_name": "Read",
        "tool_input": {key: "/p/.env", "old_string": hidden, "edits": [{"new_string": hidden}], "limit": 5},
        "tool_response": {"file": {"content": hidden, "lines": [hidden], "numLines": 3}},
        "error": hidden,
    }


@pytest.mark.parametrize("command", ["cat .env", ["bash", "-lc", "cat .env"]])
def test_the_output_of_a_command_that_reads_an_excluded_file_is_not_recorded(command: object) -> None:
    result = clean(tool({"command": command}, {"stdout": CANARY, "interrupted": False}, error=CANARY))
    hidden = "[excluded: contents of .env]"
    assert result["tool_input"] == {"command": command}
    assert result["tool_response"] == {"stdout": hidden, "interrupted": False}
    assert result["error"] == hidden


def test_an_excluded_file_among_a_batch_of_tools_hides_only_its_own_contents() -> None:
    result = clean({"tool_calls": [tool({"path": "/p/.env"}, CANARY), tool({"path": "/p/a"}, "kept")]})
    assert CANARY not in json.dumps(result)
    assert "kept" in json.dumps(result)


def test_a_users_own_globs_and_patterns_are_used() -> None:
    payload = tool({"file_path": "/p/salaries.csv"}, CANARY, prompt="ACME-1234")
    result, _ = scrub.scrub(payload, field_cap=CAP, extra_rules=(("acme", r"ACME-\d+"),), globs=("*.csv",))
    assert result["tool_response"] == "[excluded: contents of salaries.csv]"
    assert result["prompt"] == "[redacted:acme]"


def test_the_example_of_an_env_file_is_recorded() -> None:
    assert clean(tool({"file_path": "/p/.env.example"}, "A=b"))["tool_response"] == "A=b"


def test_the_value_of_a_secret_key_is_redacted_in_parsed_json() -> None:
    assert clean({"env": {"DB_PASSWORD": "hunter2", "API_KEY": "a1b2c3d4e5"}}) == {
        "env": {"DB_PASSWORD": "[redacted:assignment]", "API_KEY": "[redacted:assignment]"}
    }


@pytest.mark.parametrize("key", scrub.IDENTITY_KEYS)
def test_what_identifies_a_session_is_never_redacted(key: str) -> None:
    assert clean({key: f"/p/{TOKEN}"}) == {key: f"/p/{TOKEN}"}
    assert clean({key: f"/p/<private>{CANARY}</private>"}) == {key: "/p/"}


def test_json_of_any_depth_is_scrubbed_without_a_recursion_error() -> None:
    value: object = CANARY
    for level in range(5000):
        value = [value] if level % 2 else {"k": value}
    result = clean({"tool_response": value, "b": 1})
    assert CANARY not in repr(result)
    assert scrub.TOO_DEEP in repr(result)
    hidden = clean(tool({"path": ".env"}, value))
    assert CANARY not in repr(hidden)


def test_what_lies_at_the_deepest_level_allowed_is_kept() -> None:
    value: object = "kept"
    for _ in range(50):
        value = [value]
    assert "kept" in repr(clean({"a": value}))


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\udfff<private>x", "İ" * 10, "\u2028\x1b[0m"])
def test_odd_characters_pass(text: str) -> None:
    assert clean({"a": text, "l": [text, 10**30]})["l"] is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_any_payload_can_be_scrubbed_and_scrubbing_twice_is_scrubbing_once(
    payload: dict[str, object],
) -> None:
    once = clean(payload)
    assert clean(once) == once


# Which part of an over-long string is kept.


def test_a_string_within_the_cap_is_unchanged() -> None:
    assert trim("a" * 100, 100) == "a" * 100


def test_the_head_and_the_tail_are_kept_and_the_rest_is_counted() -> None:
    text = "H" * 500 + "m" * 9000 + "T" * 500
    kept = trim(text, 600)
    head, marker, tail = kept.split("\n")
    assert set(head) == {"H"}
    assert set(tail) == {"T"}
    assert len(head) in range(2 * len(tail), 2 * len(tail) + 3)
    assert marker == f"[… {10_000 - len(head) - len(tail)} characters elided …]"


def test_the_ends_of_a_text_may_be_given_apart() -> None:
    head, marker, tail = join_ends("H" * 50, "T" * 5, 10_000, 100).split("\n")
    assert (set(head), tail) == ({"H"}, "TTTTT")
    assert marker.startswith("[… 99")


def test_a_cap_too_small_for_the_marker_cuts() -> None:
    assert trim("abcdefghij" * 10, 5) == "abcde"
    assert trim("abc", 0) == ""


@given(st.text(max_size=400), st.integers(0, 300))
def test_the_result_is_never_longer_than_the_cap(text: str, cap: int) -> None:
    assert len(trim(text, cap)) <= max(cap, 0)


@given(st.text(max_size=400), st.integers(0, 300))
def test_trimming_twice_is_trimming_once(text: str, cap: int) -> None:
    assert trim(trim(text, cap), cap) == trim(text, cap)
