"""The hook protocol, as callers see it: over a real socket, on a real worker."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven

from claude_mem.serve import hook_socket


@pytest.fixture(scope="module", autouse=True)
def open_sessions(worker: Driven) -> None:
    """More than one, so that a message has to name its own."""
    for session in ("open-1", "open-2"):
        worker.ask("POST", "/api/sessions/init", {"claudeSessionId": session, "prompt": "Hello"})


class TestTheHookLine:
    def test_an_observation_is_answered_after_its_commit(self, worker: Driven) -> None:
        line = {
            "type": "observation",
            "session_id": "line-1",
            "tool_name": "Read",
            "tool_input": '{"file_path": "/path"}',
            "tool_output": '{"content": "..."}',
        }
        before = worker.counters()["accepted"]
        [answer] = worker.say(json.dumps(line).encode() + b"\n", replies=1)
        assert answer["ok"] is True
        assert worker.counters()["accepted"] == before + 1
        assert worker.ask("GET", "/sessions/line-1/status")[1]["sessionDbId"] == answer["sessionDbId"]

    def test_a_session_is_finalized(self, worker: Driven) -> None:
        [answer] = worker.say(b'{"type":"finalize","session_id":"line-2"}\n', replies=1)
        assert answer["ok"] is True
        assert worker.ask("GET", "/sessions/line-2/status")[1]["status"] == "summarizing"

    def test_a_message_without_a_session_is_of_the_one_named_before_on_its_line(self, worker: Driven) -> None:
        named = b'{"type":"observation","session_id":"line-3","tool_name":"Read"}\n'
        (first, second) = worker.say(named, b'{"type":"finalize"}\n', replies=2)
        assert second["ok"] is True
        assert second["sessionDbId"] == first["sessionDbId"]

    def test_nothing_is_recalled_yet_and_that_is_said(self, worker: Driven) -> None:
        assert worker.say(b'{"type":"ask","prompt":"?"}\n', replies=1) == [{"type": "answer", "context": ""}]

    def test_a_wake_drains_the_spool_and_is_not_answered(self, worker: Driven) -> None:
        file = worker.data / "spool" / "00000000000000000001-1-aaaa.json"
        file.write_text("{}")
        said = worker.say(b'{"type":"wake","version":"0.1.0"}\n', b'{"type":"ask"}\n', replies=1)
        assert said == [{"type": "answer", "context": ""}]
        worker_driver.until("the spool is drained", lambda: not file.exists())

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            (b'{"type":"observation","tool_name":"Read"}', "session_id"),
            (b'{"type":"finalize"}', "session_id"),
            (b'{"type":"observation","session_id":5}', "session"),
            (b"{}", "type"),
            (b'{"type":"dance"}', "type"),
            (b'{"type":["wake"]}', "type"),
            (b"not json", "JSON"),
            (b"[1,2]", "object"),
            (b"\xff\xfe\x00", "UTF-8"),
            (b"[" * 100_000, "deeper"),
        ],
    )
    def test_nonsense_is_answered_with_what_is_wrong_and_the_line_stays_up(
        self, worker: Driven, line: bytes, word: str
    ) -> None:
        wrong, right = worker.say(line + b"\n", b'{"type":"ask"}\n', replies=2)
        assert word in wrong["error"]
        assert right["type"] == "answer"

    def test_a_line_too_long_ends_that_connection_only(self, worker: Driven) -> None:
        with worker_driver.connected(worker.data / "hook.sock") as sock:

            def talk() -> None:
                with suppress(OSError):  # it hangs up on us, as it should
                    sock.sendall(b"x" * (hook_socket.LONGEST_LINE * 3))

            talking = threading.Thread(target=talk)
            talking.start()
            answer = sock.makefile("rb").readline()
            talking.join(worker_driver.DEADLINE_S)
        assert b"longer than" in answer
        assert worker.say(b'{"type":"ask"}\n', replies=1)

    def test_more_connections_than_there_is_room_for_are_told_so(self, worker: Driven) -> None:
        held = [socket.socket(socket.AF_UNIX) for _ in range(hook_socket.MOST_CONNECTIONS + 20)]
        try:
            for sock in held:
                sock.settimeout(worker_driver.DEADLINE_S)
                sock.connect(str(worker.data / "hook.sock"))
            assert b"Too many" in held[-1].recv(200)
        finally:
            for sock in held:
                sock.close()
        worker_driver.until(
            "there is room again", lambda: "type" in worker.say(b'{"type":"ask"}\n', replies=1)[0]
        )

    def test_a_full_disk_is_an_error_that_says_try_again(self, worker: Driven) -> None:
        (worker.data / "disk-is-full").touch()
        try:
            [answer] = worker.say(b'{"type":"finalize","session_id":"line-9"}\n', replies=1)
        finally:
            (worker.data / "disk-is-full").unlink()
        assert answer["retry"] is True
        assert "disk full" in answer["error"]


def test_a_message_without_a_session_is_of_the_only_open_one(data: Path) -> None:
    """As the document shows them, which had a socket for each session."""
    line = b'{"type":"observation","tool_name":"Read","tool_input":"{}","tool_output":"ok"}\n'
    with worker_driver.started(data) as worker:
        [answer] = worker.say(line, replies=1)
        assert answer["field"] == "session_id"
        made = worker.ask("POST", "/api/sessions/init", {"claudeSessionId": "only", "prompt": "Hello"})[1]
        [answer] = worker.say(line, replies=1)
        assert (answer["ok"], answer["sessionDbId"]) == (True, made["sessionDbId"])
        [answer] = worker.say(b'{"type":"finalize"}\n', replies=1)
        assert answer["ok"] is True
        worker.ask("POST", "/api/sessions/init", {"claudeSessionId": "another", "prompt": "Hello"})
        [answer] = worker.say(line, replies=1)
        assert answer["field"] == "session_id"
