"""What the worker says late, or is asked for while it is away."""

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Held, Unsent, all_is_heard
from tests.contracts.worker_client import Worker


def test_what_happens_before_the_first_connection_comes_in(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/projects")
    sight.route("**/stream", lambda route: route.abort())
    sight.page.reload()
    sight.go("#/live")
    expect(sight.main()).to_contain_text("No memories yet")
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight.page.unroute_all()
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])


def test_what_happens_before_a_tab_is_first_looked_at_is_in_it(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet, "#/projects")
    sight.page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => !window.isSeen })")
    sight.page.reload()  # as a link that is opened in the background
    sight.go("#/live")
    expect(sight.main()).to_contain_text("No memories yet")
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight.page.evaluate("window.isSeen = true; document.dispatchEvent(new Event('visibilitychange'))")
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])


def test_a_setting_that_was_kept_can_be_set_back_in_the_preview(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/context")
    tokens = sight.page.get_by_label("Tokens at session start")
    expect(tokens).not_to_have_value("")
    was = tokens.input_value()
    for nth, value in enumerate(("700", was), start=1):
        tokens.fill(value)
        sight.page.get_by_role("button", name="Save these settings").click()
        expect(sight.page.locator(".toast", has_text="Saved.")).to_have_count(nth)
        assert kept(quiet, "CLAUDE_MEM_CONTEXT_TOKENS") == int(value)


def kept(worker: Worker, key: str) -> object:
    return next(each["value"] for each in worker.get("/api/settings")["settings"] if each["key"] == key)


def test_what_is_typed_into_a_setting_outlasts_what_is_set_elsewhere(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet, "#/settings")
    typed = sight.page.locator("#value-CLAUDE_MEM_CONTEXT_TOKENS")
    typed.fill("1234")
    typed.blur()
    quiet.post("/api/settings", changes={"CLAUDE_MEM_PROMPT_CHARACTERS": 777})
    expect(sight.page.locator("#value-CLAUDE_MEM_PROMPT_CHARACTERS")).to_have_value("777")
    expect(typed).to_have_value("1234")


def test_what_is_typed_while_a_setting_is_saved_is_not_lost(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/settings")
    tokens = sight.page.locator("#value-CLAUDE_MEM_CONTEXT_TOKENS")
    tokens.fill("1234")
    held = Held(sight, "**/api/settings")
    tokens.press("Enter")
    held.wait()
    tokens.fill("12345")
    with sight.page.expect_response(lambda answer: answer.request.method == "GET"):
        held.let_go()
    all_is_heard(sight)
    expect(tokens).to_have_value("12345")
    expect(tokens).to_be_focused()


def test_a_refusal_is_told_also_to_who_went_on(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/settings")
    tokens = sight.page.locator("#value-CLAUDE_MEM_CONTEXT_TOKENS")
    tokens.fill("many")
    held = Held(sight, "**/api/settings")
    tokens.press("Enter")
    held.wait()
    sight.go("#/projects")
    sight.heading("Projects")
    held.let_go()
    expect(sight.page.locator("#toasts")).to_contain_text("CONTEXT_TOKENS")


def test_the_log_goes_on_after_it_could_not_be_had(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/logs")
    log = sight.page.get_by_label("Log, newest last")
    expect(log.locator("li").first).to_be_visible()
    unsent = Unsent(sight, "**/api/logs?*")
    unsent.wait()
    sight.page.get_by_label("Level").select_option("DEBUG")
    unsent.wait(2)
    unsent.drop()
    expect(sight.page.get_by_role("alert")).to_contain_text("cannot be reached")
    unsent.let_go()
    expect(log.locator("li").first).to_be_visible()
    quiet.post("/api/settings", changes={"CLAUDE_MEM_PROMPT_CHARACTERS": 777})
    expect(log).to_contain_text("settings changed: CLAUDE_MEM_PROMPT_CHARACTERS")


def test_a_banner_that_was_answered_does_not_come_back(context: BrowserContext, quiet: Worker) -> None:
    quiet.post("/api/recording", paused=True)
    sight = viewer_browser.look(context, quiet, "#/projects")
    again = sight.page.get_by_role("button", name="Resume recording")
    expect(again).to_be_visible()
    held = Held(sight, "**/api/status", lambda said: said["recording"] != "on")
    quiet.post("/api/settings", changes={"CLAUDE_MEM_PROMPT_CHARACTERS": 777})
    held.wait()
    again.click()
    expect(again).to_have_count(0)
    held.let_go()
    expect(again).to_have_count(0)


def test_how_a_session_stands_is_not_taken_from_an_older_answer(
    context: BrowserContext, quiet: Worker
) -> None:
    named = {"claudeSessionId": "till-1", "project": "shop", "cwd": "/home/ada/shop"}
    quiet.ask("POST", "/api/sessions/init", named | {"prompt": "Make the till count pennies"})
    sight = viewer_browser.look(context, quiet, "#/projects")
    expect(sight.page.locator("#state")).to_contain_text("of this turn")
    held = Held(sight, "**/api/search?*")
    with sight.page.expect_response("**/api/sessions?*"):
        sight.go("#/live")
    held.wait()
    stands = sight.page.locator("aside li", has_text="pennies").locator(".meta")
    quiet.ask("POST", "/api/sessions/summarize", named | {"last_assistant_message": "Done."})
    expect(stands).to_contain_text("between turns")
    held.let_go()
    expect(sight.page.locator(".feed .line.prompt")).to_be_visible()
    expect(stands).to_contain_text("between turns")


def test_more_than_a_hundred_corrections_are_seen_in_a_session(
    context: BrowserContext, quiet: Worker
) -> None:
    refs = [
        quiet.post("/api/memory/save", text=f"Gauge {nth}.", title=f"Gauge {nth}", project="shop")["ref"]
        for nth in range(110)
    ]
    session = quiet.get(f"/api/observation/{refs[0]}")["session_id"]
    sight = viewer_browser.look(context, quiet, f"#/session/{session}")
    expect(sight.page.locator(".story li")).to_have_count(110)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    quiet.post("/api/memory/pin", ids=refs, pinned=True)
    expect(sight.page.locator(".story .chip.pin")).to_have_count(110)
