"""What the banner says."""

from msgspec import structs

from claude_mem.api.system import Banner, QueueFigures
from claude_mem.serve.banners import BEHIND_MS, banners
from claude_mem.serve.pause_switches import Paused

NOW = 1_760_000_000_000
QUIET = QueueFigures(spooled=0, ready=0, leased=0, parked=0, done=7, oldest_age_ms=0)


def said(
    *,
    trouble: str | None = None,
    paused: Paused | None = None,
    observer: dict[str, object] | None = None,
    drops: dict[str, int] | None = None,
    connected: bool = True,
    **queue: int,
) -> list[Banner]:
    asked = (
        trouble,
        paused or Paused(),
        observer or {},
        structs.replace(QUIET, **queue),
        drops or {"late": 0},
        NOW,
    )
    return banners(*asked, connected=connected)


def test_nothing_is_said_when_nothing_is_wrong() -> None:
    assert said() == []
    assert said(ready=500, leased=20, oldest_age_ms=BEHIND_MS) == []


def test_each_trouble_has_a_reason_and_a_fix() -> None:
    found = {
        banner.code: banner
        for banner in (
            *said(trouble="The disk is full."),
            *said(paused=Paused(everything=NOW / 1000 - 300)),
            *said(connected=False),
            *said(observer={"paused": "Log in again."}),
            *said(observer={"spentUp": "Today's budget is spent."}),
            *said(ready=2_000, oldest_age_ms=2 * BEHIND_MS),
            *said(parked=3),
            *said(drops={"spool_full": 2, "late": 0}),
        )
    }
    assert set(found) == {
        "degraded",
        "paused",
        "unconnected",
        "observer_paused",
        "out_of_budget",
        "behind",
        "parked",
        "dropped",
    }
    assert "The disk is full." in found["degraded"].message
    assert "5 min" in found["paused"].message
    assert (found["unconnected"].level, found["unconnected"].fix) == ("warning", "claude-mem install")
    assert "claude-mem worker restart" in found["out_of_budget"].fix
    assert "Log in again." in found["observer_paused"].message
    assert "2,000 events waiting, the oldest for 2 h" in found["behind"].message
    assert "2 events could not be kept: 2 spool full." in found["dropped"].message
    assert "late" not in found["dropped"].message
    assert all(banner.fix for banner in found.values())


def test_the_worst_comes_first_and_a_cause_is_not_told_twice() -> None:
    both = said(
        trouble="Gone.", observer={"paused": "Log in."}, ready=9, oldest_age_ms=2 * BEHIND_MS, parked=1
    )
    assert [banner.code for banner in both] == ["degraded", "observer_paused", "parked"]


def test_a_paused_session_is_no_banner_for_all() -> None:
    assert said(paused=Paused(sessions=(("s1", 1.0),))) == []
