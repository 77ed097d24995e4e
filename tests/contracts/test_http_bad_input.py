"""How the HTTP API responds to invalid input: over real sockets, on a real worker."""

import json
import socket

import pytest
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven

from claude_mem.serve.http import guard
from claude_mem.serve.http.app import TABLE


class TestBadInput:
    POSTS = sorted(
        {row.path.replace("{id}", "bad") for row in TABLE if row.method == "POST" and not row.socket_only}
    )
    NONSENSE = (
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"claudeSessionId":' + b"9" * 5000 + b"}",
        b'{"claudeSessionId":NaN}',
    )

    @pytest.mark.parametrize("body", NONSENSE)
    def test_nonsense_is_a_bad_request_on_every_route(
        self, worker: Driven, subtests: pytest.Subtests, body: bytes
    ) -> None:
        for path in self.POSTS:
            with subtests.test(path=path):
                reply = worker.tcp("POST", path, body, worker.with_token())
                assert reply.status == 400
                assert reply.json["error"]["code"] in ("bad_json", "too_deep")

    @pytest.mark.parametrize("session", [None, "", "   ", 5, ["x"], {"a": 1}, "x" * 5000])
    def test_a_session_without_an_id_is_refused(
        self, worker: Driven, subtests: pytest.Subtests, session: object
    ) -> None:
        for path in self.POSTS:
            if path.startswith("/api/sessions/"):
                with subtests.test(path=path):
                    status, answer = worker.ask("POST", path, {"claudeSessionId": session})
                    assert status == 400
                    assert answer["error"]["field"] in ("claudeSessionId", "session_id")

    @pytest.mark.parametrize(
        "value",
        [
            "\ud800",
            "a\0b",
            "ж" * 1000,
            "\N{GRINNING FACE}",
            "\u202e",
            "'; DROP TABLE x; --",
            "\uffff",
        ],
    )
    def test_strange_text_is_taken_in_anywhere(self, worker: Driven, value: str) -> None:
        body = {
            "claudeSessionId": "strange" + value,
            "project": value,
            "prompt": value,
            "cwd": "/" + value,
            "tool_name": value,
            "tool_input": {value: [value]},
            "tool_response": value,
            "last_assistant_message": value,
            "reason": value,
        }
        for action in ("init", "observations", "summarize", "complete"):
            assert worker.ask("POST", f"/api/sessions/{action}", body)[0] in (200, 202)

    @pytest.mark.parametrize(
        "path", ["/sessions/%00/status", "/sessions/%FF%FE/status", "/sessions/%ED%A0%80/status"]
    )
    def test_strange_paths_are_not_found(self, worker: Driven, path: str) -> None:
        assert worker.tcp("GET", path, headers=worker.with_token()).status == 404

    def test_a_wrong_type_is_refused_naming_the_field(self, worker: Driven) -> None:
        _, answer = worker.ask("POST", "/api/processing", {"isProcessing": "yes"})
        assert answer["error"]["field"] == "isProcessing"
        _, answer = worker.ask("POST", "/sessions/x/summarize", {"prompt_number": 10**30})
        assert answer["error"]["field"] == "prompt_number"

    @pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "multipart/form-data"])
    def test_what_is_not_json_is_an_unsupported_type(self, worker: Driven, media_type: str) -> None:
        headers = worker.with_token() | {"Content-Type": media_type}
        reply = worker.tcp("POST", "/api/processing", b'{"isProcessing":true}', headers)
        assert (reply.status, reply.json["error"]["code"]) == (415, "not_json")

    def test_json_that_fetch_calls_plain_text_is_read_for_whoever_shows_the_token(
        self, worker: Driven
    ) -> None:
        headers = worker.with_token() | {"Content-Type": "text/plain;charset=UTF-8"}
        reply = worker.tcp("POST", "/api/processing", b'{"isProcessing":false}', headers)
        assert reply.status == 200
        reply = worker.tcp("POST", "/api/processing", b"isProcessing=false", headers)
        assert (reply.status, reply.json["error"]["code"]) == (400, "bad_json")

    def test_a_wrong_method_is_told_the_right_ones(self, worker: Driven) -> None:
        reply = worker.tcp("DELETE", "/api/processing", headers=worker.with_token())
        assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, POST")

    @pytest.mark.parametrize("path", ["/nowhere", "/health/", "//health", "/api/../health", "/HEALTH"])
    def test_an_unknown_path_is_not_found_and_never_redirected(self, worker: Driven, path: str) -> None:
        reply = worker.tcp("GET", path, headers=worker.with_token())
        assert (reply.status, reply.json["error"]["code"]) == (404, "no_route")

    def test_a_body_at_the_bound_is_read_and_one_past_it_is_too_large(self, worker: Driven) -> None:
        def padded(size: int) -> bytes:
            head = b'{"claudeSessionId":"large","tool_input":"'
            return head + b"x" * (size - len(head) - 2) + b'"}'

        path = "/api/sessions/observations"
        assert worker.tcp("POST", path, padded(guard.MOST_BYTES), worker.with_token()).status == 202
        assert worker.tcp("POST", path, padded(guard.MOST_BYTES + 1), worker.with_token()).status == 413

    @pytest.mark.parametrize("listener", ["tcp", "unix"])
    def test_a_chunked_body_is_counted_as_it_comes(self, worker: Driven, listener: str) -> None:
        before = worker.counters()["accepted"]
        head = (
            f"POST /api/sessions/observations HTTP/1.1\r\nHost: 127.0.0.1:{worker.port}\r\n"
            f"Authorization: Bearer {worker.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        if listener == "tcp":
            sock = socket.create_connection(("127.0.0.1", worker.port), timeout=worker_driver.DEADLINE_S)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(worker_driver.DEADLINE_S)
            sock.connect(str(worker.data / "worker.sock"))
        with sock:
            sock.sendall(head.encode())
            for _ in range(guard.MOST_BYTES // 0x100000 + 1):
                sock.sendall(chunk)
            assert sock.recv(64).startswith(b"HTTP/1.1 413 ")
        assert worker.counters()["accepted"] == before

    def test_a_bug_is_answered_without_a_word_about_it_and_logged_without_the_payload(
        self, worker: Driven
    ) -> None:
        (worker.data / "bug").touch()
        try:
            status, answer = worker.ask("POST", "/sessions/x/observations", {"tool_input": "canary-secret"})
        finally:
            (worker.data / "bug").unlink()
        assert (status, answer["error"]["code"]) == (500, "internal")
        assert worker.ask("GET", "/health")[1]["mishaps"]["request"] == 1
        assert "RuntimeError" in worker.log()
        assert "canary-secret" not in worker.log()

    def test_garbage_instead_of_http_ends_that_connection_only(self, worker: Driven) -> None:
        with socket.create_connection(("127.0.0.1", worker.port), timeout=worker_driver.DEADLINE_S) as sock:
            sock.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert sock.recv(64).startswith(b"HTTP/1.1 400 ")
        assert worker.ask("GET", "/health")[0] == 200


def test_every_post_is_answered_with_a_status_that_openapi_names(
    worker: Driven, subtests: pytest.Subtests
) -> None:
    """With the body that the document itself gives as the example, and with none."""
    document = worker.ask("GET", "/openapi.json")[1]
    for path, methods in document["paths"].items():
        if "post" not in methods or path == "/api/restart":  # after which nobody would answer
            continue
        said = methods["post"]
        content = said.get("requestBody", {}).get("content", {}).get("application/json", {})
        for body in ({}, content.get("example") or {}):
            with subtests.test(path=path, body=body):
                reply = worker.tcp(
                    "POST", path.replace("{id}", "statuses"), json.dumps(body).encode(), worker.with_token()
                )
                assert str(reply.status) in said["responses"]
