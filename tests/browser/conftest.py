"""A browser, and what it looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from tests.browser import slowdown, viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers


@pytest.fixture(scope="session")
def launched() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One browser for all files of a process, and its loop."""
    assert viewer_browser.CHROMIUM, "chromium is not installed; make test installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=viewer_browser.CHROMIUM, args=["--no-sandbox"])
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def chromium(launched: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """Playwright's loop counts as running from its start to its end. Between our files it must not: the tests
    of other folders run loops of their own."""
    browser, loop = launched
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session", autouse=True)
def pace(request: pytest.FixtureRequest) -> Iterator[None]:
    with slowdown.made(request.config.getoption("--slowly")):
        yield


@pytest.fixture(scope="module", autouse=True)
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody looks at the tester's own Claude Code."""
    with viewer_browser.connected(tmp_path_factory.mktemp("claude")):
        yield


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that remembers the nine real sessions; nobody works on it."""
    data = tmp_path_factory.mktemp("real") / "data"
    with workers.running(data):
        viewer_browser.feed(data)
        Worker(data).settle()
    return data


@pytest.fixture(scope="module")
def worker(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with viewer_browser.copied(real, tmp_path_factory.mktemp("seen") / "data") as worker:
        yield worker


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Worker]:
    """A worker that remembers nothing yet."""
    with workers.running(tmp_path / "data"):
        yield Worker(tmp_path / "data")


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with viewer_browser.context(chromium) as context:
        yield context


@pytest.fixture
def sight(context: BrowserContext, worker: Worker) -> Iterator[Sight]:
    """A tab that is signed in; nothing may go wrong in it."""
    sight = viewer_browser.look(context, worker)
    yield sight
    assert sight.all_that_went_wrong() == []
