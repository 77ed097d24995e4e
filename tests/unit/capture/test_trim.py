"""Which part of an over-long string is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claude_mem.capture.trim import join, trim


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
    head, marker, tail = join("H" * 50, "T" * 5, 10_000, 100).split("\n")
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
