"""An id in a path may contain any character: every route receives it unchanged."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.contracts.worker_client import Worker
from tests.harness import workers

from claude_mem.serve.http.app import TABLE

ODD = (
    "team/alpha",
    "a/events",
    "b/status",
    "/c//",
    "../../health",
    "50% off",
    "d%2Fe",
    "%",
    "what? #1 & more",
    "日本語 é 👩‍👩‍👧",
    "a\\b;c=d",
    "x\ny",
)
WITH_ID = [row for row in TABLE if "{id}" in row.path and not row.is_deep]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("ids") / "data") as data:
        yield Worker(data)


def at(path: str, id: str) -> str:
    return path.replace("{id}", quote(id, safe=""))


@pytest.mark.parametrize("id", ODD)
def test_a_session_is_filled_and_found_by_its_id_on_every_route(worker: Worker, id: str) -> None:
    project = {"project": "odd"}
    posted = (
        ("init", project | {"userPrompt": f"Work on {id}"}),
        ("observations", {"tool_name": "Read", "tool_input": {"file_path": "a.py"}, "tool_response": "x"}),
        ("summarize", {"last_assistant_message": "Done."}),
    )
    for action, body in posted:
        status, answer = worker.ask("POST", at(f"/sessions/{{id}}/{action}", id), body)
        assert status in (200, 202), answer
    assert worker.get(at("/sessions/{id}/status", id))["claudeSessionId"] == id
    assert worker.get(at("/api/session/{id}", id))["session"]["session_id"] == id
    assert worker.get(at("/api/session/{id}/events", id))["session"]["session_id"] == id
    status, answer = worker.ask("DELETE", at("/sessions/{id}", id))
    assert (status, answer["status"]) == (200, "failed")


@pytest.mark.parametrize("id", ["nobody", *(f"no/{id}" for id in ODD)])
def test_an_id_that_nobody_knows_is_not_found_rather_than_no_route(worker: Worker, id: str) -> None:
    for row in WITH_ID:
        if row.method == "POST" and row.id is None:
            continue  # it makes the session
        status, code, _ = worker.refused(row.method, at(row.path, id), {} if row.method == "POST" else None)
        assert status == 404, row.path
        assert code in ("not_found", "unknown_session"), row.path
