from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.jobs import SessionBacklog
from claude_mem.model.structs import replace
from claude_mem.observe.policy import (
    ENOUGH_CHARACTERS,
    ENOUGH_EVENTS,
    IDLE_MS,
    LONGEST_HOLD_MS,
    Go,
    Later,
    decide,
)

NOW = 1_700_000_000_000
SOME = SessionBacklog(
    1, events=3, characters=900, oldest_at=NOW - 5_000, newest_at=NOW - 1_000, turn_ended=False
)


def test_a_few_events_in_the_middle_of_a_turn_wait_until_it_is_quiet() -> None:
    assert decide(SOME, NOW) == Later(SOME.newest_at + IDLE_MS)
    assert decide(SOME, SOME.newest_at + IDLE_MS - 1) == Later(SOME.newest_at + IDLE_MS)
    assert decide(SOME, SOME.newest_at + IDLE_MS) == Go()


def test_a_turn_that_ended_goes_out() -> None:
    assert decide(replace(SOME, turn_ended=True), NOW) == Go()


def test_enough_text_or_enough_events_go_out_before_the_turn_ends() -> None:
    assert decide(replace(SOME, characters=ENOUGH_CHARACTERS), NOW) == Go()
    assert decide(replace(SOME, characters=ENOUGH_CHARACTERS - 1, events=ENOUGH_EVENTS - 1), NOW) != Go()
    assert decide(replace(SOME, events=ENOUGH_EVENTS), NOW) == Go()


def test_a_batch_that_failed_goes_out_again_as_soon_as_it_is_due() -> None:
    failed = replace(SOME, attempts=1, due_at=NOW + 5_000)
    assert decide(failed, NOW) == Later(NOW + 5_000)
    assert decide(failed, NOW + 5_000) == Go()


def test_what_is_not_due_is_held_back_whatever_has_gathered() -> None:
    held = replace(SOME, turn_ended=True, characters=10**9, due_at=NOW + LONGEST_HOLD_MS)
    assert decide(held, NOW) == Later(NOW + LONGEST_HOLD_MS)


def test_a_clock_that_was_set_back_holds_nothing_for_years() -> None:
    assert decide(replace(SOME, turn_ended=True, due_at=NOW + LONGEST_HOLD_MS + 1), NOW) == Go()
    assert decide(replace(SOME, newest_at=NOW + LONGEST_HOLD_MS), NOW) == Go()


def test_a_hundred_tool_uses_in_a_row_are_a_handful_of_calls() -> None:
    calls = gathered = 0
    for second in range(100):
        gathered += 1
        waiting = replace(SOME, events=gathered, characters=gathered * 12_000, newest_at=NOW + second * 1_000)
        if decide(replace(waiting, turn_ended=second == 99), NOW + second * 1_000) == Go():
            calls, gathered = calls + 1, 0
    assert calls == 3


TIMES = st.integers(min_value=0, max_value=1 << 53)


@given(st.builds(SessionBacklog, st.just(1), TIMES, TIMES, TIMES, TIMES, st.booleans(), TIMES, TIMES), TIMES)
def test_later_is_always_ahead_and_never_more_than_a_day(gathered: SessionBacklog, now: int) -> None:
    decision = decide(gathered, now)
    if isinstance(decision, Later):
        assert now < decision.at <= now + LONGEST_HOLD_MS
