"""What the first look at the viewer weighs."""

from typing import Any

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import needs_transcripts
from tests.contracts.worker_client import Worker

pytestmark = needs_transcripts

MOST_BYTES = 100_000


def test_the_first_look_is_small(context: BrowserContext, worker: Worker) -> None:
    """Under 100 kB in total, with all it shows: every byte that came, as it came."""
    came: dict[str, int] = {}
    of: dict[str, str] = {}
    page = context.new_page()
    devtools = context.new_cdp_session(page)

    def asked(event: dict[str, Any]) -> None:
        of[event["requestId"]] = event["request"]["url"]

    def arrives(event: dict[str, Any]) -> None:
        url = of[event["requestId"]]
        came[url] = came.get(url, 0) + event["dataLength"]  # of the stream, which never ends

    def arrived(event: dict[str, Any]) -> None:
        came[of[event["requestId"]]] = event["encodedDataLength"]  # its head as well

    devtools.on("Network.requestWillBeSent", asked)
    devtools.on("Network.dataReceived", arrives)
    devtools.on("Network.loadingFinished", arrived)
    devtools.send("Network.enable")
    page.goto(viewer_browser.link(worker))
    expect(page.locator(".card li").first).to_be_visible()
    expect(page.locator("#state")).to_have_text("up to date")
    kinds = {url.split("?")[0].partition(f"127.0.0.1:{worker.port}")[2] for url in came}
    assert {"/", "/stream", "/api/projects", "/api/search", "/api/status", "/viewer/main.js"} <= kinds
    assert sum(came.values()) < MOST_BYTES, sorted(came.items(), key=lambda each: -each[1])
    assert all(f"127.0.0.1:{worker.port}" in url for url in of.values())


def test_earlier_ones_come_when_they_are_asked_for(context: BrowserContext, worker: Worker) -> None:
    sight = viewer_browser.look(context, worker)
    lines = sight.page.locator(".feed > li[data-ref]")
    expect(lines).to_have_count(15)
    earlier = sight.page.get_by_role("button", name="Earlier")
    earlier.click()
    expect(lines).to_have_count(65)
    expect(lines.nth(15).locator("a.title")).to_be_focused()
    newest = worker.get("/api/search", limit=65)["results"]
    shown = lines.evaluate_all("all => all.map((each) => each.dataset.ref)")
    assert shown == [each["ref"] for each in newest]
    while earlier.is_visible():
        count = lines.count()
        earlier.click()
        expect(lines.nth(count)).to_be_visible()
    assert sight.all_that_went_wrong() == []
