"""A page whose script could not be had when it was first looked at: why is said, and it comes once it can."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker

from claude_mem.serve import control


def go_on_trying(sight: Sight) -> None:
    sight.page.unroute_all()
    sight.page.get_by_role("button", name="Try again").click()
    sight.heading("Cost")
    expect(sight.page.get_by_label("Period")).to_be_visible()
    assert sight.violations() == []


def test_a_part_that_was_missed_once_is_there_when_it_is_tried_again(
    context: BrowserContext, quiet: Worker
) -> None:
    for part in ("pages/cost.js", "plot.js"):
        sight = viewer_browser.look(context, quiet)
        sight.route(f"**/viewer/{part}", lambda route: route.abort())
        sight.go("#/cost")
        sight.heading("Something went wrong")
        expect(sight.main()).to_contain_text("could not be loaded")
        go_on_trying(sight)


def test_a_part_that_stays_missing_is_not_asked_for_without_end(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet)
    sight.route("**/viewer/pages/cost.js", lambda route: route.abort())
    sight.go("#/cost")
    for _ in range(2):
        expect(sight.main()).to_contain_text("could not be loaded")
        with sight.page.expect_navigation():
            sight.page.get_by_role("button", name="Try again").click()
    expect(sight.main()).to_contain_text("could not be loaded")


def test_a_worker_that_is_away_is_waited_for(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    control.stop(quiet.data)
    sight.go("#/cost")
    expect(sight.main()).to_contain_text("The worker cannot be reached")
    control.start(quiet.data)
    sight.heading("Cost")
    expect(sight.page.get_by_label("Period")).to_be_visible()


def test_who_is_signed_out_is_told_so_and_not_which_file_was_missed(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    now = datetime.now(UTC)
    sight.page.clock.install(time=now)
    sight.page.clock.pause_at(now + timedelta(seconds=5))  # nothing else asks meanwhile
    context.clear_cookies()
    sight.go("#/cost")
    sight.heading("You are signed out")
    sight.page.clock.resume()
    viewer_browser.look(context, quiet)  # signed in again, in another tab
    sight.heading("Cost")
