"""Settings that are not ours, or not right: nothing of it stops the worker, and the user learns of it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.harness import claude_mem_ts_data, hook_process, payloads, workers
from tests.harness.commands import Mem

from claude_mem.agents.claude_code import registration
from claude_mem.serve import control
from claude_mem.settings import SETTINGS

CONTINUE = {"continue": True, "suppressOutput": True}
SECRET, OPEN = "/home/u/payroll", "/home/u/proj"
FOREIGN = {"CLAUDE_MEM_TELEGRAM_CHAT_ID": "7", "CLAUDE_MEM_OF_SOMEBODY_ELSE": "canary"}


class Setting(Mem):
    """`claude-mem` of somebody who edits the settings of a data directory."""

    def __init__(self, data: Path) -> None:
        self.data, home = data, data.with_name("home")
        data.mkdir(mode=0o700)
        super().__init__(data, HOME=str(home), CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
        settings = home / ".claude/settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"hooks": registration.hooks(hook_process.MACHINE)}))

    def set(self, content: object) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.data / "settings.json").write_text(text)
        (self.data / "settings.json").chmod(0o600)

    def findings(self, check: str, **env: str) -> list[dict[str, Any]]:
        found = self.json("doctor", env=env)["findings"]
        return [each for each in found if each["check"] == check]

    def observed(self) -> int:
        with closing(sqlite3.connect(f"file:{self.data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM observations").fetchone()[0])

    def log(self) -> str:
        return (self.data / "logs" / "worker.log").read_text()


@pytest.fixture
def mem(data: Path) -> Iterator[Setting]:
    yield Setting(data)
    workers.finish(data)


def a_turn(data: Path) -> None:
    """A prompt, an edit and an end, as hooks report them."""
    edit = payloads.payload(
        "PostToolUse",
        prompt_id="p-1",
        tool_name="Edit",
        tool_input={
            "file_path": "/home/u/proj/login.py",
            "old_string": "def login():\n    pass\n",
            "new_string": "def login(name):\n    return check(name)\n",
        },
        tool_response={"filePath": "/home/u/proj/login.py"},
        tool_use_id="toolu_1",
    )
    for payload in (
        payloads.prompt("make the login check names"),
        edit,
        payloads.stop("The login now checks names before it lets anybody in."),
    ):
        answered = hook_process.run(data, payload, more=FOREIGN)
        assert (answered.code, answered.err) == (0, b"")


def test_with_the_settings_of_the_typescript_claude_mem_a_turn_becomes_memory(mem: Setting) -> None:
    mem.set(claude_mem_ts_data.SETTINGS)
    before = (mem.data / "settings.json").read_bytes()
    mem.env |= FOREIGN
    mem("worker", "start")
    a_turn(mem.data)
    workers.settled(mem.data)
    assert mem.observed() > 0
    assert (mem.data / "settings.json").read_bytes() == before
    assert "systemMessage" not in hook_process.run(mem.data, payloads.start(), more=FOREIGN).json

    found = mem.findings("settings")
    assert {each["level"] for each in found} == {"warn"}
    collapsed, stray = sorted((each["says"] for each in found), key=len, reverse=True)
    assert "settings of another claude-mem are ignored" in collapsed
    assert "CLAUDE_MEM_OF_SOMEBODY_ELSE" in stray
    assert mem.log().count("of another claude-mem") == 1
    assert "canary" not in mem.log() + str(found)


def test_a_mistyped_key_is_named_with_the_one_that_was_meant(mem: Setting) -> None:
    mem.set({"CLAUDE_MEM_PORTT": 40_000})
    (found,) = mem.findings("settings")
    assert (found["level"], found["says"]) == (
        "warn",
        "CLAUDE_MEM_PORTT is not a setting. Did you mean CLAUDE_MEM_WORKER_PORT?",
    )


def test_a_bad_value_is_told_at_one_session_start_and_not_again_until_it_changes(mem: Setting) -> None:
    mem.set({"CLAUDE_MEM_DAILY_USD": "lots"})
    mem("worker", "start")

    def told() -> str:
        answered = hook_process.run(mem.data, payloads.start())
        assert answered.code == 0
        return str(answered.json.get("systemMessage", ""))

    assert "CLAUDE_MEM_DAILY_USD" in told()
    assert told() == ""
    mem("worker", "restart")
    assert told() == ""
    assert "CLAUDE_MEM_DAILY_USD" in mem.log()
    mem.set({"CLAUDE_MEM_DAILY_USD": "more"})
    mem("worker", "restart")
    assert "'more'" in told()
    assert [each["level"] for each in mem.findings("settings")] == ["warn"]


def test_every_setting_with_a_value_of_the_wrong_kind_and_the_worker_works(mem: Setting) -> None:
    bad = [None, {"nested": {"deep": [1]}}, -1, "\u0000\ud800", [None, "("], 1e400, True]
    mem.set({setting.key: bad[number % len(bad)] for number, setting in enumerate(SETTINGS)})
    mem("worker", "start")
    a_turn(mem.data)
    workers.settled(mem.data)
    assert mem.observed() > 0
    assert len(mem.findings("settings")) > 10


def _directory(path: Path) -> None:
    path.mkdir(mode=0o700)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)  # cannot be opened by anybody, root included


def _file(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(0o600)

    return make


UNUSABLE: dict[str, Callable[[Path], None]] = {
    "no JSON": _file(b"{ CLAUDE_MEM_LOG_LEVEL = DEBUG"),
    "empty": _file(b""),
    "too deep": _file(b'{"CLAUDE_MEM_EXCLUDED_PROJECTS":' + b"[" * 200_000),
    "huge": _file(b'{"x": "' + b"x" * (3 << 20) + b'"}'),
    "a directory": _directory,
    "a pipe": _pipe,
    "a loop of links": _loop,
}


@pytest.mark.parametrize(
    "name",
    [name if name == "no JSON" else pytest.param(name, marks=pytest.mark.prove) for name in UNUSABLE],
)
def test_a_settings_file_that_cannot_be_used_is_told_and_recording_goes_on(mem: Setting, name: str) -> None:
    file = mem.data / "settings.json"
    UNUSABLE[name](file)
    before = file.lstat()
    with hook_process.listening(mem.data):
        # Careful and quick: both ways of a hook look at the file.
        for payload in (payloads.bash("toolu_1"), payloads.prompt("password=hunter2-and-more")):
            answered = hook_process.run(mem.data, payload)
            assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert len(hook_process.spooled(mem.data)) == 2
    (mem.data / "hook.sock").unlink()

    started = mem("worker", "start", process=name == "no JSON")
    assert started.stderr.count("settings.json") == 1
    workers.drained(mem.data)
    assert "settings.json" in hook_process.run(mem.data, payloads.start()).json["systemMessage"]
    (found,) = mem.findings("settings")
    assert (found["level"], "settings.json" in found["says"]) == ("warn", True)
    after = file.lstat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )


def test_what_can_be_read_of_a_broken_exclusion_list_holds_in_hook_and_worker(mem: Setting) -> None:
    mem.set('{"CLAUDE_MEM_LOG_LEVEL": , "CLAUDE_MEM_EXCLUDED_PROJECTS": ["payroll", ')
    with hook_process.listening(mem.data):
        hook_process.run(mem.data, payloads.bash("toolu_1", cwd=SECRET))
        assert hook_process.spooled(mem.data) == []
        hook_process.run(mem.data, payloads.bash("toolu_2", cwd=OPEN))
        assert len(hook_process.spooled(mem.data)) == 1
    (mem.data / "hook.sock").unlink()
    mem("worker", "start")
    for cwd, wanted in ((SECRET, 400), (OPEN, 200)):
        body = {"text": "a note", "cwd": cwd}
        assert control.request(mem.data, "POST", "/api/memory/save", body)[0] == wanted


def test_what_can_be_read_of_the_secret_patterns_holds(mem: Setting) -> None:
    mem.set('{"CLAUDE_MEM_SECRET_PATTERNS": {"mine": "canary-[0-9]+", "broken": "(", "no": 7}}')
    with hook_process.listening(mem.data):
        hook_process.run(mem.data, payloads.bash("toolu_1", stdout="it is canary-77"))
    assert "canary-77" not in str(hook_process.spooled(mem.data))
    assert len(hook_process.spooled(mem.data)) == 1
    (mem.data / "hook.sock").unlink()
    (found,) = mem.findings("settings")
    assert "CLAUDE_MEM_SECRET_PATTERNS" in found["says"]


def test_where_nobody_can_tell_who_was_to_be_asked_no_model_is(mem: Setting) -> None:
    del mem.env["CLAUDE_MEM_PROVIDER"]
    key = {"ANTHROPIC_API_KEY": "sk-ant-none", "CLAUDE_MEM_BASE_URL": ""}
    for content in (
        "{ not JSON",
        '{"CLAUDE_MEM_PROVIDER": "ofline"}',
        '{"CLAUDE_MEM_BASE_URL": "localhost"}',
    ):
        mem.set(content)
        (observer,) = mem.findings("observer", **key)
        assert observer["says"].startswith("offline"), content


def test_a_command_given_a_bad_value_says_so_once_and_does_its_work(mem: Setting) -> None:
    said = mem("worker", "start", env={"CLAUDE_MEM_WORKER_PORT": "eighty", "CLAUDE_MEM_UNKNOWN": "1"})
    assert said.stderr.count("CLAUDE_MEM_WORKER_PORT") == 1
    assert "CLAUDE_MEM_UNKNOWN" not in said.stderr, "doctor's to say: it may be another program's"
    assert "is running" in said.stdout
    mem.json("search", "nothing", env={"CLAUDE_MEM_LOG_LEVEL": "LOUD"})


@pytest.mark.prove  # what becomes of such a mode: tests/unit/observe/test_mode.py
def test_a_mode_that_is_not_there_or_cannot_be_read_is_told_and_the_usual_one_is_used(mem: Setting) -> None:
    (mem.data / "modes").mkdir(mode=0o700)
    (mem.data / "modes" / "law.toml").write_text("types = 3")
    (mem.data / "modes" / "law.toml").chmod(0o600)
    for mode in ("code--ko", "law"):
        mem.set({"CLAUDE_MEM_MODE": mode})
        mem("worker", "restart")
        assert mode in hook_process.run(mem.data, payloads.start()).json["systemMessage"]
        (found,) = mem.findings("mode")
        assert (found["level"], mode in found["says"]) == ("warn", True)
