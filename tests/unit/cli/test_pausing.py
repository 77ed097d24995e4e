"""Doctor on a pause: named as why nothing is recorded, with the way out."""

from claude_mem.cli import pause
from claude_mem.cli.doctor.judge import why_not
from claude_mem.cli.doctor.pausing import judge
from claude_mem.cli.pause import Paused

SINCE = 1_800_000_000.0


def test_a_pause_of_everything_stops_recording() -> None:
    (found,) = judge(Paused(everything=SINCE, sessions=(("s-1", SINCE),)))
    assert (found.level, found.next) == ("bad", "claude-mem on")
    assert why_not([found]) == f"it is paused since {pause.when(SINCE)}"


def test_a_paused_session_is_named_and_stops_nothing_else() -> None:
    (found,) = judge(Paused(sessions=(("s-2", SINCE + 60), ("s-1", SINCE))))
    assert found.level == "ok"
    assert found.says == f"2 sessions paused; the last one, s-2, since {pause.when(SINCE + 60)}"
    assert why_not([found]) is None


def test_without_a_pause_there_is_nothing_to_say() -> None:
    assert judge(Paused()) == []
