"""Other members' memory in the viewer: named where it is listed, chosen by author, edited by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.store_contract import ORIGIN
from tests.contracts.worker_client import Worker
from tests.harness import workers
from tests.harness.member_records import shared_session

from claude_mem.model.clock import now
from claude_mem.store.sqlite import SqliteStore


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Worker]:
    """A worker that has pulled a session of ada's and one of ben's, and one saved memory of one's own."""
    data = tmp_path / "data"
    at = now()
    with SqliteStore.open(data / "claude-mem.db", clock=lambda: at, backups=data / "backups") as store:
        for author in ("ada", "ben"):
            shared = shared_session(f"{author}s", ORIGIN, f"The heron of {author}", at=at - 60_000)
            store.transfer.absorb(shared, own=False, author=author)
    with workers.running(data):
        worker = Worker(data)
        worker.post("/api/memory/save", text="My heron", title="My heron", project="shop")
        worker.settle()
        yield worker


def test_members_are_named_in_lists_and_chosen_in_a_filter(context: BrowserContext, team: Worker) -> None:
    sight = viewer_browser.look(context, team, "#/find")
    hits = sight.page.locator(".hit")
    expect(hits).to_have_count(3)
    sight.more_filters()
    author = sight.page.get_by_label("Author", exact=True)
    expect(author.locator("option")).to_have_text(["all", "me", "ada", "ben"])
    for chosen, title in (("ada", "The heron of ada"), ("me", "My heron")):
        author.select_option(chosen)
        expect(hits).to_have_count(1)
        expect(hits).to_contain_text(title)
        expect(hits.locator(".chip.by")).to_have_text([] if chosen == "me" else [f"by {chosen}"])
    sight.page.reload()
    expect(sight.page.get_by_label("Author", exact=True)).to_have_value("me")
    assert sight.all_that_went_wrong() == []


def test_a_members_memory_can_be_pinned_and_hidden_and_not_edited(
    context: BrowserContext, team: Worker
) -> None:
    (adas,) = team.get("/api/search", author="ada")["results"]
    sight = viewer_browser.look(context, team, f"#/observation/{adas['ref']}")
    sight.heading("The heron of ada")
    actions = sight.page.get_by_role("group", name="Actions").get_by_role("button")
    expect(actions).to_have_text(["Pin", "Mark wrong", "Forget"])
    expect(sight.main().locator(".chip.by")).to_have_text("by ada")
    sight.press("e")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    sight.press("p")
    expect(actions.first).to_have_text("Pinned")
    actions.last.click()
    dialog = sight.page.get_by_role("dialog", name="Delete permanently?")
    expect(dialog).to_contain_text("on this machine only")
    dialog.get_by_role("button", name="Cancel").click()
    sight.go("#/session/adas")
    expect(sight.main().locator(".head .chip.by")).to_have_text("by ada")
    assert sight.all_that_went_wrong() == []


def test_without_a_team_there_is_no_filter_by_author(context: BrowserContext, quiet: Worker) -> None:
    quiet.post("/api/memory/save", text="My heron", title="My heron", project="shop")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find")
    expect(sight.page.locator(".hit")).to_have_count(1)
    sight.more_filters()
    expect(sight.page.get_by_label("Branch", exact=True)).to_be_visible()
    expect(sight.page.get_by_label("Author", exact=True)).to_be_hidden()
