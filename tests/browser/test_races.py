"""Somebody who is faster than the worker: what is pressed twice is done once, and nothing old is shown."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser.viewer_browser import Held, Sight, Unsent, all_is_heard, listen
from tests.contracts.worker_client import Worker
from tests.harness import workers


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("hasty") / "data") as data:
        worker = Worker(data)
        for word in ("quagga", "okapi", "tapir"):
            title = f"The {word} network"
            worker.post("/api/memory/save", text=f"Deploys need the {word}.", title=title, project="zoo")
        worker.settle()
        yield worker


def asked(sight: Sight, where: str) -> list[str]:
    urls: list[str] = []
    sight.page.on("request", lambda request: urls.append(request.url) if where in request.url else None)
    return urls


def named(worker: Worker, title: str) -> str:
    return next(
        str(each["ref"])
        for each in worker.get("/api/observations", project="zoo", limit=100)["items"]
        if title in each["title"]
    )


def pin(sight: Sight) -> Locator:
    return sight.page.locator("main button[aria-keyshortcuts=p]")


def test_a_pin_pressed_twice_is_set_once_and_taken_back_by_one_undo(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "okapi")
    sight = listen(context, worker, f"#/observation/{ref}")
    pins = asked(sight, "/api/memory/pin")
    unsent = Unsent(sight, "**/api/memory/pin")
    sight.press("p", "p")
    pin(sight).click()
    unsent.wait()
    unsent.let_go()
    expect(pin(sight)).to_have_text("Pinned")
    assert len(pins) == 1
    sight.press("u")
    expect(pin(sight)).to_have_text("Pin")


def test_what_is_shown_as_done_is_taken_back_though_its_answer_is_on_its_way(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "okapi")
    sight = listen(context, worker, f"#/observation/{ref}")
    held = Held(sight, "**/api/memory/pin")
    sight.press("p")
    expect(pin(sight)).to_have_text("Pinned")
    sight.press("u")
    held.let_go()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone.")
    expect(pin(sight)).to_have_text("Pin")


def test_an_edit_sent_twice_is_kept_once_and_taken_back_by_one_undo(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "okapi")
    sight = listen(context, worker, f"#/observation/{ref}")
    edits = asked(sight, "/api/memory/edit")
    sight.press("e")
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_label("Subtitle").fill("It is in the cellar")
    held = Held(sight, "**/api/memory/edit")
    sight.press("Enter", "Enter")
    held.wait()
    held.let_go()
    expect(dialog).to_have_count(0)
    expect(sight.main()).to_contain_text("It is in the cellar")
    assert len(edits) == 1
    sight.press("u")
    expect(sight.main()).not_to_contain_text("It is in the cellar")


def test_an_edit_that_was_sent_can_be_taken_back_also_by_who_left_its_dialog(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "okapi")
    sight = listen(context, worker, f"#/observation/{ref}")
    sight.press("e")
    sight.page.get_by_role("dialog").get_by_label("Subtitle").fill("It is in the cellar")
    held = Held(sight, "**/api/memory/edit")
    sight.press("Enter")
    held.wait()
    sight.press("Escape")
    held.let_go()
    expect(sight.page.locator("#toasts")).to_contain_text("Saved.")
    expect(sight.main()).to_contain_text("It is in the cellar")
    sight.press("u")
    expect(sight.main()).not_to_contain_text("It is in the cellar")


def test_how_a_memory_was_is_not_shown_after_how_it_is(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "tapir")
    sight = listen(context, worker, f"#/observation/{ref}")
    held = Held(sight, f"**/api/observation/{ref}", lambda said: bool(said["pinned"]))
    worker.post("/api/memory/pin", ids=[ref], pinned=True)
    held.wait()
    worker.post("/api/memory/edit", id=int(ref), subtitle="Read after it")
    worker.post("/api/memory/pin", ids=[ref], pinned=False)
    expect(sight.main()).to_contain_text("Read after it")
    held.let_go()
    expect(pin(sight)).to_have_text("Pin")


def test_how_a_memory_was_is_not_listed_after_how_it_is(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "tapir")
    session = worker.get(f"/api/observation/{ref}")["session_id"]
    for place in ("#/live", "#/find?project=zoo", f"#/session/{session}"):
        sight = listen(context, worker, place)
        row = sight.main().locator(f':is(.feed li, .hit, .story li)[data-ref="{ref}"]')
        expect(row).to_be_visible()
        title = str(worker.get(f"/api/observation/{ref}")["title"])
        held = Held(sight, "**/api/observations/batch", lambda said: bool(said["results"][0]["pinned"]))
        worker.post("/api/memory/pin", ids=[ref], pinned=True)
        held.wait()
        worker.post("/api/memory/edit", id=int(ref), title=f"{title} again")
        held.wait(2)
        worker.post("/api/memory/pin", ids=[ref], pinned=False)
        expect(row).to_contain_text(f"{title} again")
        held.let_go()
        expect(row.locator(".chip.pin")).to_have_count(0)
        sight.page.close()


def test_who_leaves_while_it_is_read_again_meets_no_error(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "tapir")
    sight = listen(context, worker, f"#/observation/{ref}")
    held = Held(sight, f"**/api/observation/{ref}")
    sight.press("p")
    held.wait()
    sight.press("g", "p")
    sight.heading("Projects")
    all_is_heard(sight)
    assert worker.get(f"/api/observation/{ref}")["pinned"] is True
    sight.press("u")
    expect(sight.page.locator("#toasts")).to_contain_text("Undone.")
    assert sight.all_that_went_wrong() == []


def test_focus_stays_where_it_is_while_what_is_shown_is_corrected(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "quagga")
    session = worker.get(f"/api/observation/{ref}")["session_id"]
    for place, row in (
        ("#/live", f'.feed li[data-ref="{ref}"]'),
        ("#/find?project=zoo", f'.hit[data-ref="{ref}"]'),
        (f"#/session/{session}", f'.story li[data-ref="{ref}"]'),
    ):
        sight = listen(context, worker, place)
        title = sight.page.locator(row).locator("a.title")
        title.focus()
        worker.post("/api/memory/pin", ids=[ref], pinned=True)
        expect(sight.page.locator(row).locator(".chip.pin")).to_be_visible()
        expect(title).to_be_focused()
        worker.post("/api/memory/pin", ids=[ref], pinned=False)
        expect(sight.page.locator(row).locator(".chip.pin")).to_have_count(0)
        expect(title).to_be_focused()
        sight.page.close()


def test_focus_stays_on_a_link_of_a_memory_that_is_corrected(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "quagga")
    sight = listen(context, worker, f"#/observation/{ref}")
    project = sight.main().get_by_role("link", name="zoo")
    project.focus()
    worker.post("/api/memory/edit", id=int(ref), subtitle="It is in the attic")
    expect(sight.main()).to_contain_text("It is in the attic")
    expect(project).to_be_focused()


def test_a_project_shows_what_is_pinned_now(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "okapi")
    sight = listen(context, worker, f"#/observation/{ref}")
    expect(pin(sight)).to_have_text("Pin")
    sight.press("p")
    expect(pin(sight)).to_have_text("Pinned")
    sight.go("#/project/zoo")
    pinned = sight.page.locator(f'.feed [data-ref="{ref}"]')
    expect(pinned).to_be_visible()
    sight.press("u")
    expect(pinned).to_have_count(0)


def test_a_double_click_on_undo_takes_back_one_thing(context: BrowserContext, worker: Worker) -> None:
    ref = named(worker, "quagga")
    sight = listen(context, worker, f"#/observation/{ref}")
    expect(pin(sight)).to_have_attribute("aria-pressed", "false")
    sight.press("p")
    expect(pin(sight)).to_have_attribute("aria-pressed", "true")
    sight.press("w")
    expect(sight.page.locator("main button[aria-keyshortcuts=w]")).to_have_attribute("aria-pressed", "true")
    undo = sight.page.get_by_role("button", name="Undo")
    expect(undo).to_have_count(2)
    box = undo.last.bounding_box()
    assert box
    sight.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(sight.page.locator("main button[aria-keyshortcuts=w]")).to_have_attribute("aria-pressed", "false")
    all_is_heard(sight)
    assert worker.get(f"/api/observation/{ref}")["pinned"] is True
    sight.press("u")
    expect(pin(sight)).to_have_attribute("aria-pressed", "false")


def test_focus_goes_back_from_a_dialog_though_the_page_was_drawn_anew_behind_it(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "tapir")
    sight = listen(context, worker, f"#/observation/{ref}")
    pin(sight).focus()
    sight.press("#")
    expect(sight.page.get_by_role("button", name="Cancel")).to_be_focused()
    worker.post("/api/memory/edit", id=int(ref), subtitle="It was drawn anew")
    expect(sight.main()).to_contain_text("It was drawn anew")
    sight.press("Escape")
    expect(pin(sight)).to_be_focused()


def test_focus_goes_back_from_a_note_though_the_page_was_drawn_anew_behind_it(
    context: BrowserContext, worker: Worker
) -> None:
    ref = named(worker, "tapir")
    sight = listen(context, worker, f"#/observation/{ref}")
    pin(sight).focus()
    sight.press("p")
    sight.page.get_by_role("button", name="Dismiss").focus()
    worker.post("/api/memory/edit", id=int(ref), subtitle="It was drawn behind a note")
    expect(sight.main()).to_contain_text("It was drawn behind a note")
    sight.press("Enter")
    expect(pin(sight)).to_be_focused()


def test_a_question_that_was_answered_does_not_come_back(context: BrowserContext, worker: Worker) -> None:
    sight = listen(context, worker, f"#/observation/{named(worker, 'tapir')}")
    previews = asked(sight, "/api/memory/forget")
    held = Held(sight, "**/api/memory/forget")
    sight.press("#", "#")
    held.wait()
    held.let_go()
    expect(sight.page.get_by_role("button", name="Cancel")).to_be_focused()
    sight.press("Escape")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    assert len(previews) == 1
