"""How recall is, as /health and /metrics tell it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.serve.standin import build

from claude_mem.api.system import Health
from claude_mem.model.errors import StoreUnavailable
from claude_mem.serve import status
from claude_mem.serve.services import Running
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
    running.services = replace(running.services, recalling=found)
    return running


def health(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(status.health(running))
    return found


def test_health_tells_how_far_recall_is_in_the_words_of_the_documents(running: Running) -> None:
    said = health(recalling(running, lambda: STANDING))
    assert said["recall"] == STANDING
    assert list(said) == [field.encode_name for field in msgspec.structs.fields(Health)]


def test_a_store_that_is_too_busy_to_say_how_far_recall_is_leaves_health_answering(running: Running) -> None:
    def busy() -> dict[str, object]:
        raise StoreUnavailable("database is locked")

    said = health(recalling(running, busy))
    assert (said["status"], said["recall"]) == ("ok", None)


def test_metrics_tell_the_lag_the_state_and_what_was_told(running: Running) -> None:
    lines = status.prometheus(recalling(running, lambda: STANDING)).splitlines()
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
