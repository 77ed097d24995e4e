"""Setting memory right by hand: recall sees each change at once, and all but forgetting is undone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser import viewing
from tests.browser.viewing import Sight
from tests.contract.recalling import Worker

from claude_mem.testing import workers


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("correct") / "data") as data:
        yield Worker(data)


@pytest.fixture
def saved(worker: Worker) -> list[str]:
    """Three memories of their own for each test."""
    nth = worker.get("/api/stats")["observations"]
    return [
        worker.post(
            "/api/memory/save",
            text=f"{word} {nth}: deploys need the {word} network.",
            title=f"The {word} network {nth}",
            project="shop",
        )["ref"]
        for word in ("quagga", "okapi", "tapir")
    ]


def found(worker: Worker, query: str) -> list[str]:
    return [each["ref"] for each in worker.get("/api/search", q=query, kind="observation")["results"]]


def undo(sight: Sight) -> Locator:
    return sight.page.get_by_role("button", name="Undo").last


def test_an_edit_is_found_at_once_and_can_be_taken_back(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewing.look(context, worker, f"#/observation/{saved[0]}")
    before = worker.get(f"/api/observation/{saved[0]}")
    sight.page.get_by_role("button", name="Edit").click()
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_label("Title", exact=True).fill("The axolotl network")
    dialog.get_by_label("Type").select_option("decision")
    dialog.get_by_label("Facts").fill("It is in the cellar.\nIt has two gates.")
    dialog.get_by_label("Concepts").fill("gotcha, how-it-works")
    dialog.get_by_role("button", name="Save").click()
    sight.heading("The axolotl network")
    after = worker.get(f"/api/observation/{saved[0]}")
    assert (after["title"], after["type"]) == ("The axolotl network", "decision")
    assert after["facts"] == ["It is in the cellar.", "It has two gates."]
    assert after["concepts"] == ["gotcha", "how-it-works"]
    assert found(worker, "axolotl")[0] == saved[0]
    undo(sight).click()
    sight.heading(before["title"])
    assert "axolotl" not in str(worker.get("/api/search", q="axolotl")["results"])
    again = worker.get(f"/api/observation/{saved[0]}")
    assert {name: again[name] for name in ("title", "type", "facts")} == {
        name: before[name] for name in ("title", "type", "facts")
    }
    assert sight.all_that_went_wrong() == []


def test_an_edit_that_cannot_be_kept_says_why_and_loses_nothing(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewing.look(context, worker, f"#/observation/{saved[0]}")
    sight.press("e")
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_label("What happened").fill("much typed here")
    dialog.get_by_label("Title", exact=True).fill("   ")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(dialog.get_by_label("What happened")).to_have_value("much typed here")
    dialog.get_by_role("button", name="Cancel").click()
    assert "much typed" not in str(worker.get(f"/api/observation/{saved[0]}"))


def test_a_pin_is_set_and_taken_back_by_keyboard(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewing.look(context, worker, f"#/observation/{saved[0]}")
    sight.press("p")
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_visible()
    assert worker.get(f"/api/observation/{saved[0]}")["pinned"] is True
    sight.press("u")
    expect(sight.page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    assert worker.get(f"/api/observation/{saved[0]}")["pinned"] is False
    assert sight.all_that_went_wrong() == []


def test_what_is_wrong_is_no_longer_recalled_until_it_is_right_again(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    word = worker.get(f"/api/observation/{saved[1]}")["title"]
    assert saved[1] in found(worker, word)
    sight = viewing.look(context, worker, f"#/observation/{saved[1]}")
    sight.page.get_by_role("button", name="Mark wrong").click()
    expect(sight.page.get_by_role("button", name="Marked wrong")).to_have_attribute("aria-pressed", "true")
    assert saved[1] not in found(worker, word)
    undo(sight).click()
    expect(sight.page.get_by_role("button", name="Mark wrong")).to_have_attribute("aria-pressed", "false")
    assert saved[1] in found(worker, word)
    assert sight.all_that_went_wrong() == []


def test_forgetting_shows_what_will_go_and_then_it_is_gone(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    title = worker.get(f"/api/observation/{saved[2]}")["title"]
    sight = viewing.look(context, worker, f"#/observation/{saved[2]}")
    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Forget for good?")
    expect(dialog).to_contain_text("1 observation")
    expect(dialog).to_contain_text(title)
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    dialog.get_by_role("button", name="Keep").click()
    assert worker.ask("GET", f"/api/observation/{saved[2]}")[0] == 200
    sight.press("#")
    sight.page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(sight.page.locator("#toasts")).to_contain_text("Forgotten: 1 observation")
    expect(sight.page.get_by_role("button", name="Undo")).to_have_count(0)
    assert worker.ask("GET", f"/api/observation/{saved[2]}")[0] == 404
    assert sight.violations() == []


def test_duplicates_are_merged_and_parted_again(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewing.look(context, worker, "#/find?project=shop")
    for ref in saved:
        sight.page.locator(f'.hit[data-ref="{ref}"] input').check()
    bulk = sight.page.get_by_role("group", name="What to do with the selection")
    expect(bulk).to_contain_text("3 memories selected")
    bulk.get_by_role("button", name="Merge").click()
    sight.page.get_by_role("dialog").get_by_role("radio").nth(1).check()
    sight.page.get_by_role("button", name="Merge 3 into one").click()
    expect(sight.page.locator("#toasts")).to_contain_text("2 memories merged into")
    kept = str(re.search(r"into (\d+)", sight.page.locator("#toasts").inner_text())[1])  # type: ignore[index]
    assert kept in saved
    replaced = {ref: worker.get(f"/api/observation/{ref}")["superseded_by"] for ref in saved if ref != kept}
    assert set(map(str, replaced.values())) == {kept}
    undo(sight).click()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert all(worker.get(f"/api/observation/{ref}")["superseded_by"] is None for ref in saved)
    assert sight.all_that_went_wrong() == []


def test_a_selection_is_made_by_keyboard_and_acted_upon(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewing.look(context, worker, "#/find?project=shop")
    expect(sight.page.locator(f'.hit[data-ref="{saved[0]}"]')).to_be_visible()
    sight.press("j", "x", "j", "x")
    bulk = sight.page.get_by_role("group", name="What to do with the selection")
    expect(bulk).to_contain_text("2 memories selected")
    refs = [sight.page.locator(".hit").nth(nth).get_attribute("data-ref") for nth in (0, 1)]
    bulk.get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text("2 memories pinned")
    expect(bulk).to_be_hidden()
    assert all(worker.get(f"/api/observation/{ref}")["pinned"] for ref in refs)
    undo(sight).click()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert not any(worker.get(f"/api/observation/{ref}")["pinned"] for ref in refs)
    sight.press("j", "x")
    expect(bulk).to_be_visible()
    sight.press("Escape")
    expect(bulk).to_be_hidden()
    assert sight.all_that_went_wrong() == []


def test_all_that_a_search_finds_is_marked_wrong_and_shown_as_such(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    for nth in range(7):
        worker.post(
            "/api/memory/save",
            text=f"Rumour {nth}: the numbat lives in the attic, said {nth}.",
            title=f"Numbat rumour {nth}",
            project="zoo",
        )
    sight = viewing.look(context, worker, "#/find?q=numbat&project=zoo&kind=observation")
    expect(sight.page.locator(".hit")).to_have_count(7)
    sight.page.locator(".hit input").first.check()
    sight.page.get_by_role("button", name="Select all that fit").click()
    expect(sight.page.locator(".bulk")).to_contain_text("7 memories selected")
    sight.page.get_by_role("button", name="Mark wrong").click()
    expect(sight.page.locator("#toasts")).to_contain_text("7 memories marked wrong")
    expect(sight.page.locator(".hit")).to_have_count(0)
    rumours = {each["ref"] for each in worker.get("/api/observations", project="zoo")["items"]}
    assert len(rumours) == 7
    assert not rumours & set(found(worker, "numbat"))
    sight.page.get_by_label("Marked wrong").select_option("only those")
    expect(sight.page.locator(".hit.gone")).to_have_count(7)
    expect(sight.page.locator(".hit .chip.wrong").first).to_have_text("marked wrong")
    assert sight.all_that_went_wrong() == []


def test_all_that_a_search_finds_is_forgotten_after_a_preview(
    context: BrowserContext, worker: Worker
) -> None:
    for nth in range(5):
        worker.post(
            "/api/memory/save",
            text=f"The bilby's password hint {nth} is on the desk.",
            title=f"Bilby {nth}",
            project="den",
        )
    sight = viewing.look(context, worker, "#/find?project=den")
    expect(sight.page.locator(".hit")).to_have_count(5)
    sight.page.locator(".hit input").first.check()
    sight.page.get_by_role("button", name="Select all that fit").click()
    sight.page.locator(".bulk").get_by_role("button", name="Forget").click()
    expect(sight.page.get_by_role("dialog")).to_contain_text("5 observations")
    sight.page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(sight.page.locator("#toasts")).to_contain_text("Forgotten")
    expect(sight.page.locator(".hit")).to_have_count(0)
    assert worker.get("/api/observations", project="den")["items"] == []
    assert sight.all_that_went_wrong() == []
