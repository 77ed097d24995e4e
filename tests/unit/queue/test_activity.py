"""The flag that status lines watch: set at a prompt, cleared at the end of the turn, by the events."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events
from tests.harness import hook_process, payloads

from claude_mem.model.events import Kind
from claude_mem.queue.activity import SILENT_MS, ActivityFlag
from claude_mem.serve.services import Services


def flag(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "activity.flag").read_bytes())
    return found


@pytest.fixture
def activity(tmp_path: Path, clock: SettableClock) -> ActivityFlag:
    return ActivityFlag(tmp_path / "activity.flag", clock)


def test_hooks_set_it_at_a_prompt_and_clear_it_at_the_end_of_the_turn(parts: Services, data: Path) -> None:
    for event, active in (
        (payloads.prompt("fix it"), True),
        (payloads.bash("toolu_1"), True),
        (payloads.stop("Done."), False),
    ):
        hook_process.run(data, event)
        parts.intake.drain()
        assert flag(data)["active"] is active
        assert flag(data).get("project") == ("proj" if active else None)
    assert (data / "activity.flag").stat().st_mode & 0o777 == 0o600


def test_a_private_turn_sets_and_clears_it_too(parts: Services, data: Path) -> None:
    hook_process.run(data, payloads.prompt("<private>x</private>"))
    parts.intake.drain()
    assert flag(data)["active"] is True
    hook_process.run(data, payloads.stop("Done."))
    parts.intake.drain()
    assert flag(data)["active"] is False


@pytest.mark.parametrize("end", [Kind.STOP, Kind.STOP_FAILURE, Kind.SESSION_END])
def test_with_two_sessions_it_is_cleared_when_the_last_turn_has_ended(
    tmp_path: Path, activity: ActivityFlag, events: Events, end: Kind
) -> None:
    activity.follow(new_events(events.prompt("a", "one"), events.prompt("b", "two")))
    activity.follow(new_events(events.make(end, "one")))
    assert flag(tmp_path)["active"] is True
    activity.follow(new_events(events.make(end, "two")))
    assert flag(tmp_path)["active"] is False


def test_a_turn_that_was_broken_off_ends_after_a_silence_but_not_one_with_tools_at_work(
    tmp_path: Path, activity: ActivityFlag, events: Events, clock: SettableClock
) -> None:
    activity.follow(new_events(events.prompt("a", "gone"), events.prompt("b", "busy")))
    clock.now += SILENT_MS - 1
    activity.follow(new_events(events.tool("busy")))
    clock.now += 2
    activity.follow(new_events(events.make(Kind.STOP, "busy")))
    assert flag(tmp_path)["active"] is False


def test_what_a_worker_before_left_set_is_cleared_by_the_turns_end(
    tmp_path: Path, activity: ActivityFlag, events: Events
) -> None:
    (tmp_path / "activity.flag").write_text('{"active": true}')
    activity.follow(new_events(events.make(Kind.STOP)))
    assert flag(tmp_path)["active"] is False


def test_it_says_since_when_and_where(tmp_path: Path, activity: ActivityFlag, events: Events) -> None:
    activity.follow(new_events(events.prompt("a")))
    assert flag(tmp_path) == {"active": True, "project": ORIGIN.name, "timestamp": NOON + 1000}


def test_a_directory_that_cannot_be_written_stops_nothing(
    tmp_path: Path, clock: SettableClock, events: Events
) -> None:
    ActivityFlag(tmp_path / "gone" / "activity.flag", clock).follow(new_events(events.prompt("a")))
