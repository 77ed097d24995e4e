"""What pages say is so: whose days, whose names, how many, and on the page that asked."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Route, expect
from tests.browser import viewing
from tests.contract.recalling import Worker

from claude_mem.testing import workers


def test_the_year_ends_today_also_east_of_greenwich(chromium: Browser, quiet: Worker) -> None:
    context = chromium.new_context(timezone_id="Pacific/Auckland")
    sight = viewing.look(context, quiet)
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    # It is the 3rd here, and still the 2nd in Greenwich.
    sight.page.clock.set_fixed_time(datetime(2026, 3, 2, 20, 0, tzinfo=UTC))

    def answered(route: Route) -> None:
        found: dict[str, Any] = route.fetch().json()
        found["activity"] = [{"day": "2026-03-03", "observations": 2, "summaries": 0, "prompts": 1}]
        route.fulfill(json=found)

    sight.page.route("**/api/project?*", answered)
    sight.go("#/project/shop")
    expect(sight.page.locator(".heat rect.day").last).to_have_text("2026-03-03: 3")
    expect(sight.main()).to_contain_text("By the days of this machine's clock.")
    assert sight.all_that_went_wrong() == []
    context.close()


def test_forgetting_does_not_pull_back_who_went_elsewhere(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/observation/1")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Forget")).to_be_enabled()
    sight.page.route("**/api/memory/forget", hold)
    dialog.get_by_role("button", name="Forget").click()
    workers.until(lambda: bool(sight.page.evaluate("1") and held), "it is asked to forget")
    sight.go("#/projects")
    sight.heading("Projects")
    with sight.page.expect_response("**/api/memory/forget"):
        held[0].continue_()
    expect(sight.page.locator("#toasts")).to_contain_text("orgotten")
    sight.heading("Projects")
    assert sight.all_that_went_wrong() == []


def test_arrows_leave_selecting_and_wide_text_alone(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/session/till-1")
    said = sight.page.locator("output")
    sight.page.locator(".story > li.evidence summary").first.click()
    sight.page.locator(".story pre").first.focus()
    before = said.inner_text()
    sight.press("ArrowLeft")
    sight.page.locator("main h1").focus()
    sight.press("Shift+ArrowLeft")
    expect(said).to_have_text(before)
    sight.press("ArrowLeft")
    expect(said).not_to_have_text(before)


def test_a_memory_is_called_as_sessions_are_told_of_it(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/observation/1")
    expect(sight.main().locator(".head .mono", has_text="#1")).to_have_text("#1")


@pytest.mark.parametrize("many", [3, 130])
def test_a_file_names_its_sessions_and_shows_all_of_many(
    context: BrowserContext, quiet: Worker, many: int
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    records = [
        {
            "title": f"Till {nth}",
            "narrative": "It is so.",
            "project": "shop",
            "files_modified": ["src/till.py"],
            "session_id": "till-1",
        }
        for nth in range(many)
    ]
    quiet.post("/api/import", records=records)
    quiet.settle()
    path = quote("src/till.py", safe="")
    sight = viewing.look(context, quiet, f"#/file/{path}")
    title = quiet.get("/api/session/till-1")["session"]["title"]
    assert title
    expect(sight.main().locator("h2 a", has_text=title)).to_be_visible()
    lines = sight.page.locator(".feed > li")
    earlier = sight.page.get_by_role("button", name="Earlier")
    if many < 100:
        expect(earlier).to_have_count(0)
        return
    expect(lines).to_have_count(100)
    expect(sight.main().locator(".head")).to_contain_text("the newest 100 of 13")
    earlier.click()
    expect(earlier).to_have_count(0)
    refs = sight.page.locator(".feed .line").evaluate_all("all => all.map((each) => each.dataset.ref)")
    assert len(refs) == len(set(refs)) >= many
    assert sight.all_that_went_wrong() == []


def test_projects_with_nothing_in_them_come_last(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet)
    bare = {"name": "aardvark", "key": "aardvark", "root": None, "sessions": 0, "observations": 0}

    def answered(route: Route) -> None:
        found: dict[str, Any] = route.fetch().json()
        route.fulfill(json=found | {"items": [bare | {"last_at_epoch": 1_780_000_000_000}, *found["items"]]})

    sight.page.route("**/api/projects?*", answered)
    sight.go("#/projects")
    expect(sight.main().locator("tbody a.title")).to_have_text(["shop", "aardvark"])
    expect(sight.main().locator("tbody tr").last.locator(".soft")).to_have_text("nothing yet")
