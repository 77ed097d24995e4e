"""A tab nobody looks at, really hidden: its page is kept while another is seen, and put back."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker


@pytest.fixture
def hidable(chromium: Browser) -> Iterator[BrowserContext]:
    """Headless, a browser hides a page in no other way; Playwright turns this one off."""
    browser = chromium.browser_type.launch(
        executable_path=viewer_browser.CHROMIUM,
        args=["--no-sandbox"],
        ignore_default_args=["--disable-back-forward-cache"],
    )
    with closing(browser), viewer_browser.context(browser) as context:
        yield context


_NOTE_CONNECTIONS = """
window.seen = [];
const streams = [], ask = window.fetch;
window.fetch = (url, how) => {
    if (url === "/stream") streams.push(how.signal);
    return ask(url, how);
};
window.note = () => window.seen.push(
    [document.visibilityState, ...streams.map((each) => each.aborted ? "over" : "open")]);
"""


def test_a_hidden_tab_lets_go_and_catches_up_when_it_is_seen_again(
    hidable: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(hidable, quiet)
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])
    sight.page.add_init_script(_NOTE_CONNECTIONS)
    sight.page.reload()
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])
    expect(sight.page.locator("#state")).to_have_text("up to date")
    sight.page.evaluate("document.addEventListener('visibilitychange', note)")  # after the page's own
    asked = viewer_browser.asked_since(sight)
    sight.page.goto(f"http://127.0.0.1:{quiet.port}/viewer/icon.svg")
    quiet.works("till-2", "Print receipts", "src/till.py")
    quiet.settle()
    sight.page.go_back(wait_until="commit")
    expect(viewer_browser.prompts(sight)).to_have_text(["Print receipts", "Make the till count pennies"])
    expect(sight.page.locator(".feed .line.summary")).to_have_count(2)
    assert sight.page.evaluate("window.seen") == [["hidden", "over"], ["visible", "over", "open"]]
    assert [str(each)[:6] for each in asked] == ["p1-o1-"]


def test_what_was_corrected_while_a_tab_was_hidden_is_seen_when_it_is_seen_again(
    hidable: BrowserContext, quiet: Worker
) -> None:
    """On every page that shows it."""
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(hidable, quiet)
    for nth, place in enumerate(["live", "", "session/till-1", "observation/1", "find"]):
        sight.go(f"#/{place}")
        expect(sight.main()).to_contain_text("count pennies" if nth == 0 else f"Title {nth - 1}")
        expect(sight.page.locator("#state")).to_have_text("up to date")
        sight.page.evaluate("window.same = true")
        sight.page.goto(f"http://127.0.0.1:{quiet.port}/viewer/icon.svg")
        quiet.post("/api/memory/edit", id=1, title=f"Title {nth}")
        sight.page.go_back(wait_until="commit")
        expect(sight.main()).to_contain_text(f"Title {nth}")
        assert sight.page.evaluate("window.same") is True
    sight.go("#/live")
    expect(sight.main()).to_contain_text("Title 4")
    sight.page.goto(f"http://127.0.0.1:{quiet.port}/viewer/icon.svg")
    quiet.post("/api/memory/forget", ids=[1], confirm=True)
    sight.page.go_back(wait_until="commit")
    expect(sight.page.locator(".feed .line.prompt")).to_be_visible()
    expect(sight.page.locator(".feed .line.observation")).to_have_count(0)
