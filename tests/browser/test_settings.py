"""How it is set: each kind of setting, what is refused, what the environment says; keys never come out."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers


def row(sight: Sight, key: str) -> Locator:
    return sight.page.locator(f"#row-{key}")


def kept(worker: Worker) -> dict[str, object]:
    found: dict[str, object] = json.loads((worker.data / "settings.json").read_text())
    return found


@pytest.fixture
def sight(context: BrowserContext, quiet: Worker) -> Sight:
    return viewer_browser.look(context, quiet, "#/settings")


def test_settings_are_explained_validated_and_kept(sight: Sight, quiet: Worker) -> None:
    days = row(sight, "CLAUDE_MEM_EVIDENCE_DAYS")
    expect(days).to_contain_text("How many days to keep the raw input")
    expect(days.locator(".chip")).to_have_text("default")
    value = days.get_by_label("CLAUDE_MEM_EVIDENCE_DAYS")
    value.fill("-4")
    days.get_by_role("button", name="Save").click()
    expect(days.get_by_role("alert")).to_contain_text("36500")
    expect(days.get_by_role("alert")).not_to_contain_text("settings.json")  # nothing was written there
    sight.wrong.clear()  # the 400 it was answered with
    value.fill("45")
    days.get_by_role("button", name="Save").click()
    expect(days.locator(".chip")).to_have_text("file")
    settings = json.loads((quiet.data / "settings.json").read_text())
    assert int(settings["CLAUDE_MEM_EVIDENCE_DAYS"]) == 45
    days.get_by_role("button", name="Default").click()
    expect(days.locator(".chip")).to_have_text("default")
    expect(sight.page.locator("#toasts")).to_contain_text("CLAUDE_MEM_EVIDENCE_DAYS is reset to its default.")
    assert "CLAUDE_MEM_EVIDENCE_DAYS" not in json.loads((quiet.data / "settings.json").read_text())
    expect(sight.page.locator("#row-CLAUDE_MEM_PROVIDER .chip")).to_have_text("environment")


def test_what_names_a_program_an_address_or_a_key_is_shown_with_the_command_that_changes_it(
    context: BrowserContext, quiet: Worker
) -> None:
    key = "sk-never-to-be-seen-again-0123456789"
    quiet.post("/api/settings", changes={"CLAUDE_MEM_API_KEY": key})
    try:
        sight = viewer_browser.look(context, quiet, "#/settings")
        for name in (
            "CLAUDE_MEM_API_KEY",
            "CLAUDE_MEM_BASE_URL",
            "CLAUDE_MEM_CHROMA_URL",
            "CLAUDE_CODE_PATH",
        ):
            field = row(sight, name).get_by_label(name)
            expect(field).to_have_js_property("readOnly", True)
            expect(row(sight, name)).to_contain_text(f"claude-mem config set {name}")
            expect(row(sight, name).get_by_role("button")).to_have_count(0)
        field = row(sight, "CLAUDE_MEM_API_KEY").get_by_label("CLAUDE_MEM_API_KEY")
        expect(field).to_have_attribute("placeholder", "set (hidden)")
        assert key not in sight.page.content()
        assert key not in json.dumps(quiet.get("/api/settings"))
    finally:
        quiet.post("/api/settings", changes={"CLAUDE_MEM_API_KEY": None})


KINDS: list[tuple[str, str, object, str]] = [
    ("CLAUDE_MEM_LOG_LEVEL", "DEBUG", "DEBUG", "DEBUG"),  # a choice
    ("CLAUDE_MEM_DAILY_USD", "1.5", 1.5, "1.5"),  # a number
    ("CLAUDE_MEM_DAILY_TOKENS", "40000", 40_000, "40000"),  # a whole one
    ("CLAUDE_MEM_SKIP_TOOLS", "Glob, LS", ["Glob", "LS"], "Glob, LS"),  # a list
    (
        "CLAUDE_MEM_SECRET_PATTERNS",
        '{"badge": "E[0-9]{6}"}',
        {"badge": "E[0-9]{6}"},
        '{"badge":"E[0-9]{6}"}',
    ),
    ("CLAUDE_MEM_MODEL", "a-model", "a-model", "a-model"),  # words
]


def test_each_kind_is_edited_kept_and_given_back(
    sight: Sight, quiet: Worker, subtests: pytest.Subtests
) -> None:
    for key, typed, value, shown in KINDS:
        with subtests.test(key=key):
            field = row(sight, key).get_by_label(key)
            before = field.input_value()
            if field.evaluate("each => each.tagName") == "SELECT":
                field.select_option(typed)
            else:
                field.fill(typed)
            row(sight, key).get_by_role("button", name="Save").click()
            expect(row(sight, key).locator(".chip")).to_have_text("file")
            assert kept(quiet)[key] == value
            expect(field).to_have_value(shown)
            expect(field).to_be_focused()
            expect(row(sight, key)).to_contain_text("claude-mem worker restart")
            sight.page.reload()
            expect(field).to_have_value(shown)
            row(sight, key).get_by_role("button", name="Default").click()
            expect(row(sight, key).locator(".chip")).to_have_text("default")
            expect(field).to_have_value(before)
            assert key not in kept(quiet)
            assert sight.all_that_went_wrong() == []


def test_a_change_that_waits_for_a_restart_has_a_button_for_it(sight: Sight, quiet: Worker) -> None:
    before = quiet.get("/health")["pid"]
    button = sight.page.get_by_role("button", name="Restart the worker")
    expect(button).to_be_hidden()
    row(sight, "CLAUDE_MEM_LOG_LEVEL").get_by_label("CLAUDE_MEM_LOG_LEVEL").select_option("DEBUG")
    row(sight, "CLAUDE_MEM_LOG_LEVEL").get_by_role("button", name="Save").click()
    button.click()
    expect(button).to_be_hidden(timeout=60_000)
    assert quiet.get("/health")["pid"] != before
    row(sight, "CLAUDE_MEM_LOG_LEVEL").get_by_role("button", name="Default").click()
    expect(row(sight, "CLAUDE_MEM_LOG_LEVEL").locator(".chip")).to_have_text("default")
    sight.wrong.clear()  # while it was away


REFUSED = [
    ("CLAUDE_MEM_DAILY_TOKENS", "many", "a whole number"),
    ("CLAUDE_MEM_SECRET_PATTERNS", "badge", "Not valid JSON"),
    ("CLAUDE_MEM_SECRET_PATTERNS", '{"badge": "("}', "an object such as"),
]


def test_what_cannot_be_is_refused_in_words_and_not_lost(
    sight: Sight, quiet: Worker, subtests: pytest.Subtests
) -> None:
    for key, typed, said in REFUSED:
        with subtests.test(key=key, typed=typed):
            field = row(sight, key).get_by_label(key)
            field.fill(typed)
            field.press("Tab")
            row(sight, key).get_by_role("button", name="Save").click()
            expect(row(sight, key).get_by_role("alert")).to_contain_text(said)
            expect(field).to_have_value(typed)
            expect(field).to_be_focused()
            assert not (quiet.data / "settings.json").exists()


def test_the_environment_overrides_and_the_page_says_so_before_and_after(sight: Sight, quiet: Worker) -> None:
    ours = row(sight, "CLAUDE_MEM_PROVIDER")
    expect(ours.locator(".chip")).to_have_text("environment")
    expect(ours).to_contain_text("Set by an environment variable")
    ours.get_by_label("CLAUDE_MEM_PROVIDER").select_option("auto")
    ours.get_by_role("button", name="Save").click()
    expect(sight.page.locator("#toasts")).to_contain_text("the environment overrides it")
    expect(ours.locator(".chip")).to_have_text("environment")
    expect(ours.get_by_label("CLAUDE_MEM_PROVIDER")).to_have_value("offline")
    assert kept(quiet) == {"CLAUDE_MEM_PROVIDER": "auto"}
    expect(row(sight, "CLAUDE_MEM_LOG_LEVEL")).not_to_contain_text("Set by an environment variable")


def test_what_the_environment_cannot_set_is_set_here(sight: Sight) -> None:
    ours = row(sight, "CLAUDE_MEM_EXCLUDED_PROJECTS")
    expect(ours).to_contain_text("Cannot be set in the environment.")
    expect(ours).not_to_contain_text("Only in")  # it would read as if this page could not


def test_settings_stand_under_what_they_are_about(sight: Sight) -> None:
    budget = sight.page.locator("section", has=sight.page.get_by_role("heading", name="The budget"))
    expect(budget.locator("#row-CLAUDE_MEM_DAILY_USD")).to_be_visible()
    expect(budget.locator("#row-CLAUDE_MEM_LOG_LEVEL")).to_have_count(0)


def test_a_setting_changed_elsewhere_is_shown_at_once(sight: Sight, quiet: Worker) -> None:
    expect(row(sight, "CLAUDE_MEM_LOG_LEVEL").locator(".chip")).to_have_text("default")
    quiet.post("/api/settings", changes={"CLAUDE_MEM_LOG_LEVEL": "ERROR"})
    expect(row(sight, "CLAUDE_MEM_LOG_LEVEL").locator(".chip")).to_have_text("file")
    expect(sight.page.get_by_label("CLAUDE_MEM_LOG_LEVEL")).to_have_value("ERROR")


def test_saving_what_was_not_changed_loses_nothing(context: BrowserContext, quiet: Worker) -> None:
    before: dict[str, object] = {"CLAUDE_MEM_LANGUAGE": "German", "CLAUDE_MEM_SKIP_TOOLS": ["A", "B"]}
    quiet.post("/api/settings", changes=before)
    sight = viewer_browser.look(context, quiet, "#/settings")
    for key in before:
        row(sight, key).get_by_role("button", name="Save").click()
        expect(sight.page.locator("#toasts")).to_contain_text(f"{key} was not changed")
    assert kept(quiet) == before
    assert sight.all_that_went_wrong() == []


def test_every_browser_is_signed_out_at_once(
    chromium: Browser, context: BrowserContext, quiet: Worker
) -> None:
    with viewer_browser.context(chromium) as elsewhere:
        other = viewer_browser.look(elsewhere, quiet)
        viewer_browser.look(context, quiet, "#/settings").page.get_by_role(
            "button", name="Sign out everywhere"
        ).click()
        other.heading("You are signed out")
        assert elsewhere.request.get(f"http://127.0.0.1:{quiet.port}/api/status").status == 401


def test_a_value_that_cannot_be_used_is_said_at_the_top_and_beside_the_setting(
    context: BrowserContext, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "settings.json").write_text('{"CLAUDE_MEM_LOG_LEVEL": "LOUD", "CLAUDE_MEM_PORTT": 1}')
    with workers.running(data):
        sight = viewer_browser.look(context, Worker(data), "#/settings")
        note = sight.page.locator(".note.warning")
        expect(note).to_contain_text("CLAUDE_MEM_LOG_LEVEL")
        expect(note).to_contain_text("CLAUDE_MEM_WORKER_PORT")
        expect(row(sight, "CLAUDE_MEM_LOG_LEVEL").get_by_role("alert")).to_contain_text("LOUD")
        expect(sight.page.get_by_label("CLAUDE_MEM_LOG_LEVEL")).to_have_value("INFO")
        assert sight.all_that_went_wrong() == []
