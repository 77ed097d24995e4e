"""Everything without a mouse: search, open, edit, save, undo, select, merge; focus is where one looks."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.browser.viewing import Sight
from tests.contract.recalling import Worker

from claude_mem.testing import workers

FOCUSED = """() => { const e = document.activeElement;
    return (document.getElementById(e.id) && document.querySelector(`label[for="${e.id}"]`)?.textContent)
        || e.getAttribute("aria-label") || e.textContent.trim().slice(0, 40); }"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("keyboard") / "data") as data:
        worker = Worker(data)
        worker.works("weir-1", "Make the sluice open at high water", "src/sluice.py", project="weir")
        for word in ("quagga", "okapi", "tapir"):
            title = f"The {word} network"
            worker.post("/api/memory/save", text=f"Deploys need the {word}.", title=title, project="weir")
        worker.settle()
        yield worker


@pytest.fixture
def sight(context: BrowserContext, worker: Worker) -> Iterator[Sight]:
    """A tab that has lost its mouse."""
    sight = viewing.look(context, worker)
    sight.page.add_init_script("addEventListener('pointerdown', () => { throw new Error('a mouse'); })")
    yield sight
    assert sight.all_that_went_wrong() == []


def focused(sight: Sight) -> str:
    return str(sight.page.evaluate(FOCUSED))


def tab_to(sight: Sight, name: str, *, most: int = 60) -> None:
    passed = []
    for _ in range(most):
        sight.press("Tab")
        passed.append(focused(sight))
        if passed[-1] == name:
            return
    raise AssertionError(f"{name} is not among {passed}")


def test_search_open_edit_save_and_undo(sight: Sight, worker: Worker) -> None:
    sight.press("/")
    sight.page.keyboard.type("okapi network")
    expect(sight.main().get_by_role("status")).to_contain_text("for “okapi network”")
    sight.press("ArrowDown")
    expect(sight.page.locator(".hit a.title").first).to_be_focused()
    sight.press("Enter")
    sight.heading("The okapi network")
    sight.press("e")
    dialog = sight.page.get_by_role("dialog", name="Edit this memory")
    expect(dialog.get_by_label("Title", exact=True)).to_be_focused()
    sight.press("Control+A")
    sight.page.keyboard.type("The axolotl network")
    sight.press("Enter")
    sight.heading("The axolotl network")
    assert worker.get("/api/search", q="axolotl")["results"]
    sight.press("u")
    sight.heading("The okapi network")
    sight.page.go_back()
    expect(sight.page.locator(".hit a.title").first).to_be_focused()


def test_a_buttons_focus_is_given_back_after_what_it_did(sight: Sight) -> None:
    sight.press("/")
    sight.page.keyboard.type("quagga network")
    expect(sight.main().get_by_role("status")).to_contain_text("for “quagga network”")
    sight.press("ArrowDown", "Enter")
    sight.heading("The quagga network")
    tab_to(sight, "Edit")
    sight.press("Enter")
    dialog = sight.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(12):
        sight.press("Tab")
        assert sight.page.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    dialog.get_by_label("Subtitle").focus()
    sight.page.keyboard.type("Deep below")
    sight.press("Enter")
    expect(sight.main()).to_contain_text("Deep below")
    expect(sight.page.get_by_role("button", name="Edit")).to_be_focused()
    tab_to(sight, "Pin", most=1)
    sight.press("Space")
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_focused()
    sight.press("#")
    expect(sight.page.get_by_role("button", name="Keep")).to_be_focused()
    sight.press("Escape")
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_focused()


def test_a_selection_is_merged(sight: Sight, worker: Worker) -> None:
    sight.press("g", "f")
    expect(sight.page.locator(".hit")).to_have_count(4)
    sight.press("j", "x", "j", "x")
    bar = sight.page.get_by_role("group", name="What to do with the selection")
    expect(bar).to_contain_text("2 memories selected")
    tab_to(sight, "Merge", most=40)
    sight.press("Enter")
    dialog = sight.page.get_by_role("dialog", name="Merge duplicates")
    expect(dialog.get_by_role("radio").first).to_be_focused()
    sight.press("ArrowDown")
    expect(dialog.get_by_role("radio").nth(1)).to_be_checked()
    tab_to(sight, "Merge 2 into one", most=3)
    sight.press("Enter")
    expect(sight.page.locator("#toasts")).to_contain_text("1 memory merged into")
    sight.press("u")
    expect(sight.page.locator("#toasts")).to_contain_text("Undone")
    assert not any(each["superseded_by"] for each in worker.get("/api/observations")["items"])


def test_narrowing_and_setting_need_no_mouse_either(sight: Sight, worker: Worker) -> None:
    sight.press("g", "f")
    expect(sight.page.locator(".hit")).to_have_count(4)
    tab_to(sight, "Type")
    sight.page.keyboard.type("change")
    expect(sight.page.locator(".hit")).to_have_count(1)
    tab_to(sight, "File", most=2)
    sight.page.keyboard.type("src/nowhere.py")
    expect(sight.main().get_by_role("status")).to_contain_text("Nothing is remembered that fits.")
    sight.page.evaluate("document.activeElement.blur()")
    sight.press("g", "s")
    sight.heading("Settings")
    tab_to(sight, "CLAUDE_MEM_EVIDENCE_DAYS", most=120)
    sight.press("Control+A")
    sight.page.keyboard.type("45")
    sight.press("Enter")
    expect(sight.page.locator("#row-CLAUDE_MEM_EVIDENCE_DAYS .chip")).to_have_text("file")
    expect(sight.page.get_by_label("CLAUDE_MEM_EVIDENCE_DAYS")).to_be_focused()


def test_a_session_is_stepped_through_and_its_raw_text_opened(sight: Sight) -> None:
    sight.go("#/session/weir-1")
    shown = sight.page.locator(".story > li:not([hidden])")
    expect(shown.nth(1)).to_be_visible()
    whole = shown.count()
    sight.press("ArrowLeft")
    expect(shown).to_have_count(whole - 1)
    sight.press("ArrowRight")
    expect(shown).to_have_count(whole)
    use = sight.page.locator(".story > li.evidence summary").first
    use.focus()
    sight.press("Enter")
    expect(sight.page.locator(".story pre").first).to_be_visible()
    sight.press("j")
    expect(sight.page.locator("a.title:focus")).to_have_attribute("href", re.compile("#/observation/"))


@pytest.mark.parametrize(
    ("place", "first"), [("#/find", "Kind"), ("#/cost", "Over"), ("#/context", "When a session begins by")]
)
def test_tab_leads_from_the_search_box_over_the_pages_to_the_content(
    sight: Sight, place: str, first: str
) -> None:
    sight.go(place)
    expect(sight.page.get_by_label(first, exact=True)).to_be_visible()
    sight.page.locator(".skip").focus()
    for name in ("Search memory", "Live", "Find", "Logs", "Keys", first):
        tab_to(sight, name, most=6)
