"""How recall is, as /health and /metrics tell it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from tests.unit.serve.standin import build

from claude_mem.model.errors import StoreUnavailable
from claude_mem.serve import figures, metrics
from claude_mem.serve.endpoint import Call
from claude_mem.serve.fields import HEALTH
from claude_mem.serve.running import Running
from claude_mem.settings import Settings

STANDING: dict[str, object] = {
    "index": {"waiting": 3},
    "vectors": {"state": "unavailable", "waiting": 9, "trouble": "Chroma failed."},
    "context": {"fresh": False},
    "injected": {"SessionStart": {"times": 2, "tokens": 800}, "Other": {"times": 1, "tokens": 5}},
}


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(build(Settings(tmp_path)))


def recalling(running: Running, found: Callable[[], dict[str, object]]) -> Running:
    running.parts = replace(running.parts, recalling=found)
    return running


def health(running: Running) -> dict[str, Any]:
    call = Call(running, Request({"type": "http"}), {}, {})
    found: dict[str, Any] = json.loads(bytes(asyncio.run(figures.health(call)).body))
    return found


def test_health_tells_how_far_recall_is_in_the_words_of_the_documents(running: Running) -> None:
    said = health(recalling(running, lambda: STANDING))
    assert said["recall"] == STANDING
    assert list(said) == [field.name for field in HEALTH]
    (described,) = [field for field in HEALTH if field.name == "recall"]
    assert list(said["recall"]) == [field.name for field in described.fields]


def test_a_store_that_is_too_busy_to_say_how_far_recall_is_leaves_health_answering(running: Running) -> None:
    def busy() -> dict[str, object]:
        raise StoreUnavailable("database is locked")

    said = health(recalling(running, busy))
    assert (said["status"], said["recall"]) == ("ok", None)


def test_a_worker_that_only_captures_says_nothing_of_recall(running: Running) -> None:
    assert health(running)["recall"] is None
    assert "injections" not in metrics.text(running)


def test_metrics_tell_the_lag_the_state_and_what_was_told(running: Running) -> None:
    lines = metrics.text(recalling(running, lambda: STANDING)).splitlines()
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
