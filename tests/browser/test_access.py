"""Everybody can use it: axe finds nothing on any page, theme or width; and what axe cannot see."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import axe_playwright_python  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import NARROW, WIDE, Sight, needs_transcripts
from tests.contracts.worker_client import Worker
from tests.harness import workers

pytestmark = needs_transcripts

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
FAULTY = """
    document.querySelector("label[for=q]").remove();
    document.querySelector("#q").removeAttribute("placeholder");
    document.querySelector("main h1").style.color = "rgba(128, 128, 128, 0.3)";
"""
PLACES = (
    "#/",
    "#/live",
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
    "#/team",
    "#/settings",
    "#/logs",
)


def is_dark(page: Page) -> bool:
    return bool(page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"))


def sizes(sight: Sight) -> Iterator[int]:
    """Each width while the window is so wide. In the dark nothing but the colours differs: one is enough."""
    for width, height in (WIDE,) if is_dark(sight.page) else (WIDE, NARROW):
        sight.page.set_viewport_size({"width": width, "height": height})
        yield width


def faults(page: Page, within: str = "html") -> list[str]:
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    rules = COLOURS if is_dark(page) else RULES
    found = page.evaluate("([within, rules]) => axe.run(within, { runOnly: rules })", [within, rules])
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
    with viewer_browser.context(chromium, dark=request.param == "dark", still=True) as context:
        yield viewer_browser.look(context, worker)


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_and_nothing_sticks_out(seen: Sight, worker: Worker, place: str) -> None:
    seen.go("#/nowhere")
    seen.heading("Something went wrong")
    seen.go(named(worker, place))
    for width in sizes(seen):
        expect(seen.page.locator("main h1")).not_to_have_text("Something went wrong")
        expect(seen.page.locator("main .skeleton")).to_have_count(0)
        expect(seen.page.locator("[aria-busy]")).to_have_count(0)
        assert faults(seen.page) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_would_find_something(chromium: Browser, worker: Worker, theme: str) -> None:
    """The counterpart: the same look at a page with faults."""
    with viewer_browser.context(chromium, dark=theme == "dark", still=True) as context:
        page = viewer_browser.look(context, worker, "#/settings").page
        expect(page.locator("main .skeleton")).to_have_count(0)
        page.evaluate(FAULTY)
        found = {fault.split(":")[0] for fault in faults(page)}
        assert found >= ({"color-contrast"} if theme == "dark" else {"color-contrast", "label"})


def open_edit(sight: Sight) -> str:
    sight.go("#/observation/5")
    sight.page.get_by_role("button", name="Edit").click()
    return "Edit this memory"


def open_a_refused_edit(sight: Sight) -> str:
    open_edit(sight)
    sight.page.get_by_label("Title", exact=True).fill("  ")
    sight.page.get_by_role("button", name="Save").click()
    expect(sight.page.get_by_role("alert")).to_contain_text("title")
    return "Edit this memory"


def open_forget(sight: Sight) -> str:
    sight.go("#/observation/5")
    sight.page.get_by_role("button", name="Forget").click()
    return "Delete permanently?"


def open_merge(sight: Sight) -> str:
    sight.go("#/find")
    sight.page.locator(".hit input").nth(0).check()
    sight.page.locator(".hit input").nth(1).check()
    sight.page.get_by_role("button", name="Merge").click()
    return "Merge duplicates"


def open_keys(sight: Sight) -> str:
    sight.go("#/projects")
    sight.heading("Projects")
    sight.press("?")
    return "Keys"


@pytest.mark.parametrize(
    "opened",
    [open_edit, open_a_refused_edit, open_forget, open_merge, open_keys],
    ids=lambda each: each.__name__,
)
def test_a_dialog_is_named_fits_and_keeps_the_focus(seen: Sight, opened: Callable[[Sight], str]) -> None:
    for width in sizes(seen):
        name = opened(seen)
        dialog = seen.page.get_by_role("dialog", name=name)
        expect(dialog).to_be_visible()
        assert faults(seen.page) == []
        assert dialog.evaluate("each => each.scrollWidth <= each.clientWidth")
        box = dialog.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        for _ in range(12):
            seen.press("Tab")
            assert seen.page.evaluate(
                "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
            )
        seen.press("Escape")
        expect(dialog).to_have_count(0)
        seen.go("#/nowhere")
        seen.heading("Something went wrong")


def test_what_is_selected_and_what_was_done_pass_axe_as_well(seen: Sight) -> None:
    for width in sizes(seen):
        seen.go("#/find")
        for nth in (0, 1):
            seen.page.locator(".hit input").nth(nth).check()
        expect(seen.page.locator(".bulk")).to_contain_text("2 memories selected")
        assert faults(seen.page, ".bulk") == []  # the list it lies over is another matter
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.page.locator(".bulk").get_by_role("button", name="Pin", exact=True).click()
        expect(seen.page.locator("#toasts")).to_contain_text("2 memories pinned")
        assert faults(seen.page, "#toasts") == []
        seen.undo()
        expect(seen.page.locator("#toasts")).to_contain_text("Undone")
        seen.go("#/nowhere")
        seen.heading("Something went wrong")


def test_focus_goes_through_the_page_in_the_order_it_is_read(context: BrowserContext, worker: Worker) -> None:
    sight = viewer_browser.look(context, worker, "#/observation/5")
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
    sight.go("#/projects")
    sight.heading("Projects")
    sight.page.locator(".skip").focus()
    sight.press("Enter")
    expect(sight.main()).to_be_focused()
    sight.page.reload()
    sight.heading("Projects")


def test_a_page_that_is_not_there_says_so_to_who_cannot_see_it(sight: Sight) -> None:
    sight.go("#/nowhere")
    expect(sight.page.get_by_role("heading", name="Something went wrong")).to_be_focused()
    sight.page.get_by_role("button", name="Try again").click()
    expect(sight.page.get_by_role("heading", name="Something went wrong")).to_be_focused()


def test_how_the_worker_is_is_said_again_only_when_it_changes(sight: Sight) -> None:
    state = sight.page.locator("#state")
    expect(state).to_have_text("up to date")
    sight.page.evaluate(
        """() => { window.__said = 0;
            const all = { childList: true, characterData: true, subtree: true };
            const noted = new MutationObserver(() => { window.__said += 1; });
            noted.observe(document.querySelector("#state"), all); }"""
    )
    with sight.page.expect_response("**/api/status") as heard:
        sight.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    heard.value.finished()
    expect(state).to_have_text("up to date")
    assert sight.page.evaluate("window.__said") == 0


def test_who_wants_less_motion_gets_none(chromium: Browser, tmp_path: Path) -> None:
    """Of the spinner, of what arrives while one looks, and of all else that could move."""
    for still in (False, True):
        data = tmp_path / f"still-{still}"
        with workers.running(data), viewer_browser.context(chromium, still=still) as context:
            sight = viewer_browser.look(context, Worker(data))
            sight.page.evaluate(
                """() => { window.__moved = []; const note = () => { window.__moved.push(
                    ...document.getAnimations().filter((each) => each.playState === "running")
                        .map((each) => each.animationName || each.transitionProperty));
                    requestAnimationFrame(note); }; note();
                    const spin = document.createElement("span"); spin.className = "spin";
                    document.body.append(spin); }"""
            )
            Worker(data).works("till-1", "Make the till count pennies", "src/till.py")
            expect(sight.page.locator(".feed .line.summary").first).to_be_visible()
            moved = set(sight.page.evaluate("window.__moved"))
            assert moved == set() if still else {"turn"} <= moved


def test_what_was_done_is_said_to_who_cannot_see_it(context: BrowserContext, worker: Worker) -> None:
    sight = viewer_browser.look(context, worker, "#/observation/7")
    sight.page.get_by_role("button", name="Pin").click()
    expect(sight.page.locator("#toasts[aria-live=polite]")).to_contain_text("1 memory pinned")
    sight.press("u")
    expect(sight.page.get_by_role("button", name="Pin", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )
