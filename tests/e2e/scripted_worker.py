"""A worker that answers hooks as a test tells it to, and the rendered contexts of sessions."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.harness import hook_process, workers

CONTINUE = {"continue": True, "suppressOutput": True}
CWD = "/home/u/proj"
STAMP = "0123456789abcdef"
SECRET = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"

Reply = Callable[[socket.socket], None]


class Worker:
    """Speaks the line protocol on a real `hook.sock`, and answers each caller as it is told to."""

    def __init__(self, server: socket.socket, reply: Reply) -> None:
        self._server, self._reply = server, reply
        self.heard: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self.ended.is_set():
            with suppress(OSError):
                connection, _ = self._server.accept()
                with connection:
                    line = connection.makefile("rb").readline()
                    if line:
                        self.heard.append(json.loads(line))
                        self._reply(connection)

    def answering(self, data: Path, payload: bytes, verb: str = "hook") -> hook_process.Answered:
        """Run a hook to which the answer is shown. On a busy machine it comes too late at times: then the
        hook is run again, as if for the first time."""
        for _ in range(20):
            answered = hook_process.run(data, payload, verb)
            if answered.json != CONTINUE:
                break
            workers.until(lambda: bool(self.heard), "its question is heard")
            self.heard.clear()
            for file in (data / "spool").glob("[0-9]*.json"):
                file.unlink()
        return answered

    def asked(self) -> list[dict[str, Any]]:
        return [said for said in self.heard if said["type"] == "ask"]

    def stop(self) -> None:
        self.ended.set()
        self._server.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._thread.join()


@contextmanager
def worker(data: Path, reply: Reply) -> Iterator[Worker]:
    with hook_process.listening(data) as server:
        found = Worker(server, reply)
        try:
            yield found
        finally:
            found.stop()


def saying(raw: bytes) -> Reply:
    def reply(connection: socket.socket) -> None:
        with suppress(OSError):  # a hook that has heard enough hangs up
            connection.sendall(raw)

    return reply


def telling(context: str) -> Reply:
    return saying(json.dumps({"type": "answer", "context": context}).encode() + b"\n")


def shown(event: str, context: str) -> dict[str, object]:
    return CONTINUE | {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def render(data: Path, name: str, context: str, *, session: bool = False) -> bytes:
    """As the worker does; returns what the hook is to print."""
    (data / "context").mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o700)
    answer = json.dumps(shown("SessionStart", context)).encode() + b"\n" if context else b""
    file(data, name, session=session).write_bytes(STAMP.encode() + b"\n" + answer)
    return answer


def file(data: Path, name: str, *, session: bool = False) -> Path:
    return data / "context" / (("s-" if session else "") + hashlib.sha1(name.encode()).hexdigest())


def stamps(data: Path) -> list[object]:
    return [envelope.get("context") for envelope in hook_process.spooled(data)]
