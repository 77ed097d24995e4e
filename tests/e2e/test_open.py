"""`claude-mem open`: from a terminal to a browser that is signed in."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_mem.testing import workers


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    data = tmp_path / "data"
    yield data
    workers.finish(data)


def opened(data: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    keep = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAUDE", "DISPLAY", "WAYLAND"))
    }
    own = {
        "CLAUDE_MEM_DATA_DIR": str(data),
        "CLAUDE_MEM_PROVIDER": "offline",
        "CLAUDE_MEM_WORKER_PORT": str(workers.free_port()),
    }
    return subprocess.run(
        [sys.executable, "-m", "claude_mem", "open", *words],
        env=keep | own | more,
        capture_output=True,
        text=True,
        timeout=workers.PATIENCE_S,
        check=False,
    )


def follow(link: str) -> http.client.HTTPResponse:
    address = link.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(address[0], timeout=workers.PATIENCE_S)
    connection.request("GET", f"/{address[2].partition('#')[0]}")
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_without_a_screen_the_link_is_printed_and_the_worker_started(data: Path) -> None:
    said = opened(data)
    assert said.returncode == 0, said.stderr
    link = said.stdout.strip()
    assert link.startswith("http://127.0.0.1:")
    assert (data / "worker.sock").exists()
    reply = follow(link)
    assert (reply.status, reply.headers["location"]) == (303, "/")
    assert follow(link).status == 403
    asked = opened(data, "--json", "12")
    assert json.loads(asked.stdout)["link"].endswith("#/observation/12")
    assert opened(data, "nonsense").returncode == 2


def test_with_a_screen_the_browser_is_given_the_link_and_nothing_is_printed(
    data: Path, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}"\n')
    browser.chmod(0o700)
    said = opened(data, DISPLAY=":9", BROWSER=f"{browser} %s")
    assert (said.returncode, said.stdout) == (0, ""), said.stderr
    assert "in your browser" in said.stderr
    assert "once=" not in said.stderr
    workers.until(seen.exists, "the browser was started")
    assert follow(seen.read_text()).status == 303


def test_signing_out_ends_every_browsers_stay_and_every_link(data: Path) -> None:
    cookies = [str(follow(opened(data, "--print").stdout.strip()).headers["set-cookie"]) for _ in range(2)]
    unused = opened(data, "--print").stdout.strip()
    said = opened(data, "--sign-out")
    assert (said.returncode, said.stdout) == (0, "")
    assert said.stderr == "2 browsers were signed in; now none is.\n"
    port = int(unused.removeprefix("http://127.0.0.1:").partition("/")[0])
    for cookie in cookies:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=workers.PATIENCE_S)
        connection.request("GET", "/api/status", headers={"Cookie": cookie.partition(";")[0]})
        assert connection.getresponse().status == 401
        connection.close()
    assert follow(unused).status == 403
    assert json.loads(opened(data, "--sign-out", "--json").stdout)["browsers"] == 0
