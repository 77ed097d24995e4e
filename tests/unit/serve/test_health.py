"""How recall is, as /health and /metrics tell it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.unit.serve import driving
from tests.unit.serve.faulty_worker import built

from claude_mem.api.system import Banner, Health, QueueStatus, RecallProgress
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.structs import replace
from claude_mem.serve import health
from claude_mem.serve.health import banners
from claude_mem.serve.pause_switches import PauseState
from claude_mem.serve.services import Running

STANDING: dict[str, Any] = {
    "index": {"waiting": 3},
    "vectors": {"state": "unavailable", "waiting": 9, "trouble": "Chroma failed.", "embedder": None},
    "context": {"fresh": False},
    "injected": {"SessionStart": {"times": 2, "tokens": 800}, "Other": {"times": 1, "tokens": 5}},
}


PROGRESS = msgspec.convert(STANDING, RecallProgress)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with built(tmp_path) as services:
        yield Running(services)


def recalling(running: Running, found: Callable[[], RecallProgress]) -> Running:
    background: Any = SimpleNamespace(progress=found)
    recall = replace(running.services.recall, background=background)
    running.services = replace(running.services, recall=recall)
    return running


def health_figures(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(health.worker_health(running))
    return found


def test_health_tells_how_far_recall_is_in_the_words_of_the_documents(running: Running) -> None:
    said = health_figures(recalling(running, lambda: PROGRESS))
    assert said["recall"] == STANDING
    assert list(said) == [field.encode_name for field in msgspec.structs.fields(Health)]


def test_a_store_that_is_too_busy_to_say_how_far_recall_is_leaves_health_answering(running: Running) -> None:
    def busy() -> RecallProgress:
        raise StoreUnavailable("database is locked")

    said = health_figures(recalling(running, busy))
    assert (said["status"], said["recall"]) == ("ok", None)


def test_metrics_tell_the_lag_the_state_and_what_was_told(running: Running) -> None:
    lines = health.prometheus(recalling(running, lambda: PROGRESS)).splitlines()
    for line in (
        "claude_mem_index_waiting 3",
        "claude_mem_vectors_waiting 9",
        'claude_mem_vectors_state{state="unavailable"} 1',
        'claude_mem_vectors_state{state="on"} 0',
        "claude_mem_context_fresh 0",
        'claude_mem_injections_total{event="SessionStart"} 2',
        'claude_mem_injections_total{event="PreToolUse"} 0',
        'claude_mem_injected_tokens_total{event="Other"} 5',
    ):
        assert line in lines


def test_health_counts_the_spool_without_a_look_at_each_file(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        driving.spool(tmp_path, number)
    looks: list[object] = []
    look = os.lstat

    def watched(path: Any, **more: Any) -> os.stat_result:
        looks.append(path)
        return look(path, **more)

    monkeypatch.setattr(os, "lstat", watched)
    assert health_figures(running)["queue"]["spooled"] == 3
    assert [path for path in looks if "aaaa" in str(path)] == []


# What the banner says.


NOW = 1_760_000_000_000
QUIET = QueueStatus(spooled=0, ready=0, leased=0, parked=0, done=7, oldest_age_ms=0)


def said(
    *,
    trouble: str | None = None,
    paused: PauseState | None = None,
    observer: dict[str, object] | None = None,
    drops: dict[str, int] | None = None,
    connected: bool = True,
    **queue: Any,
) -> list[Banner]:
    asked = (
        trouble,
        paused or PauseState(),
        observer or {},
        structs.replace(QUIET, **queue),
        drops or {"late": 0},
        NOW,
    )
    return banners(*asked, connected=connected)


def test_nothing_is_said_when_nothing_is_wrong() -> None:
    assert said() == []
    assert said(ready=500, leased=20, oldest_age_ms=3_600_000) == []


def test_each_trouble_has_a_reason_and_a_fix() -> None:
    found = {
        banner.code: banner
        for banner in (
            *said(trouble="The disk is full."),
            *said(paused=PauseState(everything=NOW / 1000 - 300)),
            *said(connected=False),
            *said(observer={"paused": "Log in again."}),
            *said(observer={"spentUp": "Today's budget is spent."}),
            *said(alert="2,000 events are waiting."),
            *said(parked=3),
            *said(parked=3, fallback=3),
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
        "unreadable",
        "dropped",
    }
    assert "The disk is full." in found["degraded"].message
    assert "5 min" in found["paused"].message
    assert (found["unconnected"].level, found["unconnected"].fix) == ("warning", "claude-mem install")
    assert "claude-mem worker restart" in found["out_of_budget"].fix
    assert "Log in again." in found["observer_paused"].message
    assert "2,000 events are waiting." in found["behind"].message
    assert "2 events could not be stored: 2 spool full." in found["dropped"].message
    assert "late" not in found["dropped"].message
    assert all(banner.fix for banner in found.values())


def test_the_worst_comes_first_and_a_cause_is_not_told_twice() -> None:
    both = said(trouble="Gone.", observer={"paused": "Log in."}, alert="9 events are waiting.", parked=1)
    assert [banner.code for banner in both] == ["degraded", "observer_paused", "parked"]


def test_a_paused_session_is_no_banner_for_all() -> None:
    assert said(paused=PauseState(sessions=(("s1", 1.0),))) == []
