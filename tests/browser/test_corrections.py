"""Setting memory right by hand: recall sees each change at once, and all but forgetting is undone."""

import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import workers


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


@pytest.mark.parametrize("by", ["key", "mouse"])
def test_a_button_that_is_pressed_while_the_page_is_drawn_anew_does_what_it_is_for(
    context: BrowserContext, worker: Worker, saved: list[str], by: str
) -> None:
    """It does so when it is let go, and by then it may be another one."""
    sight = viewer_browser.listen(context, worker, f"#/observation/{saved[0]}")
    button = sight.page.get_by_role("button", name="Pin")
    button.focus()
    button.hover()
    keyboard, mouse = sight.page.keyboard, sight.page.mouse
    hands: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "key": (partial(keyboard.down, " "), partial(keyboard.up, " ")),
        "mouse": (mouse.down, mouse.up),
    }
    press, let_go = hands[by]
    press()
    with sight.page.expect_response("**/provenance"):
        edited = worker.get(f"/api/observation/{saved[0]}")["id"]
        worker.post("/api/memory/edit", id=edited, subtitle="Somewhere else")
    viewer_browser.all_is_heard(sight)
    let_go()
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_focused()
    expect(sight.main()).to_contain_text("Somewhere else")


def test_an_edit_is_found_at_once_and_can_be_taken_back(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
    before = worker.get(f"/api/observation/{saved[0]}")
    edited = sight.page.get_by_text("edited", exact=True)
    expect(edited).to_have_count(0)
    sight.page.get_by_role("button", name="Edit").click()
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_label("Title", exact=True).fill("The axolotl network")
    dialog.get_by_label("Type").select_option("decision")
    dialog.get_by_label("Facts").fill("It is in the cellar.\nIt has two gates.")
    dialog.get_by_label("Concepts").fill("gotcha, how-it-works")
    dialog.get_by_role("button", name="Save").click()
    sight.heading("The axolotl network")
    expect(edited).to_be_visible()
    after = worker.get(f"/api/observation/{saved[0]}")
    assert (after["title"], after["type"]) == ("The axolotl network", "decision")
    assert after["facts"] == ["It is in the cellar.", "It has two gates."]
    assert after["concepts"] == ["gotcha", "how-it-works"]
    assert found(worker, "axolotl")[0] == saved[0]
    sight.undo()
    sight.heading(before["title"])
    assert "axolotl" not in str(worker.get("/api/search", q="axolotl")["results"])
    again = worker.get(f"/api/observation/{saved[0]}")
    assert {name: again[name] for name in ("title", "type", "facts")} == {
        name: before[name] for name in ("title", "type", "facts")
    }
    assert sight.all_that_went_wrong() == []


REFUSED = [
    ("Title", "   ", "title"),
    ("Title", "x" * 201, "200 characters"),
    ("Subtitle", "y" * 201, "200 characters"),
    ("Concepts", ",".join(f"word-{nth}" for nth in range(201)), "more than 200"),
]


def test_an_edit_that_cannot_be_kept_says_why_and_loses_nothing(
    context: BrowserContext, worker: Worker, saved: list[str], subtests: pytest.Subtests
) -> None:
    for nth, (label, typed, said) in enumerate(REFUSED):
        with subtests.test(label=label, said=said):
            sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
            much = f"much typed here, {nth}"
            sight.press("e")
            dialog = sight.page.get_by_role("dialog")
            bad = dialog.get_by_label(label, exact=label == "Title")
            dialog.get_by_label("What happened").fill(much)
            bad.fill(typed)
            dialog.get_by_role("button", name="Save").click()
            expect(dialog.get_by_role("alert")).to_contain_text(said)
            expect(bad).to_be_focused()
            expect(bad).to_have_attribute("aria-invalid", "true")
            expect(dialog.get_by_label("What happened")).to_have_value(much)
            assert much not in str(worker.get(f"/api/observation/{saved[0]}"))
            bad.fill(f"now-it-fits-{nth}")
            dialog.get_by_role("button", name="Save").click()
            expect(dialog).to_have_count(0)
            assert worker.get(f"/api/observation/{saved[0]}")["narrative"] == much
            assert [wrong for wrong in sight.all_that_went_wrong() if "400" not in wrong] == []


def test_an_edit_that_is_left_changes_nothing(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    before = worker.get(f"/api/observation/{saved[0]}")
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
    for leave in ("Cancel", "Save"):
        sight.page.get_by_role("button", name="Edit").click()
        dialog = sight.page.get_by_role("dialog")
        if leave == "Cancel":
            dialog.get_by_label("What happened").fill("much typed here")
        dialog.get_by_role("button", name=leave).click()
        expect(dialog).to_have_count(0)
    assert worker.get(f"/api/observation/{saved[0]}") == before


def test_a_pin_is_set_and_taken_back_by_keyboard(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
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
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[1]}")
    sight.page.get_by_role("button", name="Mark wrong").click()
    expect(sight.page.get_by_role("button", name="Marked wrong")).to_have_attribute("aria-pressed", "true")
    expect(sight.main().locator(".chip", has_text="marked wrong")).to_have_count(1)
    assert saved[1] not in found(worker, word)
    sight.go("#/find?wrong=true")
    struck = sight.page.locator(f'.hit[data-ref="{saved[1]}"] a.title')
    struck.hover()
    expect(struck).to_have_css("text-decoration-line", re.compile("line-through"))
    sight.go(f"#/observation/{saved[1]}")
    expect(sight.page.get_by_role("button", name="Marked wrong")).to_be_visible()
    sight.undo()
    expect(sight.page.get_by_role("button", name="Mark wrong")).to_have_attribute("aria-pressed", "false")
    assert saved[1] in found(worker, word)
    assert sight.all_that_went_wrong() == []


def test_forgetting_shows_what_will_go_and_then_it_is_gone(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    title = worker.get(f"/api/observation/{saved[2]}")["title"]
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[2]}")
    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog.locator(".tally")).to_have_text("1 observation.")
    expect(dialog).to_contain_text(title)
    expect(dialog).not_to_contain_text("may contain the same information")  # it was kept by hand
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Cancel").click()
    assert worker.ask("GET", f"/api/observation/{saved[2]}")[0] == 200
    sight.press("#")
    sight.page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(sight.page.locator("#toasts")).to_contain_text("Deleted: 1 observation")
    expect(sight.page.get_by_role("button", name="Undo")).to_have_count(0)
    assert worker.ask("GET", f"/api/observation/{saved[2]}")[0] == 404
    assert sight.violations() == []


def test_forgetting_what_a_session_did_counts_each_kind_of_what_will_go(
    context: BrowserContext, worker: Worker
) -> None:
    worker.works("dike-1", "Make the dike's pump stop at high water", "src/pump.py", project="dike")
    worker.settle()
    sight = viewer_browser.look(context, worker, "#/session/dike-1")
    sight.follow(sight.page.get_by_role("link", name="Search this"))
    for kind, count, goes in (
        ("raw tool use", 2, ("2 raw tool uses",)),  # the edit, and what the agent said at last
        ("all except tool events", 3, ("1 observation", "1 summary", "1 prompt")),
    ):
        sight.page.get_by_label("Kind").select_option(kind)
        expect(sight.page.locator(".hit")).to_have_count(count)
        for box in sight.page.locator(".hit input").all():
            box.check()
        sight.page.locator(".bulk").get_by_role("button", name="Forget").click()
        dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
        for words in goes:
            expect(dialog.locator(".tally")).to_contain_text(words)
        expect(dialog).not_to_contain_text("false")
        dialog.get_by_role("button", name="Forget").click()
        expect(sight.page.locator(".hit")).to_have_count(0)
    assert worker.get("/api/session/dike-1/events")["total"] == 0
    assert sight.all_that_went_wrong() == []


def test_forgetting_one_memory_tells_what_stays_and_can_take_its_whole_session(
    context: BrowserContext, worker: Worker
) -> None:
    worker.works("weir-1", "Make the weir's gate close at low water", "src/gate.py", project="weir")
    worker.settle()
    (one,) = worker.get("/api/observations", session="weir-1")["items"]
    sight = viewer_browser.look(context, worker, f"#/observation/{one['ref']}")
    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog.locator(".tally")).to_have_text("1 observation.")
    expect(dialog).to_contain_text("may contain the same information: 1 summary, 1 prompt, 2 raw tool uses.")
    dialog.get_by_role("button", name="Delete the whole session instead").click()
    expect(dialog.locator(".tally")).to_have_text(
        "1 session, 1 observation, 1 summary, 1 prompt, 2 raw tool uses."
    )
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Cancel").click()
    assert worker.ask("GET", "/api/session/weir-1")[0] == 200
    sight.press("#")
    dialog.get_by_role("button", name="Delete the whole session instead").click()
    expect(dialog.locator(".tally")).to_contain_text("1 session")
    dialog.get_by_role("button", name="Forget").click()
    sight.heading("Projects")
    expect(sight.page.locator("#toasts")).to_contain_text("Deleted: 1 session, 1 observation")
    assert worker.ask("GET", "/api/session/weir-1")[0] == 404
    assert [wrong for wrong in sight.all_that_went_wrong() if "404" not in wrong] == []


def test_a_session_is_forgotten_whole_from_its_page_and_others_who_look_at_it_are_told(
    context: BrowserContext, worker: Worker
) -> None:
    worker.works("lock-1", "Make the lock's valve open slowly", "src/valve.py", project="lock")
    worker.settle()
    other, sight = (viewer_browser.look(context, worker, "#/session/lock-1") for _ in range(2))
    expect(other.page.locator(".story > li").first).to_be_visible()
    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog.locator(".tally")).to_contain_text("1 session, 1 observation")
    expect(dialog).not_to_contain_text("may contain the same information")
    dialog.get_by_role("button", name="Forget").click()
    sight.heading("Projects")
    other.page.bring_to_front()
    other.heading("Deleted")
    assert "valve" not in str(worker.get("/api/search", q="valve")["results"])


def test_forgetting_of_several_sessions_says_that_these_stay(context: BrowserContext, worker: Worker) -> None:
    for nth in (1, 2):
        worker.works(f"buoy-{nth}", f"Paint the buoy no. {nth}", f"src/buoy{nth}.py", project="buoy")
    worker.settle()
    sight = viewer_browser.look(context, worker, "#/find?project=buoy")
    expect(sight.page.locator(".hit")).to_have_count(2)
    for box in sight.page.locator(".hit input").all():
        box.check()
    sight.page.locator(".bulk").get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog.locator(".tally")).to_have_text("2 observations.")
    expect(dialog).to_contain_text("Their sessions stay and may contain the same information.")
    expect(dialog.get_by_role("button")).to_have_text(["Forget", "Cancel"])


