from itertools import pairwise
from pathlib import Path

import pytest

from claude_mem.serve import replacement
from claude_mem.serve.replacement import HONOURED_MS, Handover

NOW = 1_760_000_000_000

ASCENDING = (
    "0.9.0.dev1",
    "0.9.0a1",
    "0.9.0",
    "0.9.1",
    "0.10.0",
    "1.0.0.dev3",
    "1.0.0a1",
    "1.0.0b2",
    "1.0.0rc1.dev1",
    "1.0.0rc1",
    "1.0.0rc2",
    "1.0.0",
    "1.0.0.post1",
    "1.0.1",
    "2024.1",
)
GARBAGE = (
    "",
    "latest",
    "1.",
    ".1",
    "1.0.0-beta",
    "v1.0",
    "1.0.0\n",
    "٣.0",
    "9" * 400,
    "1.0 ; rm",
    "-1.0",
    "1e9",
)


@pytest.mark.parametrize(("older", "newer"), list(pairwise(ASCENDING)))
def test_versions_sort_as_packaging_sorts_them(older: str, newer: str) -> None:
    assert replacement.is_newer(newer, than=older)
    assert not replacement.is_newer(older, than=newer)


@pytest.mark.parametrize(("one", "other"), [("1.0", "1.0.0"), ("1.0.0", "1.0.0+local.1"), ("0", "0.0")])
def test_equal_versions_are_not_newer_than_each_other(one: str, other: str) -> None:
    assert not replacement.is_newer(one, than=other)
    assert not replacement.is_newer(other, than=one)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_never_causes_a_handover(garbage: str) -> None:
    assert replacement.version_order(garbage) is None
    assert not replacement.should_hand_over("0.0.1", garbage, None, NOW)
    assert not replacement.should_hand_over(garbage, "9.0.0", None, NOW)
    assert not replacement.must_yield("0.0.1", Handover(garbage, NOW), NOW)


def test_only_a_newer_hook_causes_a_handover() -> None:
    assert replacement.should_hand_over("0.9.0", "0.10.0", None, NOW)
    assert not replacement.should_hand_over("0.10.0", "0.10.0", None, NOW)
    assert not replacement.should_hand_over("0.10.0", "0.9.0", None, NOW)


def test_an_older_worker_that_a_person_started_after_the_handover_is_left_alone() -> None:
    last = Handover("0.10.0", NOW)
    assert not replacement.should_hand_over("0.9.0", "0.10.0", last, NOW + 1)
    assert replacement.should_hand_over("0.9.0", "0.11.0", last, NOW + 1), (
        "a still newer one is another matter"
    )
    assert replacement.should_hand_over("0.9.0", "0.10.0", last, NOW + HONOURED_MS)


def test_an_older_worker_started_by_a_hook_stays_away_for_an_hour() -> None:
    last = Handover("0.10.0", NOW)
    assert replacement.must_yield("0.9.0", last, NOW)
    assert replacement.must_yield("0.9.0", last, NOW + HONOURED_MS - 1)
    assert not replacement.must_yield("0.9.0", last, NOW + HONOURED_MS)
    assert not replacement.must_yield("0.10.0", last, NOW)
    assert not replacement.must_yield("0.9.0", None, NOW)


def test_a_record_from_the_future_keeps_nobody_away() -> None:
    assert not replacement.must_yield("0.9.0", Handover("0.10.0", NOW + 1), NOW)


def test_the_record_is_read_back_and_a_damaged_one_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "handover.json"
    assert replacement.read_handover(path) is None
    replacement.write_handover(path, Handover("1.0.0", NOW))
    assert replacement.read_handover(path) == Handover("1.0.0", NOW)
    for damaged in (
        b"",
        b"{",
        b"[]",
        b'{"to":1,"at":2}',
        b'{"to":"1.0"}',
        b'{"to":"1.0","at":true}',
        b"[" * 9999,
    ):
        path.write_bytes(damaged)
        assert replacement.read_handover(path) is None
