"""What the next session would be told, and what decides it: by clicking and typing, and by real hooks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewing
from tests.browser.viewing import Sight, needs_transcripts
from tests.contract.recalling import Worker

from claude_mem.testing import hooks, payloads, workers

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


def test_what_fits_but_has_no_room_is_not_said_to_be_unfit(sight: Sight) -> None:
    sight.page.get_by_role("link", name="Context").click()
    sight.page.get_by_label("For a prompt", exact=True).fill(
        "why does the posh-git prompt string not render in pwsh any more?"
    )
    expect(sight.page.get_by_label("What the prompt would be answered with")).to_be_visible()
    expect(sight.main()).to_contain_text("70 % of the best")
    sight.page.get_by_label("Characters for a prompt").fill("100")
    expect(sight.main()).to_contain_text("needs more room than a prompt is given")


def test_in_a_narrow_window_titles_stay_readable_beside_their_scores(
    chromium: Browser, worker: Worker
) -> None:
    with viewing.context(chromium, size=viewing.NARROW) as context:
        sight = viewing.look(context, worker, "#/context?prompt=why%20does%20the%20posh-git%20prompt%20break")
        title = sight.page.get_by_label("Score parts").locator("tbody td").first
        expect(title).to_be_visible()
        box = title.bounding_box()
        assert box is not None
        assert box["width"] > 90  # not a letter a line


def _told_at_start(worker: Worker, session: str, project: str) -> str:
    began = hooks.run(worker.data, payloads.start(session, cwd=project, source="startup"))
    return str(began.json["hookSpecificOutput"]["additionalContext"])


def test_settings_that_are_kept_are_obeyed_by_the_next_session(
    context: BrowserContext, real: Path, tmp_path: Path
) -> None:
    with viewing.copied(real, tmp_path / "data") as worker:
        project = worker.get("/api/projects")["items"][0]["name"]
        assert len(_told_at_start(worker, "before", project)) > 900
        sight = viewing.look(context, worker, "#/context")
        keep = sight.page.get_by_role("button", name="Keep these settings")
        expect(keep).to_be_disabled()
        characters = sight.page.get_by_label("Characters at a session's start")
        characters.fill("900")
        sight.page.get_by_label("Tokens at a session's start, about").fill("")  # left to what holds
        keep.click()
        expect(sight.page.locator("#toasts")).to_contain_text("claude-mem worker restart")
        expect(keep).to_be_disabled()
        assert json.loads((worker.data / "settings.json").read_text()) == {
            "CLAUDE_MEM_CONTEXT_CHARACTERS": 900
        }
        text = sight.page.get_by_label("What a session is told at its start")
        expect(text).to_have_text(re.compile(r"^.{1,900}$", re.DOTALL))
        expect(characters).to_have_value("900")
        _cli(worker, "worker", "restart")
        workers.until(
            lambda: 0 < len(_told_at_start(worker, "after", project)) <= 900, "the context is rendered anew"
        )
        sight.page.goto(viewing.link(worker) + "#/context")
        expect(characters).to_have_value("900")
        expect(keep).to_be_disabled()


def test_what_the_environment_sets_is_kept_but_said_to_be_overridden(
    chromium: Browser, tmp_path: Path
) -> None:
    env = {"CLAUDE_MEM_CONTEXT_CHARACTERS": "2000"}
    with workers.running(tmp_path / "data", **env) as data, viewing.context(chromium) as context:
        worker = Worker(data)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        worker.settle()
        sight = viewing.look(context, worker, "#/context")
        sight.page.get_by_label("Characters at a session's start").fill("900")
        sight.page.get_by_role("button", name="Keep these settings").click()
        expect(sight.page.locator("#toasts")).to_contain_text(
            "the environment overrides CLAUDE_MEM_CONTEXT_CHARACTERS"
        )
        assert sight.all_that_went_wrong() == []


def test_a_size_nobody_may_set_is_refused_beside_it(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/context")
    sight.page.get_by_label("Characters at a session's start").fill("99999")
    expect(sight.main().get_by_role("alert")).to_contain_text("9900")
    sight.page.get_by_role("button", name="Keep these settings").click()
    expect(sight.main().get_by_role("alert")).to_contain_text("99")
    assert not (quiet.data / "settings.json").exists()
    sight.page.get_by_label("Characters at a session's start").fill("900")
    expect(sight.main().get_by_role("alert")).to_be_empty()
    assert [wrong for wrong in sight.all_that_went_wrong() if "400" not in wrong] == []


def test_another_project_is_another_context(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py", project="till")
    quiet.works("mill-1", "Grind finer", "src/burrs.py", project="mill")
    quiet.settle()
    sight = viewing.look(context, quiet, "#/context?project=mill")
    text = sight.page.get_by_label("What a session is told at its start")
    expect(text).to_contain_text("Grind finer")
    sight.page.get_by_label("Project").select_option("till")
    expect(text).to_contain_text("pennies")
    expect(text).not_to_contain_text("Grind finer")
    assert sight.all_that_went_wrong() == []


def test_nothing_is_told_where_nothing_is_remembered(context: BrowserContext, quiet: Worker) -> None:
    sight = viewing.look(context, quiet, "#/context")
    expect(sight.main()).to_contain_text("No project has a memory yet.")
    assert sight.all_that_went_wrong() == []


def _cli(worker: Worker, *words: str) -> None:
    env = os.environ | {"CLAUDE_MEM_DATA_DIR": str(worker.data)}
    subprocess.run([sys.executable, "-m", "claude_mem", *words], env=env, check=True, capture_output=True)
