"""The queue's length over a day, and when it is worth an alert."""

from pathlib import Path

import pytest
from tests.unit.serve.faulty_worker import built

from claude_mem.api.system import QueueQuery
from claude_mem.model.structs import replace
from claude_mem.serve import health
from claude_mem.serve.queue_history import EVERY_MS, MOST, Sampler, alert
from claude_mem.serve.services import Running

NOON = 1_760_000_100_000 - 1_760_000_100_000 % EVERY_MS
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
    said = alert(waiting, age_ms, events, minutes) or ""
    assert {name for name in ("EVENTS", "MINUTES") if f"CLAUDE_MEM_QUEUE_ALERT_{name}" in said} == named


def test_of_each_five_minutes_the_longest_queue_is_remembered() -> None:
    history = Sampler()
    for minute, waiting in enumerate((3, 9, 4, 0, 0, 1)):
        history.add(NOON + minute * MINUTE, waiting, waiting * 10)
    assert [(each.at, each.waiting, each.oldest_age_ms) for each in history.samples] == [
        (NOON, 9, 90),
        (NOON + EVERY_MS, 1, 10),
    ]


def test_it_holds_a_day_and_no_more_however_long_the_worker_runs() -> None:
    history = Sampler()
    for step in range(3 * MOST):
        history.add(NOON + step * EVERY_MS, step, 0)
    assert len(history.samples) == MOST
    assert history.as_answer().since == NOON + 2 * MOST * EVERY_MS
    history.add(NOON + 9 * MOST * EVERY_MS, 1, 0)  # after a week without a worker
    assert [each.waiting for each in history.samples] == [1]


def test_a_restart_continues_it_and_a_damaged_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "queue.history"
    before = Sampler(path)
    for step in range(4):
        before.add(NOON + step * EVERY_MS, step, 0)
    after = Sampler(path)
    after.load()
    assert after.samples == before.samples
    path.write_bytes(b'[{"at": "yesterday"}]')
    after = Sampler(path)
    after.load()
    assert after.samples == []
    assert after.as_answer().since is None


def test_a_clock_that_was_set_back_leaves_nothing_in_the_future() -> None:
    history = Sampler()
    history.add(NOON + EVERY_MS, 1, 0)
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
