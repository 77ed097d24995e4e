from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.jobs import SessionBacklog
from claude_mem.model.structs import replace
from claude_mem.observe.policy import (
    ENOUGH_CHARACTERS,
    ENOUGH_EVENTS,
    IDLE_MS,
    LONGEST_HOLD_MS,
    due_at,
)

NOW = 1_700_000_000_000
SOME = SessionBacklog(1, events=3, characters=900, newest_at=NOW - 1_000, turn_ended=False)


def test_a_few_events_in_the_middle_of_a_turn_wait_until_it_is_quiet() -> None:
    assert due_at(SOME, NOW) == SOME.newest_at + IDLE_MS
    assert due_at(SOME, SOME.newest_at + IDLE_MS - 1) == SOME.newest_at + IDLE_MS
    for later in (0, 1, LONGEST_HOLD_MS):
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
    held = replace(SOME, turn_ended=True, characters=10**9, due_at=NOW + LONGEST_HOLD_MS)
    assert due_at(held, NOW) == NOW + LONGEST_HOLD_MS


def test_a_clock_that_was_set_back_holds_nothing_for_years() -> None:
    assert due_at(replace(SOME, turn_ended=True, due_at=NOW + LONGEST_HOLD_MS + 1), NOW) == NOW
    assert due_at(replace(SOME, newest_at=NOW + LONGEST_HOLD_MS), NOW) == NOW


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
    assert now <= due_at(gathered, now) <= now + LONGEST_HOLD_MS
