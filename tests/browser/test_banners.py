"""What is wrong is said, with the reason and what helps, and no longer once it is over. All of it is real."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser import test_live_updates, viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import faults, hook_process, payloads, workers
from tests.harness.model_script import Request, Say, Status, Step
from tests.harness.model_server import ModelServer

from claude_mem.serve import control

REPLY = Say(test_live_updates.REPLY)
NONSENSE = Say("I would rather not.")
HOUR_MS = 60 * 60 * 1000


@dataclass
class Moods:
    """A model that does one thing until it is told another."""

    step: Step

    def __call__(self, request: Request) -> Step:
        return self.step


@contextmanager
def observed(tmp_path: Path, model: Moods, **limits: str) -> Iterator[Worker]:
    data = tmp_path / "data"
    with ModelServer(model) as server, workers.running(data, **workers.asking(server.url, **limits)):
        yield Worker(data)


def banner(sight: Sight, code: str, reason: str, fix: str) -> Locator:
    """The banner, which is there and says so."""
    note = sight.page.locator(f'#banner .note[data-code="{code}"]')
    expect(note.locator("p").first).to_contain_text(reason)
    expect(note.locator(".fix")).to_contain_text(fix)
    return note


def nothing_is_said(sight: Sight) -> None:
    expect(sight.page.locator("#banner")).to_be_empty()


def cli(worker: Worker, *words: str) -> None:
    env = os.environ | {"CLAUDE_MEM_DATA_DIR": str(worker.data)}
    subprocess.run([sys.executable, "-m", "claude_mem", *words], env=env, check=True, capture_output=True)


def altered(worker: Worker, statement: str, *values: object) -> int:
    """A row as time or chance could have made it; how many were."""
    with closing(sqlite3.connect(worker.data / "claude-mem.db", timeout=workers.PATIENCE_S)) as db, db:
        return db.execute(statement, values).rowcount


class TestPaused:
    def test_it_is_said_while_somebody_has_switched_recording_off(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        sight = viewer_browser.look(context, quiet)
        expect(sight.page.locator("#state")).to_have_text("up to date")
        nothing_is_said(sight)
        cli(quiet, "off")
        banner(sight, "paused", "nothing is recorded", "claude-mem on")
        expect(sight.page.locator("#state")).to_contain_text("paused")
        cli(quiet, "on")
        nothing_is_said(sight)
        expect(sight.page.locator("#state")).to_have_text("up to date")
        assert sight.all_that_went_wrong() == []

    def test_recording_begins_again_by_its_button(self, context: BrowserContext, quiet: Worker) -> None:
        cli(quiet, "off")
        sight = viewer_browser.look(context, quiet, "#/projects")
        note = banner(sight, "paused", "nothing is recorded", "claude-mem on")
        hook_process.run(quiet.data, payloads.prompt("Count in pounds"))
        note.get_by_role("button", name="Resume recording").click()
        nothing_is_said(sight)
        sight.go("#/live")
        hook_process.run(quiet.data, payloads.prompt("Count in pennies", prompt_id="p-2"))
        expect(sight.page.locator(".feed .prompt .title")).to_have_text(["Count in pennies"])
        assert sight.all_that_went_wrong() == []

    def test_its_button_stays_under_the_hand_while_the_time_goes_on(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        cli(quiet, "off")
        sight = viewer_browser.look(context, quiet)
        note = banner(sight, "paused", "nothing is recorded", "claude-mem on")
        note.get_by_role("button").first.focus()
        since = time.time() - 3 * 60 * 60
        os.utime(quiet.data / "off" / "all", (since, since))
        banner(sight, "paused", "Paused for 3 h", "claude-mem on")
        expect(note.get_by_role("button").first).to_be_focused()

    def test_a_button_that_fails_says_why(self, context: BrowserContext, quiet: Worker) -> None:
        cli(quiet, "off")
        sight = viewer_browser.look(context, quiet)
        note = banner(sight, "paused", "nothing is recorded", "claude-mem on")
        workers.finish(quiet.data)
        note.get_by_role("button", name="Resume recording").click()
        expect(sight.page.locator("#toasts")).to_contain_text("The worker cannot be reached")
        banner(sight, "lost", "Lost the connection to the worker", "claude-mem worker start")

    def test_every_page_hears_of_it_at_once_whoever_switched(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        """By the stream: none of them asks by itself from time to time."""
        context.add_init_script("window.setInterval = () => 0")
        sights = [viewer_browser.look(context, quiet, page) for page in ("#/live", "#/projects")]
        for sight in sights:
            expect(sight.page.locator("#state")).to_have_text("up to date")
        cli(quiet, "off")
        for sight in sights:
            banner(sight, "paused", "nothing is recorded", "claude-mem on")
        sights[0].page.get_by_role("button", name="Resume recording").click()
        for sight in sights:
            nothing_is_said(sight)
            assert sight.all_that_went_wrong() == []


class TestUnconnected:
    REASON = "No coding agent is connected, according to their settings, so nothing new is recorded."
    FIX = "claude-mem install"

    @pytest.fixture
    def claude(self, tmp_path: Path) -> Path:
        """The folder of a Claude Code that knows nothing of us."""
        (tmp_path / "claude").mkdir()
        return tmp_path / "claude"

    @pytest.fixture
    def lonely(self, tmp_path: Path, claude: Path) -> Iterator[Worker]:
        with workers.running(tmp_path / "data", CLAUDE_CONFIG_DIR=str(claude)):
            yield Worker(tmp_path / "data")

    def test_it_is_said_until_claude_code_is_connected(
        self, context: BrowserContext, lonely: Worker, claude: Path
    ) -> None:
        past = {"title": "Of earlier days", "narrative": "It was so.", "project": "shop"}
        lonely.post("/api/import", records=[past])
        sight = viewer_browser.look(context, lonely)
        expect(sight.page.locator(".feed")).to_contain_text("Of earlier days")
        banner(sight, "unconnected", self.REASON, self.FIX)
        expect(sight.page.locator("#state")).to_have_text("not recording")
        expect(sight.page.locator("#state .dot.off")).to_be_visible()
        viewer_browser.connect(claude)
        nothing_is_said(sight)
        expect(sight.page.locator("#state")).to_have_text("up to date")
        assert sight.all_that_went_wrong() == []

    def test_a_hook_that_calls_is_proof_wherever_its_settings_are(
        self, context: BrowserContext, lonely: Worker
    ) -> None:
        sight = viewer_browser.look(context, lonely)
        banner(sight, "unconnected", self.REASON, self.FIX)
        hook_process.run(lonely.data, payloads.prompt("Count in pennies"))
        nothing_is_said(sight)
        expect(viewer_browser.prompts(sight)).to_have_text(["Count in pennies"])
        assert sight.all_that_went_wrong() == []

    def test_its_command_is_copied_by_a_button(self, context: BrowserContext, lonely: Worker) -> None:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        sight = viewer_browser.look(context, lonely)
        note = banner(sight, "unconnected", self.REASON, self.FIX)
        expect(note.locator("code")).to_have_text("claude-mem install")
        note.get_by_role("button", name="Copy").click()
        expect(sight.page.locator("#toasts")).to_contain_text("Copied: claude-mem install")
        assert sight.page.evaluate("navigator.clipboard.readText()") == "claude-mem install"
        assert sight.all_that_went_wrong() == []


def test_a_full_disk_is_said_until_there_is_room(context: BrowserContext, tmp_path: Path) -> None:
    with faults.small_disk(tmp_path / "disk", "48m") as disk, workers.running(disk / "data"):
        worker = Worker(disk / "data")
        sight = viewer_browser.look(context, worker)
        expect(sight.page.locator("#state")).to_have_text("up to date")
        (pid,) = workers.processes(worker.data)
        os.kill(pid, signal.SIGSTOP)  # so that the disk is full before the event is taken in
        try:
            hook_process.run(worker.data, payloads.bash("toolu_1", stdout="more than is free " * 60_000))
            hog = faults.fill(disk)
        finally:
            os.kill(pid, signal.SIGCONT)
        banner(sight, "degraded", "Recording is not possible at the moment: ", "claude-mem doctor")
        banner(sight, "degraded", "full", "claude-mem doctor")
        expect(sight.page.locator("#state")).to_have_text("not recording")
        hog.unlink()
        nothing_is_said(sight)
        expect(sight.page.locator("aside")).to_contain_text("active")
        assert sight.all_that_went_wrong() == []


def test_a_refused_key_is_said_until_trying_again_works(context: BrowserContext, tmp_path: Path) -> None:
    model = Moods(Status(401))
    with observed(tmp_path, model) as worker:
        sight = viewer_browser.look(context, worker)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        reason = "because they cannot be observed now: The Anthropic API key was rejected (401)"
        note = banner(sight, "observer_paused", reason, "claude-mem queue retry")
        note.get_by_role("button", name="Try again").click()
        expect(note.get_by_role("button").first).to_be_enabled()
        banner(
            sight, "observer_paused", reason, "claude-mem queue retry"
        )  # it was not the banner that was wrong
        model.step = REPLY
        note.get_by_role("button", name="Try again").click()
        nothing_is_said(sight)
        expect(sight.page.locator(".feed")).to_contain_text("The till counts pennies")
        assert sight.all_that_went_wrong() == []


def test_a_spent_budget_is_said_and_where_to_raise_it(context: BrowserContext, tmp_path: Path) -> None:
    with observed(tmp_path, Moods(REPLY), CLAUDE_MEM_DAILY_TOKENS="10") as worker:
        sight = viewer_browser.look(context, worker)
        for session in ("till-1", "till-2"):
            worker.works(session, "Make the till count pennies", "src/till.py")
            worker.settle()
        fix = "Raise it under “The budget” in the settings. Then: claude-mem worker restart"
        note = banner(sight, "out_of_budget", "The offline observer takes over until then.", fix)
        banner(sight, "out_of_budget", "Today's budget is spent: ", fix)
        observer = sight.page.get_by_role("group", name="The observer")
        expect(observer.get_by_role("row", name="Provider")).to_have_text(
            "Providerofflinebecause the budget for anthropic is used up"
        )
        sight.follow(note.get_by_role("link", name="Settings"))
        expect(sight.page.get_by_role("heading", name="The budget")).to_be_visible()
        assert sight.all_that_went_wrong() == []


def test_being_behind_is_said_until_it_has_caught_up(context: BrowserContext, tmp_path: Path) -> None:
    model = Moods(Status(429, {"Retry-After": "7200"}))
    with observed(tmp_path, model) as worker:
        sight = viewer_browser.look(context, worker)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        workers.until(lambda: workers.states(worker.data) == {"ready": 3}, "it was told to wait")
        nothing_is_said(sight)
        older = "UPDATE pending_messages SET created_at_epoch = created_at_epoch - ?"
        assert altered(worker, older, 3 * HOUR_MS)
        banner(sight, "behind", "3 events are waiting, the oldest for 3 h", "claude-mem doctor")
        expect(sight.page.locator("#state")).to_contain_text("3 events waiting 3 h")
        model.step = REPLY
        altered(worker, "UPDATE pending_messages SET not_before_epoch = 0")
        cli(worker, "queue", "retry")
        nothing_is_said(sight)
        expect(sight.page.locator("#state")).to_have_text("up to date")
        assert sight.all_that_went_wrong() == []


def test_what_was_given_up_on_is_said_until_it_is_tried_again(
    context: BrowserContext, tmp_path: Path
) -> None:
    model = Moods(NONSENSE)
    with observed(tmp_path, model) as worker:
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        last = "UPDATE pending_messages SET attempts = 2, not_before_epoch = 0 WHERE attempts > 0"
        workers.until(lambda: altered(worker, last) > 0, "the first attempt has failed")
        control.stop(worker.data)
        control.start(worker.data)  # looks now, not in a while
        sight = viewer_browser.look(context, worker)
        note = banner(sight, "unreadable", "could not be read", "claude-mem queue retry")
        expect(sight.page.get_by_role("group", name="The observer")).to_contain_text("Parked")
        model.step = REPLY
        note.get_by_role("button", name="Try again").click()
        nothing_is_said(sight)
        expect(sight.page.locator(".feed")).to_contain_text("The till counts pennies")
        assert sight.all_that_went_wrong() == []


def test_what_could_not_be_kept_is_said_until_it_was_read(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet)
    hook_process.run(quiet.data, payloads.bash("toolu_1"))
    workers.drained(quiet.data)
    drop(quiet, "toolu_2")
    asks_now(sight)
    note = banner(sight, "dropped", "1 event could not be stored: 1 spool full.", "claude-mem doctor")
    note.get_by_role("button", name="Dismiss").click()
    nothing_is_said(sight)
    with sight.page.expect_response("**/api/status"):
        sight.go("#/projects")
    nothing_is_said(sight)
    drop(quiet, "toolu_3")
    asks_now(sight)
    banner(sight, "dropped", "2 events could not be stored: 2 spool full.", "claude-mem doctor")
    assert sight.all_that_went_wrong() == []


def asks_now(sight: Sight) -> None:
    """How the worker is, as a page does that comes into sight; else it asks every 15 s."""
    sight.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def drop(worker: Worker, use: str) -> None:
    """One event too many for the spool, as small as its bound is for this moment."""
    ledger = worker.data / "spool" / ".ledger"
    before = ledger.read_text()
    last, files, size, _, most_bytes = before.split()
    ledger.write_text(f"{last} {files} {size} {0:020d} {most_bytes}\n")
    hook_process.run(worker.data, payloads.bash(use))
    ledger.write_text(before)


def test_a_banner_is_there_on_every_page(
    context: BrowserContext, quiet: Worker, subtests: pytest.Subtests
) -> None:
    cli(quiet, "off")
    sight = viewer_browser.look(context, quiet)
    for page in ("#/find", "#/projects", "#/cost", "#/context", "#/settings", "#/logs"):
        with subtests.test(page=page):
            sight.go(page)
            banner(sight, "paused", "nothing is recorded", "claude-mem on")
            assert sight.all_that_went_wrong() == []
