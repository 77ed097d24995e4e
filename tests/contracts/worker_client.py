"""A worker with memories, and its callers: over its socket, over TCP, and listening."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.harness import workers

from claude_mem.serve import control
from claude_mem.serve.http import stream


@dataclass(frozen=True)
class Worker:
    data: Path

    def ask(self, method: str, path: str, body: object = None, /, **query: object) -> tuple[int, Any]:
        """Over worker.sock."""
        path = f"{path}?{urlencode(query, doseq=True)}" if query else path
        return control.request(self.data, method, path, body, deadline_s=workers.PATIENCE_S)

    def get(self, path: str, /, **query: object) -> Any:
        status, answer = self.ask("GET", path, **query)
        assert status == 200, answer
        return answer

    def post(self, path: str, /, **body: object) -> Any:
        status, answer = self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    def refused(
        self, method: str, path: str, body: object = None, /, **query: object
    ) -> tuple[int, str, str]:
        """Status, code and field of an error."""
        status, answer = self.ask(method, path, body, **query)
        assert set(answer["error"]) <= {"code", "message", "field"}, answer
        assert answer["error"]["message"]
        return status, answer["error"]["code"], answer["error"].get("field", "")

    @property
    def port(self) -> int:
        return int(json.loads((self.data / "worker.json").read_bytes())["port"])

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()

    def told(self, event: str, **payload: str) -> str:
        """What a hook is answered."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(workers.PATIENCE_S)
            sock.connect(str(self.data / "hook.sock"))
            asked = {"type": "ask", "version": "0.0.1", "event": event, "payload": payload}
            sock.sendall(json.dumps(asked).encode() + b"\n")
            with sock.makefile("rb") as answers:
                return str(json.loads(answers.readline())["context"])

    def settle(self) -> None:
        """Wait until everything is observed, and found by words and by meaning."""
        workers.settled(self.data)
        workers.until(lambda: not any(self._waiting()), "the indexes are in step")

    def _waiting(self) -> tuple[int, int]:
        figures = self.get("/api/stats")
        return figures["index"]["waiting"], figures["vectors"]["waiting"]

    def works(self, session: str, prompt: str, path: str, *, project: str = "shop") -> None:
        """A turn of a session: a prompt, an edit, an end."""
        named = {"claudeSessionId": session, "project": project, "cwd": f"/home/ada/{project}"}
        edit = {
            "tool_name": "Edit",
            "tool_use_id": f"toolu_{session}",
            "tool_input": {"file_path": f"/home/ada/{project}/{path}", "old_string": "a", "new_string": "b"},
            "tool_response": {"filePath": f"/home/ada/{project}/{path}"},
        }
        for action, more in (
            ("init", {"prompt": prompt}),
            ("observations", edit),
            ("summarize", {"last_assistant_message": f"Done: {prompt}"}),
        ):
            status, answer = self.ask("POST", f"/api/sessions/{action}", named | more)
            assert status in (200, 202), answer


@contextmanager
def remembering(data: Path) -> Iterator[Worker]:
    """A worker that remembers three sessions of two projects."""
    with workers.running(data):
        worker = Worker(data)
        worker.works("shop-1", "Fix the login that fails on empty passwords", "src/login.py")
        worker.works("shop-2", "Speed up the basket's totals", "src/basket.py")
        worker.works("mill-1", "Grind finer: the burrs wear out", "src/burrs.py", project="mill")
        worker.settle()
        yield worker


def timeless(found: dict[str, Any]) -> dict[str, Any]:
    """Without the scores, which the passing of time moves."""
    moved = {"score": 0, "parts": {}}
    return found | {"results": [result | moved for result in found["results"]]}


def refs(results: list[dict[str, Any]]) -> list[str]:
    return [result["ref"] for result in results]


def over_tcp(worker: Worker, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
    connection.request("GET", path, headers={"Authorization": f"Bearer {worker.token}"})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


@dataclass(frozen=True)
class Told:
    id: str
    name: str
    data: dict[str, Any]


class Listener:
    """Reads server-sent events from a connection, one by one."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.response = connection.getresponse()
        assert self.response.status == 200
        assert self.response.headers["content-type"].startswith(stream.MEDIA_TYPE)
        first = self.next()
        assert first.name == "initial"
        self.initial = first

    def next(self) -> Told:
        fields: dict[str, str] = {}
        deadline = time.monotonic() + workers.PATIENCE_S  # heartbeats come for ever
        while time.monotonic() < deadline:
            raw = self.response.readline()
            if not raw:
                raise EOFError
            line = raw.decode().rstrip("\n")
            if not line and "data" in fields:
                return Told(fields["id"], fields["event"], json.loads(fields["data"]))
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        raise AssertionError("nothing is told")

    def until(self, name: str, **fields: object) -> list[Told]:
        """All up to the first that is so named, and whose memory has these fields."""
        seen: list[Told] = []
        deadline = time.monotonic() + workers.PATIENCE_S
        while time.monotonic() < deadline:
            seen.append(self.next())
            inner = seen[-1].data.get(name.removeprefix("new_"), {})
            if seen[-1].name == name and all(inner.get(key) == value for key, value in fields.items()):
                return seen
        raise AssertionError(f"{name}: not within {workers.PATIENCE_S} s")


@contextmanager
def listening(worker: Worker, *, tcp: bool = False, query: str = "", since: str = "") -> Iterator[Listener]:
    headers = {"Last-Event-ID": since} if since else {}
    if tcp:
        connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
        headers["Authorization"] = f"Bearer {worker.token}"
    else:
        connection = http.client.HTTPConnection("localhost", timeout=workers.PATIENCE_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(workers.PATIENCE_S)
        connection.sock.connect(str(worker.data / "worker.sock"))
    try:
        connection.request("GET", f"/stream{query}", headers=headers)
        yield Listener(connection)
    finally:
        connection.close()
