"""When a session's events go out. Pure: a day's work tests in microseconds.

A call pays for its instructions whatever it is about, so events are gathered: a turn, or as much of one as
fits a prompt, never one tool use.
"""

from __future__ import annotations

from claude_mem.model.jobs import SessionBacklog

ENOUGH_CHARACTERS = 400_000  # a prompt tells about a quarter of it
ENOUGH_EVENTS = 150
IDLE_MS = 10 * 60 * 1000  # longer than a long test run: its turn is not cut in two
LONGEST_HOLD_MS = 24 * 60 * 60 * 1000


def due_at(gathered: SessionBacklog, now: int) -> int:
    """When it goes out: `now`, or a time to look again, unless something arrives before."""
    # Nothing of ours waits longer than a day: a time further ahead is of a clock that has been set back.
    if now < gathered.due_at <= now + LONGEST_HOLD_MS:
        return gathered.due_at
    if gathered.attempts > 0 or gathered.turn_ended:
        return now
    if gathered.characters >= ENOUGH_CHARACTERS or gathered.events >= ENOUGH_EVENTS:
        return now
    # Likewise an event from the future: waiting for its time to come could take years.
    return now if gathered.newest_at > now + IDLE_MS else max(now, gathered.newest_at + IDLE_MS)
