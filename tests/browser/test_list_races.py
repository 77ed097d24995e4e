"""Somebody who is faster than a list: what is typed, selected and marked holds for what comes."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser.viewer_browser import Held, Sight, Unsent, listen
from tests.contracts.worker_client import Worker
from tests.harness import workers

ROWS = 130  # more than a page of a list


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("hasty") / "data") as data:
        worker = Worker(data)
        for nth in range(ROWS):
            worker.post("/api/memory/save", text=f"Gauge {nth}.", title=f"Gauge {nth}", project="gauges")
        title = "The okapi network"
        worker.post("/api/memory/save", text="Deploys need the okapi.", title=title, project="zoo")
        worker.settle()
        yield worker


def bar(sight: Sight) -> Locator:
    return sight.page.get_by_role("group", name="Actions for the selection")


def test_enter_right_after_typing_leads_to_what_was_typed(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, "#/find")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.press("/")
    sight.page.keyboard.type("okapi")
    sight.press("Enter")
    first = sight.page.locator(".hit a.title").first
    expect(first).to_have_text("The okapi network")
    expect(first).to_be_focused()


def test_enter_twice_right_after_typing_opens_what_was_typed(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, "#/find")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.press("/")
    sight.page.keyboard.type("okapi")
    sight.press("Enter", "Enter")
    sight.heading("The okapi network")


def test_enter_is_heard_while_the_page_that_finds_is_on_its_way(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/projects")
    unsent = Unsent(sight, "**/viewer/pages/find.js")
    sight.press("/")
    sight.page.keyboard.type("okapi")
    sight.press("Enter")
    unsent.wait()
    unsent.let_go()
    first = sight.page.locator(".hit a.title").first
    expect(first).to_have_text("The okapi network")
    expect(first).to_be_focused()


LATE = "addEventListener('hashchange', (event) => event.isTrusted && event.stopImmediatePropagation(), true)"


def test_keys_are_the_new_pages_before_the_browser_tells_of_its_address(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/live")
    sight.page.add_init_script(LATE)
    sight.page.reload()
    sight.heading("Live")
    sight.press("g", "p")
    sight.heading("Projects")
    sight.press("/")
    sight.page.keyboard.type("okapi")
    sight.press("Enter")
    expect(sight.page.locator(".hit a.title").first).to_be_focused()
    sight.press("g", "l")
    sight.heading("Live")


def selecting(context: BrowserContext, worker: Worker) -> tuple[Sight, Held]:
    """One is ticked, and all that fit are on their way."""
    sight = listen(context, worker, "#/find?project=gauges")
    sight.page.locator(".hit input").first.check()
    held = Held(sight, "**/api/memory/select")
    bar(sight).get_by_role("button", name="Select all matches").click()
    held.wait()
    return sight, held


def test_all_that_fit_an_earlier_search_are_not_selected(context: BrowserContext, worker: Worker) -> None:
    sight, held = selecting(context, worker)
    sight.page.locator("#q").fill("okapi")
    expect(bar(sight)).to_be_hidden()
    held.let_go()
    expect(bar(sight)).to_be_hidden()


def test_nothing_can_be_done_to_some_of_all_that_fit(context: BrowserContext, worker: Worker) -> None:
    sight, held = selecting(context, worker)
    expect(bar(sight)).to_contain_text("selecting…")
    for name in ("Pin", "Mark wrong", "Forget"):
        expect(bar(sight).get_by_role("button", name=name, exact=True)).to_be_disabled()
    held.let_go()
    expect(bar(sight).get_by_role("button", name="Forget")).to_be_enabled()
    expect(bar(sight)).not_to_contain_text("1 memory selected")
    bar(sight).get_by_role("button", name="Clear").click()
    expect(bar(sight)).to_be_hidden()


def test_all_that_fit_may_be_asked_for_again_when_they_could_not_be_had(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    sight.page.locator(".hit input").first.check()
    sight.route("**/api/memory/select", lambda route: route.abort())
    bar(sight).get_by_role("button", name="Select all matches").click()
    expect(sight.page.locator("#toasts")).to_contain_text("cannot be reached")
    expect(bar(sight)).to_contain_text("1 memory selected")
    sight.page.unroute("**/api/memory/select")
    bar(sight).get_by_role("button", name="Select all matches").click()
    expect(bar(sight)).not_to_contain_text("1 memory selected")
    expect(bar(sight).get_by_role("button", name="Forget")).to_be_enabled()


def test_taking_back_leaves_what_is_selected_since(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    boxes = sight.page.locator(".hit input")
    boxes.nth(0).check()
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(bar(sight)).to_be_hidden()
    expect(sight.page.locator(".hit .chip.pin")).to_have_count(1)
    boxes.nth(3).check()
    boxes.nth(4).check()
    sight.press("u")
    expect(sight.page.locator(".hit .chip.pin")).to_have_count(0)
    expect(bar(sight)).to_contain_text("2 memories selected")
    expect(boxes.nth(3)).to_be_checked()


def test_taking_back_leaves_what_is_selected_after_coming_back(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    boxes = sight.page.locator(".hit input")
    boxes.nth(0).check()
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator(".hit .chip.pin")).to_have_count(1)
    sight.page.locator(".hit a.title").nth(5).click()
    sight.heading("Gauge")
    sight.back()
    boxes.nth(0).check()
    sight.press("u")
    expect(sight.page.locator(".hit .chip.pin")).to_have_count(0)
    expect(bar(sight)).to_contain_text("1 memory selected")
    expect(boxes.nth(0)).to_be_checked()


def test_what_is_marked_has_focus_though_rows_came_late(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    expect(sight.page.locator(".hit").first).to_be_visible()
    held = Held(sight, "**/api/observations?*cursor=*")
    sight.press(*["j"] * 104)
    held.wait()
    held.let_go()
    marked = sight.page.locator(".hit[aria-current=true]")
    expect(sight.page.locator(".row[data-index='103'] .hit")).to_have_attribute("aria-current", "true")
    expect(marked.locator("a.title")).to_be_focused()


def test_who_leaves_a_list_that_is_still_on_its_way_finds_focus_at_the_next_heading(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.press(*["j"] * 40)
    sight.press("Enter")
    sight.heading("Gauge")
    Held(sight, "**/api/observations?*")
    sight.back()
    expect(sight.page.get_by_label("Filters", exact=True)).to_be_visible()
    sight.press("g", "p")
    sight.heading("Projects")
    expect(sight.page.get_by_role("heading", level=1)).to_be_focused()


def test_who_comes_back_twice_in_haste_finds_the_place(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.press(*["j"] * 40)
    marked = sight.page.locator(".hit[aria-current=true] a.title")
    expect(marked).to_be_focused()
    title = marked.inner_text()
    down = sight.page.evaluate("scrollY")
    sight.press("Enter")
    sight.heading(title)
    held = Held(sight, "**/api/observations?*")
    sight.back()
    held.wait()
    sight.page.go_forward()
    sight.heading(title)
    held.let_go()
    sight.back()
    expect(marked).to_have_text(title)
    expect(marked).to_be_focused()
    sight.page.wait_for_function("down => scrollY === down", arg=down)


def test_who_stands_in_a_list_stays_with_the_memory_when_another_is_forgotten(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    hits = sight.page.locator(".hit")
    expect(hits.first).to_be_visible()
    sight.press(*["j"] * 6)
    marked = sight.page.locator(".hit[aria-current=true] a.title")
    expect(marked).to_be_focused()
    title, first = marked.inner_text(), hits.first.get_attribute("data-ref")
    worker.post("/api/memory/forget", ids=[first], confirm=True)
    expect(hits.first).not_to_have_attribute("data-ref", str(first))
    expect(marked).to_have_text(title)
    expect(marked).to_be_focused()


def test_a_question_about_a_selection_is_not_asked_over_another_search(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    sight.page.locator(".hit input").first.check()
    held = Held(sight, "**/api/memory/forget")
    bar(sight).get_by_role("button", name="Forget").click()
    held.wait()
    sight.page.locator("#q").fill("okapi")
    held.let_go()
    expect(sight.main().get_by_role("status")).to_contain_text("for “okapi”")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)


def test_who_came_to_the_list_from_another_search_finds_the_place_again(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    expect(sight.main().get_by_role("status")).to_contain_text("observations")
    sight.follow(sight.page.get_by_role("link", name="Find", exact=True))
    expect(sight.page.locator(".hit", has_text="network").first).to_be_visible()
    sight.press(*["j"] * 40)
    marked = sight.page.locator(".hit[aria-current=true] a.title")
    expect(marked).to_be_focused()
    title, down = marked.inner_text(), sight.page.evaluate("scrollY")
    sight.press("Enter")
    sight.heading(title)
    sight.back()
    expect(marked).to_have_text(title)
    expect(marked).to_be_focused()
    sight.page.wait_for_function("down => scrollY === down", arg=down)


def test_a_list_that_is_asked_for_twice_is_busy_until_the_second_is_there_and_keeps_the_place(
    context: BrowserContext, worker: Worker
) -> None:
    sight = listen(context, worker, "#/find?project=gauges")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.press(*["j"] * 20)
    marked = sight.page.locator(".hit[aria-current]")
    ref = marked.get_attribute("data-ref")
    lists = Held(sight, "**/api/observations?*")
    sight.press("x")
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    lists.wait(1)
    sight.press("u")
    lists.wait(2)
    expect(sight.page.locator(".window")).to_have_attribute("aria-busy", "true")
    sight.press("g", "p")
    sight.heading("Projects")
    lists.let_go()
    sight.back()
    expect(marked).to_have_attribute("data-ref", str(ref))
