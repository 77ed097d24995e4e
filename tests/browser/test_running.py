"""What it would tell, how it is set, what it writes down: by clicking and typing."""

import json
import re

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.browser.viewing import Sight, needs_transcripts
from tests.contract.recalling import Worker

from claude_mem.testing import hooks, payloads

pytestmark = needs_transcripts


def _timeless(told: str) -> str:
    return re.sub(r"as of [-0-9]+ [0-9:]+|\d+ sessions", "", told)  # the hook began one more


def test_the_preview_is_what_a_session_is_told_and_follows_the_settings(sight: Sight, worker: Worker) -> None:
    sight.page.get_by_role("link", name="Context").click()
    project = worker.get("/api/projects")["items"][0]["name"]
    text = sight.page.get_by_label("What a session is told at its start")
    exact = worker.post("/api/context/preview", project=project)["start"]["text"]
    expect(text).to_have_text(exact)
    began = hooks.run(worker.data, payloads.start("the-next-one", cwd=project, source="startup"))
    told = began.json["hookSpecificOutput"]["additionalContext"]
    assert _timeless(told) == _timeless(exact)
    sight.page.get_by_label("Characters at a session's start").fill("900")
    expect(text).not_to_have_text(exact)
    assert len(text.inner_text()) <= 900
    again = worker.post("/api/context/preview", project=project)["start"]["text"]
    assert _timeless(again) == _timeless(exact)  # it was only a preview
    sight.page.get_by_label("Characters at a session's start").fill("0")
    expect(sight.main()).to_contain_text("It would be told nothing.")


def test_a_typed_prompt_shows_what_it_would_bring_up_and_why(sight: Sight, worker: Worker) -> None:
    sight.page.get_by_role("link", name="Context").click()
    sight.page.get_by_label("For a prompt", exact=True).fill(
        "why does the posh-git prompt string not render in pwsh any more?"
    )
    told = sight.page.get_by_label("What the prompt would be answered with")
    expect(told).to_contain_text("posh-git")
    scores = sight.page.get_by_label("Score parts")
    for part in ("words", "vectors", "relevance"):
        expect(scores.get_by_role("columnheader", name=part)).to_be_visible()
    expect(scores.locator("tbody tr", has_text="yes").first).to_be_visible()


def test_settings_are_explained_validated_and_kept(sight: Sight, worker: Worker) -> None:
    sight.page.get_by_role("link", name="Settings").click()
    row = sight.page.locator("#row-CLAUDE_MEM_EVIDENCE_DAYS")
    expect(row).to_contain_text("How many days the raw text")
    expect(row.locator(".chip")).to_have_text("default")
    value = row.get_by_label("CLAUDE_MEM_EVIDENCE_DAYS")
    value.fill("-4")
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_role("alert")).to_contain_text("36500")
    sight.wrong.clear()  # the 400 it was answered with
    value.fill("45")
    row.get_by_role("button", name="Save").click()
    expect(row.locator(".chip")).to_have_text("file")
    settings = json.loads((worker.data / "settings.json").read_text())
    assert int(settings["CLAUDE_MEM_EVIDENCE_DAYS"]) == 45
    row.get_by_role("button", name="Default").click()
    expect(row.locator(".chip")).to_have_text("default")
    assert "CLAUDE_MEM_EVIDENCE_DAYS" not in json.loads((worker.data / "settings.json").read_text())
    expect(sight.page.locator("#row-CLAUDE_MEM_PROVIDER .chip")).to_have_text("environment")


def test_a_key_can_be_set_and_never_read_back(sight: Sight, worker: Worker) -> None:
    key = "sk-never-to-be-seen-again-0123456789"
    sight.page.get_by_role("link", name="Settings").click()
    row = sight.page.locator("#row-CLAUDE_MEM_API_KEY")
    row.get_by_label("CLAUDE_MEM_API_KEY").fill(key)
    row.get_by_role("button", name="Save").click()
    expect(row.locator(".chip")).to_have_text("file")
    field = row.get_by_label("CLAUDE_MEM_API_KEY")
    expect(field).to_have_value("")
    expect(field).to_have_attribute("placeholder", "set; not shown")
    assert key in (worker.data / "settings.json").read_text()
    assert key not in sight.page.content()
    assert key not in json.dumps(worker.get("/api/settings"))


def test_the_log_is_followed_and_sifted(sight: Sight, worker: Worker) -> None:
    sight.page.get_by_role("link", name="Logs").click()
    log = sight.page.get_by_label("Log, the newest last")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("From level").select_option("ERROR")
    expect(log.locator("li.info")).to_have_count(0)
    sight.page.get_by_label("From level").select_option("DEBUG")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("With").fill("no line holds this")
    expect(log.locator("li:not([hidden])")).to_have_count(0)


def test_the_first_look_is_small(context: BrowserContext, worker: Worker) -> None:
    """Under 100 kB in total, before anything else is asked for: the page, its styles and its scripts."""
    sizes: dict[str, int] = {}
    page = context.new_page()
    page.on(
        "response",
        lambda answer: (
            sizes.update({answer.url: int(answer.headers.get("content-length", "0"))}) if answer.ok else None
        ),
    )
    page.goto(viewing.link(worker))
    expect(page.locator(".feed .line").first).to_be_visible()
    ours = {url: size for url, size in sizes.items() if "/viewer/" in url or url.endswith(f"{worker.port}/")}
    assert len(ours) > 8
    assert sum(ours.values()) < 100_000, ours
    assert all(f"127.0.0.1:{worker.port}" in url for url in sizes)
