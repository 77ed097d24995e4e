"""What pages say is so: whose days, whose names, how many, and on the page that asked."""

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Unsent
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers


def test_the_year_ends_today_where_it_is_another_day_than_in_greenwich(
    chromium: Browser, tmp_path: Path
) -> None:
    zone = "Pacific/Kiritimati" if datetime.now(UTC).hour >= 10 else "Etc/GMT+12"  # 14 h ahead, 12 h behind
    with workers.running(tmp_path / "data", TZ=zone) as data:
        worker = Worker(data)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        worker.settle()
        (today,) = worker.get("/api/project", project="shop", days=371)["activity"]
        assert today["day"] != datetime.now(UTC).date().isoformat()
        context = chromium.new_context(timezone_id=zone)
        sight = viewer_browser.look(context, worker, "#/project/shop")
        count = sum(today[name] for name in ("observations", "summaries", "prompts"))
        expect(sight.page.locator(".heat rect.day").last).to_have_text(f"{today['day']}: {count}")
        expect(sight.main()).to_contain_text("Days in this machine's time zone.")
        assert sight.all_that_went_wrong() == []
        context.close()


def test_forgetting_does_not_pull_back_who_went_elsewhere(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/observation/1")
    sight.page.get_by_role("button", name="Forget").click()
    dialog = sight.page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Forget")).to_be_enabled()
    unsent = Unsent(sight, "**/api/memory/forget")
    dialog.get_by_role("button", name="Forget").click()
    unsent.wait()
    sight.go("#/projects")
    sight.heading("Projects")
    with sight.page.expect_response("**/api/memory/forget"):
        unsent.let_go()
    expect(sight.page.locator("#toasts")).to_contain_text("Deleted: 1 observation")
    sight.heading("Projects")
    assert sight.all_that_went_wrong() == []


def test_arrows_leave_selecting_and_wide_text_alone(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/session/till-1")
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
    sight = viewer_browser.look(context, quiet, "#/observation/1")
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
    sight = viewer_browser.look(context, quiet, f"#/file/{path}")
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


def test_a_long_dialog_is_read_from_its_beginning(chromium: Browser, quiet: Worker) -> None:
    with viewer_browser.context(chromium, size=(360, 500)) as context:
        sight = viewer_browser.look(context, quiet)
        sight.press("?")
        dialog = sight.page.get_by_role("dialog", name="Keys")
        expect(dialog.get_by_role("button", name="Close")).to_be_focused()
        assert dialog.evaluate("box => box.scrollHeight > box.clientHeight")
        assert dialog.evaluate("box => box.scrollTop") == 0


def test_a_mark_is_called_as_sessions_are_told_of_it(context: BrowserContext, quiet: Worker) -> None:
    record = {"title": "The till is a drawer", "narrative": "Somebody wrote so.", "project": "shop"}
    quiet.post("/api/import", records=[record])
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/observation/1")
    mark = sight.main().locator(".chip", has_text="read, not verified")
    expect(mark).to_have_attribute(
        "title", "From text that was only read or imported, not verified. It may not be true."
    )
    preview = quiet.post("/api/context/preview", project="shop")
    assert "read, not verified" in preview["start"]["text"]


def test_a_directory_in_which_no_session_began_is_no_project(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    hook_process.run(quiet.data, payloads.end("till-1"))  # from another directory than it began in
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/projects")
    expect(sight.main().locator("tbody a.title")).to_have_text(["shop"])
    for place, choices in (("#/find", ["all", "shop"]), ("#/cost", ["all", "shop"]), ("#/context", ["shop"])):
        sight.go(place)
        expect(sight.main().get_by_label("Project", exact=True).locator("option")).to_have_text(choices)
    assert sight.all_that_went_wrong() == []


def test_undo_stands_at_the_end_of_its_note_however_long_the_others_are(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/observation/1")
    for name in ("Pin", "Mark wrong"):
        sight.page.get_by_role("button", name=name).click()
    undos, dismisses = (
        sight.page.locator("#toasts").get_by_role("button", name=name) for name in ("Undo", "Dismiss")
    )
    expect(undos).to_have_count(2)
    for undo, dismiss in zip(undos.all(), dismisses.all(), strict=True):
        ours, theirs = undo.bounding_box(), dismiss.bounding_box()
        assert ours is not None
        assert theirs is not None
        assert theirs["x"] - (ours["x"] + ours["width"]) <= 12
