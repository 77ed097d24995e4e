"""A worker looked at through a real browser: signed in, and all that went wrong noted."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import to_builtins
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    Route,
    expect,
)
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, workers

from claude_mem.agents import settings_file
from claude_mem.agents.claude_code import registration, transcripts

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
WIDE, NARROW = (1280, 900), (360, 740)
PATIENCE_MS = workers.PATIENCE_S * 1000

needs_transcripts = pytest.mark.skipif(
    not TRANSCRIPTS.is_dir(),
    reason=f"THE NINE REAL TRANSCRIPTS ARE NOT AT {TRANSCRIPTS}: nothing real was seen",
)

_WATCH = """
localStorage.getItem("raw tool uses") ?? localStorage.setItem("raw tool uses", "shown");
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.__violations.push(
    `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""

_GO = """(hash) => new Promise((done) => {
    const was = location.hash;
    addEventListener("hashchange", () => done(), { once: true });
    location.hash = hash;
    if (location.hash === was) done();
})"""

_MOVING = """() => {
    window.moved = new Promise((done) => addEventListener("hashchange", () => done(), { once: true }));
}"""
ASK_STATUS = """() => import("/viewer/page_key.js")
    .then(({ keyed }) => fetch("/api/status", { headers: keyed() }))
    .then((answer) => answer.text())"""
_PROBE = "fetch('/viewer/icon.svg', { cache: 'no-store' }).then((answer) => answer.ok)"


@dataclass
class Sight:
    """One tab: the page, and what went wrong in it."""

    page: Page
    worker: Worker
    wrong: list[str] = field(default_factory=list)

    def go(self, hash: str) -> None:
        """As a link leads there; what was shown before is gone when this returns."""
        self.page.evaluate(_GO, hash)

    def more_filters(self) -> None:
        """Those of Find that are folded at first."""
        more = self.page.get_by_role("button", name="More", exact=True)
        if more.is_visible():
            more.click()

    def follow(self, link: Locator) -> None:
        """By clicking; what was shown before is gone when this returns. It leads to another place."""
        assert link.get_attribute("href") != f"#{urlsplit(self.page.url).fragment}"
        self.page.evaluate(_MOVING)
        link.click()
        self.page.evaluate("moved")

    def back(self) -> None:
        self.page.evaluate(_MOVING)
        self.page.go_back()
        self.page.evaluate("moved")

    def heading(self, text: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(text)

    def main(self) -> Locator:
        return self.page.locator("main")

    def violations(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.__violations")
        return found

    def all_that_went_wrong(self) -> list[str]:
        return self.wrong + self.violations()

    def heard_dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def heard_console(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.wrong.append(f"console: {said.text}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def route(self, where: str, handler: Callable[[Route], object]) -> None:
        """From now on: a page that is loaded already goes on by itself for a moment, in Chromium."""
        self.page.route(where, handler)
        caught: list[Route] = []

        def catch(route: Route) -> None:
            caught.append(route)
            route.continue_()

        self.page.route("**/viewer/icon.svg", catch)
        workers.until(lambda: bool(self.page.evaluate(_PROBE) and caught), "requests are caught")
        self.page.unroute("**/viewer/icon.svg", catch)

    def undo(self) -> None:
        self.page.get_by_role("button", name="Undo").last.click()


class Unsent:
    """What is asked for there reaches the worker when it is let go."""

    def __init__(self, sight: Sight, where: str) -> None:
        self._sight = sight
        self._held: list[Route] = []
        self._is_over = False
        sight.route(where, self._hold)

    def _hold(self, route: Route) -> None:
        route.continue_() if self._is_over else self._held.append(route)

    def wait(self, count: int = 1) -> None:
        _wait(self._sight, self._held, count)

    def let_go(self) -> None:
        self._is_over = True
        for route in self._held:
            route.continue_()

    def drop(self) -> None:
        """What was asked for fails, as without a worker."""
        while self._held:
            self._held.pop().abort()


class Held:
    """What is asked for there is answered at once, and told when it is let go."""

    def __init__(self, sight: Sight, where: str, which: Callable[[Any], bool] = lambda said: True) -> None:
        self._sight, self._which = sight, which
        self._held: list[tuple[Route, APIResponse]] = []
        self._is_over = False
        sight.route(where, self._hold)

    def _hold(self, route: Route) -> None:
        answer = route.fetch()
        if not self._is_over and self._which(answer.json()):
            self._held.append((route, answer))
        else:
            route.fulfill(response=answer)

    def wait(self, count: int = 1) -> None:
        _wait(self._sight, self._held, count)

    def let_go(self) -> None:
        """And heard of, when this returns."""
        self._is_over = True
        for route, answer in self._held:
            route.fulfill(response=answer)
        all_is_heard(self._sight)


def _wait(sight: Sight, held: Sequence[object], count: int) -> None:
    workers.until(lambda: bool(sight.page.evaluate("1")) and len(held) >= count, "it is asked for")


def all_is_heard(sight: Sight) -> None:
    for _ in range(3):
        sight.page.evaluate(ASK_STATUS)


def prompts(sight: Sight) -> Locator:
    return sight.page.locator(".feed .line.prompt .title")


def asked_since(sight: Sight) -> list[str | None]:
    """Where each connection from now on goes on from."""
    asked: list[str | None] = []

    def note(request: Request) -> None:
        if request.url.endswith("/stream"):
            asked.append(request.headers.get("last-event-id"))

    sight.page.on("request", note)
    return asked


def link(worker: Worker) -> str:
    status, answer = worker.ask("POST", "/api/signin", {})
    assert status == 200, answer
    return str(answer["link"])


def look(context: BrowserContext, worker: Worker, hash: str = "#/live") -> Sight:
    """A new tab, signed in."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    sight = Sight(page, worker)
    page.add_init_script(_WATCH)
    page.on("pageerror", lambda error: sight.wrong.append(f"error: {error}"))
    page.on("dialog", sight.heard_dialog)
    page.on("console", sight.heard_console)
    page.goto(link(worker) + hash)
    expect(page.locator("main h1")).to_be_attached()
    return sight


def listen(context: BrowserContext, worker: Worker, hash: str) -> Sight:
    """A new tab that hears what happens."""
    sight = look(context, worker, hash)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    return sight


@contextmanager
def context(
    browser: Browser, *, size: tuple[int, int] = WIDE, dark: bool = False, still: bool = False
) -> Iterator[BrowserContext]:
    made = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce" if still else "no-preference",
        locale="en-GB",
        timezone_id="UTC",
    )
    expect.set_options(timeout=PATIENCE_MS)
    try:
        yield made
    finally:
        for page in made.pages:  # else what is being answered just now would fail the next test
            page.unroute_all(behavior="ignoreErrors")
        made.close()


@contextmanager
def connected(folder: Path) -> Iterator[None]:
    """Claude Code, of which workers started meanwhile know by this folder, is connected, as a user's is."""
    connect(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CLAUDE_CONFIG_DIR", str(folder))
        yield


def connect(folder: Path) -> None:
    """As `claude-mem install --settings` does."""
    settings = settings_file.with_hooks({}, registration.hooks(hook_process.MACHINE))
    (folder / "settings.json").write_text(settings_file.written(settings, ""))


def feed(data: Path, *, offline: bool = True) -> None:
    """The nine real transcripts, as `claude-mem backfill` tells them."""
    for path in sorted(TRANSCRIPTS.glob("*.gz")):
        lines = "\n".join(json.dumps(to_builtins(told)) for told in transcripts.read(path))
        status, answer = _post_lines(data, lines, offline)
        assert (status, answer["unreadable"]) == (200, 0), answer


def _post_lines(data: Path, lines: str, offline: bool) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("localhost", timeout=workers.PATIENCE_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(data / "worker.sock"))
    try:
        path = f"/api/backfill?offline={str(offline).lower()}"
        connection.request("POST", path, lines.encode(), {"Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@contextmanager
def copied(template: Path, data: Path, **env: str) -> Iterator[Worker]:
    """A worker on a copy of what is remembered there: a test may change it."""
    shutil.copytree(template, data, ignore=shutil.ignore_patterns("*.sock", "worker.json", "*.lock"))
    with workers.running(data, **env):
        yield Worker(data)
