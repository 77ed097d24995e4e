"""The bridge between a client's pipes and worker.sock, with a worker that answers as the test says."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.cli import bridge
from claude_mem.cli.bridge import Lines, TooLong

Handle = Callable[[bytes], bytes | None]
SCRIPT = Path(bridge.__file__).with_name("stdio.py")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def http(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode() + body


def answered(request: bytes) -> bytes:
    """As the worker answers: the id comes back, a notification has none."""
    said = json.loads(request.partition(b"\r\n\r\n")[2])
    if "id" not in said:
        return http(b"", "202 Accepted")
    return http(
        json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": {}}, separators=(",", ":")).encode()
    )


class FakeWorker:
    """Listens on worker.sock of the working directory. What `handle` returns is sent; None: it hangs up."""

    def __init__(self, handle: Handle) -> None:
        self.requests: list[bytes] = []
        self._handle = handle
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("worker.sock")
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += stream.readline() or b"\r\n\r\n"
                lines = head.lower().split(b"\r\n")
                sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")]
                request = head + stream.read(sum(sizes))
                self.requests.append(request)
                connection.sendall(self._handle(request) or b"")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@contextmanager
def worker(handle: Handle = answered) -> Iterator[FakeWorker]:
    fake = FakeWorker(handle)
    try:
        yield fake
    finally:
        fake.close()
        Path("worker.sock").unlink()


class Client:
    """A bridge in a thread, and both ends of its pipes."""

    def __init__(self, start: Callable[[], None], **deadlines: float) -> None:
        source, self._writes = os.pipe()
        reads, sink = os.pipe()
        self._reads = os.fdopen(reads, "rb")
        self._ours = [source, sink]
        running = bridge.Bridge(source, sink, b"/home/ada", start, **deadlines)
        self._thread = threading.Thread(target=running.run)
        self._thread.start()

    def say(self, *messages: object) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            os.write(self._writes, line + b"\n")

    def hear(self) -> Any:
        return json.loads(self._reads.readline())

    def leave(self) -> bytes:
        """Closes its end; what the bridge had still to say."""
        os.close(self._writes)
        self._thread.join(10)
        assert not self._thread.is_alive()
        for fd in self._ours:
            os.close(fd)
        with self._reads as rest:
            return rest.read()


def nobody() -> None:
    """No worker can be started."""


@contextmanager
def client(start: Callable[[], None] = nobody, **deadlines: float) -> Iterator[Client]:
    one = Client(start, **deadlines)
    try:
        yield one
    finally:
        one.leave()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class TestFraming:
    @given(st.lists(st.binary().filter(lambda line: b"\n" not in line)), st.data())
    def test_messages_arrive_whole_however_they_are_cut(self, sent: list[bytes], data: st.DataObject) -> None:
        stream, lines, found = b"".join(line + b"\n" for line in sent), Lines(), []
        while stream:
            size = data.draw(st.integers(1, len(stream)))
            found += lines.feed(stream[:size])
            stream = stream[size:]
        assert found == [line for line in sent if line.strip()]

    def test_a_message_that_is_too_long_is_given_up_and_the_next_one_taken(self) -> None:
        lines = Lines(most=1000)
        giant = b'{"jsonrpc":"2.0","id":7,"params":"' + b"x" * 5000 + b'"}'
        found = [one for chunk in (giant[:600], giant[600:3000], giant[3000:]) for one in lines.feed(chunk)]
        assert found == []
        first, second = lines.feed(b"\n{}\n")
        assert isinstance(first, TooLong)
        assert (first.head + first.tail).startswith(giant[:100])
        assert first.tail.endswith(b'"}')
        assert second == b"{}"

    @pytest.mark.parametrize(
        ("head", "tail", "id"),
        [
            (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":9', b'xx"}}', 7),
            (b'{"method":"tools/call","params":{"id":9,"a":"', b'xx"},"jsonrpc":"2.0","id":"s-7"}', "s-7"),
            (b'{"params":{"id":9,"a":"', b'xx"},"id": 7, "jsonrpc": "2.0" }', 7),
            (b'{"params":{"id":9,"a":"', b'xx","id":9}}', None),
        ],
    )
    def test_the_id_of_one_that_is_too_long_is_found_where_clients_write_it(
        self, head: bytes, tail: bytes, id: object
    ) -> None:
        answer = json.loads(bridge.too_long_reply(head, tail, 9))
        assert (answer["id"], answer["error"]["code"]) == (id, -32600)

    @pytest.mark.parametrize("cut", range(0, 60, 7))
    def test_an_answer_that_is_cut_off_is_none(self, cut: int) -> None:
        whole = http(b'{"jsonrpc":"2.0"}', more="Mcp-Session-Id: v.c\r\n")
        reply = bridge.parse_reply(whole)
        assert reply is not None
        assert (reply.status, reply.session, reply.body) == (200, b"v.c", b'{"jsonrpc":"2.0"}')
        assert bridge.parse_reply(whole[:cut]) is None
        assert bridge.parse_reply(whole[:-1]) is None

    @pytest.mark.parametrize("line", [b"[", b"[]", b"[" * 100_000, b"{}"])
    def test_what_is_no_list_of_messages_is_no_batch(self, line: bytes) -> None:
        assert bridge.split_batch(line) is None


class TestCopying:
    def test_a_message_goes_to_the_worker_as_it_is_and_its_answer_comes_back(self) -> None:
        with worker() as fake, client() as one:
            one.say(PING)
            assert one.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
            (request,) = fake.requests
        head, _, body = request.partition(b"\r\n\r\n")
        assert head.startswith(b"POST /mcp HTTP/1.1\r\n")
        assert b"X-Claude-Mem-Cwd: " + b"/home/ada".hex().encode() in head
        assert body == json.dumps(PING).encode()

    def test_the_session_the_worker_names_is_named_from_then_on(self) -> None:
        def handle(request: bytes) -> bytes:
            return answered(request).replace(b"\r\n\r\n", b"\r\nMcp-Session-Id: 2025-11-25.c\r\n\r\n", 1)

        with worker(handle) as fake, client() as one:
            for _ in range(2):
                one.say(PING)
                one.hear()
            first, second = fake.requests
        assert b"Mcp-Session-Id" not in first
        assert b"\r\nMcp-Session-Id: 2025-11-25.c\r\n" in second

    def test_a_notification_has_no_answer(self) -> None:
        with worker(), client() as one:
            one.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, PING)
            assert one.hear()["id"] == 1

    def test_what_is_no_json_is_told_and_the_next_message_answered(self) -> None:
        with worker(lambda _: http(b'{"error":{"message":"No."}}', "400 Bad Request")), client() as one:
            one.say(b"garbage")
            assert one.hear()["error"]["code"] == -32700
            one.say(b"[]")
            assert one.hear()["error"]["code"] == -32600
            one.say(PING)
            assert one.hear() == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "No."}}

    def test_a_batch_is_answered_as_one(self) -> None:
        with worker(), client() as one:
            one.say([PING, {"jsonrpc": "2.0", "method": "notifications/x"}, PING | {"id": 2}])
            assert sorted(answer["id"] for answer in one.hear()) == [1, 2]

    def test_a_batch_of_more_than_a_worker_takes_at_once_is_answered_too(self) -> None:
        with worker(), client() as one:
            one.say([PING | {"id": id} for id in range(300)])
            assert sorted(answer["id"] for answer in one.hear()) == list(range(300))

    def test_a_message_as_large_as_allowed_is_copied_and_a_larger_one_told(self) -> None:
        with worker() as fake, client() as one:
            large = json.dumps(PING | {"params": "x" * (4_000_000)}).encode()
            one.say(large)
            assert one.hear()["result"] == {}
            assert fake.requests[0].endswith(large)
            one.say(json.dumps(PING | {"params": "x" * 5_000_000}).encode())
            assert "longer than" in one.hear()["error"]["message"]
            one.say(PING)
            assert one.hear()["result"] == {}


class TestFaults:
    def test_a_worker_that_is_down_is_started(self) -> None:
        started: list[FakeWorker] = []
        with client(lambda: started.append(FakeWorker(answered))) as one:
            one.say(PING)
            assert one.hear()["result"] == {}
        started[0].close()

    def test_one_that_cannot_be_started_is_told_in_a_sentence(self) -> None:
        with client(start_within_s=0.1) as one:
            one.say({"jsonrpc": "2.0", "method": "notifications/x"}, PING)
            answer = one.hear()
        assert answer["id"] == 1
        assert "did not start" in answer["error"]["message"]

    def test_one_that_never_answers_is_told_in_a_sentence_and_holds_up_nobody(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
            silent.bind("worker.sock")
            silent.listen()
            with client(answer_within_s=0.3) as one:
                one.say(PING)
                connection, _ = silent.accept()
                Path("worker.sock").unlink()
                with connection, worker():
                    one.say(PING | {"id": 2})
                    assert one.hear()["id"] == 2
                    answer = one.hear()
                    assert answer["id"] == 1
                    assert "did not answer in time" in answer["error"]["message"]

    def test_a_question_that_was_cut_off_is_asked_again(self) -> None:
        answers = iter((None, http(b'{"jsonrpc":"2.0","id":1,"result":{}}')))
        with worker(lambda _: next(answers)) as fake, client() as one:
            one.say(PING)
            assert one.hear()["result"] == {}
            assert len(fake.requests) == 2

    @pytest.mark.parametrize("tool", ["remember", "forget"])
    def test_what_changes_memory_is_never_sent_twice(self, tool: str) -> None:
        with worker(lambda _: None) as fake, client() as one:
            one.say(PING | {"method": "tools/call", "params": {"name": tool}})
            assert "stopped before it answered" in one.hear()["error"]["message"]
            assert len(fake.requests) == 1

    def test_what_is_being_answered_when_the_client_leaves_is_still_said(self) -> None:
        with worker():
            one = Client(nobody)
            one.say(PING)
            assert json.loads(one.leave())["id"] == 1

    def test_a_client_that_reads_no_more_ends_it(self) -> None:
        source, writes = os.pipe()
        reads, sink = os.pipe()
        os.close(reads)
        bridge.Bridge(source, sink, b"", nobody).run()
        for fd in (source, writes, sink):
            os.close(fd)


class TestProcess:
    def run(self, data: Path, cwd: Path = Path("/"), **more: Any) -> "subprocess.Popen[bytes]":
        environment = {"CLAUDE_MEM_DATA_DIR": str(data), "HOME": str(data)}
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            **more,
        )

    def test_it_ends_at_once_with_its_input_and_says_nothing(self, data: Path) -> None:
        said, talk = self.run(data).communicate(b"", timeout=20)
        assert (said, talk) == (b"", b"")
        assert not (data / "worker.lock").exists(), "nobody asked, so no worker was started"

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
    def test_a_signal_ends_it_quietly(self, data: Path, number: int, code: int) -> None:
        data.mkdir()
        os.chdir(data)
        with worker():
            process = self.run(data)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(PING).encode() + b"\n")
            process.stdin.flush()
            assert b'"result"' in process.stdout.readline()
            process.send_signal(number)
            assert process.communicate(timeout=20) == (b"", b"")
            assert process.returncode == code

    def test_a_data_directory_that_cannot_be_had_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        process = self.run(tmp_path / "file")
        said, talk = process.communicate(b"", timeout=20)
        assert (process.returncode, said) == (1, b"")
        assert talk == f"claude-mem: Not a directory: {tmp_path / 'file'}\n".encode()

    def test_it_imports_next_to_nothing(self) -> None:
        script = (
            "import sys; sys.path.insert(0, sys.argv[1]); import claude_mem.cli.bridge; "
            "print(*sorted(sys.modules))"
        )
        source = str(Path(bridge.__file__).parents[3])
        found = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, source], capture_output=True, check=True, text=True
        ).stdout.split()
        baseline = subprocess.run(
            [sys.executable, "-I", "-S", "-c", "import sys; print(*sorted(sys.modules))"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split()
        assert {name for name in found if not name.startswith("claude_mem")} - set(baseline) == {
            *("__future__", "_signal", "_socket", "select")
        } - set(baseline)
