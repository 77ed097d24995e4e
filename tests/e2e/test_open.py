"""`claude-mem open`: from a terminal to a browser that is signed in."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness import workers
from tests.harness.commands import Mem


@pytest.fixture
def mem(data: Path) -> Iterator[Mem]:
    """No worker runs yet."""
    yield made(data)
    workers.finish(data)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mem]:
    with workers.running(tmp_path_factory.mktemp("open") / "data") as data:
        yield made(data)


def made(data: Path) -> Mem:
    """Without a screen."""
    mem = Mem(data, CLAUDE_MEM_WORKER_PORT=str(workers.free_port()))
    mem.env = {name: value for name, value in mem.env.items() if not name.startswith(("DISPLAY", "WAYLAND"))}
    return mem


def follow(link: str) -> http.client.HTTPResponse:
    address = link.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(address[0], timeout=workers.PATIENCE_S)
    connection.request("GET", f"/{address[2].partition('#')[0]}")
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_without_a_screen_the_link_is_printed_and_the_worker_started(mem: Mem) -> None:
    link = mem("open", process=True).stdout.strip()
    assert link.startswith("http://127.0.0.1:")
    assert (mem.data_dir / "worker.sock").exists()
    reply = follow(link)
    assert (reply.status, str(reply.headers["location"]).partition("=")[0]) == (303, "/?key")
    assert follow(link).status == 403
    assert mem.json("open", "12")["link"].endswith("#/observation/12")
    mem("open", "nonsense", code=2)


def test_with_a_screen_the_browser_is_given_the_link_and_nothing_is_printed(
    worker: Mem, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}.new"\nmv "{seen}.new" "{seen}"\n')
    browser.chmod(0o700)
    said = worker("open", env={"DISPLAY": ":9", "BROWSER": f"{browser} %s"}, process=True)
    assert said.stdout == ""
    assert "in your browser" in said.stderr
    assert "once=" not in said.stderr
    workers.until(seen.exists, "the browser was started")
    assert follow(seen.read_text()).status == 303


def test_signing_out_ends_every_browsers_stay_and_every_link(worker: Mem) -> None:
    worker("open", "--sign-out")
    links = [worker("open", "--print").stdout.strip() for _ in range(3)]
    cookies = [str(follow(link).headers["set-cookie"]) for link in links[:2]]
    assert "2 browsers" in worker("open", "--sign-out").stdout
    port = int(links[2].removeprefix("http://127.0.0.1:").partition("/")[0])
    for cookie in cookies:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=workers.PATIENCE_S)
        connection.request("GET", "/api/status", headers={"Cookie": cookie.partition(";")[0]})
        assert connection.getresponse().status == 401
        connection.close()
    assert follow(links[2]).status == 403
    assert worker.json("open", "--sign-out")["browsers"] == 0
