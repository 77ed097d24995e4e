"""The VS Code extension and the example for platforms, in an extension host of our own with a real worker."""

import json
import re
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.worker_client import Worker
from tests.harness import workers
from tests.harness.vscode_host import Host, hosted

import claude_mem
from claude_mem.recall import fence

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "extensions" / "vscode"
MAIN = EXTENSION / "extension.js"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("worker") / "data") as data:
        yield Worker(data)


@pytest.fixture
def shop(request: pytest.FixtureRequest) -> Path:
    """The folder of a window. It need not be there: the editor says what is in its files."""
    return Path("/home/ada", request.node.name)


@pytest.fixture
def host(worker: Worker, shop: Path) -> Iterator[Host]:
    with hosted(MAIN, shop, worker.data, {"claude-mem.idleMinutes": 60}) as host:
        yield host


def sessions(worker: Worker, client: str, cwd: Path | None = None) -> list[dict[str, Any]]:
    query = {"cwd": str(cwd)} if cwd else {}
    found: list[dict[str, Any]] = worker.get("/api/sessions", client=client, **query)["items"]
    return found


def events(worker: Worker, folder: Path) -> list[dict[str, Any]]:
    (session,) = sessions(worker, "vscode", folder)
    found: list[dict[str, Any]] = worker.get(f"/api/session/{session['id']}/events")["items"]
    return found


