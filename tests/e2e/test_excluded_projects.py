"""Excluded projects: their hooks write nothing, their sessions are told nothing, and the worker takes
nothing of them in whoever reports it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.harness import hook_process, payloads, workers

from claude_mem.serve import control

CONTINUE = {"continue": True, "suppressOutput": True}
SECRET, OPEN = "/home/u/payroll", "/home/u/proj"


def events(cwd: str) -> dict[str, bytes]:
    stop = json.loads(payloads.stop("All done.")) | {"cwd": cwd}
    shuffled = {
        "prompt": "another shape",
        "cwd": cwd,
        "session_id": "s-2",
        "hook_event_name": "UserPromptSubmit",
    }
    return {
        "start": payloads.start(cwd=cwd),
        "prompt": payloads.prompt("create hello.txt please", cwd=cwd),
        "tool": payloads.bash("toolu_1", cwd=cwd),
        "private": payloads.prompt("<private>nothing of it</private>", cwd=cwd),
        "long": payloads.bash("toolu_2", stdout="x" * (3 << 20), cwd=cwd),
        "stop": json.dumps(stop).encode(),
        "unusual": json.dumps(shuffled).encode(),
    }


def excluding(data: Path, *globs: str) -> Path:
    data.mkdir(mode=0o700, exist_ok=True)
    (data / "settings.json").write_text(json.dumps({"CLAUDE_MEM_EXCLUDED_PROJECTS": globs}))
    return data


@pytest.mark.parametrize("name", events(SECRET))
def test_nothing_is_written_of_an_excluded_project_and_all_is_of_another(data: Path, name: str) -> None:
    excluding(data, "payroll")
    with hook_process.listening(data) as worker:
        before = sorted(path.name for path in data.rglob("*"))
        answered = hook_process.run(data, events(SECRET)[name])
        assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
        assert sorted(path.name for path in data.rglob("*")) == before
        assert hook_process.lines(worker) == [], "and nobody was asked or woken"
        hook_process.run(data, events(OPEN)[name])
        assert len(hook_process.spooled(data)) == 1


def test_before_a_tool_the_worker_is_not_asked_there(data: Path) -> None:
    excluding(data, "/home/u/payroll")
    before: dict[str, Any] = {"tool_name": "Edit", "tool_input": {"file_path": "/home/u/payroll/a.py"}}
    with hook_process.listening(data) as worker:
        hook_process.run(data, payloads.payload("PreToolUse", cwd=SECRET, **before))
        assert hook_process.lines(worker) == []
        hook_process.run(data, payloads.payload("PreToolUse", cwd=OPEN, **before))
        assert len(hook_process.lines(worker)) == 1


def test_what_a_session_would_be_told_at_its_start_is_not_shown_there(data: Path) -> None:
    from claude_mem.hook import paths
    from claude_mem.hook.worker_link import answer_with

    shown = answer_with(b"SessionStart", b'"what is known"')
    assert shown is not None
    excluding(data, "payroll")
    for cwd in (SECRET, OPEN):
        rendered = data / paths.directory_context(os.fsencode(cwd))
        rendered.parent.mkdir(exist_ok=True)
        rendered.write_bytes(b"0123456789abcdef\n" + shown)
    with hook_process.listening(data):
        assert hook_process.run(data, payloads.start(cwd=SECRET)).json == CONTINUE
        assert "what is known" in str(hook_process.run(data, payloads.start(cwd=OPEN)).json)


def test_settings_that_cannot_be_read_lose_nothing_and_the_worker_looks_again(data: Path) -> None:
    excluding(data, "payroll")
    whole = (data / "settings.json").read_text()
    (data / "settings.json").write_text(whole[: whole.index("payroll") + 3])  # as if it was being written
    with hook_process.listening(data):
        hook_process.run(data, payloads.bash("toolu_1", cwd=SECRET))
        hook_process.run(data, payloads.bash("toolu_2", cwd=OPEN))
    assert len(hook_process.spooled(data)) == 2
    (data / "hook.sock").unlink()
    (data / "settings.json").write_text(whole)
    with workers.running(data):
        workers.drained(data)
        assert sum(workers.states(data).values()) == 1


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with workers.running(excluding(tmp_path_factory.mktemp("house") / "data", "payroll")) as data:
        yield data


def test_who_reports_to_the_worker_itself_is_heard_of_other_projects_only(worker: Path) -> None:
    for session, where in (
        ("api-1", {"cwd": SECRET}),
        ("api-2", {"project": "payroll"}),
        ("api-3", {"cwd": OPEN}),
    ):
        body = {"claudeSessionId": session, "prompt": "hello", **where}
        assert control.request(worker, "POST", "/api/sessions/init", body)[0] == 200
    _, listed = control.request(worker, "GET", "/api/sessions")
    assert [item["session_id"] for item in cast(list[dict[str, str]], listed["items"])] == ["api-3"]


def test_nothing_is_remembered_there_because_somebody_says_so(worker: Path) -> None:
    status, told = control.request(worker, "POST", "/api/memory/save", {"text": "a note", "cwd": SECRET})
    assert (status, cast(dict[str, str], told["error"])["field"]) == (400, "cwd")
    assert control.request(worker, "POST", "/api/memory/save", {"text": "a note", "cwd": OPEN})[0] == 200


def test_a_hook_without_excluded_projects_does_not_even_load_what_decides_it(data: Path) -> None:
    """It runs with every tool call."""
    data.mkdir(mode=0o700)
    with hook_process.listening(data):
        (data / "settings.json").write_text('{"CLAUDE_MEM_LOG_LEVEL": "INFO"}')
        command = hook_process.command()
        wrap = [command[0], "-X", "importtime"]
        from subprocess import run

        said = run(
            [*wrap, *command[1:]],
            input=payloads.bash("toolu_1"),
            capture_output=True,
            env=hook_process.environment(data),
            timeout=60,
            check=True,
        ).stderr.decode()
    assert "claude_mem.hook.entry" in said
    assert "claude_mem.privacy.excluded_projects" not in said
    assert "json" not in said
