"""The Team page: a real worker that has joined a real team server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.test_access import faults, sizes
from tests.contracts.worker_client import Worker
from tests.harness import team_servers, workers
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller, session_records

BENS = "git.example/acme/mill"


@dataclass
class Team:
    worker: Worker  # of ada, an admin
    ben: Caller
    port: int
    keys: dict[str, str]


@contextmanager
def joined(data: Path, member: str, team_key: str, port: int) -> Iterator[Worker]:
    with workers.running(data):
        worker = Worker(data)
        worker.post("/api/memory/save", text="Grind finer.", title="Grind finer", project="shop")
        worker.settle()
        worker.post("/api/sharing/join", url=f"http://127.0.0.1:{port}", key=team_key)
        assert worker.get("/api/sharing")["member"] == member
        yield worker


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    url = new_database()
    keys = team_servers.new_team(url, "ben")
    with team_servers.running(url) as server:
        ben = Caller(server.port, keys["ben"])
        ben.post("/api/team/push", session_records("bens", BENS, "The mill of ben"))
        team_servers.grant(url, BENS, "ada", "read")
        with joined(tmp_path_factory.mktemp("ada") / "data", "ada", keys["ada"], server.port) as worker:
            yield Team(worker, ben, server.port, keys)


def test_a_project_is_shared_after_a_question_and_what_is_sent_and_received_is_shown(
    context: BrowserContext, team: Team
) -> None:
    sight = viewer_browser.look(context, team.worker, "#/team")
    sight.heading("Team")
    main = sight.main()
    expect(main.get_by_role("row", name="Member ada (admin)")).to_be_visible()
    switch = main.get_by_role("switch", name="Share shop", exact=True)
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.click()
    sight.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.click()
    sight.page.get_by_role("dialog").get_by_role("button", name="Share", exact=True).click()
    expect(switch).to_have_attribute("aria-checked", "true")
    main.get_by_role("button", name="Sync now").click()
    expect(main.get_by_role("row", name=re.compile(r"^shop .* 1 sent, 0 waiting$"))).to_be_visible()
    expect(main.get_by_role("row", name=re.compile(r"^ben \d+$"))).to_be_visible()
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    assert team.worker.get("/api/search", author="ada")["results"][0]["title"] == "Grind finer"
    sight.follow(main.get_by_role("link", name="ben"))
    expect(sight.page.locator(".hit .chip.by").first).to_have_text("by ben")
    assert sight.all_that_went_wrong() == []


def test_an_admin_manages_members_keys_and_access_and_a_key_is_shown_once(
    context: BrowserContext, team: Team
) -> None:
    sight = viewer_browser.look(context, team.worker, "#/team")
    main, dialog = sight.main(), sight.page.get_by_role("dialog")
    adding = main.get_by_role("form", name="Add a member")
    adding.get_by_label("Name").fill("carl")
    adding.get_by_role("button", name="Add member").click()
    expect(main.get_by_role("row", name=re.compile("^carl 0 keys"))).to_be_visible()
    adding.get_by_label("Name").fill("carl")
    adding.get_by_role("button", name="Add member").click()
    expect(sight.page.locator("#toasts")).to_contain_text("already")

    making = main.get_by_role("form", name="Create a key")
    making.get_by_label("Member").select_option("carl")
    making.get_by_label("Machine").fill("desktop")
    making.get_by_label("Scopes").select_option("read")
    making.get_by_role("button", name="Create key").click()
    expect(dialog).to_contain_text("shown only once")
    key = dialog.locator("pre").inner_text()
    assert key.startswith("cmk_")
    assert faults(sight.page) == []
    carl = Caller(team.port, key)
    assert carl.get("/api/team")["member"] == "carl"
    dialog.get_by_role("button", name="Close").click()
    assert key not in sight.page.content()

    giving = main.get_by_role("group", name="Access to projects")
    expect(giving).to_contain_text("mill")
    access = main.get_by_role("form", name="Give access")
    access.get_by_label("Project").select_option(BENS)
    access.get_by_label("Member").select_option("carl")
    access.get_by_label("Access").select_option("write")
    access.get_by_role("button", name="Give access").click()
    level = main.get_by_label(f"Access of carl to {BENS}")
    expect(level).to_have_value("write")
    assert carl.get("/api/team")["projects"][0]["level"] == "write"
    level.select_option("none")
    expect(level).to_have_count(0)
    assert carl.get("/api/team")["projects"] == []

    main.get_by_role("button", name=re.compile("^Revoke k.* of carl")).click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(main.get_by_role("row", name=re.compile("carl desktop read revoked"))).to_be_visible()
    assert carl.ask("GET", "/api/team").status == 401
    main.get_by_role("button", name="Remove carl").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(main.get_by_role("row", name=re.compile("^carl .* keys"))).to_have_count(0)
    assert sight.all_that_went_wrong() == [
        "console: Failed to load resource: the server responded with a status of 400 (Bad Request)"
    ]


def test_the_pages_key_of_this_machine_is_never_sent_to_it(context: BrowserContext, team: Team) -> None:
    heard: list[str] = []
    sight = viewer_browser.look(context, team.worker, "#/projects")
    sight.page.on("response", lambda each: heard.append(each.text() if "/api/" in each.url else ""))
    sight.go("#/team")
    expect(sight.main().get_by_role("heading", name="Keys")).to_be_visible()
    assert any('"member":"ada"' in each for each in heard)
    assert not any(key in each for key in team.keys.values() for each in heard)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_sticks_out(chromium: Browser, team: Team, theme: str) -> None:
    with viewer_browser.context(chromium, dark=theme == "dark", still=True) as context:
        sight = viewer_browser.look(context, team.worker, "#/team")
        for width in sizes(sight):
            expect(sight.main().get_by_role("heading", name="Keys")).to_be_visible()
            assert faults(sight.page) == []
            assert sight.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_member_who_is_no_admin_sees_neither_members_nor_keys(
    context: BrowserContext, team: Team, tmp_path: Path
) -> None:
    with joined(tmp_path / "data", "ben", team.keys["ben"], team.port) as worker:
        sight = viewer_browser.look(context, worker, "#/team")
        main = sight.main()
        expect(main.get_by_role("heading", name="Access to projects")).to_be_visible()
        for name in ("Members", "Keys"):
            expect(main.get_by_role("heading", name=name, exact=True)).to_have_count(0)
        assert worker.refused("POST", "/api/team/members", {"name": "eve"})[:2] == (403, "no_scope")
        assert sight.all_that_went_wrong() == []


def test_without_its_server_the_page_says_what_is_in_the_way_and_shows_the_rest(
    context: BrowserContext, tmp_path: Path
) -> None:
    url = new_database()
    keys = team_servers.new_team(url)
    with (
        team_servers.running(url) as server,
        joined(tmp_path / "data", "ada", keys["ada"], server.port) as worker,
    ):
        assert server.stop() == 0
        sight = viewer_browser.look(context, worker, "#/team")
        expect(sight.main().locator(".note.warning")).to_be_visible()
        expect(sight.main().get_by_role("switch", name="Share shop", exact=True)).to_be_visible()
