"""What a failed call means, decided by status and type alone."""

from __future__ import annotations

from email.utils import formatdate
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.http_client import Trouble, Unreached
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Broken, Failure, Paused, Throttled
from claude_mem.providers.failure import (
    DEFAULT_WAIT_MS,
    LONGEST_WAIT_MS,
    SHORTEST_WAIT_MS,
    Refused,
    Target,
    Unusable,
    classify,
    wait_until,
)

NOON = 1_760_000_000_000
ASKED = Target("The Anthropic API", "claude-haiku-4-5", "The Anthropic API key", "Set ANTHROPIC_API_KEY")


def meaning(status: int, type: str | None = None, retry_after: str | None = None) -> Failure:
    return classify(Refused(status, type, retry_after), ASKED, now=NOON, jitter=0.25)


def test_retry_after_in_seconds_is_obeyed() -> None:
    assert meaning(429, retry_after="30") == Throttled(NOON + 30_000)


def test_retry_after_as_a_date_is_obeyed() -> None:
    assert meaning(429, retry_after=formatdate(NOON / 1000 + 90, usegmt=True)) == Throttled(NOON + 90_000)


def test_without_retry_after_the_wait_is_a_minute_and_a_jitter() -> None:
    assert meaning(429) == Throttled(NOON + 75_000)


def test_retry_after_zero_is_no_licence_to_storm() -> None:
    assert meaning(429, retry_after="0") == Throttled(NOON + SHORTEST_WAIT_MS)


def test_a_date_in_the_past_still_waits_a_moment() -> None:
    assert meaning(429, retry_after=formatdate(0, usegmt=True)) == Throttled(NOON + SHORTEST_WAIT_MS)


def test_nobody_waits_more_than_a_day() -> None:
    assert meaning(429, retry_after="99999999") == Throttled(NOON + LONGEST_WAIT_MS)


@given(
    st.text() | st.none() | st.from_regex(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{1,6} .*"), st.floats(0, 1)
)
def test_whatever_retry_after_says_the_wait_is_bounded(retry_after: str | None, jitter: float) -> None:
    wait = wait_until(retry_after, now=NOON, jitter=jitter) - NOON
    assert SHORTEST_WAIT_MS <= wait <= LONGEST_WAIT_MS


def test_clients_that_were_told_nothing_do_not_come_back_together() -> None:
    waits = {wait_until(None, now=NOON, jitter=n / 10) for n in range(10)}
    assert len(waits) == 10
    assert min(waits) >= NOON + DEFAULT_WAIT_MS


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_pauses_with_what_to_do(status: int) -> None:
    outcome = meaning(status)
    assert isinstance(outcome, Paused)
    assert str(status) in outcome.reason
    assert "Set ANTHROPIC_API_KEY" in outcome.reason


def test_an_unknown_model_pauses_and_names_the_setting() -> None:
    outcome = meaning(404)
    assert isinstance(outcome, Paused)
    assert "'claude-haiku-4-5'" in outcome.reason
    assert "CLAUDE_MEM_MODEL" in outcome.reason


def test_an_empty_purse_pauses() -> None:
    assert isinstance(meaning(402), Paused)


def test_a_server_that_moved_pauses() -> None:
    assert isinstance(meaning(301), Paused)


@pytest.mark.parametrize("status", [400, 413])
def test_what_may_be_too_long_is_broken_and_says_so(status: int) -> None:
    outcome = meaning(status)
    assert isinstance(outcome, Broken)
    assert "too long" in outcome.reason
    assert outcome.at_fault == "batch"


@pytest.mark.parametrize("status", [409, 418, 422])
def test_all_other_refusals_are_the_batchs_with_their_number(status: int) -> None:
    outcome = meaning(status, "invalid_request_error")
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == "batch"
    assert f"{status}, invalid_request_error" in outcome.reason


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 529, 599])
def test_a_server_in_trouble_is_the_providers_with_its_number(status: int) -> None:
    outcome = meaning(status, "overloaded_error")
    assert isinstance(outcome, Broken)
    assert outcome.at_fault == "provider"
    assert f"{status}, overloaded_error" in outcome.reason


@pytest.mark.parametrize("type", ["sk-ant-12345", "the prompt said: hello", "a" * 41, "Émile", "x_\n", ""])
def test_only_what_looks_like_an_errors_name_is_repeated(type: str) -> None:
    assert meaning(500, type) == meaning(500, None)


@pytest.mark.parametrize("trouble", get_args(Trouble))
def test_the_wire_s_troubles_are_the_providers_in_plain_words(trouble: Trouble) -> None:
    outcome = classify(Unreached(trouble), ASKED, now=NOON, jitter=0)
    answered = trouble == "sent more than 4 MiB"
    assert outcome == Broken(f"The Anthropic API {trouble}.", "batch" if answered else "provider")


def test_what_is_no_reply_is_the_batchs_in_plain_words_with_what_it_cost() -> None:
    paid = CallCost("anthropic", "claude-haiku-4-5", 10)
    outcome = classify(Unusable("an empty reply", paid), ASKED, now=NOON, jitter=0)
    assert isinstance(outcome, Broken)
    assert (outcome.at_fault, outcome.spend) == ("batch", paid)
    assert "an empty reply" in outcome.reason