def test_what_says_nearly_the_same_is_merged_into_this_one_and_each_says_so(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    other = worker.post(
        "/api/memory/save",
        text="Once more.",
        title=f"{worker.get(f'/api/observation/{saved[0]}')['title']} again",
        project="shop",
    )["ref"]
    worker.settle()
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
    origin = sight.page.locator("aside")
    alike = origin.locator("li", has=sight.page.locator(f'a[href="#/observation/{other}"]'))
    alike.get_by_role("button", name="Merge into this").click()
    expect(sight.page.locator("#toasts")).to_contain_text(f"{other} merged into {saved[0]}")
    expect(origin.get_by_role("heading", name="Replaces")).to_be_visible()
    expect(alike.get_by_role("button")).to_have_count(0)
    sight.follow(alike.get_by_role("link"))
    expect(sight.main().locator(".chip", has_text=f"replaced by {saved[0]}")).to_be_visible()
    expect(origin.get_by_role("heading", name="Replaced by")).to_be_visible()
    sight.undo()
    expect(sight.main().locator(".chip", has_text="replaced by")).to_have_count(0)
    assert worker.get(f"/api/observation/{other}")["superseded_by"] is None
    assert sight.all_that_went_wrong() == []


def test_a_memory_forgotten_elsewhere_is_said_to_be_gone(
    context: BrowserContext, worker: Worker, saved: list[str]
) -> None:
    sight = viewer_browser.look(context, worker, f"#/observation/{saved[0]}")
    expect(sight.page.get_by_role("button", name="Edit")).to_be_visible()
    worker.post("/api/memory/forget", ids=[saved[0]], confirm=True)
    sight.heading("Deleted")
    assert [wrong for wrong in sight.all_that_went_wrong() if "404" not in wrong] == []
