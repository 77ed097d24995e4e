"""Everything without a mouse: search, open, edit, save, undo, select, merge; focus is where one looks."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, Unsent
from tests.contracts.worker_client import Worker
from tests.harness import workers

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
    sight = viewer_browser.look(context, worker)
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
    sight.back()
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
    expect(sight.page.get_by_role("button", name="Cancel")).to_be_focused()
    sight.press("Escape")
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_focused()


def test_a_selection_is_merged(sight: Sight, worker: Worker) -> None:
    sight.press("g", "f")
    expect(sight.page.locator(".hit")).to_have_count(4)
    sight.press("j", "x", "j", "x")
    bar = sight.page.get_by_role("group", name="Actions for the selection")
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
    expect(sight.page.locator("#by-type option", has_text="change")).to_be_attached()
    sight.press("c")
    expect(sight.page.locator(".hit")).to_have_count(1)
    tab_to(sight, "More", most=2)
    sight.press("Enter")
    tab_to(sight, "File", most=2)
    sight.page.keyboard.type("src/nowhere.py")
    expect(sight.main().get_by_role("status")).to_contain_text("No results.")
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


def test_tab_leads_from_the_search_box_over_the_pages_to_the_content(
    sight: Sight, subtests: pytest.Subtests
) -> None:
    for page, first in (("Find", "Kind"), ("Cost", "Period"), ("Context", "Project")):
        with subtests.test(page=page):
            sight.go(f"#/{page.lower()}")
            sight.heading(page)
            expect(sight.page.get_by_label(first, exact=True)).to_be_visible()
            sight.page.locator(".skip").focus()
            for name in ("Search memory", "Live", "Find", "Logs", "Keys", first):
                tab_to(sight, name, most=6)


def memory(sight: Sight, worker: Worker, word: str) -> str:
    """Its page is open."""
    listed = worker.get("/api/observations", limit=100)["items"]
    ref = next(each["ref"] for each in listed if each["title"] == f"The {word} network")
    sight.go(f"#/observation/{ref}")
    sight.heading(f"The {word} network")
    return str(ref)


def asked(sight: Sight, path: str) -> list[str]:
    """Every request to it from now on."""
    seen: list[str] = []
    sight.page.on("request", lambda request: seen.append(request.url) if path in request.url else None)
    return seen


def all_is_asked(sight: Sight) -> None:
    """What a key set going has been asked for: this comes after it."""
    sight.page.evaluate(viewer_browser.ASK_STATUS)


def test_a_key_that_is_held_does_it_once(sight: Sight, worker: Worker) -> None:
    memory(sight, worker, "tapir")
    pins = asked(sight, "/api/memory/pin")
    sight.page.keyboard.down("p")
    expect(sight.page.get_by_role("button", name="Pinned")).to_be_visible()
    for _ in range(3):
        sight.page.keyboard.down("p")
    sight.page.keyboard.up("p")
    all_is_asked(sight)
    assert len(pins) == 1
    sight.press("u")
    expect(sight.page.get_by_role("button", name="Pin", exact=True)).to_be_visible()


def test_j_may_be_held(sight: Sight) -> None:
    sight.press("g", "f")
    expect(sight.page.locator(".hit")).to_have_count(4)
    for _ in range(3):
        sight.page.keyboard.down("j")
    sight.page.keyboard.up("j")
    expect(sight.page.locator(".hit").nth(2)).to_have_attribute("aria-current", "true")


def test_a_question_is_asked_once_and_goes_with_its_page(sight: Sight, worker: Worker) -> None:
    ref = memory(sight, worker, "tapir")
    dialog = sight.page.get_by_role("dialog")
    sight.press("#", "#")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    sight.press("Escape")
    expect(dialog).to_have_count(0)
    sight.press("#")
    expect(dialog).to_be_visible()
    sight.back()
    sight.heading("Live")
    expect(dialog).to_have_count(0)
    assert worker.ask("GET", f"/api/observation/{ref}")[0] == 200


PRESSED = """() => {
    const pressed = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
    document.body.dispatchEvent(pressed("g"));
    window.second = Object.defineProperty(pressed("p"), "timeStamp", { value: performance.now() });
}"""


def test_a_busy_page_still_knows_that_two_keys_were_one(sight: Sight) -> None:
    sight.page.clock.install()
    sight.page.evaluate(PRESSED)
    sight.page.clock.fast_forward(5000)
    sight.page.evaluate("document.body.dispatchEvent(second)")
    sight.heading("Projects")


LATE = "addEventListener('close', (event) => event.isTrusted && event.stopImmediatePropagation(), true)"


def test_a_question_left_by_escape_may_be_asked_again_before_the_browser_says_it_is_closed(
    sight: Sight, worker: Worker
) -> None:
    memory(sight, worker, "tapir")
    sight.page.evaluate(LATE)
    dialog = sight.page.get_by_role("dialog")
    for _ in range(2):
        sight.press("#")
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        sight.press("Escape")
        expect(dialog).to_have_count(0)


def test_a_question_is_not_asked_on_a_page_one_went_on_to(sight: Sight, worker: Worker) -> None:
    memory(sight, worker, "tapir")
    unsent = Unsent(sight, "**/api/memory/forget")
    sight.press("#")
    unsent.wait()
    sight.press("g", "p")
    sight.heading("Projects")
    with sight.page.expect_response("**/api/memory/forget"):
        unsent.let_go()
    all_is_asked(sight)
    expect(sight.page.get_by_role("dialog")).to_have_count(0)


def test_g_waits_for_its_letter_only_a_moment(sight: Sight) -> None:
    sight.page.clock.install()
    sight.press("g")
    sight.page.clock.run_for(5000)
    sight.press("c")
    sight.heading("Live")
    sight.press("g", "c")
    sight.heading("Cost")


def test_a_sign_that_a_keyboard_has_on_its_third_level_is_heard(sight: Sight) -> None:
    sight.page.evaluate(
        """document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true,
            ctrlKey: true, altKey: true, modifierAltGraph: true }))"""
    )
    expect(sight.page.locator("#q")).to_be_focused()
    sight.press("Escape", "Control+/")
    expect(sight.page.locator("#q")).not_to_be_focused()


@pytest.mark.parametrize("button", ["Undo", "Dismiss"])
def test_a_note_gives_focus_back_when_it_goes(sight: Sight, worker: Worker, button: str) -> None:
    memory(sight, worker, "tapir")
    pin = sight.page.locator("main button[aria-keyshortcuts=p]")
    was = pin.get_attribute("aria-pressed")
    pin.focus()
    sight.press("Space")
    expect(pin).not_to_have_attribute("aria-pressed", str(was))
    note = sight.page.locator(".toast", has=sight.page.get_by_role("button", name="Undo"))
    note.get_by_role("button", name=button).focus()
    sight.press("Enter")
    expect(note).to_have_count(0)
    expect(pin).to_be_focused()


def test_undo_is_there_for_minutes_and_its_key_for_as_long_as_the_worker_can(
    sight: Sight, worker: Worker
) -> None:
    ref = memory(sight, worker, "tapir")
    undone = asked(sight, "/api/undo/")
    was = worker.get(f"/api/observation/{ref}")["pinned"]
    pin = sight.page.locator("main button[aria-keyshortcuts=p]")
    sight.page.clock.install()
    sight.press("p")
    expect(pin).to_have_attribute("aria-pressed", str(not was).lower())
    sight.page.clock.run_for(60_000)
    note = sight.page.locator(".toast", has=sight.page.get_by_role("button", name="Undo"))
    expect(note).to_be_visible()
    sight.page.clock.fast_forward(30 * 60_000)
    expect(note).to_have_count(0)
    sight.press("u")
    expect(pin).to_have_attribute("aria-pressed", str(was).lower())
    sight.press("p")
    expect(pin).to_have_attribute("aria-pressed", str(not was).lower())
    sight.page.clock.fast_forward(61 * 60_000)
    sight.press("u")
    all_is_asked(sight)
    assert len(undone) == 1
