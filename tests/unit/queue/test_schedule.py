from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.jobs import SessionBacklog
from claude_mem.model.memory import Broken, Findings, Nothing, Observed, Throttled, Unreadable
from claude_mem.model.structs import replace
from claude_mem.queue.schedule import (
    ENOUGH_CHARACTERS,
    ENOUGH_EVENTS,
    IDLE_MS,
    LONGEST_WAIT_MS,
    LOOK_AGAIN_MS,
    Fallback,
    Park,
    Retry,
    Settle,
    Wait,
    backoff,
    decide,
    due_at,
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


SOME = SessionBacklog(1, events=3, characters=900, newest_at=NOW - 1_000, turn_ended=False)


def test_a_few_events_in_the_middle_of_a_turn_wait_until_it_is_quiet() -> None:
    assert due_at(SOME, NOW) == SOME.newest_at + IDLE_MS
    assert due_at(SOME, SOME.newest_at + IDLE_MS - 1) == SOME.newest_at + IDLE_MS
    for later in (0, 1, LONGEST_WAIT_MS):
        quiet = SOME.newest_at + IDLE_MS + later
        assert due_at(SOME, quiet) == quiet


def test_a_turn_that_ended_goes_out() -> None:
    assert due_at(replace(SOME, turn_ended=True), NOW) == NOW


def test_enough_text_or_enough_events_go_out_before_the_turn_ends() -> None:
    assert due_at(replace(SOME, characters=ENOUGH_CHARACTERS), NOW) == NOW
    assert due_at(replace(SOME, characters=ENOUGH_CHARACTERS - 1, events=ENOUGH_EVENTS - 1), NOW) != NOW
    assert due_at(replace(SOME, events=ENOUGH_EVENTS), NOW) == NOW


def test_a_batch_that_failed_goes_out_again_as_soon_as_it_is_due() -> None:
    failed = replace(SOME, attempts=1, due_at=NOW + 5_000)
    assert due_at(failed, NOW) == NOW + 5_000
    assert due_at(failed, NOW + 5_000) == NOW + 5_000


def test_what_is_not_due_is_held_back_whatever_has_gathered() -> None:
    held = replace(SOME, turn_ended=True, characters=10**9, due_at=NOW + LONGEST_WAIT_MS)
    assert due_at(held, NOW) == NOW + LONGEST_WAIT_MS


def test_a_clock_that_was_set_back_holds_nothing_for_years() -> None:
    assert due_at(replace(SOME, turn_ended=True, due_at=NOW + LONGEST_WAIT_MS + 1), NOW) == NOW
    assert due_at(replace(SOME, newest_at=NOW + LONGEST_WAIT_MS), NOW) == NOW


def test_a_hundred_tool_uses_in_a_row_are_a_handful_of_calls() -> None:
    calls = gathered = 0
    for second in range(100):
        gathered += 1
        waiting = replace(SOME, events=gathered, characters=gathered * 12_000, newest_at=NOW + second * 1_000)
        now = NOW + second * 1_000
        if due_at(replace(waiting, turn_ended=second == 99), now) == now:
            calls, gathered = calls + 1, 0
    assert calls == 3


TIMES = st.integers(min_value=0, max_value=1 << 53)


@given(st.builds(SessionBacklog, st.just(1), TIMES, TIMES, TIMES, st.booleans(), TIMES, TIMES), TIMES)
def test_it_is_never_in_the_past_nor_more_than_a_day_ahead(gathered: SessionBacklog, now: int) -> None:
    assert now <= due_at(gathered, now) <= now + LONGEST_WAIT_MS
