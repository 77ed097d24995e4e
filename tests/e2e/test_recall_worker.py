"""Recall in a real worker: what hooks report is found, told at the next start, and noted once."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.worker_client import Worker, refs
from tests.harness import hook_process, payloads, workers

from claude_mem.hook import paths

CWD = "/home/u/proj"
NEXT = "5694c0de-0000-4000-8000-000000000002"
HERE = paths.directory_context(CWD.encode())


def edit(use_id: str, path: str) -> bytes:
    return payloads.payload(
        "PostToolUse",
        prompt_id="p-1",
        tool_name="Edit",
        tool_input={"file_path": f"{CWD}/{path}", "old_string": "a", "new_string": "b"},
        tool_response={"filePath": f"{CWD}/{path}"},
        tool_use_id=use_id,
    )


def works(data: Path) -> None:
    """A session as its hooks report it, all the way to memory."""
    for payload in (
        payloads.start(),
        payloads.prompt("Teach the heron cache to keep its updates"),
        edit("toolu_1", "src/heron.py"),
        payloads.payload(
            "Stop", prompt_id="p-1", last_assistant_message="The heron cache keeps updates now."
        ),
        payloads.payload("SessionEnd", reason="exit"),
    ):
        assert hook_process.run(data, payload).code == 0
    workers.settled(data)


def rows(data: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def told(data: Path, session: str = NEXT) -> list[tuple[Any, ...]]:
    found = rows(data, "SELECT event, refs, about, tokens, claude_session_id FROM injections ORDER BY id")
    return [row[:4] for row in found if row[4] == session]


def ask(data: Path, event: str, **payload: str) -> str:
    """As a hook asks, but with all the time in the world."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(workers.PATIENCE_S)
        line.connect(str(data / "hook.sock"))
        given = {"session_id": NEXT, "cwd": CWD} | payload
        line.sendall(json.dumps({"type": "ask", "event": event, "payload": given}).encode() + b"\n")
        return str(json.loads(line.makefile("rb").readline())["context"])


def test_what_hooks_report_is_found_without_anybody_asking_for_an_index(data: Path) -> None:
    with workers.running(data):
        works(data)
        Worker(data).settle()
        assert rows(data, "SELECT COUNT(*) FROM memory_text_docsize")[0][0] >= 3
        found = Worker(data).get("/api/search", q="heron updates", project="proj")
        assert found["results"]
        assert found["legs"] == ["text", "vectors"]


def test_the_next_session_is_told_at_its_start_at_its_prompt_and_at_the_file(data: Path) -> None:
    with workers.running(data):
        works(data)
        Worker(data).settle()
        workers.until((data / HERE).exists, "the context is rendered")
        begun = hook_process.run(data, payloads.start(NEXT)).json
        assert "heron" in begun["hookSpecificOutput"]["additionalContext"]
        workers.until(lambda: len(told(data)) == 1, "what the start was shown is noted")
        assert json.loads(told(data)[0][1]), "of which memories"
        question = "does the heron cache keep its updates?"
        assert "heron" in ask(data, "UserPromptSubmit", prompt=question), "the start told but its title"
        workers.until(lambda: len(told(data)) == 2, "what the prompt was told is noted")
        assert ask(data, "UserPromptSubmit", prompt=question) == "", "nothing is told twice"
        another = {"session_id": "another", "file_path": f"{CWD}/src/heron.py"}
        assert "heron" in ask(data, "PreToolUse", **another)
        workers.until(lambda: bool(told(data, "another")), "what was told of the file is noted")
        assert ask(data, "PreToolUse", **another) == "", "once"
    events = [(event, about) for event, _, about, tokens in told(data, "another") if tokens > 0]
    assert events == [("PreToolUse", f"{CWD}/src/heron.py")]


@pytest.mark.prove
def test_a_start_shown_without_a_worker_is_noted_once_even_if_it_is_reported_twice(data: Path) -> None:
    with workers.running(data):
        works(data)
        Worker(data).settle()
        workers.until((data / HERE).exists, "the context is rendered")
    (data / "start.stamp").write_text("started by a hook\n")  # so that the hook starts no worker
    shown = hook_process.run(data, payloads.start(NEXT)).json
    assert "heron" in shown["hookSpecificOutput"]["additionalContext"]
    (file,) = (data / "spool").glob("[0-9]*.json")
    again = data.parent / file.name
    shutil.copy2(file, again)
    with workers.running(data):
        workers.drained(data)
        workers.until(lambda: len(told(data)) == 1, "it is noted")
        shutil.copy2(again, file)  # delivered, and then delivered once more
        workers.drained(data)
        Worker(data).get("/health")
    assert len(told(data)) == 1, "all that was to be noted is, once the worker has gone"


@pytest.mark.prove  # chromadb is installed for it there
def test_with_vectors_out_of_reach_words_answer_and_it_is_said_why(data: Path) -> None:
    address = f"http://127.0.0.1:{workers.free_port()}"
    with workers.running(data, CLAUDE_MEM_VECTORS="chroma", CLAUDE_MEM_CHROMA_URL=address):
        works(data)
        worker = Worker(data)
        workers.until(
            lambda: bool(worker.get("/api/search", q="heron updates")["note"]),
            "the server is known to be off",
        )
        found = worker.get("/api/search", q="heron updates")
        assert refs(found["results"])
        assert found["legs"] == ["text"]
