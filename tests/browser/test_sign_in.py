"""Who may look, and for how long; and several tabs of one browser, which share the key."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker

from claude_mem.serve import control


def expire(worker: Worker) -> None:
    """The month is over: what the worker knows of every cookie is that it was good until long ago."""
    control.stop(worker.data)
    kept = worker.data / "signed-in.json"
    kept.write_text(json.dumps(dict.fromkeys(json.loads(kept.read_bytes()), 1)))
    control.start(worker.data)


def remembered(worker: Worker) -> str:
    """Something to look at; its number."""
    worker.works("till-1", "Make the till count pennies", "src/till.py")
    worker.settle()
    return str(worker.get("/api/observations")["items"][0]["ref"])


def signed_out(sight: Sight) -> None:
    sight.heading("You are signed out")
    expect(sight.main()).to_contain_text("claude-mem open")
    expect(sight.main()).not_to_contain_text("pennies")
    expect(sight.page.locator("#state")).to_have_text("signed out")
    expect(sight.page.locator("#banner")).to_be_empty()


class TestTheLink:
    def test_used_by_somebody_else_before_it_says_what_to_do(self, chromium: Browser, quiet: Worker) -> None:
        link = viewer_browser.link(quiet)
        with viewer_browser.context(chromium) as first, viewer_browser.context(chromium) as second:
            first.new_page().goto(link)
            self.refused(second, link)
            assert second.cookies() == []

    def test_too_late_it_says_what_to_do(self, context: BrowserContext, quiet: Worker) -> None:
        link = viewer_browser.link(quiet)
        control.stop(quiet.data)
        control.start(quiet.data)  # it was good for a minute of the worker that made it
        self.refused(context, link)

    def refused(self, context: BrowserContext, link: str) -> None:
        page = context.new_page()
        answer = page.goto(link)
        assert answer is not None
        assert (answer.status, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
        expect(page.locator("body")).to_contain_text("This link no longer works.")
        expect(page.locator("pre")).to_have_text("claude-mem open")

    def test_used_here_before_it_leads_on(self, context: BrowserContext, quiet: Worker) -> None:
        link = viewer_browser.link(quiet)
        page = context.new_page()
        for _ in range(2):
            page.goto(link)
            expect(page.locator("main h1")).to_have_text("Where you left off")

    def test_without_one_the_page_says_what_to_do(self, context: BrowserContext, quiet: Worker) -> None:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{quiet.port}/#/find?q=till")
        expect(page.locator("body")).to_contain_text("You are not signed in.")
        expect(page.locator("pre")).to_have_text("claude-mem open")


class TestTheKeyExpires:
    def test_every_page_says_what_to_do_without_being_touched(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        ref = remembered(quiet)
        file = quote("/home/ada/shop/src/till.py", safe="")
        places = ["", "find?q=till", "projects", "project/shop", f"observation/{ref}", "session/till-1"]
        places += [f"file/{file}", "cost", "context?project=shop", "settings", "logs"]
        sight = viewer_browser.look(context, quiet)
        for place in places:
            sight.page.goto(viewer_browser.link(quiet))
            sight.go(f"#/{place}")
            expect(sight.page.locator("main .skeleton")).to_have_count(0)
            expect(sight.page.locator("#state")).to_have_text("up to date")
            expire(quiet)
            signed_out(sight)
        assert sight.violations() == []

    def test_it_asks_no_more(self, context: BrowserContext, quiet: Worker) -> None:
        sight = viewer_browser.look(context, quiet)
        sight.page.clock.install()
        sight.page.reload()
        expect(sight.page.locator("#state")).to_have_text("up to date")
        context.clear_cookies()
        sight.follow(sight.page.get_by_role("link", name="Projects"))
        signed_out(sight)
        asked: list[str] = []
        sight.page.on("request", lambda request: asked.append(request.url))
        sight.page.clock.run_for(10 * 60 * 1000)
        assert asked == []
        with sight.page.expect_response("**/stream"):  # but when somebody wants something
            sight.follow(sight.page.get_by_role("link", name="Find", exact=True))
        signed_out(sight)
        assert {url.rpartition("/")[2] for url in asked} - {"icon.svg"} == {"stream"}

    @pytest.mark.parametrize("place", ["find?q=pennies", "observation/1"])
    def test_signing_in_in_another_tab_brings_this_one_back(
        self, context: BrowserContext, quiet: Worker, place: str
    ) -> None:
        remembered(quiet)
        one = viewer_browser.look(context, quiet, f"#/{place}")
        expect(one.main()).to_contain_text("Make the till count pennies")
        one.page.evaluate("window.same = true")
        expire(quiet)
        signed_out(one)
        viewer_browser.look(context, quiet)
        expect(one.main()).to_contain_text("Make the till count pennies")
        expect(one.page.locator("#state")).to_have_text("up to date")
        quiet.post("/api/memory/edit", id=1, title="Pennies, not pounds")  # and it listens again
        expect(one.main()).to_contain_text("Pennies, not pounds")
        assert one.page.evaluate("window.same") is True

    def test_nothing_typed_is_lost_by_it(self, context: BrowserContext, quiet: Worker) -> None:
        ref = remembered(quiet)
        one = viewer_browser.look(context, quiet, f"#/observation/{ref}")
        one.page.get_by_role("button", name="Edit").click()
        one.page.get_by_label("Title", exact=True).fill("Pennies, not pounds")
        expire(quiet)
        expect(one.page.locator("#state")).to_have_text("signed out")
        one.page.get_by_role("button", name="Save").click()
        expect(one.page.get_by_role("alert")).to_contain_text(
            "You are signed out. In a terminal, run: claude-mem open."
        )
        viewer_browser.look(context, quiet)
        expect(one.page.locator("#state")).to_have_text("up to date")
        expect(one.page.get_by_role("alert")).to_have_text(
            "You are signed in again and can save what you typed."
        )
        one.page.get_by_role("button", name="Save").click()
        one.heading("Pennies, not pounds")

    def test_a_question_about_memory_goes_with_it(self, context: BrowserContext, quiet: Worker) -> None:
        ref = remembered(quiet)
        one = viewer_browser.look(context, quiet, f"#/observation/{ref}")
        one.page.get_by_role("button", name="Forget").click()
        expect(one.page.get_by_role("dialog")).to_be_visible()
        expire(quiet)
        signed_out(one)
        expect(one.page.get_by_role("dialog")).to_have_count(0)
        assert quiet.ask("GET", f"/api/observation/{ref}")[0] == 200


class TestSigningOut:
    def test_it_leaves_a_page_that_shows_nothing(self, context: BrowserContext, quiet: Worker) -> None:
        remembered(quiet)
        sight = viewer_browser.look(context, quiet, "#/settings")
        sight.page.get_by_role("button", name="Sign out", exact=True).click()
        expect(sight.page.locator("body")).to_contain_text("claude-mem open")
        expect(sight.page.locator("body")).not_to_contain_text("pennies")
        assert context.request.get(f"http://127.0.0.1:{quiet.port}/api/observations").status == 401

    def test_the_other_tabs_are_signed_out_and_told_nothing_more(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        remembered(quiet)
        other = viewer_browser.look(context, quiet)
        expect(other.page.locator(".feed")).to_contain_text("pennies")
        one = viewer_browser.look(context, quiet, "#/settings")
        one.page.get_by_role("button", name="Sign out", exact=True).click()
        signed_out(other)

    def test_another_browser_is_not(self, chromium: Browser, quiet: Worker) -> None:
        with viewer_browser.context(chromium) as mine, viewer_browser.context(chromium) as theirs:
            one, other = viewer_browser.look(mine, quiet, "#/settings"), viewer_browser.look(theirs, quiet)
            one.page.get_by_role("button", name="Sign out", exact=True).click()
            expect(one.page.locator("body")).to_contain_text("You are not signed in.")
            remembered(quiet)
            expect(other.page.locator(".feed")).to_contain_text("pennies")
            assert other.all_that_went_wrong() == []


class TestTwoTabs:
    def both(self, context: BrowserContext, worker: Worker) -> tuple[Sight, Sight]:
        """Two tabs that look at the same memory."""
        place = f"#/observation/{remembered(worker)}"
        return viewer_browser.look(context, worker, place), viewer_browser.look(context, worker, place)

    def rename(self, sight: Sight, title: str) -> None:
        sight.page.get_by_role("button", name="Edit").click()
        sight.page.get_by_label("Title", exact=True).fill(title)
        sight.page.get_by_role("button", name="Save").click()
        expect(sight.page.get_by_role("dialog")).to_have_count(0)

    def test_what_one_changes_the_other_shows(self, context: BrowserContext, quiet: Worker) -> None:
        one, two = self.both(context, quiet)
        one.page.get_by_role("button", name="Pin").click()
        for tab in (one, two):
            expect(tab.page.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
        self.rename(one, "Pennies, not pounds")
        two.heading("Pennies, not pounds")
        assert one.all_that_went_wrong() + two.all_that_went_wrong() == []

    def test_who_edits_what_another_tab_has_changed_meanwhile_learns_of_it(
        self, context: BrowserContext, quiet: Worker
    ) -> None:
        one, two = self.both(context, quiet)
        two.page.get_by_role("button", name="Edit").click()
        two.page.get_by_label("Subtitle").fill("In the shop")
        self.rename(one, "Pennies, not pounds")
        expect(two.page.get_by_role("alert")).to_contain_text("changed elsewhere in the meantime")
        two.page.get_by_role("button", name="Save").click()
        for tab in (one, two):
            tab.heading("Pennies, not pounds")  # neither has undone the other's
            expect(tab.main()).to_contain_text("In the shop")
        assert one.all_that_went_wrong() + two.all_that_went_wrong() == []

    def test_an_undo_that_no_longer_fits_says_why(self, context: BrowserContext, quiet: Worker) -> None:
        one, two = self.both(context, quiet)
        self.rename(one, "Pennies, not pounds")
        two.heading("Pennies, not pounds")
        self.rename(two, "Pence, not pennies")
        one.heading("Pence, not pennies")
        one.page.get_by_role("button", name="Undo").click()
        expect(one.page.locator("#toasts")).to_contain_text("been changed again since")
        one.heading("Pence, not pennies")
        two.page.get_by_role("button", name="Undo").click()
        one.heading("Pennies, not pounds")
        assert one.violations() + two.violations() == []
