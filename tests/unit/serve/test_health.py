"""How recall is, as /health and /metrics tell it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.unit.serve import worker_driver
from tests.unit.serve.faulty_worker import built

from claude_mem.api.system import Banner, Health, QueueQuery, QueueStatus, RecallProgress
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.structs import replace
from claude_mem.serve import health
from claude_mem.serve.data_dir import PauseState
from claude_mem.serve.health import banners
from claude_mem.serve.services import MOST_SAMPLES, SAMPLE_EVERY_MS, QueueSampler, Running

STANDING: dict[str, Any] = {
    "index": {"waiting": 3},
    "vectors": {
        "state": "unavailable",
        "waiting": 9,
        "trouble": "Chroma failed.",
        "embedder": None,
        "pgvector": None,
    },
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
        worker_driver.spool(tmp_path, number)
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


NOON = 1_760_000_100_000 - 1_760_000_100_000 % SAMPLE_EVERY_MS
MINUTE = 60_000


@pytest.mark.parametrize(
    ("waiting", "age_ms", "events", "minutes", "named"),
    [
        (2_000, 60 * MINUTE, 2_000, 60, set()),
        (2_001, 0, 2_000, 60, {"EVENTS"}),
        (1, 60 * MINUTE + 1, 2_000, 60, {"MINUTES"}),
        (2_001, 61 * MINUTE, 2_000, 60, {"EVENTS", "MINUTES"}),
        (10**6, 10**9, 0, 0, set()),
    ],
)
def test_an_alert_names_the_setting_that_was_passed(
    waiting: int, age_ms: int, events: int, minutes: int, named: set[str]
) -> None:
    said = health.queue_alert(waiting, age_ms, events, minutes) or ""
    assert {name for name in ("EVENTS", "MINUTES") if f"CLAUDE_MEM_QUEUE_ALERT_{name}" in said} == named


def test_of_each_five_minutes_the_longest_queue_is_remembered() -> None:
    history = QueueSampler()
    for minute, waiting in enumerate((3, 9, 4, 0, 0, 1)):
        history.add(NOON + minute * MINUTE, waiting, waiting * 10)
    assert [(each.at, each.waiting, each.oldest_age_ms) for each in history.samples] == [
        (NOON, 9, 90),
        (NOON + SAMPLE_EVERY_MS, 1, 10),
    ]


def test_it_holds_a_day_and_no_more_however_long_the_worker_runs() -> None:
    history = QueueSampler()
    for step in range(3 * MOST_SAMPLES):
        history.add(NOON + step * SAMPLE_EVERY_MS, step, 0)
    assert len(history.samples) == MOST_SAMPLES
    assert history.as_answer().since == NOON + 2 * MOST_SAMPLES * SAMPLE_EVERY_MS
    history.add(NOON + 9 * MOST_SAMPLES * SAMPLE_EVERY_MS, 1, 0)  # after a week without a worker
    assert [each.waiting for each in history.samples] == [1]


def test_a_restart_continues_it_and_a_damaged_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "queue.history"
    before = QueueSampler(path)
    for step in range(4):
        before.add(NOON + step * SAMPLE_EVERY_MS, step, 0)
    after = QueueSampler(path)
    after.load()
    assert after.samples == before.samples
    path.write_bytes(b'[{"at": "yesterday"}]')
    after = QueueSampler(path)
    after.load()
    assert after.samples == []
    assert after.as_answer().since is None


def test_a_clock_that_was_set_back_leaves_nothing_in_the_future() -> None:
    history = QueueSampler()
    history.add(NOON + SAMPLE_EVERY_MS, 1, 0)
    history.add(NOON, 2, 0)
    assert [each.at for each in history.samples] == [NOON]


def test_the_worker_samples_its_queue_and_serves_it_with_the_alert(tmp_path: Path) -> None:
    with built(tmp_path) as services:
        chosen = replace(services.settings, queue_alert_events=2)
        running = Running(replace(services, settings=chosen))
        for number in range(3):
            services.intake.receive(
                "PostToolUse", {"session_id": "s1", "tool_name": "Read", "tool_use_id": f"t{number}"}
            )
            health.sample_queue(running)
        page = health.queue_page(running, QueueQuery())
        assert page.history.samples[-1].waiting == 3
        assert "CLAUDE_MEM_QUEUE_ALERT_EVENTS" in (page.alert or "")
        assert "claude_mem_queue_alert 1" in health.prometheus(running).splitlines()
        assert [banner.code for banner in health.worker_state(running).banners] == ["behind"]
        found = health.worker_health(running)
        assert found.queue
        assert found.queue.alert == page.alert
