"""Changing the embedder as a person does: tried, saved, the worker restarted, all vectors made again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_maintenance import as_data, mem, work
from tests.harness import workers
from tests.harness.commands import Mem
from tests.harness.embedding_models import (
    SIZE,
    EmbeddingServer,
    serving_embeddings,
    write_onnx_folder,
)

PATIENCE_S = 60


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    with workers.running(tmp_path / "data") as data:
        work(data, tmp_path, "s-1", "login")
        yield data


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving_embeddings() as server:
        yield server


def until(data: Path, **expected: object) -> dict[str, Any]:
    """What `embedder status` says once it says this."""
    end = time.monotonic() + PATIENCE_S
    while True:
        done = Mem(data)("embedder", "status", "--json", code=None)
        state: dict[str, Any] = json.loads(done.stdout)
        if expected.items() <= state.items():
            return state
        assert time.monotonic() < end, state
        time.sleep(0.1)  # the worker works in the background, and tells nobody when it is done


def settings(data: Path) -> dict[str, Any]:
    file = data / "settings.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def test_an_address_is_tried_saved_and_all_vectors_are_made_by_it(
    data: Path, server: EmbeddingServer
) -> None:
    told = as_data(data, "embedder", "use", server.url, "--model", "tiny")
    assert told["dimensions"] == SIZE
    assert told["memories"] > 0
    assert settings(data)["CLAUDE_MEM_EMBEDDER"] == server.url
    until(data, waiting=0, state="on", trouble=None)
    assert {body["model"] for _, body, _ in server.requests} == {"tiny"}
    found = as_data(data, "search", "session token")
    assert "vectors" in found["legs"]
    server.status = 500
    found = as_data(data, "search", "session token")
    assert found["legs"] == ["text"]
    assert found["note"]


def test_one_that_does_not_work_changes_nothing(data: Path, server: EmbeddingServer) -> None:
    server.behaviour = "garbage"
    done = mem(data, "embedder", "use", server.url, code=1)
    assert done.stdout == ""
    for wrong, code in (("/nowhere/at/all", 2), ("no-owner", 2), ("ftp://example/v1", 2)):
        mem(data, "embedder", "use", wrong, code=code)
    assert settings(data) == {}
    assert as_data(data, "embedder", "status")["state"] == "on"


def test_what_would_leave_the_machine_is_asked_about(data: Path) -> None:
    mem(data, "embedder", "use", "https://embeddings.example/v1", code=2)
    assert settings(data) == {}


def test_those_to_choose_from_are_listed_with_the_one_in_use(data: Path) -> None:
    items = as_data(data, "embedder", "list")["items"]
    assert [item["embedder"] for item in items if item["in_use"]] == ["static"]


@pytest.mark.prove
def test_a_folder_is_used_and_left_again(data: Path, tmp_path: Path) -> None:
    folder = write_onnx_folder(tmp_path / "model")
    assert as_data(data, "embedder", "use", str(folder))["dimensions"] == SIZE
    state = until(data, waiting=0, state="on", trouble=None)
    assert state["embedder"].startswith("onnx model")
    assert "vectors" in as_data(data, "search", "session token")["legs"]
    as_data(data, "embedder", "use", "static")
    assert settings(data) == {}
    assert until(data, waiting=0, state="on")["embedder"].startswith("wordllama")
