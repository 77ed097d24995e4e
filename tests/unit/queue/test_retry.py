from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.memory import Broken, Findings, Nothing, Observed, Throttled, Unreadable
from claude_mem.queue.retry import (
    LONGEST_WAIT_MS,
    LOOK_AGAIN_MS,
    Fallback,
    Park,
    Retry,
    Settle,
    Wait,
    backoff,
    decide,
)

NOW = 1_700_000_000_000


def test_what_was_observed_or_declined_is_settled() -> None:
    assert decide(Observed(Findings()), 1, NOW) == Settle()
    assert decide(Nothing(), 3, NOW) == Settle()


def test_a_batchs_failure_is_retried_later_and_later_and_parked_after_three_attempts() -> None:
    first, second = decide(Broken("400"), 1, NOW), decide(Broken("400"), 2, NOW)
    assert isinstance(first, Retry)
    assert isinstance(second, Retry)
    assert NOW < first.until < second.until
    assert decide(Broken("400"), 3, NOW) == Park("400")


def test_a_retry_comes_by_chance_somewhat_later() -> None:
    assert decide(Broken("400"), 1, NOW, 1.0) == Retry(NOW + 7_500, "400")


@given(st.integers(1, 99), st.integers(1, 10_000), st.floats(0, 1))
def test_a_providers_failure_is_waited_for_and_never_counted(
    attempt: int, failures: int, jitter: float
) -> None:
    wait = decide(Broken("500", "provider"), attempt, NOW, jitter, failures=failures)
    assert isinstance(wait, Wait)
    assert wait.until == NOW + min(backoff(failures, jitter), LOOK_AGAIN_MS)
    assert NOW < wait.until <= NOW + LOOK_AGAIN_MS


def test_an_unreadable_reply_is_kept_never_confirmed() -> None:
    assert isinstance(decide(Unreadable("prose"), 1, NOW), Retry)
    assert decide(Unreadable("prose"), 3, NOW) == Fallback("prose")


def test_being_told_to_wait_is_not_a_failed_attempt_however_often() -> None:
    assert decide(Throttled(NOW + 60_000), 99, NOW) == Wait(NOW + 60_000)


@given(st.integers(min_value=0, max_value=1 << 62), st.integers(min_value=0, max_value=1 << 62))
def test_no_clock_makes_a_wait_endless_or_early(until: int, now: int) -> None:
    wait = decide(Throttled(until), 1, now)
    assert isinstance(wait, Wait)
    assert now <= wait.until <= now + LONGEST_WAIT_MS
