"""A hundred thousand observations: the list scrolls through its window, and searching freezes nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.contract.recalling import Worker

from claude_mem.testing import workers

MANY = 100_000


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    data = tmp_path_factory.mktemp("crowd") / "data"
    with workers.running(data):
        Worker(data).works("crowd-1", "Begin", "src/a.py", project="crowd")
        Worker(data).settle()
    _fill(data / "claude-mem.db")
    with workers.running(data, CLAUDE_MEM_VECTORS="off"):
        worker = Worker(data)
        workers.until(lambda: worker.get("/api/stats")["index"]["waiting"] == 0, "the index is in step")
        yield worker


def _fill(path: object) -> None:
    """Copies of the one, each with a title and a time of its own."""
    with closing(sqlite3.connect(str(path), isolation_level=None)) as db:
        known = [name for _, name, *_ in db.execute("PRAGMA table_info(observations)")]
        unique = {
            "id": "NULL",
            "content_key": "NULL",
            "title": "'Crowd number ' || n",
            "created_at_epoch": "created_at_epoch - n * 60000",
            "created_at": (
                "strftime('%Y-%m-%dT%H:%M:%fZ', (created_at_epoch - n * 60000) / 1000.0, 'unixepoch')"
            ),
        }
        values = ", ".join(unique.get(name, f'"{name}"') for name in known)
        names = ", ".join(f'"{name}"' for name in known)
        db.execute("PRAGMA synchronous = OFF")
        db.execute(
            f"WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {MANY})"
            f" INSERT INTO observations ({names}) SELECT {values}"
            " FROM counted, (SELECT * FROM observations LIMIT 1)"
        )


def test_a_hundred_thousand_rows_are_scrolled_through_a_window(
    context: BrowserContext, crowd: Worker
) -> None:
    sight = viewing.look(context, crowd, "#/find?project=crowd")
    total = crowd.get("/api/observations", count="true", limit=1)["total"]
    assert total > MANY
    expect(sight.main().get_by_role("status")).to_contain_text(f"{total:,} observations")
    rows = sight.page.locator(".row")
    expect(rows.first).to_be_visible()
    for share in (0.5, 1.0, 0.25):
        sight.page.evaluate(
            "share => window.scrollTo(0, share * document.documentElement.scrollHeight)", share
        )
        expect(sight.page.locator(".row .hit").first).to_be_visible()
        assert rows.count() < 100
    sight.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    expect(sight.page.locator(f'.row[aria-posinset="{total}"] .hit')).to_be_visible()
    expect(sight.page.locator(".row", has_text=f"Crowd number {MANY}")).to_be_visible()
    assert sight.all_that_went_wrong() == []


def test_searching_it_freezes_nothing(context: BrowserContext, crowd: Worker) -> None:
    sight = viewing.look(context, crowd, "#/find?project=crowd")
    expect(sight.page.locator(".row .hit").first).to_be_visible()
    sight.page.evaluate(
        "window.__longest = 0; new PerformanceObserver((list) => list.getEntries().forEach("
        "(each) => { window.__longest = Math.max(window.__longest, each.duration); }))"
        ".observe({ type: 'longtask', buffered: true })"
    )
    sight.page.locator("#q").press_sequentially("crowd number 777", delay=20)
    expect(sight.main().get_by_role("status")).to_contain_text("for “crowd number 777”")
    expect(sight.page.locator(".row .hit").first).to_be_visible()
    for _ in range(30):
        sight.page.mouse.wheel(0, 4000)
    sight.page.locator("#q").fill("")
    expect(sight.main().get_by_role("status")).to_contain_text("observations, the newest first")
    assert sight.page.evaluate("document.querySelectorAll('*').length") < 3000
    longest = sight.page.evaluate("window.__longest")
    assert longest < 2000, (
        f"the page stood still for {longest} ms"
    )  # a freeze, not a figure: seconds, on a busy machine
    assert sight.all_that_went_wrong() == []


def test_the_keyboard_reaches_far_down(context: BrowserContext, crowd: Worker) -> None:
    sight = viewing.look(context, crowd, "#/find?project=crowd")
    expect(sight.page.locator(".row .hit").first).to_be_visible()
    for _ in range(150):
        sight.press("j")
    expect(sight.page.locator('.row[aria-posinset="150"] .hit')).to_have_attribute("aria-current", "true")
    expect(sight.page.locator('.row[aria-posinset="150"]')).to_be_in_viewport()
    assert sight.all_that_went_wrong() == []
