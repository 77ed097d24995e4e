"""The worker's log as it grows, from a level on."""

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.contracts.worker_client import Worker


def test_the_log_is_followed_and_sifted(context: BrowserContext, quiet: Worker) -> None:
    sight = viewing.look(context, quiet)
    sight.follow(sight.page.get_by_role("link", name="Logs"))
    log = sight.page.get_by_label("Log, newest last")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("Level").select_option("ERROR")
    said = sight.main().get_by_role("status")
    expect(said).to_have_text("No lines at level ERROR or above.")
    expect(log).to_be_hidden()
    sight.page.get_by_label("Level").select_option("DEBUG")
    expect(log.locator("li").first).to_be_visible()
    expect(said).to_contain_text("only if CLAUDE_MEM_LOG_LEVEL in the settings is DEBUG")
    sight.page.get_by_label("Level").select_option("INFO")
    expect(said).to_have_text("")
    sight.page.get_by_label("With").fill("no line holds this")
    expect(said).to_have_text("No lines contain “no line holds this”.")
    expect(log).to_be_hidden()
    sight.page.get_by_label("With").fill("")
    expect(log.locator("li").first).to_be_visible()
    assert sight.all_that_went_wrong() == []
