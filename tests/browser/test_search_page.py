"""Finding by typing and by keyboard, in a real browser, over nine real sessions."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import BrowserContext, Request, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, needs_transcripts
from tests.contracts.worker_client import Worker

pytestmark = needs_transcripts


def test_results_come_as_one_types_and_are_those_of_every_other_face(sight: Sight, worker: Worker) -> None:
    sight.press("/")
    sight.page.keyboard.type("posh-git prompt", delay=15)
    first = worker.get("/api/search", q="posh-git prompt", limit=1)["results"][0]
    expect(sight.page.locator(".hit").first).to_have_attribute("data-ref", first["ref"])
    expect(sight.page).to_have_url(re.compile(r"#/find\?q=posh-git\+prompt$"))
    expect(sight.page.locator("#q")).to_be_focused()


def test_an_answer_to_what_is_no_longer_asked_is_not_waited_for(sight: Sight) -> None:
    sight.route("**/api/search?q=git&*", lambda route: None)  # never answered
    with sight.page.expect_request(lambda request: "q=git&" in request.url):
        sight.page.locator("#q").fill("git")
    with sight.page.expect_event("requestfailed", lambda request: "q=git&" in request.url):
        sight.page.locator("#q").fill("template")
    expect(sight.main().get_by_role("status")).to_contain_text("for “template”")


def test_filters_narrow_the_search_and_are_part_of_the_address(sight: Sight, worker: Worker) -> None:
    sight.follow(sight.page.get_by_role("link", name="Find", exact=True))
    page = sight.page
    page.get_by_label("Type", exact=True).select_option("bugfix")
    wanted = worker.get("/api/observations", type="bugfix", limit=100)["items"]
    assert wanted
    expect(page.locator(".hit")).to_have_count(len(wanted))
    expect(page.locator(".hit .chip.bugfix")).to_have_count(len(wanted))
    expect(page.locator("form.filters :is(select, input):visible")).to_have_count(4)
    sight.more_filters()
    page.get_by_label("Branch").select_option("next")
    page.get_by_label("Client").select_option("claude-code")
    page.get_by_label("Since", exact=True).fill("2026-07-20")
    page.get_by_label("File", exact=True).fill("src/template/")
    found = worker.get(
        "/api/observations", type="bugfix", branch="next", since="2026-07-20", file="src/template/", limit=100
    )["items"]
    assert 0 < len(found) <= len(wanted)
    expect(page.locator(".hit")).to_have_count(len(found))
    expect(page).to_have_url(re.compile("file=src%2Ftemplate%2F"))
    query = parse_qs(urlsplit(page.url.replace("#/", "")).query)
    assert query == {
        "type": ["bugfix"],
        "branch": ["next"],
        "client": ["claude-code"],
        "since": ["2026-07-20"],
        "file": ["src/template/"],
    }


def test_a_date_nobody_understands_is_said_beside_the_list(context: BrowserContext, worker: Worker) -> None:
    sight = viewer_browser.look(context, worker, "#/find?since=the%20day%20of%20the%20badger")
    expect(sight.main().get_by_role("status")).to_contain_text("badger")
    sight.page.get_by_label("Since", exact=True).fill("2020-01-01")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.page.get_by_label("Since", exact=True).fill("the day of the badger")
    expect(sight.main().get_by_role("status")).to_contain_text("badger")
    box = sight.page.locator(".window").bounding_box()
    assert box is not None
    assert box["height"] == 0  # nor is room kept for what is not there
    assert [wrong for wrong in sight.wrong if "400" not in wrong] == []


def test_the_kinds_named_are_those_listed(sight: Sight, worker: Worker) -> None:
    kind, refs = sight.page.get_by_label("Kind"), sight.page.locator(".hit")
    chosen = kind.locator("option:checked")
    sight.go("#/find")
    expect(chosen).to_have_text("observation")
    observations = worker.get("/api/observations", limit=1)["items"]
    expect(refs.first).to_have_attribute("data-ref", observations[0]["ref"])
    kind.select_option("all")
    newest = worker.get("/api/search", kind="observation,summary,prompt,evidence", limit=3)["results"]
    for nth, each in enumerate(newest):
        expect(refs.nth(nth)).to_have_attribute("data-ref", each["ref"])
    assert len({each["kind"] for each in newest}) > 1
    expect(chosen).to_have_text("all")
    sight.go("#/find?q=template")
    expect(chosen).to_have_text("all")


def test_one_is_counted_as_one(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/find?project=shop")
    status = sight.main().get_by_role("status")
    for kind, said in (("observation", "1 observation,"), ("summary", "1 summary,"), ("prompt", "1 prompt,")):
        sight.page.get_by_label("Kind").select_option(kind)
        expect(status).to_have_text(f"{said} newest first")
    assert sight.all_that_went_wrong() == []


def test_a_search_is_a_link(context: BrowserContext, worker: Worker) -> None:
    sight = viewer_browser.look(context, worker, "#/find?q=template&kind=summary")
    expect(sight.page.locator("#q")).to_have_value("template")
    expect(sight.page.get_by_label("Kind")).to_have_value("summary")
    expect(sight.page.locator(".hit .chip").first).to_have_text("summary")
    assert sight.all_that_went_wrong() == []


def test_the_keyboard_walks_opens_and_comes_back(sight: Sight) -> None:
    sight.press("/")
    sight.page.keyboard.type("template")
    hits = sight.page.locator(".hit")
    expect(sight.main().get_by_role("status")).to_contain_text("for “template”")
    sight.press("Escape", "j", "j", "j", "k")
    expect(hits.nth(1)).to_have_attribute("aria-current", "true")
    expect(hits.nth(1).locator("a.title")).to_be_focused()
    ref = hits.nth(1).get_attribute("data-ref")
    sight.press("Enter")
    expect(sight.page).to_have_url(re.compile(f"#/observation/{ref}$"))
    expect(sight.main().locator("h1")).to_be_visible()
    sight.back()
    expect(sight.page.locator("#q")).to_have_value("template")
    expect(hits.nth(1)).to_have_attribute("data-ref", str(ref))


def test_help_tells_of_the_keys_and_gives_focus_back(sight: Sight) -> None:
    sight.page.locator("#help").focus()
    sight.press("?")
    dialog = sight.page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("search")
    sight.press("j")  # goes to nobody while it is open
    sight.press("Escape")
    expect(dialog).to_have_count(0)
    expect(sight.page.locator("#help")).to_be_focused()


def test_g_and_a_letter_lead_to_every_page(sight: Sight) -> None:
    for letter, heading in (
        ("f", "Find"),
        ("p", "Projects"),
        ("c", "Cost"),
        ("x", "Context"),
        ("s", "Settings"),
        ("o", "Logs"),
        ("l", "Live"),
        ("h", "Where you left off"),
    ):
        sight.press("g", letter)
        expect(sight.page.locator("main h1")).to_have_text(heading)


def test_typing_anywhere_else_searches_from_there(sight: Sight) -> None:
    sight.go("#/projects")
    sight.heading("Projects")
    sight.page.locator("#q").fill("pwsh")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.page.locator("#q").press("ArrowDown")
    expect(sight.page.locator(".hit a.title").first).to_be_focused()


def test_a_burst_of_typing_asks_once(sight: Sight) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/api/search" in request.url:
            asked.append(request.url)

    sight.follow(sight.page.get_by_role("link", name="Find", exact=True))
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.page.on("request", note)
    sight.page.clock.install()
    sight.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # no time passes between the letters
    sight.page.locator("#q").press_sequentially("powershell prompt")
    assert asked == []
    sight.page.clock.resume()
    expect(sight.main().get_by_role("status")).to_contain_text("for “powershell prompt”")
    assert len(asked) == 1


def test_another_search_is_shown_from_its_beginning(sight: Sight) -> None:
    sight.go("#/find?kind=evidence")
    expect(sight.page.locator(".hit").first).to_be_visible()
    sight.page.evaluate("scrollTo(0, 3000)")
    expect(sight.page.locator('.row[aria-posinset="40"]')).to_be_visible()
    sight.page.locator("#q").fill("git")
    expect(sight.main().get_by_role("status")).to_contain_text("for “git”")
    expect(sight.page.locator('.row[aria-posinset="1"]')).to_be_in_viewport()
    assert sight.page.evaluate("scrollY") == 0


def test_rows_are_read_in_their_order_however_one_scrolls(sight: Sight) -> None:
    sight.go("#/find?kind=evidence")
    expect(sight.page.locator(".hit").first).to_be_visible()
    for place in (5000, 4300, 3000, 3400, 0):
        sight.page.evaluate("place => scrollTo(0, place)", place)
        at = 1 + place // 60
        expect(sight.page.locator(f'.row[aria-posinset="{at}"] .hit')).to_be_visible()
        places = sight.page.eval_on_selector_all(
            ".row", "rows => rows.map((row) => Number(row.getAttribute('aria-posinset')))"
        )
        assert places == sorted(places)


def test_how_long_a_list_is_is_said_once_it_is_known(sight: Sight) -> None:
    sight.go("#/find?q=git&raw=true")
    first = sight.page.locator(".row").first
    expect(first).to_have_attribute("aria-setsize", "-1")
    sight.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    # A search looks at no more than 200, and leaves out what says the same.
    expect(first).to_have_attribute("aria-setsize", re.compile(r"^(19\d|200)$"))


def test_what_is_taken_back_from_another_page_leaves_that_as_it_is(sight: Sight) -> None:
    sight.go("#/find?kind=observation")
    sight.page.locator(".hit input").first.check()
    sight.page.locator(".bulk").get_by_role("button", name="Pin", exact=True).click()
    expect(sight.page.locator("#toasts")).to_contain_text("1 memory pinned")
    sight.go("#/projects")
    sight.heading("Projects")
    sight.undo()
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    expect(sight.page).to_have_title("Projects · claude-mem")
