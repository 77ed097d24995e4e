"""Watching memory form: what streams in, what is wrong, and what happens when the line breaks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewing
from tests.browser.viewing import Sight
from tests.contract.recalling import Worker

from claude_mem.serve import control
from claude_mem.testing import workers
from claude_mem.testing.model_server import Hang, ModelServer, Request, Say, Step

REPLY = """\
<observation><type>bugfix</type><title>The till counts pennies</title>
<facts><fact>It counted pounds.</fact></facts></observation>
<summary><request>Count right</request><completed>It does.</completed></summary>"""


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Worker]:
    """A worker that remembers nothing yet."""
    with workers.running(tmp_path / "data"):
        yield Worker(tmp_path / "data")


def titles(sight: Sight) -> list[str]:
    return sight.page.locator(".feed .line .title").all_inner_texts()


def test_what_a_session_does_appears_while_one_looks(context: BrowserContext, quiet: Worker) -> None:
    sight = viewing.look(context, quiet)
    expect(sight.page.locator(".feed .empty")).to_be_visible()
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    feed = sight.page.locator(".feed")
    expect(feed.locator(".line.prompt")).to_contain_text("Make the till count pennies")
    expect(feed.locator(".line.observation").first).to_be_visible()
    expect(feed.locator(".line.summary").first).to_be_visible()
    expect(sight.page.locator("aside")).to_contain_text("Make the till count pennies")
    expect(sight.page.locator(".feed .empty")).to_have_count(0)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    assert sight.all_that_went_wrong() == []


def test_only_the_chosen_project_is_shown(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py", project="till")
    quiet.works("mill-1", "Grind finer", "src/burrs.py", project="mill")
    quiet.settle()
    sight = viewing.look(context, quiet)
    expect(sight.page.locator(".feed")).to_contain_text("Grind finer")
    sight.page.get_by_label("Project").select_option("till")
    expect(sight.page.locator(".feed")).not_to_contain_text("Grind finer")
    quiet.works("mill-2", "Grind coarser", "src/burrs.py", project="mill")
    quiet.works("till-2", "Print receipts", "src/till.py", project="till")
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    expect(sight.page.locator(".feed")).not_to_contain_text("Grind coarser")
    assert sight.all_that_went_wrong() == []


def test_a_spinner_turns_while_the_observer_works_and_the_queue_is_told(
    context: BrowserContext, tmp_path: Path
) -> None:
    held = True

    def script(request: Request) -> Step:
        return Hang() if held else Say(REPLY)

    with ModelServer(script) as server, workers.running(tmp_path / "data", **workers.asking(server.url)):
        worker = Worker(tmp_path / "data")
        sight = viewing.look(context, worker)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        server.wait_for_request()
        expect(sight.page.locator("#state .spin")).to_be_visible()
        expect(sight.page.locator("#state")).to_contain_text("observing")
        observer = sight.page.get_by_role("group", name="The observer")
        expect(observer.locator(".spin")).to_be_visible()
        expect(observer).to_contain_text("at work")
        expect(observer).to_contain_text("events, the oldest")
        held = False
        server.release()
        control.stop(worker.data)
    assert sight.violations() == []


def test_a_worker_that_goes_away_is_said_and_what_was_missed_comes_in(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet)
    expect(sight.page.locator(".feed")).to_contain_text("pennies")
    control.stop(quiet.data)
    expect(sight.page.locator("#banner")).to_contain_text("The connection to the worker is lost")
    expect(sight.page.locator("#banner")).to_contain_text("claude-mem worker start")
    expect(sight.page.locator("#state")).to_contain_text("reconnecting")
    control.start(quiet.data)
    quiet.works("till-2", "Print receipts", "src/till.py")
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    expect(sight.page.locator("#banner")).to_be_empty()
    prompts = sight.page.locator(".feed .line.prompt .title").all_inner_texts()
    assert prompts == ["Print receipts", "Make the till count pennies"]  # each once
    assert sight.violations() == []


def test_a_line_that_breaks_is_taken_up_where_it_broke_off(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    asked: list[str | None] = []
    sight.page.on(
        "request",
        lambda request: (
            asked.append(request.headers.get("last-event-id")) if "/stream" in request.url else None
        ),
    )
    context.set_offline(True)
    sight.page.evaluate(
        "document.dispatchEvent(new Event('visibilitychange'))"
    )  # as after sleep: it connects anew
    expect(sight.page.locator("#banner")).to_contain_text("The connection to the worker is lost")
    quiet.works("till-2", "Print receipts", "src/till.py")
    quiet.settle()
    context.set_offline(False)
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    assert asked
    assert all(each and each.startswith("p1-o1-") for each in asked)


def test_two_tabs_see_the_same_and_what_one_changes(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    ref = quiet.get("/api/observations")["items"][0]["ref"]
    one, two = (
        viewing.look(context, quiet, f"#/observation/{ref}"),
        viewing.look(context, quiet, f"#/observation/{ref}"),
    )
    one.page.bring_to_front()
    one.page.get_by_role("button", name="Pin").click()
    expect(one.page.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    expect(two.page.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    assert one.all_that_went_wrong() + two.all_that_went_wrong() == []


def test_a_key_that_is_no_longer_good_says_what_to_do_and_asks_no_more(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewing.look(context, quiet)
    context.clear_cookies()
    sight.page.get_by_role("link", name="Projects").click()
    sight.heading("You are signed out")
    expect(sight.main()).to_contain_text("claude-mem open")
    expect(sight.page.locator("#state")).to_contain_text("signed out")
    asked: list[str] = []
    sight.page.on("request", lambda request: asked.append(request.url))
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    assert asked == []
    sight.page.goto(viewing.link(quiet))
    expect(sight.page.locator(".feed")).to_contain_text("pennies")


def test_signing_out_leaves_a_page_that_shows_nothing(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/settings")
    sight.page.get_by_role("button", name="Sign out").click()
    expect(sight.page.locator("body")).to_contain_text("claude-mem open")
    expect(sight.page.locator("body")).not_to_contain_text("pennies")
    assert context.request.get(f"http://127.0.0.1:{quiet.port}/api/observations").status == 401


@pytest.mark.parametrize("what", ["off", "budget"])
def test_a_banner_says_what_is_wrong_and_what_helps(chromium: Browser, tmp_path: Path, what: str) -> None:
    def script(request: Request) -> Step:
        return Say(REPLY)

    with ModelServer(script) as server, viewing.context(chromium) as context:
        limits = {"CLAUDE_MEM_DAILY_TOKENS": "10"} if what == "budget" else {}
        with workers.running(tmp_path / "data", **workers.asking(server.url, **limits)):
            worker = Worker(tmp_path / "data")
            sight = viewing.look(context, worker)
            expect(sight.page.locator("#banner")).to_be_empty()
            if what == "off":
                _cli(worker, "off")
                expect(sight.page.locator("#state")).to_contain_text("paused")
            else:
                worker.works("till-1", "Make the till count pennies", "src/till.py")
                worker.settle()
                worker.works("till-2", "Print receipts", "src/till.py")
                worker.settle()
            note = sight.page.locator("#banner .note")
            expect(note.first).to_be_visible()
            expect(note.first.locator(".fix")).not_to_be_empty()
            assert sight.all_that_went_wrong() == []


def _cli(worker: Worker, *words: str) -> None:
    env = os.environ | {"CLAUDE_MEM_DATA_DIR": str(worker.data)}
    subprocess.run([sys.executable, "-m", "claude_mem", *words], env=env, check=True, capture_output=True)
