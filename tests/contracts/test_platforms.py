"""What a platform that integrates over HTTP gets: its project, its context, its tools understood."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, workers
from tests.harness.commands import Mem

from claude_mem.recall import fence

INJECT = "/api/context/inject"
AMBIGUOUS = (400, "ambiguous_project", "project")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One that remembers `shop` in two directories, and `mill` in one. `vault` and `/srv/hush` are excluded,
    of which the latter was not always."""
    data = tmp_path_factory.mktemp("platforms") / "data"
    with workers.running(data):
        worker = Worker(data)
        worked(worker, "before", "/srv/hush")
    (data / "settings.json").write_text('{"CLAUDE_MEM_EXCLUDED_PROJECTS": ["vault", "/srv/hush"]}')
    with workers.running(data):
        worked(worker, "shop-ada", "/home/ada/shop")
        worked(worker, "shop-bob", "/home/bob/shop")
        worked(worker, "mill-ada", "/home/ada/mill")
        worker.settle()
        yield worker


def worked(worker: Worker, session: str, cwd: str) -> None:
    said = {"claudeSessionId": session, "cwd": cwd}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{cwd}/a.py", "old_string": "a"}}
    for action, more in (
        ("init", {"prompt": f"Mend the {session} gears of the machine"}),
        ("observations", edit),
        ("summarize", {"last_assistant_message": f"Mended the {session} gears."}),
    ):
        status, answer = worker.ask("POST", f"/api/sessions/{action}", said | more)
        assert status in (200, 202), answer


