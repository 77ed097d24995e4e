"""Everybody can use it: axe finds nothing on any page, theme or width; and what axe cannot see."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import axe_playwright_python  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.browser import viewing
from tests.browser.viewing import NARROW, WIDE, Sight, needs_transcripts
from tests.contract.recalling import Worker

pytestmark = needs_transcripts

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PLACES = (
    "#/",
    "#/find",
    "#/find?q=template",
    "#/projects",
    "#/project/{project}",
    "#/session/{session}",
    "#/observation/5",
    "#/observation/s5",
    "#/file/src%2Ftemplate%2Ftext.go",
    "#/cost",
    "#/context",
    "#/settings",
    "#/logs",
)


def faults(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, { runOnly: rules })", RULES)
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def named(worker: Worker, place: str) -> str:
    session = worker.get("/api/sessions", limit=3)["items"][2]
    return place.format(project=quote(session["project"], safe=""), session=session["id"])


@pytest.fixture(scope="module", params=["light", "dark"])
def seen(request: pytest.FixtureRequest, chromium: Browser, worker: Worker) -> Iterator[Sight]:
    with viewing.context(chromium, dark=request.param == "dark", still=True) as context:
        yield viewing.look(context, worker)


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_and_nothing_sticks_out(seen: Sight, worker: Worker, place: str) -> None:
    for width, height in (WIDE, NARROW):
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.go("#/nowhere")
        seen.heading("That did not work")
        seen.go(named(worker, place))
        expect(seen.page.locator("main h1")).not_to_have_text("That did not work")
        expect(seen.page.locator("main .skeleton")).to_have_count(0)
        expect(seen.page.locator("[aria-busy]")).to_have_count(0)
        assert faults(seen.page) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_axe_would_find_something(sight: Sight) -> None:
    """The counterpart: the same look at a page with a fault."""
    sight.page.evaluate(
        "document.querySelector('label[for=q]').remove();"
        " document.querySelector('#q').removeAttribute('placeholder')"
    )
    assert any("label" in fault for fault in faults(sight.page))


def test_dialogs_are_named_and_keep_the_focus(sight: Sight) -> None:
    sight.go("#/observation/5")
    sight.page.get_by_role("button", name="Edit").click()
    expect(sight.page.get_by_role("dialog", name="Edit this memory")).to_be_visible()
    assert faults(sight.page) == []
    for _ in range(20):
        sight.press("Tab")
        assert sight.page.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    sight.press("Escape")
    expect(sight.page.get_by_role("button", name="Edit")).to_be_focused()


def test_focus_goes_through_the_page_in_the_order_it_is_read(context: BrowserContext, worker: Worker) -> None:
    sight = viewing.look(context, worker, "#/observation/5")
    expect(sight.page.get_by_role("button", name="Edit")).to_be_visible()
    order = []
    for _ in range(40):
        sight.press("Tab")
        order.append(
            sight.page.evaluate(
                "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                " return [e.textContent.trim().slice(0, 30) || e.id,"
                " e.matches(':focus-visible') && s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 1,"
                " e.getBoundingClientRect().width > 0]; })()"
            )
        )
        if order[-1][0] == "Forget":
            break
    names = [name for name, _, _ in order]
    assert names[0] == "Skip to the content"
    wanted = ["q", "Live", "Find", "Logs", "Edit", "Pin", "Mark wrong", "Forget"]
    assert [name for name in names if name in wanted] == wanted
    assert all(visible and there for name, visible, there in order), order


def test_the_skip_link_leads_to_the_content(sight: Sight) -> None:
    sight.press("Tab", "Enter")
    assert sight.page.evaluate("document.activeElement.id") == "main"


def test_who_wants_less_motion_gets_none(chromium: Browser, worker: Worker) -> None:
    for still in (False, True):
        with viewing.context(chromium, still=still) as context:
            sight = viewing.look(context, worker)
            turning = sight.page.evaluate(
                "(() => { const s = document.createElement('span'); s.className = 'spin';"
                " document.body.append(s);"
                " return parseFloat(getComputedStyle(s).animationDuration) > 0.01; })()"
            )
            assert turning is not still


def test_what_was_done_is_said_to_who_cannot_see_it(context: BrowserContext, worker: Worker) -> None:
    sight = viewing.look(context, worker, "#/observation/7")
    sight.page.get_by_role("button", name="Pin").click()
    expect(sight.page.locator("#toasts[aria-live=polite]")).to_contain_text("1 memory pinned")
    sight.press("u")
    expect(sight.page.get_by_role("button", name="Pin", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )
