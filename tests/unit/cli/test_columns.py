"""Memory quotes what others wrote: on a screen it takes the room it was given, and does nothing."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.cli.columns import clean, fit, pad, width, wrap


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本語", 6), ("e\u0301", 1), ("naïve", 5), ("\N{ROCKET}", 2)]
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x", "x"),
        ("\x9b2Jclear", "clear"),
        ("a\x00b\x07c\x7f", "abc"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("one\r\ntwo", "one\ntwo"),
        ("tab\tbed", "tab bed"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


@given(st.text())
def test_nothing_that_is_left_can_steer_a_terminal(text: str) -> None:
    kept = clean(text)
    assert not [char for char in kept if char != "\n" and unicodedata.category(char) == "Cc"]
    assert "\u202e" not in kept


def test_what_does_not_fit_ends_in_an_ellipsis() -> None:
    assert fit("one two three", 8) == "one two…"
    assert fit("日本語日本語", 7) == "日本語…"
    assert fit("one\n two", 20) == "one two"


@given(st.text(), st.integers(2, 40))
def test_a_line_never_takes_more_columns_than_it_was_given(text: str, columns: int) -> None:
    assert width(fit(text, columns)) <= columns
    assert width(pad(fit(text, columns), columns)) == columns


@given(st.text(), st.integers(20, 60))
def test_wrapped_lines_stay_within_their_columns_and_lose_no_word(text: str, columns: int) -> None:
    lines = wrap(text, columns, "  ")
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())
