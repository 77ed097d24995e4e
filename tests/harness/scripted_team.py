"""A scripted team server, for responses that a real one rarely gives. Behaviour with a healthy server
is tested against the real one (tests/e2e/test_team.py)."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = tuple[int, bytes]
Script = Callable[[str, str, bytes], Answer]
"""By method, path (with the query) and body."""

WHO = {
    "member": "ada",
    "machine": "laptop",
    "key": "k1",
    "scopes": ["read", "write"],
    "admin": False,
    "expires_at": None,
    "projects": [],
    "version": "1",
}


def lines(*records: dict[str, Any], cursor: str = "1", more: bool = False) -> Answer:
    """A pull."""
    end = {"kind": "cursor", "cursor": cursor, "more": more}
    return 200, b"".join(json.dumps(each).encode() + b"\n" for each in (*records, end))


def healthy(method: str, path: str, body: bytes) -> Answer:
    """Takes all and has nothing."""
    del method
    if path == "/api/team":
        return 200, json.dumps(WHO).encode()
    if path.startswith("/api/team/pull"):
        return lines()
    if path == "/api/team/forget":
        return 200, json.dumps({"ids": [""] * len(json.loads(body)["names"])}).encode()
    return 200, b"{}"


class ScriptedTeam:
    def __init__(self, script: Script = healthy, tls: ssl.SSLContext | None = None) -> None:
        self.script, self._tls = script, tls
        self.requests: list[tuple[str, str, bytes]] = []

    def __enter__(self) -> Self:
        team = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                team.requests.append((self.command, self.path, body))
                status, reply = team.script(self.command, self.path, body)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            do_GET = do_POST = answer  # noqa: N815 - http.server's names

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Who does not trust the certificate goes away."""

        self._http = Server(("127.0.0.1", 0), Handler)
        if self._tls is not None:
            self._http.socket = self._tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._http.server_address[1]}"

    def paths(self) -> list[str]:
        return [path.partition("?")[0].removeprefix("/api/team") for _, path, _ in self.requests]
