"""The worker's log as it grows, from a level on."""

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.contract.recalling import Worker


def test_the_log_is_followed_and_sifted(context: BrowserContext, quiet: Worker) -> None:
    sight = viewing.look(context, quiet)
    sight.page.get_by_role("link", name="Logs").click()
    log = sight.page.get_by_label("Log, the newest last")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("From level").select_option("ERROR")
    expect(log.locator("li.info")).to_have_count(0)
    sight.page.get_by_label("From level").select_option("DEBUG")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("With").fill("no line holds this")
    expect(log.locator("li:not([hidden])")).to_have_count(0)
    assert sight.all_that_went_wrong() == []
