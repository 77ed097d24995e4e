"""What the first look at the viewer weighs."""

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.browser.viewing import needs_transcripts
from tests.contract.recalling import Worker

pytestmark = needs_transcripts


def test_the_first_look_is_small(context: BrowserContext, worker: Worker) -> None:
    """Under 100 kB in total, before anything else is asked for: the page, its styles and its scripts."""
    sizes: dict[str, int] = {}
    page = context.new_page()
    page.on(
        "response",
        lambda answer: (
            sizes.update({answer.url: int(answer.headers.get("content-length", "0"))}) if answer.ok else None
        ),
    )
    page.goto(viewing.link(worker))
    expect(page.locator(".feed .line").first).to_be_visible()
    ours = {url: size for url, size in sizes.items() if "/viewer/" in url or url.endswith(f"{worker.port}/")}
    assert len(ours) > 8
    assert sum(ours.values()) < 100_000, ours
    assert all(f"127.0.0.1:{worker.port}" in url for url in sizes)
