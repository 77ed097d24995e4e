"""Row 23, for a browser that has signed in: the same attacks against every route, with its cookie."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.contracts.worker_client import Listener, Worker
from tests.harness import workers
from tests.security.test_guard import ATTACKS, BODY, ROUTES, assert_hardened
from tests.unit.serve import worker_driver
from tests.unit.serve.worker_driver import Driven, Reply

from claude_mem.serve.http import guard
from claude_mem.serve.http.routes import viewer_routes

KEYED = [(method, path) for method, path in ROUTES if path not in viewer_routes.OPEN]
READS = [(method, path) for method, path in KEYED if method == "GET" and path != "/stream"]
CHANGES = [(method, path) for method, path in KEYED if method != "GET"]
FOREIGN = [attack for attack in ATTACKS if attack[2] != 401]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with worker_driver.started(tmp_path_factory.mktemp("worker") / "data") as driven:
        yield driven


@pytest.fixture(scope="module")
def cookie(worker: Driven) -> str:
    return signed_in(worker)


def link(worker: Driven) -> str:
    """What `claude-mem open` opens, without the host."""
    status, answer = worker.ask("POST", "/api/signin", {})
    assert status == 200
    prefix = f"http://127.0.0.1:{worker.port}"
    assert answer["link"].startswith(f"{prefix}/signin?once=")
    return str(answer["link"].removeprefix(prefix))


def signed_in(worker: Driven) -> str:
    """The cookie's header."""
    reply = worker.tcp("GET", link(worker), headers={"Sec-Fetch-Site": "none"})
    path, _, page_key = reply.headers["location"].partition("?key=")
    assert (reply.status, path) == (303, "/")
    cookie = reply.headers["set-cookie"].partition(";")[0]
    PAGE_KEYS[cookie.partition("=")[2]] = page_key
    return cookie


PAGE_KEYS: dict[str, str] = {}
"""What a page sends beside its cookie."""


def asked(worker: Driven, method: str, path: str, **headers: str) -> Reply:
    filled = {
        name.replace("_", "-"): value.replace("{port}", str(worker.port)) for name, value in headers.items()
    }
    cookie = headers.get("Cookie", "").partition("=")[2].partition(";")[0]
    if cookie in PAGE_KEYS and "X_Claude_Mem_Key" not in headers:
        filled["X-Claude-Mem-Key"] = PAGE_KEYS[cookie]
    body = BODY if method == "POST" else None
    return worker.tcp(method, path, body, {"Content-Type": "application/json"} | filled)


def test_with_a_cookie_the_type_of_a_body_stays_required(worker: Driven, cookie: str) -> None:
    """A form of another site can send JSON as plain text; the token, which no form has, makes up for it."""
    page = {"Cookie": cookie, "Origin": "http://127.0.0.1:{port}"}
    refused = asked(worker, "POST", "/api/processing", **page, Content_Type="text/plain")
    assert (refused.status, refused.json["error"]["code"]) == (415, "not_json")
    both = page | {"Authorization": "Bearer wrong"}
    assert asked(worker, "POST", "/api/processing", **both, Content_Type="text/plain").status == 401
    assert_nothing_happened(worker)


def assert_nothing_happened(worker: Driven) -> None:
    assert worker.counters() == {}, "a refused request reached the store"
    for name in ("activity.flag", "settings.json", "off"):
        assert not (worker.data / name).exists(), "a refused request wrote a file"
    assert worker.process.poll() is None


def test_the_cookie_opens_every_read_that_the_token_opens(
    worker: Driven, cookie: str, subtests: pytest.Subtests
) -> None:
    for method, path in READS:
        with subtests.test(path=path):
            by_cookie = asked(worker, method, path, Cookie=cookie, Sec_Fetch_Site="same-origin")
            by_token = asked(worker, method, path, Authorization=f"Bearer {worker.token}")
            assert by_cookie.status == by_token.status
            assert by_cookie.status not in (401, 403, 421)
            assert_hardened(by_cookie, by_token.headers["cache-control"])


