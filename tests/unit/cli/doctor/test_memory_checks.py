"""What doctor says of the exchange with the team."""

from __future__ import annotations

from claude_mem.api.sharing import SharingStatus, WaitingCount
from claude_mem.cli.doctor import memory_checks
from claude_mem.model.clock import DAY_MS
from claude_mem.model.structs import replace

NOON = 1_760_000_000_000
JOINED = SharingStatus(
    joined=True,
    member="ada",
    machine="laptop",
    last_exchange_at=NOON - 5_000,
    expires_at=NOON + 200 * DAY_MS,
    share_when="merged",
    shares_all=False,
    due=0,
    waiting=(),
    forgets=0,
    acknowledgements=0,
    projects=(),
    received=(),
)


def levels(status: SharingStatus | None) -> list[tuple[str, str]]:
    return [(each.check, each.level) for each in memory_checks.judge_team(status, NOON / 1000)]


def test_who_has_joined_no_team_is_told_nothing() -> None:
    assert levels(None) == []
    assert levels(replace(JOINED, joined=False)) == []


def test_an_exchange_that_works_is_ok_also_while_something_waits() -> None:
    assert levels(JOINED) == [("team", "ok")]
    waiting = replace(JOINED, waiting=(WaitingCount("branch fix is not merged into main", 3),))
    assert levels(waiting) == [("team", "ok")]


def test_what_fails_or_has_stopped_is_a_warning() -> None:
    assert levels(replace(JOINED, failing_since=NOON - DAY_MS, error="It is silent.")) == [("team", "warn")]
    assert levels(replace(JOINED, stopped="The key has ended.")) == [("team", "warn")]


def test_a_key_that_ends_soon_is_a_warning_beside_it() -> None:
    assert levels(replace(JOINED, expires_at=NOON + DAY_MS)) == [("team", "ok"), ("team key", "warn")]
