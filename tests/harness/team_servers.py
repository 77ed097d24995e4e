"""A real team server for tests: its processes, on a database of its own, and its callers."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.harness import hook_process
from tests.harness.workers import PATIENCE_S

from claude_mem.api.team import SCOPES, NewGrant, NewKey, NewMember, Scope
from claude_mem.model.clock import now
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.team import acting_as_service

LINES = "application/x-ndjson"


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.splitlines()]


@dataclass
class Caller:
    """Somebody with a key, or without."""

    port: int
    key: str | None = None
    tls: ssl.SSLContext | None = None

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        /,
        *,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Reply:
        """`body`: bytes as they are, a list as lines, anything else as JSON."""
        sent = {"Accept": "application/json"}
        if self.key is not None:
            sent["Authorization"] = f"Bearer {self.key}"
        if isinstance(body, list):
            data: bytes | None = b"".join(json.dumps(each).encode() + b"\n" for each in body)
            sent["Content-Type"] = LINES
        else:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        path = f"{path}?{urlencode(query, doseq=True)}" if query else path
        connection = self.connect()
        try:
            connection.request(method, path, data, sent | (headers or {}))
            response = connection.getresponse()
            return Reply(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()

    def get(self, path: str, /, **query: Any) -> Any:
        reply = self.ask("GET", path, **query)
        assert reply.status == 200, reply.raw
        return reply.json

    def post(self, path: str, body: object, /) -> Any:
        reply = self.ask("POST", path, body)
        assert reply.status == 200, reply.raw
        return reply.json

    def connect(self) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE_S, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)


@dataclass
class ServerProcess:
    process: subprocess.Popen[str]
    log: list[dict[str, Any]] = field(default_factory=list)
    _heard: threading.Condition = field(default_factory=threading.Condition)

    @property
    def port(self) -> int:
        return int(self.waited_for("listening")["port"])

    def waited_for(self, message: str) -> dict[str, Any]:
        """The first line of the log that says so."""

        def found() -> dict[str, Any] | None:
            return next((line for line in self.log if line["message"] == message), None)

        with self._heard:
            assert self._heard.wait_for(lambda: found() or self.process.poll() is not None, PATIENCE_S), (
                message
            )
            line = found()
        assert line is not None, (message, self.log)
        return line

    def stop(self) -> int:
        """The exit code, after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def follow(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            try:
                line = json.loads(text)
            except ValueError:
                line = {"message": text.rstrip()}
            with self._heard:
                self.log.append(line)
                self._heard.notify_all()
        with self._heard:
            self._heard.notify_all()


@contextmanager
def running(
    url: str,
    *options: object,
    port: int = 0,
    command: Sequence[str] = (sys.executable, "-m", "claude_mem"),
    **env: str,
) -> Iterator[ServerProcess]:
    """A process of the server on this database, as a person starts it. Port 0: any."""
    command = [*command, "server", "run", "--listen", f"127.0.0.1:{port}"]
    variables = {"CLAUDE_MEM_DATABASE_URL": url, "CLAUDE_MEM_VECTORS": "off"} | env
    process = subprocess.Popen(
        [*command, *map(str, options)],
        env=hook_process.environment(no_data_directory(), **variables),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    server = ServerProcess(process)
    reader = threading.Thread(target=server.follow, daemon=True)
    reader.start()
    try:
        yield server
    finally:
        process.kill()
        process.wait()
        reader.join()
        assert process.stderr is not None
        process.stderr.close()


def no_data_directory() -> Any:
    """A server has none: the path of something that is not there."""
    from pathlib import Path

    return Path(os.devnull).parent / "no-such-directory"


@contextmanager
def opened(url: str, clock: Callable[[], int] = now) -> Iterator[PostgresStore]:
    """The team's store, as the server itself."""
    with PostgresStore.open(url, clock=clock, server=True) as store, acting_as_service():
        yield store


def new_team(url: str, *members: str, admin: str = "ada") -> dict[str, str]:
    """A key for the admin (all scopes) and for each member (read and write), by name."""
    with opened(url) as store:
        keys = {admin: store.directory.begin(admin, "laptop")[0]}
        for name in members:
            store.directory.add_member(NewMember(name=name))
            keys[name] = store.directory.add_key(NewKey(member=name, machine="laptop"))[0]
    return keys


def new_key(
    url: str, member: str, machine: str = "other", scopes: tuple[Scope, ...] = SCOPES, days: int = 365
) -> tuple[str, str]:
    """The key, and its id."""
    with opened(url) as store:
        key, info = store.directory.add_key(NewKey(member=member, machine=machine, scopes=scopes, days=days))
    return key, info.id


def grant(url: str, project: str, member: str, level: Any) -> None:
    with opened(url) as store:
        store.directory.grant(NewGrant(project=project, member=member, level=level))


AT = 1_794_800_000_000


def session_records(session: str, project: str, *titles: str, words: str = "") -> list[dict[str, Any]]:
    """A session with an observation of each title, and a summary."""
    name = project.rpartition("/")[2]
    return [
        {"kind": "project", "key": project, "name": name},
        {"kind": "session", "session_id": session, "project": project, "client": "codex", "created_at": AT},
        *(
            {
                "kind": "observation",
                "session_id": session,
                "type": "bugfix",
                "title": title,
                "narrative": f"{title}. {words}",
                "files_modified": ["src/heron.py"],
                "at": AT + number,
            }
            for number, title in enumerate(titles, 1)
        ),
        {"kind": "summary", "session_id": session, "request": f"about {words or session}", "at": AT + 1_000},
    ]
