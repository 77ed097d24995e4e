"""A session of five thousand events: few are in the page at once, and each can be reached, in order."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Held, Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers

USES = 5_000
EVERY = 50
"""One use in so many led to an observation."""
IN_PAGE = 150
ELEMENTS = 2_500
IN_SIGHT = """() => [...document.querySelectorAll(".story > li")].filter((each) => {
    const { top, bottom } = each.getBoundingClientRect();
    return bottom > 200 && top < innerHeight; }).map((each) => each.dataset.ref)"""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    data = tmp_path_factory.mktemp("long") / "data"
    with workers.running(data):
        Worker(data).works("long-1", "Count every penny", "src/till.py")
        Worker(data).settle()
    _fill(data)
    with workers.running(data):
        Worker(data).settle()
        yield Worker(data)


def _fill(data: Path) -> None:
    """After the turn that is there, a second apart."""
    with closing(sqlite3.connect(data / "claude-mem.db")) as db, db:
        db.row_factory = sqlite3.Row
        use = dict(db.execute("SELECT * FROM pending_messages WHERE kind = 'tool_use'").fetchone())
        seen = dict(db.execute("SELECT * FROM observations").fetchone())
        last = max(use["created_at_epoch"], seen["created_at_epoch"])
        for pattern, table, told in (
            (use, "pending_messages", _uses(last)),
            (seen, "observations", _observations(last)),
        ):
            del pattern["id"]
            db.executemany(
                f"INSERT INTO {table} ({', '.join(pattern)}) VALUES ({', '.join('?' * len(pattern))})",
                [tuple((pattern | each).values()) for each in told],
            )


def _uses(last: int) -> Iterator[dict[str, Any]]:
    for nth in range(1, USES + 1):
        yield {
            "event_id": f"use-{nth}",
            "effect_key": f"use-{nth}",
            "tool_name": "Read",
            "tool_input": json.dumps({"file_path": f"/home/ada/shop/src/{nth}.py"}),
            "created_at_epoch": last + nth * 1000,
        }


def _observations(last: int) -> Iterator[dict[str, Any]]:
    for nth in range(EVERY, USES, EVERY):
        yield {"title": f"Penny {nth} is counted", "created_at_epoch": last + nth * 1000 + 500}


@pytest.fixture(scope="module")
def order(long: Worker) -> list[str]:
    refs, cursor = [], ""
    while cursor is not None:
        page = long.get("/api/session/long-1/events", limit=200, cursor=cursor)
        refs += [each["ref"] for each in page["items"]]
        cursor = page["next"]
    assert len(refs) > USES
    return refs


@pytest.fixture
def seen(context: BrowserContext, long: Worker, order: list[str]) -> Iterator[Sight]:
    sight = viewer_browser.look(context, long, "#/session/long-1")
    is_loaded(sight, order)
    yield sight
    assert sight.all_that_went_wrong() == []


def is_loaded(sight: Sight, order: list[str]) -> None:
    expect(sight.page.locator("output")).to_contain_text(f"{len(order)} of {len(order)},")


def line(sight: Sight, ref: str) -> Locator:
    return sight.page.locator(f'.story > li[data-ref="{ref}"]')


def is_small(sight: Sight) -> None:
    assert 0 < sight.page.locator(".story > li").count() <= IN_PAGE
    assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS


def lies_in_order(sight: Sight, order: list[str]) -> None:
    """What is in the page is a part of the whole without a gap, and nothing in sight is blank."""
    drawn = sight.page.locator(".story > li").evaluate_all("all => all.map((each) => each.dataset.ref)")
    first = order.index(drawn[0])
    assert drawn == order[first : first + len(drawn)]
    assert sight.page.evaluate(IN_SIGHT)


def rests(sight: Sight) -> None:
    sight.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_few_are_in_the_page_wherever_one_scrolls_and_none_is_left_out(seen: Sight, order: list[str]) -> None:
    is_small(seen)
    assert order[0] in seen.page.evaluate(
        "[...document.querySelectorAll('.story > li')].map(e => e.dataset.ref)"
    )
    passed: list[str] = []
    seen.page.mouse.move(600, 600)
    for _ in range(12):
        passed += [ref for ref in seen.page.evaluate(IN_SIGHT) if ref not in passed]
        seen.page.mouse.wheel(0, 400)
        rests(seen)
        lies_in_order(seen, order)
    first = order.index(passed[0])
    assert passed == order[first : first + len(passed)]
    for share in (0.5, 1.0, 0.7, 0.1, 0.0):
        seen.page.evaluate("share => scrollTo(0, share * document.documentElement.scrollHeight)", share)
        rests(seen)
        is_small(seen)
        lies_in_order(seen, order)


def test_home_and_end_lead_there_at_once(seen: Sight, order: list[str]) -> None:
    """The browser's own glide stopped on its way now and then, by lines of another height than guessed."""
    for key, ref in (("End", order[-1]), ("Home", order[0])) * 3:
        seen.press(key)
        rests(seen)
        assert ref in seen.page.evaluate(IN_SIGHT)
        lies_in_order(seen, order)
        is_small(seen)
    seen.press("End", "Home", "End")
    rests(seen)
    below = "document.documentElement.scrollHeight - innerHeight - scrollY"
    assert abs(seen.page.evaluate(below)) < 2


