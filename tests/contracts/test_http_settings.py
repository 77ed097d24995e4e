"""Settings over HTTP: listing and changing them; keys are never returned."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker
from tests.harness import claude_mem_ts_data, workers

from claude_mem.settings import SETTINGS


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("settings") / "data") as worker:
        yield worker


class TestSettings:
    def by_key(self, worker: Worker) -> dict[str, Any]:
        return {each["key"]: each for each in worker.get("/api/settings")["settings"]}

    def test_every_setting_is_told_with_its_meaning_and_where_it_comes_from(self, worker: Worker) -> None:
        told = self.by_key(worker)
        assert list(told) == [setting.key for setting in SETTINGS]
        assert all(each["meaning"] and each["allowed"] for each in told.values())
        assert told["CLAUDE_MEM_WORKER_PORT"]["origin"] == "environment"
        level = told["CLAUDE_MEM_LOG_LEVEL"]
        assert (level["kind"], level["value"], level["origin"]) == ("choice", "INFO", "default")
        assert level["choices"] == ["DEBUG", "INFO", "WARNING", "ERROR"]

    def test_a_change_is_written_and_counts_from_the_next_start(self, worker: Worker) -> None:
        saved = worker.post(
            "/api/settings", changes={"CLAUDE_MEM_LOG_LEVEL": "DEBUG", "CLAUDE_MEM_SKIP_TOOLS": "A,B"}
        )
        assert saved["restart"] is True
        assert saved["shadowed"] == []
        told = self.by_key(worker)["CLAUDE_MEM_LOG_LEVEL"]
        assert (told["value"], told["origin"], told["pending"]) == ("DEBUG", "file", True)
        file = worker.data / "settings.json"
        assert file.stat().st_mode & 0o777 == 0o600
        assert json.loads(file.read_text()) == {
            "CLAUDE_MEM_LOG_LEVEL": "DEBUG",
            "CLAUDE_MEM_SKIP_TOOLS": ["A", "B"],
        }
        worker.post("/api/settings", changes={"CLAUDE_MEM_LOG_LEVEL": None, "CLAUDE_MEM_SKIP_TOOLS": None})
        assert self.by_key(worker)["CLAUDE_MEM_LOG_LEVEL"]["origin"] == "default"
        assert json.loads(file.read_text()) == {}

    def test_a_key_goes_in_and_never_comes_out(self, worker: Worker) -> None:
        worker.post("/api/settings", changes={"CLAUDE_MEM_API_KEY": "sk-canary-1234"})
        answer = worker.get("/api/settings")
        assert "canary" not in json.dumps(answer)
        key = self.by_key(worker)["CLAUDE_MEM_API_KEY"]
        assert (key["kind"], key["set"], key["value"]) == ("secret", True, None)
        assert "canary" not in json.dumps(worker.get("/api/logs"))
        status, refused = worker.ask(
            "POST", "/api/settings", {"changes": {"CLAUDE_MEM_API_KEY": ["sk-canary"]}}
        )
        assert status == 400
        assert "canary" not in json.dumps(refused)
        assert "canary" in (worker.data / "settings.json").read_text()
        worker.post("/api/settings", changes={"CLAUDE_MEM_API_KEY": None})

    def test_what_the_environment_says_is_said_to_stand(self, worker: Worker) -> None:
        assert worker.post("/api/settings", changes={"CLAUDE_MEM_WORKER_PORT": 40_000})["shadowed"] == [
            "CLAUDE_MEM_WORKER_PORT"
        ]
        worker.post("/api/settings", changes={"CLAUDE_MEM_WORKER_PORT": None})

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"CLAUDE_MEM_LOG_LEVEL": "LOUD"}, "CLAUDE_MEM_LOG_LEVEL"),
            ({"CLAUDE_MEM_DAILY_TOKENS": -1}, "CLAUDE_MEM_DAILY_TOKENS"),
            ({"CLAUDE_MEM_MODE": "nobody-has-it"}, "CLAUDE_MEM_MODE"),
            ({"CLAUDE_MEM_SECRET_PATTERNS": {"x": "("}}, "CLAUDE_MEM_SECRET_PATTERNS"),
            ({"CLAUDE_MEM_NONSENSE": 1}, "CLAUDE_MEM_NONSENSE"),
            ({"CLAUDE_MEM_LOG_LEVEL": "DEBUG", "CLAUDE_MEM_DAILY_USD": "much"}, "CLAUDE_MEM_DAILY_USD"),
            ({}, "changes"),
            ("DEBUG", "changes"),
        ],
    )
    def test_what_a_worker_would_not_start_with_is_refused_and_nothing_is_written(
        self, worker: Worker, changes: object, field: str
    ) -> None:
        before = self.by_key(worker)
        assert worker.refused("POST", "/api/settings", {"changes": changes})[::2] == (400, field)
        assert self.by_key(worker) == before

    def test_what_others_have_in_the_file_stays_as_it_is(self, worker: Worker) -> None:
        file = worker.data / "settings.json"
        theirs = claude_mem_ts_data.SETTINGS | {
            "CLAUDE_MEM_NESTED": {"b": [1, 2.5, None, {"a": True}], "a": ""},
            "CLAUDE_MEM_LETTERS": "日本 é \ud800 \u0000",
            "CLAUDE_MEM_LOG_LEVEL": "WARN",
            "CLAUDE_MEM_BIG": 12345678901234567890123,
        }
        file.write_text(json.dumps(theirs))
        try:
            worker.post("/api/settings", changes={"CLAUDE_MEM_DAILY_TOKENS": 5})
            assert json.loads(file.read_text()) == theirs | {"CLAUDE_MEM_DAILY_TOKENS": 5}
            assert list(json.loads(file.read_text()))[: len(theirs)] == list(theirs)
            level = self.by_key(worker)["CLAUDE_MEM_LOG_LEVEL"]
            assert (level["value"], "WARN" in level["trouble"]) == ("INFO", True)
        finally:
            file.unlink()

    def test_a_file_that_cannot_be_read_is_left_alone(self, worker: Worker) -> None:
        file = worker.data / "settings.json"
        file.write_text("{ not JSON")
        try:
            body = {"changes": {"CLAUDE_MEM_LOG_LEVEL": "DEBUG"}}
            assert worker.refused("POST", "/api/settings", body)[:2] == (409, "unreadable")
            assert worker.refused("GET", "/api/settings")[:2] == (409, "unreadable")
            assert file.read_text() == "{ not JSON"
        finally:
            file.unlink()

    def test_what_names_a_program_an_address_or_a_key_is_changed_over_the_socket_alone(
        self, worker: Worker
    ) -> None:
        guarded = {
            "CLAUDE_CODE_PATH": "/usr/bin/claude",
            "CLAUDE_MEM_BASE_URL": "http://127.0.0.1:9",
            "CLAUDE_MEM_CHROMA_URL": "http://127.0.0.1:9",
            "CLAUDE_MEM_API_KEY": "sk-canary-1234",
            "CLAUDE_MEM_EMBEDDER": "http://127.0.0.1:9",
        }
        told = self.by_key(worker)
        for key in told:
            if key.endswith(("_URL", "_PATH", "_KEY")):
                assert told[key]["socket_only"], key
        for key, value in guarded.items():
            for given in (value, None):
                body = {"changes": {"CLAUDE_MEM_LOG_LEVEL": "DEBUG", key: given}}
                status, answer = workers.ask(worker.port, "POST", "/api/settings", body, token=worker.token)
                error = json.loads(answer)["error"]
                assert (status, error["code"], error["field"]) == (403, "socket_only", key)
                assert "claude-mem config set" in error["message"]
        assert not (worker.data / "settings.json").exists() or not (
            json.loads((worker.data / "settings.json").read_text()).keys()
            & {*guarded, "CLAUDE_MEM_LOG_LEVEL"}
        )
        worker.post("/api/settings", changes=guarded)
        worker.post("/api/settings", changes=dict.fromkeys(guarded))

    @pytest.mark.parametrize("character", ["\n", "\r\n", "\t", "\0", "\x1b", "\x7f", "\x85", "\u2028"])
    def test_control_characters_are_refused(self, worker: Worker, character: str) -> None:
        for key, value in (
            ("CLAUDE_MEM_BASE_URL", f"http://x{character}Injected: y"),
            ("CLAUDE_MEM_LANGUAGE", f"German{character}x"),
            ("CLAUDE_MEM_EXCLUDE_PATHS", [f"a{character}b"]),
        ):
            assert worker.refused("POST", "/api/settings", {"changes": {key: value}})[::2] == (400, key)
