"""Row 23: DNS rebinding, CSRF, no token, cross-site GET: each of them against every route of the table."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven, Reply

from claude_mem.serve.http import guard
from claude_mem.serve.http.app import TABLE
from claude_mem.serve.http.routes import memory_routes, project_routes, sharing_routes, viewer_routes

BODY = (
    b'{"claudeSessionId":"victim","userPrompt":"x","prompt":"x","tool_name":"Read","isProcessing":true,'
    b'"reason":"exit","paused":true,"changes":{"CLAUDE_MEM_LOG_LEVEL":"DEBUG"},"ids":[1],"id":1,"into":1}'
)
ROUTES = [(row.method, row.path.replace("{id}", "victim")) for row in TABLE]
NEEDING_MORE = {
    row.path.replace("{id}", "victim")
    for row in TABLE
    if row in (*memory_routes.routes, *project_routes.routes)
    or row.path in ("/api/backfill", "/api/backfill/known", "/api/recording")
}
"""Routes that may have to be told of what."""
WITHOUT_A_TEAM = {row.path for row in sharing_routes.routes if row.path.startswith("/api/team")}
"""Routes that ask the team's server."""
READS = [(method, path) for method, path in ROUTES if method == "GET" and path != "/stream"]

Attack = tuple[str, dict[str, str], int]

ATTACKS: list[Attack] = [
    ("no token", {"Authorization": ""}, 401),
    ("a wrong token", {"Authorization": "Bearer " + "A" * 43}, 401),
    ("an empty token", {"Authorization": "Bearer "}, 401),
    ("another scheme", {"Authorization": "Basic {token}"}, 401),
    ("a rebound host", {"Host": "evil.example:{port}"}, 421),
    ("a rebound host without a port", {"Host": "evil.example"}, 421),
    ("another port", {"Host": "127.0.0.1:1"}, 421),
    ("no host", {"Host": ""}, 421),
    ("a foreign origin", {"Origin": "http://evil.example"}, 403),
    ("a null origin", {"Origin": "null"}, 403),
    ("an origin on another port", {"Origin": "http://127.0.0.1:1"}, 403),
    ("an https origin", {"Origin": "https://127.0.0.1:{port}"}, 403),
    ("a cross-site fetch", {"Sec-Fetch-Site": "cross-site"}, 403),
    ("a same-site fetch", {"Sec-Fetch-Site": "same-site"}, 403),
    ("a form post", {"Authorization": "", "Content-Type": "text/plain"}, 401),
    (
        "a cross-site page",
        {"Authorization": "", "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        403,
    ),
]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with worker_driver.started(tmp_path_factory.mktemp("worker") / "data") as driven:
        yield driven


@pytest.fixture(autouse=True)
def nothing_happened(worker: Driven) -> Iterator[None]:
    yield
    assert_nothing_happened(worker)


def assert_nothing_happened(worker: Driven) -> None:
    """After a refused request the store is as empty as before, and so is the directory."""
    assert worker.counters() == {}, "a refused request reached the store"
    assert worker.ask("GET", "/health")[1]["activeSessions"] == 0
    for name in ("activity.flag", "settings.json", "off", "signed-in.json"):
        assert not (worker.data / name).exists(), "a refused request wrote a file"
    assert worker.process.poll() is None, "a refused request stopped the worker"


def attacked(worker: Driven, method: str, path: str, headers: dict[str, str]) -> Reply:
    filled = {
        name: value.replace("{port}", str(worker.port)).replace("{token}", worker.token)
        for name, value in headers.items()
    }
    return worker.tcp(method, path, BODY if method == "POST" else None, worker.with_token() | filled)


def assert_turned_away(reply: Reply) -> None:
    assert reply.status == 403
    assert "set-cookie" not in reply.headers
    assert b"claude-mem open" in reply.raw


def assert_hardened(reply: Reply, cached: str = "no-store") -> None:
    assert reply.headers["cache-control"] == cached
    assert reply.headers["content-security-policy"] == guard.POLICY
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in reply.headers if name.startswith("access-control-")]
    assert "server" not in reply.headers


