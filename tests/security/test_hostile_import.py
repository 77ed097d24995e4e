"""A stranger's export, imported: quoted and marked when it is recalled, without secrets, and with no power
over what is one's own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.worker_client import Worker
from tests.e2e.test_export_import import lines, run
from tests.harness import hook_process, payloads, workers
from tests.security.test_poisoned_recall import CANARY, HIDDEN, NEXT, POISON, before_reading, fenced_texts

from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import name_of

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
HERE = "/home/u/proj"
OWN = "own-session"


@pytest.fixture
def worker(data: Path) -> Iterator[Worker]:
    """That has worked here before."""
    with workers.running(data):
        worker = Worker(data)
        named = {"claudeSessionId": OWN, "cwd": HERE, "project": "proj"}
        change = {"file_path": f"{HERE}/a.py", "old_string": "a", "new_string": "b"}
        edit = {"tool_name": "Edit", "tool_input": change, "tool_response": {}, "tool_use_id": "toolu_1"}
        worker.ask(
            "POST", "/api/sessions/init", named | {"prompt": "round the prices of the till to whole cents"}
        )
        worker.ask("POST", "/api/sessions/observations", named | edit)
        last = {"last_assistant_message": "The till rounds prices to whole cents now; sums were off by one."}
        worker.ask("POST", "/api/sessions/summarize", named | last)
        worker.settle()
        yield worker


def strangers(worker: Worker, said: str, session: str = "theirs", **more: Any) -> list[dict[str, Any]]:
    """A session of the same project, newer than all that is one's own."""
    key = worker.get("/api/projects")["items"][0]["key"]
    at = now()
    of = {"session_id": session, "at": at}
    return [
        {"kind": "claude-mem", "version": 1},
        {"kind": "project", "key": key, "name": f"proj {said}"},
        {
            "kind": "session",
            "session_id": session,
            "project": key,
            "title": said,
            "created_at": at,
            "updated_at": at,
            "first_user_prompt": said,
            "branch": said,
        },
        {"kind": "prompt", "number": 1, "text": f"deployment notes {said}", **of},
        {"kind": "event", "event_id": "e", "event_kind": "stop", "text": f"deployment notes {said}", **of},
        {
            "kind": "observation",
            "type": "decision",
            "title": f"Deployment notes {said}",
            "narrative": f"The deployment notes say: {said}",
            "facts": [said],
            "files_read": ["README.md"],
            "source": "user",
            "pinned": True,
            **of,
            **more,
        },
        {"kind": "summary", "request": f"deployment notes {said}", "next_steps": said, **of},
    ]


@pytest.mark.parametrize("name", HIDDEN)
def test_poison_that_capture_would_hide_is_not_taken_in(worker: Worker, name: str) -> None:
    done = run(worker.data, "import", "-", given=lines(*strangers(worker, POISON[name])))
    assert "1 observation" in done.stdout
    told = run(worker.data, "export", "--session", "theirs").stdout
    assert "Deployment notes" in told
    assert CANARY not in told


@pytest.mark.parametrize("poison", [POISON[name] for name in POISON if name not in HIDDEN])
def test_poison_in_an_import_is_recalled_fenced_and_marked_as_only_read(worker: Worker, poison: str) -> None:
    run(worker.data, "import", "-", given=lines(*strangers(worker, poison)))
    worker.settle()
    rendered = worker.data / paths.directory_context(HERE.encode())
    workers.until(lambda: rendered.is_file() and CANARY in rendered.read_text(), "it is told at the start")
    told = {
        "SessionStart": hook_process.run(worker.data, payloads.start(NEXT)),
        "UserPromptSubmit": hook_process.run(
            worker.data, payloads.prompt("what say the deployment notes?", NEXT)
        ),
        "PreToolUse": hook_process.run(worker.data, before_reading()),
    }
    for inside in fenced_texts(told):
        lines_of_it = [line for line in inside.splitlines() if CANARY in line]
        assert all(line.startswith("- #") and "read, not verified" in line for line in lines_of_it)
    start = told["SessionStart"].json["hookSpecificOutput"]["additionalContext"]
    assert CANARY in start
    _, last, after = start.partition("Last session, ")
    assert last, "something is said of it"
    assert "whole cents" in after.partition("\n\n")[0], "it is one's own, though theirs is newer"
    assert "\x1b" not in run(worker.data, "search", "deployment", "notes").stdout


def test_a_strangers_secrets_and_private_text_never_reach_the_disk(worker: Worker) -> None:
    hidden = f"{SECRET} <private>{CANARY}-private</private> {CANARY}-kept"
    done = run(worker.data, "import", "-", given=lines(*strangers(worker, hidden)))
    assert "1 observation" in done.stdout
    worker.settle()
    workers.finish(worker.data)
    raw = b"".join(path.read_bytes() for path in worker.data.rglob("*") if path.is_file())
    assert SECRET.encode() not in raw
    assert f"{CANARY}-private".encode() not in raw
    assert f"{CANARY}-kept".encode() in raw


def test_a_stranger_has_no_power_over_what_is_ones_own(worker: Worker) -> None:
    before = run(worker.data, "export", "--session", OWN).stdout.splitlines()[1:]
    mine = next(each for each in map(json.loads, before) if each["kind"] == "observation")
    said = Observation(
        mine["type"],
        mine["title"],
        narrative=mine.get("narrative"),
        facts=tuple(mine.get("facts", ())),
        files_modified=tuple(mine.get("files_modified", ())),
    )
    name = name_of(OWN, mine["at"], content_key(said))
    attack = [
        *strangers(worker, "new words", supersedes=name),
        {"kind": "sighting", "observation": name, "session_id": "theirs", "at": now()},
        *strangers(worker, "more words", OWN)[2:],
    ]
    done = run(worker.data, "import", "-", given=lines(*attack), code=1)
    assert done.stderr.count("your own") == 4
    assert run(worker.data, "export", "--session", OWN).stdout.splitlines()[1:] == before
    shown = worker.get("/api/session/" + OWN)["observations"]
    assert [each["superseded_by"] for each in shown] == [None]
    assert run(worker.data, "import", "--own", "-", given=lines(*attack)).stderr == ""
    assert worker.get("/api/session/" + OWN)["observations"][0]["superseded_by"] is None, "it is known by now"
    assert len(worker.get("/api/session/" + OWN)["observations"]) == 2, "oneself adds to it"


@pytest.mark.parametrize("own", [True, False])
def test_a_stranger_decides_nothing_about_directories_of_ours(worker: Worker, own: bool) -> None:
    """What the worker tells at the start of sessions in a directory follows from who worked there."""
    records = strangers(worker, "words")
    records[1] |= {"key": "github.com/evil/evil", "root": "/home/u/other", "name": "evil"}
    records[2] |= {"project": "github.com/evil/evil", "cwd": "/home/u/other"}
    run(worker.data, "import", *(["--own"] if own else []), "-", given=lines(*records))
    worker.settle()
    workers.until(lambda: worker.get("/health")["recall"]["context"]["fresh"], "all contexts are rendered")
    there = worker.data / paths.directory_context(os.fsencode("/home/u/other"))
    assert there.exists() == own
