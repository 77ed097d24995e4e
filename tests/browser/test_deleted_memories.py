"""What is forgotten elsewhere is on no page any more."""

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker


@pytest.fixture
def lock(quiet: Worker) -> Worker:
    quiet.works("lock-1", "Make the lock valve open slowly", "src/valve.py", project="lock")
    quiet.settle()
    return quiet


def test_live_names_a_forgotten_session_no_more(context: BrowserContext, lock: Worker) -> None:
    sight = viewer_browser.listen(context, lock, "#/live")
    sessions = sight.page.locator("aside li", has_text="lock valve")
    expect(sessions).to_have_count(1)
    lock.post("/api/memory/forget", session="lock-1", confirm=True)
    expect(sight.page.locator(".feed .line")).to_have_count(0)
    expect(sessions).to_have_count(0)


def test_a_forgotten_project_says_that_it_is_gone(context: BrowserContext, lock: Worker) -> None:
    sight = viewer_browser.listen(context, lock, "#/project/lock")
    expect(sight.main()).to_contain_text("valve")
    lock.post("/api/memory/forget", project="lock", confirm=True)
    sight.heading("Deleted")
    expect(sight.main()).not_to_contain_text("valve")


def test_a_files_history_loses_what_was_forgotten_of_it(context: BrowserContext, lock: Worker) -> None:
    sight = viewer_browser.listen(context, lock, "#/file/src%2Fvalve.py")
    lines = sight.main().locator(".line")
    expect(lines.first).to_be_visible()
    lock.post("/api/memory/forget", session="lock-1", confirm=True)
    expect(lines).to_have_count(0)


def test_a_files_history_shows_what_was_marked_wrong(context: BrowserContext, lock: Worker) -> None:
    sight = viewer_browser.listen(context, lock, "#/file/src%2Fvalve.py")
    expect(sight.main().locator(".line").first).to_be_visible()
    (one,) = lock.get("/api/observations", session="lock-1")["items"]
    lock.post("/api/memory/wrong", ids=[one["ref"]])
    expect(sight.main().locator(f'.line.gone[data-ref="{one["ref"]}"]')).to_be_visible()
