"""Many memories at once: a selection, or all that a search finds; one button takes all of it back."""

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import NARROW, WIDE, Sight, Unsent
from tests.contracts.worker_client import Worker

MORE_THAN_A_PART = 620  # the worker takes 500 at a time
OPEN_TO_A_CLICK = """(what) => { const each = typeof what === "string" ? document.querySelector(what) : what;
    const { left, top, width, height } = each.getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2) === each; }"""


def save(worker: Worker, animal: str, count: int) -> list[str]:
    return [
        worker.post(
            "/api/memory/save",
            text=f"Rumour {nth}: the {animal} lives in the attic, said {nth}.",
            title=f"Rumour {nth} of the {animal}",
            project="zoo",
        )["ref"]
        for nth in range(count)
    ]


def save_many(worker: Worker, animal: str, count: int) -> list[str]:
    """In one go."""
    records = [
        {"title": f"Rumour {nth} of the {animal}", "narrative": f"Said {nth}.", "project": "zoo"}
        for nth in range(count)
    ]
    worker.post("/api/import", records=records)
    (newest,) = worker.get("/api/observations", project="zoo", limit=1)["items"]
    return [str(int(newest["ref"]) - nth) for nth in reversed(range(count))]


def bar(sight: Sight) -> Locator:
    return sight.page.get_by_role("group", name="Actions for the selection")


def select_all(sight: Sight) -> None:
    sight.page.locator(".hit input").first.check()
    bar(sight).get_by_role("button", name="Select all matches").click()


def pinned(worker: Worker) -> int:
    return int(worker.get("/api/observations", project="zoo", pinned="true", count="true", limit=1)["total"])


def middle(of: Locator) -> float:
    box = of.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


def test_duplicates_are_merged_and_parted_again(context: BrowserContext, quiet: Worker) -> None:
    saved = save(quiet, "numbat", 3)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    for ref in saved:
        sight.page.locator(f'.hit[data-ref="{ref}"] input').check()
    expect(bar(sight)).to_contain_text("3 memories selected")
    bar(sight).get_by_role("button", name="Merge").click()
    second = sight.page.get_by_role("dialog").get_by_role("radio").nth(1)
    assert abs(middle(second) - middle(second.locator("+ span"))) < 3  # beside its words
    second.check()
    second.press("Enter")
    expect(sight.page.locator("#toasts")).to_contain_text("2 memories merged into")
    kept = str(re.search(r"into (\d+)", sight.page.locator("#toasts").inner_text())[1])  # type: ignore[index]
    assert kept in saved
    replaced = {ref: quiet.get(f"/api/observation/{ref}")["superseded_by"] for ref in saved if ref != kept}
    assert set(map(str, replaced.values())) == {kept}
    sight.undo()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert all(quiet.get(f"/api/observation/{ref}")["superseded_by"] is None for ref in saved)
    assert sight.all_that_went_wrong() == []


def test_a_selection_is_made_by_keyboard_and_acted_upon(context: BrowserContext, quiet: Worker) -> None:
    save(quiet, "numbat", 3)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    expect(sight.page.locator(".hit")).to_have_count(3)
    sight.press("j", "x", "j", "x")
    expect(bar(sight)).to_contain_text("2 memories selected")
    refs = [sight.page.locator(".hit").nth(nth).get_attribute("data-ref") for nth in (0, 1)]
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text("2 memories pinned")
    expect(bar(sight)).to_be_hidden()
    assert all(quiet.get(f"/api/observation/{ref}")["pinned"] for ref in refs)
    sight.undo()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert pinned(quiet) == 0
    sight.press("j", "x")
    expect(bar(sight)).to_be_visible()
    sight.press("Escape")
    expect(bar(sight)).to_be_hidden()
    assert sight.all_that_went_wrong() == []