@pytest.mark.parametrize(("what", "headers", "status"), ATTACKS, ids=[attack[0] for attack in ATTACKS])
def test_every_attack_is_refused_on_every_route(
    worker: Driven, subtests: pytest.Subtests, what: str, headers: dict[str, str], status: int
) -> None:
    for method, path in ROUTES:
        with subtests.test(method=method, path=path):
            reply = attacked(worker, method, path, headers)
            if path in viewer_routes.OPEN and status == 401:  # it asks for a word of its own
                assert_turned_away(reply)
                continue
            assert reply.status == status, what
            assert set(reply.json["error"]) == {"code", "message"}
            assert worker.token.encode() not in reply.raw
            assert ("www-authenticate" in reply.headers) == (status == 401)
            assert_hardened(reply)
            assert_nothing_happened(worker)


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "Authorization"])
def test_a_token_in_the_query_opens_nothing(worker: Driven, subtests: pytest.Subtests, name: str) -> None:
    for method, path in ROUTES:
        with subtests.test(method=method, path=path):
            reply = attacked(worker, method, f"{path}?{name}={worker.token}", {"Authorization": ""})
            if path in viewer_routes.OPEN:
                assert_turned_away(reply)
            else:
                assert reply.status == 401


@pytest.mark.parametrize("name", ["token", None], ids=["any name", "the viewer's name"])
def test_the_token_as_a_cookie_opens_nothing(
    worker: Driven, subtests: pytest.Subtests, name: str | None
) -> None:
    cookie = f"{name or guard.cookie_name(worker.port)}={worker.token}"
    for method, path in ROUTES:
        with subtests.test(method=method, path=path):
            reply = attacked(worker, method, path, {"Authorization": "", "Cookie": cookie})
            if path in viewer_routes.OPEN:
                assert_turned_away(reply)
            else:
                assert reply.status == 401


def test_a_preflight_is_granted_nothing(worker: Driven, subtests: pytest.Subtests) -> None:
    asking = {
        "Authorization": "",
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    for path in sorted({path for _, path in ROUTES}):
        with subtests.test(path=path):
            reply = attacked(worker, "OPTIONS", path, asking)
            assert reply.status == 403
            assert_hardened(reply)


@pytest.mark.parametrize("path", ["/", "/nowhere", "/favicon.ico", "/../token", "/%2e%2e/token"])
def test_what_does_not_exist_asks_for_the_token_too(worker: Driven, path: str) -> None:
    assert attacked(worker, "GET", path, {"Authorization": ""}).status == 401


def test_the_worker_cannot_be_stopped_over_tcp_even_with_the_token(worker: Driven) -> None:
    reply = attacked(worker, "POST", "/api/admin/shutdown", {})
    assert (reply.status, reply.json["error"]["code"]) == (404, "no_route")
    assert_hardened(reply)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_token_opens_every_read(worker: Driven, subtests: pytest.Subtests, host: str) -> None:
    own = {
        "Host": f"{host}:{worker.port}",
        "Origin": f"http://{host}:{worker.port}",
        "Sec-Fetch-Site": "same-origin",
    }
    for method, path in READS:
        with subtests.test(path=path):
            reply = attacked(worker, method, path, own)
            if path in NEEDING_MORE:
                assert reply.status in (200, 400, 404)
            elif path in WITHOUT_A_TEAM:
                assert reply.status == 409
            elif path in viewer_routes.OPEN:
                assert_turned_away(reply)
            else:
                nowhere = ("/sessions/victim/status", "/viewer/victim")
                assert reply.status == (404 if path in nowhere else 200)
            assert_hardened(reply, "private, no-cache" if path == "/" else "no-store")


def test_a_forwarding_header_changes_nobodys_mind(worker: Driven) -> None:
    headers = {
        "Host": "evil.example",
        "X-Forwarded-Host": f"127.0.0.1:{worker.port}",
        "X-Forwarded-For": "127.0.0.1",
    }
    assert attacked(worker, "GET", "/health", headers).status == 421


def test_a_header_without_an_end_fills_no_memory(worker: Driven) -> None:
    before = worker.ask("GET", "/health")[1]["memory"]["rss"]
    sent = 0
    with socket.create_connection(("127.0.0.1", worker.port), timeout=worker_driver.DEADLINE_S) as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 421 ")
        with suppress(OSError):  # it hangs up on us, as it should
            sock.sendall(b"GET /health HTTP/1.1\r\nX: ")
            while sent < 64 << 20:
                sent += sock.send(b"x" * (1 << 20))
    assert sent < 64 << 20
    assert worker.ask("GET", "/health")[1]["memory"]["rss"] - before < 8 << 20


def test_only_the_loopback_is_listened_on(worker: Driven) -> None:
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()
        if line.split()[3] == "0A" and int(line.split()[1].partition(":")[2], 16) == worker.port
    ]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"]


def test_the_keys_are_their_owners_alone(worker: Driven) -> None:
    for name in ("token", "worker.sock", "hook.sock", "worker.json", "worker.lock", "logs/worker.log"):
        assert (worker.data / name).stat().st_mode & 0o777 == 0o600, name
    assert worker.data.stat().st_mode & 0o777 == 0o700
    assert worker.token not in worker.log()
    assert worker.token not in (worker.data / "worker.json").read_text()