def test_the_example_for_platforms_works_as_it_stands(worker: Worker, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```js\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    main, folder = tmp_path / "example.js", Path("/home/ada/counter")
    main.write_text(example)
    with hosted(main, folder, worker.data, {}) as host:
        assert host.state["context"] == [""], "a new project has an empty context, and no error is injected"
        host(
            "command",
            id="extension.command",
            args=["Add the number of coins to the till of the harbour shop"],
        )
        host("save", file=str(folder / "coins.ts"), text="export const coins = 3\n")
    (session,) = sessions(worker, "api")
    (prompt,) = worker.get(f"/api/session/{session['id']}")["prompts"]
    assert (prompt["prompt"], session["project"]) == (
        "Add the number of coins to the till of the harbour shop",
        "counter",
    )
    worker.ask("POST", "/api/sessions/summarize", {"claudeSessionId": session["id"]})
    workers.settled(worker.data)
    (observed,) = worker.get(f"/api/session/{session['id']}")["observations"]
    assert observed["files_modified"] == [str(folder / "coins.ts")]
    with hosted(main, folder, worker.data, {}) as host:
        (context,) = host.state["context"]
    assert context.startswith(f"<{fence.TAG}>")
    assert "coins" in context


def test_five_stages_of_a_window_become_a_session_with_memories(
    worker: Worker, shop: Path, host: Host
) -> None:
    file, secret = str(shop / "login.ts"), str(shop / ".env")
    host("open", file=file, text="let a = 1\nlet b = 2\nlet c = 3\n")
    host("open", file=secret, text="")
    host("look", file=file)
    host("look", file=file)
    host("type", text="Refuse empty passwords at the login")
    host("command", id="claude-mem.startTask")
    host("save", file=file, text="let a = 1\nlet b = 'changed'\nlet c = 3\n")
    host("save", file=secret, text="canary-of-the-vault = 1\n")
    host("deactivate")
    (session,) = sessions(worker, "vscode", shop)
    assert (session["status"], session["project"]) == ("completed", shop.name)
    told = events(worker, shop)
    assert [each["tool_name"] for each in told if each["kind"] == "evidence" and each.get("tool_name")] == [
        "FileOpen",
        "FileSave",
        "FileSave",
    ], "a file is reported as opened once"
    saved = next(each for each in told if each.get("tool_name") == "FileSave")
    assert json.loads(saved["tool_input"]) == {
        "file_path": file,
        "old_string": "let b = 2",
        "new_string": "let b = 'changed'",
    }
    assert "canary-of-the-vault" not in json.dumps(told)
    workers.settled(worker.data)
    (observed,) = worker.get(f"/api/session/{session['id']}")["observations"]
    assert "login.ts" in observed["files_modified"][0]
    assert worker.get(f"/api/session/{session['id']}")["summaries"]


def test_a_turn_ends_when_nothing_was_changed_for_a_while(worker: Worker, shop: Path) -> None:
    with hosted(MAIN, shop, worker.data, {"claude-mem.idleMinutes": 0.001}) as host:
        host("open", file=str(shop / "login.ts"), text="let a = 1\n")
        host("command", id="claude-mem.startTask", args=["Refuse passwords"])
        host("save", file=str(shop / "login.ts"), text="let a = 2\n")
        workers.until(
            lambda: [each["status"] for each in sessions(worker, "vscode", shop)] == ["summarizing"],
            "the turn has ended",
        )


def test_memory_is_searched_and_what_a_session_would_be_told_is_shown(
    worker: Worker, shop: Path, host: Host
) -> None:
    worker.post("/api/memory/save", text="Passwords need 12 letters", title="Passwords", cwd=str(shop))
    host("command", id="claude-mem.showContext")
    host("type", text="passwords letters")
    host("command", id="claude-mem.search")
    state = host.state
    context, memory = state["pages"]
    assert context["text"].startswith(f"<{fence.TAG}>")
    assert "Passwords" in context["text"]
    assert "Passwords need 12 letters" in memory["text"]
    assert state["status"][0]["text"] == "$(book) memory: 1"
    assert state["messages"] == []


def test_the_status_bar_shows_that_recording_is_paused(worker: Worker, host: Host) -> None:
    assert worker.ask("POST", "/api/recording", {"paused": True})[0] == 200
    try:
        host("command", id="claude-mem.showContext")
        assert host.state["status"][0]["text"] == "$(debug-pause) memory: 0"
    finally:
        worker.ask("POST", "/api/recording", {"paused": False})


def test_the_chat_answers_with_memory_by_a_model_or_without_one(
    worker: Worker, shop: Path, host: Host
) -> None:
    worker.post("/api/memory/save", text="Passwords need 12 letters", title="Passwords", cwd=str(shop))
    host("chat", id="claude-mem.memory", prompt="How long are passwords here?")
    host("chat", id="claude-mem.memory", prompt="And their letters?", answer="Twelve letters.")
    state = host.state
    assert "Passwords" in state["chat"][0][0]
    assert state["chat"][1] == ["Twelve letters."]
    assert state["asked"][0].startswith(f"<{fence.TAG}>")
    assert state["asked"][-1] == "And their letters?"
    host("deactivate")
    (session,) = sessions(worker, "vscode", shop)
    prompts = worker.get(f"/api/session/{session['id']}")["prompts"]
    assert [each["prompt"] for each in prompts] == ["How long are passwords here?", "And their letters?"]


def test_nothing_is_recorded_outside_the_folder_nor_when_it_is_not_wanted(
    worker: Worker, shop: Path, tmp_path: Path
) -> None:
    with hosted(MAIN, shop, worker.data, {}) as host:
        host("save", file=str(tmp_path / "elsewhere.ts"), text="let a = 1\n")
        host("deactivate")
    with hosted(MAIN, shop, worker.data, {"claude-mem.record": False}) as host:
        host("command", id="claude-mem.startTask", args=["Refuse passwords"])
        host("save", file=str(shop / "login.ts"), text="let a = 2\n")
        host("deactivate")
    assert sessions(worker, "vscode", shop) == []


def test_a_worker_that_is_down_is_started_if_the_command_is_there_and_nothing_is_lost(
    tmp_path: Path, shop: Path
) -> None:
    data, command = tmp_path / "data", tmp_path / "claude-mem"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m claude_mem "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    settings = {"claude-mem.command": str(command)}
    port = {"CLAUDE_MEM_WORKER_PORT": str(workers.free_port())}
    try:
        with hosted(MAIN, shop, data, settings, **port) as host:
            host("command", id="claude-mem.startTask", args=["Refuse passwords"])
            host("save", file=str(shop / "login.ts"), text="let a = 2\n")
            workers.until(lambda: _prompts(data) == ["Refuse passwords"], "it was started and told")
            assert len(host.state["messages"]) == 1
            host("deactivate")
    finally:
        workers.finish(data)


def _prompts(data: Path) -> list[str]:
    if not (data / "claude-mem.db").exists():
        return []
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        try:
            return [row[0] for row in db.execute("SELECT prompt FROM user_prompts")]
        except sqlite3.OperationalError:
            return []  # it is only just made


def test_without_the_command_it_says_so_once_and_the_editor_goes_on(tmp_path: Path, shop: Path) -> None:
    settings = {"claude-mem.command": str(tmp_path / "nowhere")}
    with hosted(MAIN, shop, tmp_path / "data", settings) as host:
        for number in range(3):
            host("save", file=str(shop / "login.ts"), text=f"let a = {number}\n")
        host("command", id="claude-mem.startTask", args=["Refuse passwords"])
        state = host.state
        assert len(state["messages"]) == 1
        assert "circle-slash" in state["status"][0]["text"]
        host("deactivate")
    assert not (tmp_path / "data").exists()


def test_over_tcp_the_token_is_sent(worker: Worker, shop: Path, tmp_path: Path) -> None:
    data = tmp_path / "remote"
    data.mkdir()
    for name in ("worker.json", "token"):  # and no socket
        (data / name).write_bytes((worker.data / name).read_bytes())
    with hosted(MAIN, shop, data, {"claude-mem.command": str(tmp_path / "nowhere")}) as host:
        host("command", id="claude-mem.startTask", args=["Refuse passwords"])
        host("deactivate")
        assert host.state["messages"] == []
    assert [each["status"] for each in sessions(worker, "vscode", shop)] == ["completed"]


def test_its_version_is_ours_and_a_workspace_cannot_name_the_command_it_runs() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    assert manifest["version"] == claude_mem.__version__
    properties = manifest["contributes"]["configuration"]["properties"]
    assert {properties[f"claude-mem.{name}"]["scope"] for name in ("command", "dataDirectory")} == {"machine"}
