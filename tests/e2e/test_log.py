"""The worker's log: from a hook's event, or an HTTP answer, to the batch it became part of."""

from __future__ import annotations

import http.client
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.harness import hook_process, workers
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

from claude_mem.serve import control

SAID = "Quetzalcoatlus"
TURN: dict[str, dict[str, object]] = {
    "UserPromptSubmit": {"prompt": f"Fix the {SAID}."},
    "PostToolUse": {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": f"cat {SAID}"}},
    "Stop": {"last_assistant_message": f"{SAID} is fixed."},
}


def log_of(data: Path) -> str:
    return (data / "logs/worker.log").read_text()


def batches(data: Path) -> list[dict[str, str]]:
    found = re.findall(r"claude_mem\.queue: (batch=\d+ session=.*)", log_of(data))
    return [dict(field.split("=") for field in line.split()) for line in found]


def hook(data: Path, event: str, more: dict[str, object]) -> None:
    payload = {"session_id": "s1", "cwd": "/", "hook_event_name": event} | more
    assert hook_process.run(data, json.dumps(payload).encode()).code == 0


def post(data: Path, path: str, body: object) -> tuple[int, str, dict[str, object]]:
    """Status, X-Request-Id and answer, over TCP."""
    found = json.loads((data / "worker.json").read_bytes())
    connection = http.client.HTTPConnection("127.0.0.1", found["port"], timeout=workers.PATIENCE_S)
    token = (data / "token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(connection):
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["X-Request-Id"], json.loads(answer.read())


def test_a_hooks_event_and_an_http_answer_can_be_followed_to_their_batch(data: Path) -> None:
    with workers.running(data, CLAUDE_MEM_LOG_LEVEL="DEBUG"):
        for event, more in TURN.items():
            hook(data, event, more)
        session = {"claudeSessionId": "s2", "cwd": "/"}
        post(data, "/api/sessions/init", session | {"prompt": f"And the {SAID}?"})
        used = {"tool_name": "Bash", "tool_input": {"command": SAID}}
        _, of_tool, _ = post(data, "/api/sessions/observations", session | used)
        _, of_stop, _ = post(data, "/api/sessions/summarize", session | {"last_assistant_message": SAID})
        workers.settled(data)
        workers.until(lambda: len(batches(data)) >= 2, "both batches are in the log")
        by_last = {each["last"]: each for each in batches(data)}
        (of_api,) = [each for last, each in by_last.items() if of_stop in last]
        assert of_api["outcome"] == "stored"
        holds = re.findall(r"batch=(\d+) holds (.*)", log_of(data))
        (held,) = [ids for number, ids in holds if number == of_api["batch"]]
        assert of_tool in held
        assert f"request={of_tool}" in log_of(data)  # the request's own line
        with closing(sqlite3.connect(data / "claude-mem.db")) as db:
            (spooled,) = db.execute(
                "SELECT event_id FROM pending_messages WHERE kind = 'stop' AND event_id NOT LIKE 'api-%'"
            ).fetchone()
        assert by_last[spooled]["events"] == "3"
        assert f"event={spooled} kind=stop session={by_last[spooled]['session']}" in log_of(data)
    assert SAID not in log_of(data)


def test_an_unreadable_reply_leaves_a_line_each_time_and_not_its_words(data: Path) -> None:
    with (
        ModelServer([Say(f"I like {SAID}.")] * 9) as server,
        workers.running(data, **workers.asking(server.url)),
    ):
        for event, more in TURN.items():
            hook(data, event, more)
        workers.until(lambda: bool(batches(data)), "the first reply is in the log")
        (first, *_) = batches(data)
        assert (first["outcome"], first["cause"]) == ("retry", "unreadable")
        assert first["provider"] == "anthropic:scripted"
    assert SAID not in log_of(data)


def test_an_error_of_ours_leaves_a_line_with_the_id_that_its_answer_carries(data: Path) -> None:
    with workers.running(data):
        (data / "claude-mem.db").chmod(0o600)
        with closing(sqlite3.connect(data / "claude-mem.db", isolation_level=None)) as db:
            # What the worker wants to write is refused by the database itself, as by a full disk.
            db.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON pending_messages "
                f"BEGIN SELECT RAISE(ABORT, 'no room for {SAID}'); END"
            )
        status, id, answer = post(
            data, "/api/sessions/observations", {"claudeSessionId": "s3", "tool_name": "Bash", "cwd": "/"}
        )
        assert status >= 500, answer
        workers.until(lambda: f"request={id}" in log_of(data), "the error is in the log")
    (line,) = [each for each in log_of(data).splitlines() if f"request={id}" in each]
    assert "SQLITE_CONSTRAINT_TRIGGER" in line
    assert SAID not in log_of(data)


def test_every_answer_carries_an_id_of_its_own(data: Path) -> None:
    with workers.running(data):
        ids = [post(data, path, {})[1] for path in ("/health", "/nowhere", "/api/sessions/init")]
        with control.streamed(data, "GET", "/health") as answer:
            ids.append(answer.headers["X-Request-Id"])
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{12}", id) for id in ids)