def test_home_and_end_are_the_scrubbers_while_it_has_focus(seen: Sight, order: list[str]) -> None:
    scrub = seen.page.get_by_label("Position in the session")
    scrub.focus()
    seen.press("Home")
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(f"^1 of {len(order)},"))
    seen.press("End")
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(f"^{len(order)} of {len(order)},"))


def test_what_is_in_sight_stands_still_while_lines_above_it_are_drawn(seen: Sight, order: list[str]) -> None:
    """Observations are higher than was guessed; scrolling up by so much shows what was so much above."""
    seen.page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    rests(seen)
    for _ in range(30):
        ref = seen.page.evaluate(IN_SIGHT)[0]
        top = 'ref => document.querySelector(`.story > li[data-ref="${ref}"]`).getBoundingClientRect().top'
        before = seen.page.evaluate(top, ref)
        seen.page.evaluate("scrollBy(0, -300)")
        rests(seen)
        assert abs(seen.page.evaluate(top, ref) - before - 300) < 2


def test_the_scrubber_goes_anywhere(seen: Sight, order: list[str]) -> None:
    scrub = seen.page.get_by_label("Position in the session")
    for count in (2_500, 4_900, 17, 3_000):
        scrub.fill(str(count))
        expect(scrub).to_have_attribute("aria-valuetext", re.compile(f"^{count} of {len(order)},"))
        expect(line(seen, order[count - 1])).to_be_in_viewport()
        expect(line(seen, order[count - 1])).to_have_class(re.compile(r"\bnow\b"))
        expect(line(seen, order[count])).to_have_count(0)  # it has not happened yet
        lies_in_order(seen, order)
        is_small(seen)
    scrub.focus()
    seen.press("ArrowRight")
    expect(line(seen, order[3_000])).to_be_in_viewport()
    seen.press("Home")
    expect(seen.page.locator(".story > li")).to_have_count(1)
    seen.press("End")
    expect(line(seen, order[-1])).to_be_in_viewport()
    seen.page.locator(".ticks").click(position={"x": 1, "y": 8})
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(r"^\d of"))


def test_without_raw_tool_uses_the_rest_lies_close_together(seen: Sight, order: list[str]) -> None:
    seen.page.get_by_label("raw tool uses").uncheck()
    rest = [ref for ref in order if not ref.startswith("e")]
    expect(seen.page.locator(".story > li")).to_have_count(len(rest))
    seen.page.get_by_label("raw tool uses").check()
    lies_in_order(seen, order)
    is_small(seen)


def test_the_keyboard_goes_from_title_to_title_over_many_tool_uses(seen: Sight, order: list[str]) -> None:
    titled = [ref for ref in order if not ref.startswith("e")]
    for ref in titled[:8]:
        seen.press("j")
        expect(line(seen, ref).locator("a.title")).to_be_focused()
        expect(line(seen, ref)).to_be_in_viewport()
    seen.press("k")
    expect(line(seen, titled[6]).locator("a.title")).to_be_focused()


def test_what_was_opened_is_open_when_one_comes_back_to_it(seen: Sight, order: list[str]) -> None:
    use = next(ref for ref in order if ref.startswith("e"))
    line(seen, use).locator("summary").click()
    expect(line(seen, use).locator("pre").first).to_be_visible()
    seen.page.keyboard.press("End")
    expect(line(seen, order[-1])).to_be_in_viewport()
    expect(line(seen, use)).to_have_count(0)
    seen.page.keyboard.press("Home")
    expect(line(seen, use).locator("pre").first).to_be_visible()


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_link_into_it_opens_there_and_who_comes_back_finds_the_place(
    chromium: Browser, long: Worker, order: list[str], share: float
) -> None:
    titled = [ref for ref in order if not ref.startswith("e")]
    ref = titled[int(share * (len(titled) - 1))]
    with viewer_browser.context(chromium) as context:
        sight = viewer_browser.look(context, long, f"#/session/long-1?at={ref}")
        expect(line(sight, ref)).to_be_in_viewport()
        expect(line(sight, ref).locator("a.title")).to_be_focused()
        sight.press("j")
        after = titled[titled.index(ref) + 1]
        expect(line(sight, after).locator("a.title")).to_be_focused()
        sight.press("Enter")
        expect(sight.page.get_by_role("button", name="Forget")).to_be_visible()
        sight.back()
        expect(line(sight, after)).to_be_in_viewport()
        expect(line(sight, after).locator("a.title")).to_be_focused()
        is_small(sight)


def test_who_has_begun_to_scroll_is_left_there(
    context: BrowserContext, long: Worker, order: list[str]
) -> None:
    """Though the link led elsewhere, and that comes in last."""
    sight = viewer_browser.look(context, long, "#/projects")
    rest = Held(
        sight,
        "**/api/session/long-1/events*",
        lambda said: order[0] not in [each["ref"] for each in said["items"]],
    )
    sight.go(f"#/session/long-1?at={order[-300]}")
    expect(line(sight, order[0])).to_be_visible()
    rest.wait()
    sight.page.mouse.wheel(0, 2000)
    sight.page.wait_for_function("scrollY > 0")
    rest.let_go()
    is_loaded(sight, order)
    sight.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert sight.page.evaluate("scrollY") <= 2000
