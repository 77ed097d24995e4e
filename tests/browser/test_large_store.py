"""A hundred thousand observations, no two alike, found by words and by meaning: the list scrolls through its
window, asks for what is in sight only, and stands still while more is learnt."""

import json
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Request, Route, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers

MANY = 100_500
"""More than a hundred thousand: that is no end either."""
PAGE = 100
IN_SIGHT = 100
ELEMENTS = 3000
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    data = tmp_path_factory.mktemp("crowd") / "data"
    with workers.running(data):
        Worker(data).works("crowd-1", "Begin the crowd's count of visitors", "src/a.py", project="crowd")
        Worker(data).settle()
    _fill(data / "claude-mem.db")
    with workers.running(data):
        worker = Worker(data)
        while left := _waiting(worker):  # as long as it goes on, it may take its time
            workers.until(partial(_is_less, worker, left), "the indexes go on")
        yield worker


def _is_less(worker: Worker, left: int) -> bool:
    return _waiting(worker) < left


def _waiting(worker: Worker) -> int:
    figures = worker.get("/api/stats")
    return int(figures["index"]["waiting"] + figures["vectors"]["waiting"])


def _fill(path: Path) -> None:
    """Below the one that is there, a minute apart: `1 …` is the next older, and so on."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.row_factory = sqlite3.Row
        pattern = dict(db.execute("SELECT * FROM observations").fetchone())
        del pattern["id"]
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.executemany(
            f"INSERT INTO observations ({', '.join(pattern)}) VALUES ({', '.join('?' * len(pattern))})",
            (tuple((pattern | told).values()) for told in _told(pattern["created_at_epoch"])),
        )
        db.execute("COMMIT")


def _told(newest: int) -> Iterator[dict[str, Any]]:
    by = random.Random(8)
    said = " ".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    words = sorted(set(re.findall(r"[a-z]{3,12}", said)))
    for number in range(MANY, 0, -1):
        at = newest - number * 60_000
        some = by.choices(words, k=30)
        yield {
            "title": f"{number} {' '.join(some[:5])}",
            "narrative": " ".join(some[5:25]),
            "facts": json.dumps([" ".join(some[25:])]),
            "type": by.choice(("bugfix", "feature", "refactor", "change", "discovery", "decision")),
            "content_key": None,
            "created_at": datetime.fromtimestamp(at / 1000, UTC).isoformat(),
            "created_at_epoch": at,
        }


@pytest.fixture
def sight(context: BrowserContext, crowd: Worker) -> Iterator[Sight]:
    sight = viewer_browser.look(context, crowd, "#/find?project=crowd")
    expect(row(sight, 1).locator(".hit")).to_be_visible()
    yield sight
    assert sight.all_that_went_wrong() == []


def row(sight: Sight, place: int) -> Locator:
    """As a reader of the page counts."""
    return sight.page.locator(f'.row[aria-posinset="{place}"]')


def scroll_to(sight: Sight, place: int) -> None:
    """As one drags the bar: it is in the middle of the window then, with or without what it says."""
    sight.page.evaluate(
        "place => { const rows = document.querySelector('.rows'), total = Number(rows.querySelector('.row')"
        ".getAttribute('aria-setsize'));"
        " scrollTo(0, rows.getBoundingClientRect().top + scrollY + rows.offsetHeight * (place - 1) / total"
        " - innerHeight / 2); }",
        place,
    )
    expect(row(sight, place)).to_be_in_viewport()


def newer(crowd: Worker) -> int:
    """How many are above `1 …`: the one that was first, and what was learnt since."""
    return int(crowd.get("/api/observations", project="crowd", count="true", limit=1)["total"]) - MANY


def numbers(sight: Sight) -> dict[int, int]:
    """The numbers in the titles in the page, by place."""
    found: list[tuple[str, str]] = sight.page.eval_on_selector_all(
        ".row:has(.hit)",
        "rows => rows.map((row) => [row.getAttribute('aria-posinset'),"
        " row.querySelector('.title').textContent])",
    )
    return {int(place): int(match[0]) for place, title in found if (match := re.match(r"\d+(?= )", title))}


def asked(sight: Sight, path: str) -> list[Request]:
    """Every request to it from now on."""
    seen: list[Request] = []
    sight.page.on("request", lambda request: seen.append(request) if path in request.url else None)
    return seen


def test_no_two_are_alike_and_words_and_meaning_find_them(crowd: Worker) -> None:
    found = crowd.get("/api/search", q="77777", project="crowd", limit=1)
    assert found["legs"] == ["text", "vectors"]
    assert found["results"][0]["title"].startswith("77777 ")
    listed = crowd.get("/api/observations", project="crowd", limit=100)["items"]
    assert len({each["narrative"] for each in listed}) == 100


def test_a_hundred_thousand_rows_are_scrolled_through_a_window(sight: Sight) -> None:
    above = newer(sight.worker)
    total = MANY + above
    expect(sight.main().get_by_role("status")).to_contain_text(f"{total:,} observations")
    for place in (total // 2, total, total // 4, above + 1):
        scroll_to(sight, place)
        expect(row(sight, place).locator(".title")).to_contain_text(f"{place - above} ")
        assert sight.page.locator(".row").count() < IN_SIGHT
        assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS


def test_a_flick_over_all_of_it_asks_only_for_where_it_comes_to_rest(sight: Sight) -> None:
    now = datetime.now(UTC)
    sight.page.clock.install(time=now)
    sight.page.clock.pause_at(now + timedelta(seconds=5))
    lists = asked(sight, "/api/observations")
    for share in range(1, 21):
        scroll_to(sight, share * MANY // 20)
    assert lists == []
    sight.page.clock.resume()
    expect(row(sight, MANY).locator(".hit")).to_be_visible()
    assert 1 <= len(lists) <= 2, "the page in sight, and the one that begins in it"


def test_row_by_row_every_page_is_asked_for_once(sight: Sight) -> None:
    lists = asked(sight, "/api/observations")
    for place in range(10, 401, 10):
        scroll_to(sight, place)
        expect(row(sight, place).locator(".hit")).to_be_visible()
    for place in range(400, 0, -50):
        scroll_to(sight, place)
    offsets = [request.url for request in lists]
    assert len(offsets) == len(set(offsets)) <= 5


def test_the_answer_to_what_is_no_longer_asked_is_not_waited_for(sight: Sight) -> None:
    typed = "77777"
    held: list[Route] = []
    dropped: list[str] = []

    def answer_the_last(route: Route) -> None:
        route.continue_() if f"q={typed}&" in route.request.url else held.append(route)

    sight.route("**/api/search?*", answer_the_last)
    sight.page.on("requestfailed", lambda request: dropped.append(request.url))
    searches = asked(sight, "/api/search")
    for count, letter in enumerate(typed, 1):
        with sight.page.expect_request(f"**/api/search?q={typed[:count]}&*"):
            sight.page.locator("#q").press_sequentially(letter)
    expect(sight.main().get_by_role("status")).to_contain_text(f"for “{typed}”")
    expect(row(sight, 1).locator(".title")).to_contain_text(f"{typed} ")
    assert len(searches) == len(typed)
    whole = [request.url for request in searches[:-1]]
    workers.until(lambda: bool(sight.page.evaluate("1")) and dropped == whole, "the others were given up")


def test_typing_and_going_back_to_the_list_keeps_the_page_small(sight: Sight) -> None:
    status = sight.main().get_by_role("status")
    sight.page.locator("#q").press_sequentially("windowed list", delay=10)
    expect(status).to_contain_text("for “windowed list”")
    expect(row(sight, 1).locator(".hit")).to_be_visible()
    for _ in range(20):
        sight.page.mouse.wheel(0, 4000)
    sight.page.locator("#q").fill("")
    expect(status).to_contain_text("observations, newest first")
    expect(sight.page.locator(".row .hit").first).to_be_visible()
    assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS


def test_what_is_learnt_meanwhile_moves_no_row_and_shows_none_twice(sight: Sight, crowd: Worker) -> None:
    above = newer(crowd)
    scroll_to(sight, 60)
    before = numbers(sight)
    assert before[60] == 60 - above
    crowd.works("crowd-2", "Learn something new", "src/new.py", project="crowd")
    crowd.settle()
    newest = crowd.get("/api/observations", project="crowd", limit=1)["items"][0]
    assert newest["session_id"] == "crowd-2"
    assert numbers(sight) == before
    for place in (PAGE, PAGE + 1, 2 * PAGE, MANY // 2, MANY + above):
        scroll_to(sight, place)
        expect(row(sight, place).locator(".title")).to_contain_text(f"{place - above} ")
        assert all(number == at - above for at, number in numbers(sight).items())
    sight.page.reload()
    expect(row(sight, 1).locator(".title")).to_contain_text(newest["title"])


def test_a_page_of_the_list_that_could_not_be_had_is_asked_for_again(sight: Sight) -> None:
    failed: list[Route] = []

    def fail_once(route: Route) -> None:
        failed.append(route)
        route.abort() if len(failed) == 1 else route.continue_()

    sight.route("**/api/observations?*", fail_once)
    scroll_to(sight, MANY // 2)
    expect(row(sight, MANY // 2).locator(".hit")).to_be_visible()
    assert len(failed) > 1
    sight.wrong[:] = [said for said in sight.wrong if "ERR_FAILED" not in said]


def test_all_that_fit_are_selected_as_far_as_the_page_says(sight: Sight) -> None:
    row(sight, 1).get_by_role("checkbox").check()
    selects = asked(sight, "/api/memory/select")
    bar = sight.page.get_by_role("group", name="Actions for the selection")
    bar.get_by_role("button", name="Select all matches").focus()
    before = sight.page.evaluate("scrollY")
    sight.press("Enter")
    expect(bar).to_contain_text("the first ")
    assert sight.page.evaluate("scrollY") == before
    said = re.search(r"the first ([\d,]+); repeat for the rest", bar.inner_text())
    assert said
    expect(bar.locator("strong")).to_have_text(f"{said[1]} memories selected")
    assert 500 <= int(said[1].replace(",", "")) < MANY
    assert len(selects) * 500 == int(said[1].replace(",", ""))
    expect(row(sight, 20).get_by_role("checkbox")).to_be_checked()
    assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS


def test_the_keyboard_reaches_far_down(sight: Sight) -> None:
    for _ in range(150):
        sight.press("j")
    expect(row(sight, 150).locator(".hit")).to_have_attribute("aria-current", "true")
    expect(row(sight, 150)).to_be_in_viewport()
