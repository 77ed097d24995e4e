"""Each thing a search is narrowed by, chosen or typed where a person does it."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, needs_transcripts
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads


def fits(worker: Worker, **narrowing: str) -> set[str]:
    found = worker.get("/api/observations", **narrowing, limit=100)
    assert not found["hasMore"]
    return {each["ref"] for each in found["items"]}


def shown(sight: Sight) -> Locator:
    return sight.page.locator(".hit")


def set_to(sight: Sight, label: str, value: str) -> None:
    sight.more_filters()
    field = sight.page.get_by_label(label, exact=True)
    if field.evaluate("each => each.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.press_sequentially(value)


@needs_transcripts
def test_one_filter_leaves_what_fits_it(sight: Sight, worker: Worker, subtests: pytest.Subtests) -> None:
    everything = worker.get("/api/observations", limit=100)["items"]
    days = sorted(each["created_at"][:10] for each in everything)
    branches = sorted({each["branch"] for each in everything if each["branch"]})
    types = sorted({each["type"] for each in everything})
    values = {
        "Type": types[0],
        "Branch": branches[0],
        "File": "src/template/text.go",
        "Since": days[len(days) // 2],
        "Until": days[len(days) // 2],
    }
    for label, value in values.items():
        with subtests.test(label=label):
            wanted = fits(worker, **{label.lower(): value})
            assert 0 < len(wanted) < len(everything)
            sight.go("#/projects")  # the list begins anew after it
            sight.go("#/find")
            expect(shown(sight).first).to_be_visible()
            set_to(sight, label, value)
            expect(sight.main().get_by_role("status")).to_contain_text(f"{len(wanted)} observation")
            expect(shown(sight)).to_have_count(len(wanted))
            assert {each.get_attribute("data-ref") for each in shown(sight).all()} == wanted
            sight.page.reload()  # it is in the address
            expect(sight.main().get_by_role("status")).to_contain_text(f"{len(wanted)} observation")
            expect(sight.page.get_by_label(label, exact=True)).to_have_value(value)


def test_a_project_and_a_client_are_chosen_and_what_else_there_is_follows(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py", project="till")
    quiet.post("/api/memory/save", text="Grind finer.", title="Grind finer", project="till")
    quiet.post("/api/memory/save", text="Burrs wear out.", title="Burrs wear out", project="mill")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find")
    expect(shown(sight)).to_have_count(3)
    set_to(sight, "Client", "api")
    expect(shown(sight)).to_have_count(1)
    expect(shown(sight)).to_contain_text("till.py")
    set_to(sight, "Client", "")
    set_to(sight, "Project", "mill")
    expect(shown(sight)).to_have_count(1)
    expect(shown(sight)).to_contain_text("Burrs")
    client = sight.page.get_by_label("Client")
    expect(client.locator("option")).to_have_text(["all", "user"])  # nobody else was there
    set_to(sight, "Project", "till")
    expect(client.locator("option", has_text="api")).to_have_count(1)
    expect(shown(sight)).to_have_count(2)
    assert sight.all_that_went_wrong() == []


def test_projects_of_one_name_are_told_apart_everywhere(
    context: BrowserContext, quiet: Worker, tmp_path: Path
) -> None:
    for owner in ("ada", "bob"):
        folder = tmp_path / owner / "mill"
        folder.mkdir(parents=True)
        told = {"cwd": str(folder), "prompt_id": "p-1"}
        edit = {"file_path": str(folder / f"{owner}.py"), "old_string": "a", "new_string": "b"}
        for payload in (
            payloads.prompt(f"Open {owner}'s mill", f"{owner}-1", **told),
            payloads.payload(
                "PostToolUse", f"{owner}-1", **told, tool_name="Edit", tool_use_id="toolu_1", tool_input=edit
            ),
            payloads.payload("Stop", f"{owner}-1", **told, last_assistant_message="Open."),
        ):
            assert hook_process.run(quiet.data, payload).code == 0
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find")
    for page in ("#/cost", "#/context", "#/find"):
        sight.go(page)
        options = sight.page.get_by_label("Project", exact=True).locator("option:not([value=''])")
        expect(options).to_have_text(["bob/mill", "ada/mill"])
    sight.go("#/project/mill")
    expect(sight.main().get_by_role("link", name="/mill")).to_have_count(2)
    assert sight.wrong.pop().startswith("console: Failed to load")  # the name was refused: which is meant?
    sight.follow(sight.main().get_by_role("link", name="ada/mill"))
    expect(sight.main().locator(".files")).to_contain_text("ada.py")
    sight.go("#/live")
    with sight.page.expect_response(lambda answer: "/api/search" in answer.url):
        sight.page.locator("#of-project").select_option("mill")
    for owner in ("ada", "bob"):
        expect(sight.main().locator(".feed")).to_contain_text(f"{owner}.py")
    for owner in ("ada", "bob"):
        sight.go("#/find")
        sight.page.get_by_label("Project", exact=True).select_option(f"{owner}/mill")
        expect(shown(sight)).to_have_count(1)
        expect(shown(sight)).to_contain_text(f"{owner}.py")
        sight.go("#/projects")
        sight.follow(sight.main().get_by_role("link", name=f"{owner}/mill"))
        expect(sight.main().locator(".files")).to_contain_text(f"{owner}.py")
        sight.follow(sight.page.get_by_role("link", name="Search this"))
        expect(shown(sight)).to_have_count(1)
        expect(shown(sight)).to_contain_text(f"{owner}.py")
    assert sight.all_that_went_wrong() == []


def test_what_was_typed_last_does_not_follow_to_another_page(context: BrowserContext, quiet: Worker) -> None:
    ref = quiet.post("/api/memory/save", text="Grind finer.", title="Grind finer", project="till")["ref"]
    sight = viewer_browser.look(context, quiet, "#/find")
    expect(shown(sight)).to_have_count(1)
    now = datetime.now(UTC)
    sight.page.clock.install(time=now)
    sight.page.clock.pause_at(now + timedelta(seconds=5))
    set_to(sight, "File", "src")
    sight.follow(shown(sight).get_by_role("link"))
    sight.heading("Grind finer")
    sight.page.clock.run_for(1000)
    expect(sight.page).to_have_url(re.compile(f"#/observation/{ref}$"))
    assert sight.all_that_went_wrong() == []
