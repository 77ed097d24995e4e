"""Every memory, session, file, project and search has an address: opened cold, and left and come back to."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, needs_transcripts
from tests.contracts.worker_client import Worker

pytestmark = needs_transcripts

ODD = "docs/100% naïve? #1/日本 & co.md"


def position(sight: Sight) -> int:
    return int(sight.page.evaluate("window.scrollY"))


def test_an_address_opens_cold_in_a_new_tab(
    context: BrowserContext, worker: Worker, subtests: pytest.Subtests
) -> None:
    memory = worker.get("/api/observation/5")
    addresses = {
        "observation": ("#/observation/5", memory["title"][:60]),
        "summary": ("#/observation/s5", worker.get("/api/observation/s5")["title"][:60]),
        "prompt": ("#/observation/p5", worker.get("/api/observation/p5")["title"][:40]),
        "session": (f"#/session/{memory['session_id']}", "Events, in order"),
        "file": (f"#/file/{quote(memory['files'][0], safe='')}", memory["files"][0]),
        "project": (f"#/project/{quote(memory['project'], safe='')}", "The last year"),
        "search": ("#/find?q=template&type=bugfix", "for “template”"),
    }
    viewer_browser.look(context, worker).page.close()  # signed in, by another tab
    for what, (hash, said) in addresses.items():
        with subtests.test(what=what), context.new_page() as page:
            page.goto(f"http://127.0.0.1:{worker.port}/{hash}")
            expect(page.locator("main")).to_contain_text(said)
            page.reload()
            expect(page.locator("main")).to_contain_text(said)


def test_a_file_of_any_name_has_an_address(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("odd-1", "Write it down", ODD)
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find")
    sight.page.locator(".hit a.title").first.click()
    sight.follow(sight.page.get_by_role("link", name=ODD, exact=True))
    expect(sight.page.get_by_role("heading", level=1)).to_contain_text("日本 & co.md")
    expect(sight.main().locator(".line").first).to_be_visible()
    sight.page.reload()
    expect(sight.main().locator(".line").first).to_be_visible()
    assert sight.all_that_went_wrong() == []


@pytest.fixture
def long_list(context: BrowserContext, quiet: Worker) -> Sight:
    for nth in range(120):
        quiet.post(
            "/api/memory/save", text=f"Lock {nth} is template no. {nth}.", title=f"Lock {nth}", project="weir"
        )
    sight = viewer_browser.look(context, quiet, "#/find")
    expect(sight.page.locator(".hit").first).to_be_visible()
    return sight


def test_who_comes_back_to_a_long_list_finds_the_place_and_the_selection(long_list: Sight) -> None:
    sight = long_list
    sight.page.locator(".hit input").nth(1).check()
    sight.page.mouse.move(600, 500)
    sight.page.mouse.wheel(0, 1800)
    row = sight.page.locator('.row[aria-posinset="40"]')
    expect(row.locator(".hit")).to_be_in_viewport()
    row.locator("input").check()
    was, ref = position(sight), row.locator(".hit").get_attribute("data-ref")
    assert was > 1000
    row.locator("a.title").click()
    expect(sight.page).to_have_url(re.compile(f"#/observation/{ref}$"))
    expect(sight.page.get_by_role("button", name="Forget")).to_be_visible()
    sight.back()
    expect(row.locator(".hit")).to_be_in_viewport()
    expect(row.locator("input")).to_be_checked()
    expect(row.locator("a.title")).to_be_focused()
    expect(sight.page.locator(".bulk")).to_contain_text("2 memories selected")
    assert position(sight) == was
    sight.press("j")
    expect(sight.page.locator('.row[aria-posinset="41"] .hit')).to_have_attribute("aria-current", "true")
    sight.page.locator("#q").fill("template")  # another list: nothing of it is selected
    expect(sight.page.locator(".bulk")).to_be_hidden()
    assert sight.all_that_went_wrong() == []


def test_the_keyboard_goes_on_where_it_was_after_coming_back(long_list: Sight) -> None:
    sight = long_list
    for _ in range(30):
        sight.press("j")
    row = sight.page.locator('.row[aria-posinset="30"]')
    expect(row.locator("a.title")).to_be_focused()
    sight.press("x", "Enter")
    expect(sight.page.get_by_role("button", name="Forget")).to_be_visible()
    sight.back()
    expect(row.locator("a.title")).to_be_focused()
    expect(row.locator("input")).to_be_checked()
    expect(row).to_be_in_viewport()
    assert sight.all_that_went_wrong() == []


def test_a_new_visit_to_the_list_begins_at_its_top_with_nothing_selected(long_list: Sight) -> None:
    sight = long_list
    sight.page.locator(".hit input").first.check()
    sight.page.mouse.move(600, 500)
    sight.page.mouse.wheel(0, 1800)
    expect(sight.page.locator('.row[aria-posinset="40"] .hit')).to_be_in_viewport()
    sight.press("g", "p")
    sight.heading("Projects")
    sight.press("g", "f")
    expect(sight.page.locator('.row[aria-posinset="1"] .hit')).to_be_in_viewport()
    expect(sight.page.locator(".bulk")).to_be_hidden()


def test_who_comes_back_to_a_session_finds_the_place(sight: Sight, worker: Worker) -> None:
    sessions = worker.get("/api/sessions", limit=20)["items"]
    long = max(sessions, key=lambda each: each["observations"])["id"]
    items = worker.get(f"/api/session/{long}/events", limit=200)["items"]
    ref = [each["ref"] for each in items if each["kind"] == "observation"][-1]
    sight.go(f"#/session/{long}")
    line = sight.page.locator(f'.story > li[data-ref="{ref}"]')
    line.scroll_into_view_if_needed()
    line.locator("a.title").click()
    expect(sight.page.get_by_role("button", name="Forget")).to_be_visible()
    sight.back()
    expect(line).to_be_in_viewport()