def test_keys_pressed_while_the_list_is_on_its_way_hold_for_it(
    context: BrowserContext, quiet: Worker
) -> None:
    save(quiet, "numbat", 3)
    sight = viewer_browser.look(context, quiet)
    unsent = Unsent(sight, "**/api/observations?*")
    sight.press("g", "f")
    unsent.wait()
    expect(sight.page.get_by_label("Type", exact=True)).to_be_visible()
    sight.press("j", "j", "x")
    unsent.let_go()
    expect(bar(sight)).to_contain_text("1 memory selected")
    expect(sight.page.locator(".hit").nth(1).get_by_role("checkbox")).to_be_checked()
    assert sight.all_that_went_wrong() == []


def test_a_box_can_be_unticked_and_the_rest_cleared(context: BrowserContext, quiet: Worker) -> None:
    save(quiet, "numbat", 3)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    boxes = sight.page.locator(".hit input")
    expect(boxes).to_have_count(3)
    for box in boxes.all():
        box.check()
    boxes.first.uncheck()
    expect(bar(sight)).to_contain_text("2 memories selected")
    bar(sight).get_by_role("button", name="Clear").click()
    expect(bar(sight)).to_be_hidden()
    expect(sight.page.locator(".hit input:checked")).to_have_count(0)


def test_all_that_a_search_finds_is_marked_wrong_shown_as_such_and_right_again(
    context: BrowserContext, quiet: Worker
) -> None:
    rumours = set(save(quiet, "numbat", 7))
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find?q=numbat&project=zoo&kind=observation")
    expect(sight.page.locator(".hit")).to_have_count(7)
    select_all(sight)
    expect(bar(sight)).to_contain_text("7 memories selected")
    bar(sight).get_by_role("button", name="Mark wrong").click()
    expect(sight.page.locator("#toasts")).to_contain_text("7 memories marked wrong")
    expect(sight.page.locator(".hit")).to_have_count(0)
    recalled = quiet.get("/api/search", q="numbat", kind="observation")["results"]
    assert not rumours & {each["ref"] for each in recalled}
    sight.more_filters()
    sight.page.get_by_label("Marked wrong").select_option("only these")
    expect(sight.page.locator(".hit.gone")).to_have_count(7)
    expect(sight.page.locator(".hit .chip.wrong").first).to_have_text("marked wrong")
    select_all(sight)
    bar(sight).get_by_role("button", name="Mark right").click()
    expect(sight.page.locator("#toasts")).to_contain_text("7 memories no longer marked wrong")
    assert not any(quiet.get(f"/api/observation/{ref}")["wrong"] for ref in rumours)
    assert sight.all_that_went_wrong() == []


def test_all_that_fit_are_those_that_are_listed_when_nothing_but_blanks_is_looked_for(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("zoo-1", "Feed the quoll at dusk", "src/feed.py", project="zoo")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo&q=+")
    expect(sight.page.locator(".hit")).to_have_count(1)
    select_all(sight)
    expect(bar(sight)).to_contain_text("1 memory selected")


@pytest.mark.parametrize(("kind", "shown"), [("observation", 3), ("observation,summary,prompt", 2)])
def test_all_that_fit_are_those_that_are_listed(
    context: BrowserContext, quiet: Worker, kind: str, shown: int
) -> None:
    quiet.post("/api/memory/wrong", ids=save(quiet, "quoll", 3)[:1])
    sight = viewer_browser.look(context, quiet, f"#/find?project=zoo&kind={kind}")
    expect(sight.page.locator(".hit")).to_have_count(shown)
    select_all(sight)
    expect(bar(sight)).to_contain_text(f"{shown} memories selected")


def test_more_than_the_worker_takes_at_once_is_done_undone_and_forgotten_as_one(
    context: BrowserContext, quiet: Worker
) -> None:
    save_many(quiet, "bilby", MORE_THAN_A_PART)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    select_all(sight)
    expect(bar(sight)).to_contain_text(f"{MORE_THAN_A_PART} memories selected")
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text(f"{MORE_THAN_A_PART} memories pinned")
    assert pinned(quiet) == MORE_THAN_A_PART
    expect(sight.page.get_by_role("button", name="Undo")).to_have_count(1)
    sight.undo()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert pinned(quiet) == 0
    select_all(sight)
    expect(bar(sight)).to_contain_text(f"{MORE_THAN_A_PART} memories selected")
    bar(sight).get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog).to_contain_text(f"{MORE_THAN_A_PART} observations")
    dialog.get_by_role("button", name="Forget").click()
    expect(sight.page.locator("#toasts")).to_contain_text(f"Deleted: {MORE_THAN_A_PART} observations")
    expect(sight.page.locator(".hit")).to_have_count(0)
    assert quiet.get("/api/observations", project="zoo")["items"] == []
    assert sight.all_that_went_wrong() == []