@pytest.mark.parametrize(("what", "headers", "status"), FOREIGN, ids=[attack[0] for attack in FOREIGN])
def test_a_cookie_that_another_site_makes_a_browser_send_opens_nothing(
    worker: Driven, cookie: str, subtests: pytest.Subtests, what: str, headers: dict[str, str], status: int
) -> None:
    sent = {name.replace("-", "_"): value for name, value in headers.items()}
    for method, path in KEYED:
        with subtests.test(method=method, path=path):
            reply = asked(worker, method, path, **({"Cookie": cookie} | sent))
            assert reply.status == status, what
            assert_hardened(reply)
            assert_nothing_happened(worker)


def test_a_cookie_without_its_pages_key_opens_the_viewers_files_and_nothing_else(
    worker: Driven, subtests: pytest.Subtests
) -> None:
    """Another user's server on this machine is sent the cookie; what the page stores it cannot read."""
    cookie, other = signed_in(worker), signed_in(worker)
    own = {"Cookie": cookie, "Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}
    wrong = ["", "A" * 43, worker.token, PAGE_KEYS[other.partition("=")[2]], cookie.partition("=")[2]]
    for method, path in KEYED:
        is_file = path == "/" or path.startswith("/viewer/")
        with subtests.test(method=method, path=path):
            reply = asked(worker, method, path, **(own | {"X_Claude_Mem_Key": ""}))
            assert (reply.status == 401) != is_file
        for guess in wrong if path in ("/api/prompts", "/api/settings", "/stream") else ():
            assert asked(worker, method, path, **(own | {"X_Claude_Mem_Key": guess})).status == 401
        assert_nothing_happened(worker)


def test_a_change_by_cookie_must_say_where_it_comes_from(
    worker: Driven, cookie: str, subtests: pytest.Subtests
) -> None:
    for method, path in CHANGES:
        with subtests.test(path=path):
            reply = asked(worker, method, path, Cookie=cookie)
            assert (reply.status, reply.json["error"]["code"]) == (403, "no_origin")
            assert_nothing_happened(worker)


def test_a_change_that_says_so_is_made(worker: Driven, cookie: str) -> None:
    own = {"Cookie": cookie, "Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}
    try:
        assert asked(worker, "POST", "/api/recording", **own).json["paused"]["sessions"] == ["victim"]
    finally:
        worker.ask("POST", "/api/recording", {"paused": False, "session": "victim"})


@pytest.mark.parametrize("what", ["another", "twice", "another name", "none", "a wrong token beside it"])
def test_only_the_one_cookie_that_was_given_out_opens_anything(
    worker: Driven, cookie: str, subtests: pytest.Subtests, what: str
) -> None:
    name, _, value = cookie.partition("=")
    planted = {
        "another": {"Cookie": f"{name}={'A' * 43}"},
        "twice": {"Cookie": f"{cookie}; {name}={'A' * 43}"},
        "another name": {"Cookie": f"{guard.cookie_name(1)}={value}"},
        "none": {"Cookie": "theme=dark"},
        "a wrong token beside it": {"Cookie": cookie, "Authorization": "Bearer " + "A" * 43},
    }[what]
    for method, path in KEYED:
        with subtests.test(method=method, path=path):
            reply = asked(worker, method, path, Origin="http://127.0.0.1:{port}", **planted)
            assert reply.status == 401
            assert_hardened(reply)
            assert_nothing_happened(worker)


def test_the_cookie_is_kept_from_scripts_and_other_sites(worker: Driven) -> None:
    reply = worker.tcp("GET", link(worker))
    name, _, rest = reply.headers["set-cookie"].partition("=")
    assert name == guard.cookie_name(worker.port)
    attributes = {part.strip().lower() for part in rest.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes
    assert not any(part.startswith("domain") for part in attributes)


def test_a_link_works_once(worker: Driven) -> None:
    once = link(worker)
    assert worker.tcp("GET", once).status == 303
    again = worker.tcp("GET", once)
    assert again.status == 403
    assert "set-cookie" not in again.headers


def test_who_follows_a_used_link_and_is_signed_in_is_sent_on(worker: Driven) -> None:
    once = link(worker)
    cookie = worker.tcp("GET", once).headers["set-cookie"].partition(";")[0]
    again = worker.tcp("GET", once, headers={"Cookie": cookie})
    assert (again.status, again.headers["location"]) == (303, "/")
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize(("what", "headers", "status"), FOREIGN, ids=[attack[0] for attack in FOREIGN])
def test_a_link_that_another_site_leads_to_is_neither_followed_nor_used_up(
    worker: Driven, what: str, headers: dict[str, str], status: int
) -> None:
    once = link(worker)
    sent = {name: value.replace("{port}", str(worker.port)) for name, value in headers.items()}
    reply = worker.tcp("GET", once, headers=sent)
    assert reply.status == status, what
    assert "set-cookie" not in reply.headers
    assert worker.tcp("GET", once).status == 303


def test_who_only_looks_at_a_link_does_not_use_it_up(worker: Driven) -> None:
    once = link(worker)
    assert worker.tcp("HEAD", once).status == 204
    assert worker.tcp("GET", once).status == 303


def test_links_are_made_over_the_socket_only(worker: Driven, cookie: str) -> None:
    own = {"Origin": "http://127.0.0.1:{port}"}
    assert asked(worker, "POST", "/api/signin", Cookie=cookie, **own).status == 404
    assert asked(worker, "POST", "/api/signin", Authorization=f"Bearer {worker.token}").status == 404


def test_signing_out_voids_the_cookie_and_no_other(worker: Driven, cookie: str) -> None:
    mine = signed_in(worker)
    reply = asked(worker, "POST", "/api/signout", Cookie=mine, Origin="http://127.0.0.1:{port}")
    assert reply.json == {"status": "signed_out", "browsers": 1}
    assert "max-age=0" in reply.headers["set-cookie"].lower()
    assert asked(worker, "GET", "/health", Cookie=mine).status == 401
    assert asked(worker, "GET", "/health", Cookie=cookie).status == 200


def test_who_is_not_signed_in_is_told_what_to_type(worker: Driven) -> None:
    reply = worker.tcp("GET", "/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert reply.status == 401
    assert reply.headers["content-type"].startswith("text/html")
    assert b"claude-mem open" in reply.raw
    assert b"<script" not in reply.raw
    assert_hardened(reply)


def test_what_is_kept_of_a_cookie_opens_nothing(worker: Driven, cookie: str) -> None:
    kept = worker.data / "signed-in.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cookie.partition("=")[2] not in kept.read_text()
    for stored in json.loads(kept.read_bytes()):
        name = guard.cookie_name(worker.port)
        assert asked(worker, "GET", "/health", Cookie=f"{name}={stored}").status == 401


def test_a_browser_stays_signed_in_when_the_worker_is_another(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = tmp_path_factory.mktemp("again") / "data"
    port = str(worker_driver.free_port())
    with worker_driver.started(data, "--port", port) as first:
        cookie = signed_in(first)
    with worker_driver.started(data, "--port", port) as second:
        assert asked(second, "GET", "/health", Cookie=cookie).status == 200


def test_who_signs_out_is_told_nothing_more_and_nobody_else_is_cut_off(data: Path) -> None:
    with workers.running(data):
        worker = Worker(data)
        mine, others = cookie_over_tcp(worker), cookie_over_tcp(worker)
        with listening_by(worker, mine) as signing_out, listening_by(worker, others) as staying:
            with over_tcp(worker, "POST", "/api/signout", mine) as connection:
                assert connection.getresponse().status == 200
            worker.works("till-1", "Make the till count pennies", "src/till.py")
            staying.until("new_prompt")
            with pytest.raises(EOFError):
                signing_out.until("new_prompt")


@contextmanager
def over_tcp(
    worker: Worker, method: str, path: str, cookie: str = ""
) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
    with closing(connection):
        page_key = PAGE_KEYS.get(cookie.partition("=")[2], "")
        own = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{worker.port}", "X-Claude-Mem-Key": page_key}
        connection.request(method, path, "{}" if method == "POST" else None, own)
        yield connection


def cookie_over_tcp(worker: Worker) -> str:
    path = str(worker.post("/api/signin")["link"]).removeprefix(f"http://127.0.0.1:{worker.port}")
    with over_tcp(worker, "GET", path) as connection:
        headers = connection.getresponse().headers
    cookie = str(headers["set-cookie"]).partition(";")[0]
    PAGE_KEYS[cookie.partition("=")[2]] = str(headers["location"]).partition("?key=")[2]
    return cookie


@contextmanager
def listening_by(worker: Worker, cookie: str) -> Iterator[Listener]:
    with over_tcp(worker, "GET", "/stream", cookie) as connection:
        yield Listener(connection)
