"""What is seen becomes one short line."""

from typing import Any

import pytest

from claude_mem.cli import status
from claude_mem.cli.status import QuickStatus, status_line

NOW = 1_800_000_000.0


def seen(**differences: Any) -> QuickStatus:
    found = QuickStatus()
    found.worker = status.AWAKE
    for name, value in differences.items():
        assert hasattr(found, name)
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (seen(), "mem ●"),
        (seen(queued=3, usd=0.021, tokens=900), "mem ● 3 queued · $0.02 today"),
        (seen(observer="claude", queued=2), "mem ● claude · 2 queued"),
        (seen(queued=1200, parked=2), "mem ◐ 1,200 queued · 2 failed"),
        (seen(parked=6, fallback=4), "mem ◐ replies unreadable: 4 processed offline · 2 failed"),
        (
            seen(parked=4, fallback=4, observer="openai"),
            "mem ◐ openai · replies unreadable: 4 processed offline",
        ),
        (seen(usd=0.0, tokens=0), "mem ●"),
        (seen(usd=2.0, tokens=9, spent_up=True), "mem ● $2.00 today · budget used up"),
        (seen(worker=status.ASLEEP), "mem ● worker asleep"),
        (seen(worker=status.BUSY, queued=2), "mem ● 2 queued · worker busy"),
        (seen(paused="CLAUDE_MEM_OFF"), "mem ○ off"),
        (seen(paused="off/all", since=NOW - 3 * 3600), "mem ○ off · 3 h"),
        (seen(paused="off/s-1", since=NOW - 180), "mem ○ off for this session · 3 min"),
        (seen(problem="disk full", queued=3), "mem ! not recording: disk full"),
        (seen(hindered="Log in again:\n run claude"), "mem ! not remembering: Log in again: run claude"),
    ],
)
def test_a_line_says_what_matters_most(found: QuickStatus, line: str) -> None:
    assert status_line(found, NOW) == line


def test_a_long_reason_does_not_make_a_long_line() -> None:
    line = status_line(seen(hindered="the provider says " + "no " * 100), NOW)
    assert len(line) <= 90
    assert line.endswith("…")