def project_of(worker: Worker, session: str) -> tuple[str, str]:
    """The key and the client of a session, as they are stored; empty: there is none."""
    with closing(sqlite3.connect(f"file:{worker.data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        found = db.execute(
            "SELECT p.key, s.client FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id"
            " WHERE s.claude_session_id = ?",
            [session],
        ).fetchone()
    return found or ("", "")


class TestTheContext:
    def test_a_project_that_nobody_knows_yet_has_an_empty_one(self, worker: Worker) -> None:
        for query in ({"project": "brand-new"}, {"cwd": "/nowhere/brand-new"}):
            assert worker.ask("GET", INJECT, **query) == (200, {"text": ""})
            told = worker.get(INJECT, **query, format="json")
            assert (told["text"], told["project"], told["refs"]) == ("", None, [])

    def test_it_is_fenced_as_text_and_as_json_and_readable_beside_it(self, worker: Worker) -> None:
        text = worker.get(INJECT, project="mill")["text"]
        told = worker.get(INJECT, project="mill", format="json")
        assert text == told["text"]
        assert text.startswith(f"<{fence.TAG}>\n")
        assert text.endswith(f"\n</{fence.TAG}>")
        assert fence.DISCLAIMER in text
        assert "gears" in told["plain"]
        assert fence.TAG not in told["plain"]

    def test_it_is_taken_out_again_when_it_comes_back_in_a_prompt(self, worker: Worker) -> None:
        text = worker.get(INJECT, project="mill")["text"]
        prompt = f"{text}\n\nNow grind finer"
        worker.ask("POST", "/sessions/init", {"sessionId": "back", "project": "mill", "userPrompt": prompt})
        payload = {"session_id": "hooked", "cwd": "/home/ada/mill", "prompt": prompt}
        hook_process.run(worker.data, json.dumps(payload).encode(), "new")
        workers.drained(worker.data)
        for session in ("back", "hooked"):
            (stored,) = worker.get(f"/api/session/{session}")["prompts"]
            assert stored["prompt"].strip() == "Now grind finer"

    def test_an_excluded_project_has_none_by_whatever_it_is_named(self, worker: Worker) -> None:
        for query in ({"project": "hush"}, {"project": "/srv/hush"}, {"cwd": "/srv/hush"}):
            assert worker.get(INJECT, **query) == {"text": ""}


class TestAName:
    def test_that_two_projects_have_is_refused_with_both_keys_wherever_it_is_given(
        self, worker: Worker, subtests: pytest.Subtests
    ) -> None:
        for path in (
            *(INJECT, "/api/search", "/api/timeline", "/api/sessions", "/api/observations", "/api/project"),
            *("/api/facets", "/api/file?path=a.py", "/api/export", "/api/cost"),
        ):
            with subtests.test(path):
                given = path.partition("?")[2]
                query = dict([given.split("=")]) if given else {}
                status, answer = worker.ask("GET", path.partition("?")[0], **query, project="shop")
                error = answer["error"]
                assert (status, error["code"], error["field"]) == AMBIGUOUS
                assert error["projects"] == [
                    {"key": "/home/ada/shop", "name": "shop", "root": "/home/ada/shop"},
                    {"key": "/home/bob/shop", "name": "shop", "root": "/home/bob/shop"},
                ]

    def test_is_told_apart_by_the_key_or_by_the_directory(self, worker: Worker) -> None:
        found = worker.get("/api/sessions", project="/home/bob/shop")["items"]
        assert [each["id"] for each in found] == ["shop-bob"]
        found = worker.get("/api/sessions", project="shop", cwd="/home/ada/shop/src")["items"]
        assert [each["id"] for each in found] == ["shop-ada"]

    def test_is_refused_on_the_command_line_and_by_a_tool_alike(
        self, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(worker.data))
        mem = Mem(worker.data)
        for words in (("search", "gears"), ("context",), ("sessions",), ("timeline",)):
            said = mem(*words, "--project", "shop", code=2).stderr
            assert "/home/ada/shop" in said
            assert "/home/bob/shop" in said
        call = {"name": "search", "arguments": {"query": "gears", "project": "shop"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        _, answer = worker.ask("POST", "/mcp", message)
        assert answer["result"]["isError"]
        assert "/home/bob/shop" in answer["result"]["content"][0]["text"]

    def test_that_one_has_is_where_a_memory_is_saved(self, worker: Worker) -> None:
        saved = worker.post("/api/memory/save", text="The mill wants oil", project="mill")
        found = worker.get("/api/observations", project="/home/ada/mill")["items"]
        assert saved["ref"] in [each["ref"] for each in found]
        status, answer = worker.ask("POST", "/api/memory/save", {"text": "Oil", "project": "shop"})
        assert (status, answer["error"]["code"]) == AMBIGUOUS[:2]


class TestACallerWithoutADirectory:
    def test_joins_the_project_that_it_names_by_name_or_key(self, worker: Worker) -> None:
        for session, name in (("named", "mill"), ("keyed", "/home/ada/mill")):
            worker.ask("POST", "/sessions/init", {"sessionId": session, "project": name, "userPrompt": "Oil"})
            assert project_of(worker, session) == ("/home/ada/mill", "api")

    def test_that_begins_with_a_tool_use_joins_it_too(self, worker: Worker) -> None:
        use = {"claudeSessionId": "tooled", "tool_name": "FileSave", "project": "mill", "client": "vscode"}
        worker.ask("POST", "/api/sessions/observations", use)
        assert project_of(worker, "tooled") == ("/home/ada/mill", "vscode")

    def test_is_kept_under_the_name_alone_where_that_says_too_little(self, worker: Worker) -> None:
        for session, name in (("ambiguous", "shop"), ("unheard", "loom")):
            worker.ask("POST", "/sessions/init", {"sessionId": session, "project": name, "userPrompt": "Oil"})
            assert project_of(worker, session)[0] == f"name:{name}"

    @pytest.mark.parametrize("name", ["vault", "hush", "/srv/hush"])
    def test_joins_no_excluded_project_nor_leaves_its_session_elsewhere(
        self, worker: Worker, name: str
    ) -> None:
        session = f"spy-{name}"
        prompt = {"sessionId": session, "project": name, "userPrompt": "Open it"}
        assert worker.ask("POST", "/sessions/init", prompt)[1]["skipped"] is True
        use = {"claudeSessionId": session, "tool_name": "FileSave", "tool_input": {"path": "/srv/x/a.py"}}
        assert worker.ask("POST", "/api/sessions/observations", use)[1]["status"] == "skipped"
        assert project_of(worker, session) == ("", "")
        assert worker.refused("POST", "/api/memory/save", {"text": "Hm", "project": name})[2] == "project"

    def test_is_not_recorded_while_recording_is_paused(self, worker: Worker) -> None:
        switch = worker.data / "off" / "all"
        switch.parent.mkdir()
        switch.touch()
        try:
            prompt = {"sessionId": "paused", "project": "mill", "userPrompt": "Oil"}
            assert worker.ask("POST", "/sessions/init", prompt)[1]["skipped"] is True
        finally:
            shutil.rmtree(switch.parent)
        assert project_of(worker, "paused") == ("", "")


@pytest.mark.parametrize("prompt", ["Add login feature", ""])
def test_a_file_that_an_editor_saved_is_an_edit_even_without_a_model(worker: Worker, prompt: str) -> None:
    session = f"editor-{len(prompt)}"
    named = {"claudeSessionId": session, "project": "mill", "client": "vscode"}
    save: dict[str, object] = {"tool_name": "FileSave", "tool_response": "File saved successfully"}
    save["tool_input"] = {"path": "/home/ada/mill/src/login.ts"}
    worker.ask("POST", "/api/sessions/init", named | ({"prompt": prompt} if prompt else {}))
    worker.ask("POST", "/api/sessions/observations", named | save)
    worker.ask("POST", "/api/sessions/summarize", named)

    def observed() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = worker.get(f"/api/session/{session}")["observations"]
        return found

    workers.until(lambda: bool(observed()), "it is observed")
    assert [each["files_modified"] for each in observed()] == [["/home/ada/mill/src/login.ts"]]


def test_an_excluded_file_is_unread_whatever_the_editor_calls_its_path(worker: Worker) -> None:
    for number, key in enumerate(("path", "target_file", "TargetFile", "filename", "uri")):
        given = {key: "/home/ada/mill/.env", "new_string": f"canary-of-{key}"}
        use = {"claudeSessionId": f"env-{number}", "tool_name": "FileSave", "tool_input": given}
        worker.ask("POST", "/api/sessions/observations", use | {"cwd": "/home/ada/mill"})
        events = json.dumps(worker.get(f"/api/session/env-{number}/events"))
        assert "/home/ada/mill/.env" in events
        assert f"canary-of-{key}" not in events