def test_what_of_a_large_change_was_changed_again_is_said_and_the_rest_is_taken_back(
    context: BrowserContext, quiet: Worker
) -> None:
    refs = save_many(quiet, "bilby", MORE_THAN_A_PART)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    select_all(sight)
    expect(bar(sight)).to_contain_text(f"{MORE_THAN_A_PART} memories selected")
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text(f"{MORE_THAN_A_PART} memories pinned")
    quiet.post("/api/memory/pin", ids=[refs[-1]], pinned=False)  # the newest: in the first part
    sight.undo()
    expect(sight.page.locator("#toasts")).to_contain_text("changed")
    assert pinned(quiet) == 500 - 1
    assert [wrong for wrong in sight.all_that_went_wrong() if "409" not in wrong] == []


def test_where_none_is_marked_wrong_they_are_marked_so(context: BrowserContext, quiet: Worker) -> None:
    (ref,) = save(quiet, "numbat", 1)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo&wrong=false")
    sight.page.locator(".hit input").check()
    bar(sight).get_by_role("button", name="Mark wrong").click()
    expect(sight.page.locator("#toasts")).to_contain_text("1 memory marked wrong")
    assert quiet.get(f"/api/observation/{ref}")["wrong"] is True
    assert sight.all_that_went_wrong() == []


@pytest.mark.parametrize("width", [WIDE[0], NARROW[0]])
def test_the_bar_covers_neither_the_last_box_nor_the_undo(
    context: BrowserContext, quiet: Worker, width: int
) -> None:
    save(quiet, "numbat", 6)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    sight.page.set_viewport_size({"width": width, "height": 740})
    boxes = sight.page.locator(".hit input")
    expect(boxes).to_have_count(6)
    end = sight.page.locator(".window").evaluate("each => Math.ceil(each.getBoundingClientRect().bottom)")
    sight.page.set_viewport_size({"width": width, "height": end + 8})  # all of it is in sight
    boxes.first.check()
    expect(bar(sight)).to_be_visible()
    sight.page.wait_for_function(OPEN_TO_A_CLICK, arg=".row:last-child input")
    bar(sight).get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text("1 memory pinned")
    boxes.last.check()
    for name in ("Pin", "Clear"):
        button = bar(sight).get_by_role("button", name=name, exact=True).element_handle()
        sight.page.wait_for_function(OPEN_TO_A_CLICK, arg=button)
    assert sight.all_that_went_wrong() == []


def test_every_row_of_a_large_change_is_shown_anew(context: BrowserContext, quiet: Worker) -> None:
    refs = save_many(quiet, "numbat", 130)
    sight = viewer_browser.look(context, quiet, "#/find?project=zoo")
    expect(sight.page.locator(".hit").first).to_be_visible()
    scroll = "scrollTo(0, document.documentElement.scrollHeight)"
    sight.page.evaluate(scroll)
    last = sight.page.locator(f'.hit[data-ref="{refs[0]}"]')
    expect(last).to_be_visible()
    quiet.post("/api/memory/pin", ids=refs, pinned=True)
    expect(last.locator(".chip.pin")).to_be_visible()
    assert sight.all_that_went_wrong() == []
