"""What the next session would be told, and what decides it: by clicking and typing, and by real hooks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, needs_transcripts
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers

pytestmark = needs_transcripts


def _timeless(told: str) -> str:
    return re.sub(r"as of [-0-9]+ [0-9:]+|\d+ sessions", "", told)  # the hook began one more


def test_the_preview_is_what_a_session_is_told_and_follows_the_settings(sight: Sight, worker: Worker) -> None:
    sight.follow(sight.page.get_by_role("link", name="Context"))
    project = worker.get("/api/projects")["items"][0]["name"]
    text = sight.page.get_by_label("Injected at session start")
    exact = worker.post("/api/context/preview", project=project)["start"]["text"]
    expect(text).to_have_text(exact)
    began = hook_process.run(worker.data, payloads.start("the-next-one", cwd=project, source="startup"))
    told = began.json["hookSpecificOutput"]["additionalContext"]
    assert _timeless(told) == _timeless(exact)
    sight.page.get_by_label("Characters at session start").fill("900")
    expect(text).not_to_have_text(exact)
    assert len(text.inner_text()) <= 900
    again = worker.post("/api/context/preview", project=project)["start"]["text"]
    assert _timeless(again) == _timeless(exact)  # it was only a preview
    sight.page.get_by_label("Characters at session start").fill("0")
    expect(sight.main()).to_contain_text("Nothing would be injected.")


def test_a_typed_prompt_shows_what_it_would_bring_up_and_why(sight: Sight, worker: Worker) -> None:
    sight.follow(sight.page.get_by_role("link", name="Context"))
    sight.page.get_by_label("With a prompt", exact=True).fill(
        "why does the posh-git prompt string not render in pwsh any more?"
    )
    told = sight.page.get_by_label("Injected with this prompt")
    colours = (
        sight.main()
        .locator("h2, h2 > label")
        .evaluate_all("all => all.map((each) => getComputedStyle(each).color)")
    )
    assert len(set(colours)) == 1  # that of a heading
    expect(told).to_contain_text("posh-git")
    scores = sight.page.get_by_label("Score parts")
    for part in ("words", "vectors", "session"):
        expect(scores.get_by_role("columnheader", name=part)).to_be_visible()
    expect(scores.locator("tbody tr", has_text="yes").first).to_be_visible()
    project = worker.get("/api/projects")["items"][0]["name"]
    hits = worker.post("/api/context/preview", project=project, prompt="posh-git prompt string")["prompt"][
        "hits"
    ]
    parts = {name for hit in hits for name in hit["parts"]}
    columns = scores.locator("th").all_text_contents()
    assert {*columns} == {"Memory", "Injected", "score", *parts}
    sight.page.get_by_text("What the columns mean").click()
    expect(sight.main().locator("dt")).to_have_text(columns[2:])
    expect(sight.main().locator("dd")).to_have_text([re.compile("[a-z]{3}")] * len(columns[2:]))


def test_a_memory_is_called_in_the_table_as_it_is_in_the_preview(sight: Sight) -> None:
    sight.go("#/context?prompt=why%20does%20the%20posh-git%20prompt%20break")
    best = sight.page.get_by_label("Score parts").locator("tbody tr", has_text="yes").first.locator("a")
    name = best.inner_text().split()[0]
    expect(sight.page.get_by_label("Injected with this prompt")).to_contain_text(f"- {name} ")
    best.click()
    expect(sight.page).to_have_url(re.compile(f"#/observation/{name[1:]}$"))


def test_what_a_start_tells_of_is_counted_by_kind_and_what_it_left_out_is_a_click_away(
    sight: Sight, worker: Worker
) -> None:
    project = worker.get("/api/projects")["items"][0]["name"]
    refs = worker.post("/api/context/preview", project=project)["start"]["refs"]
    sums = sum(ref.startswith("s") for ref in refs)
    sight.go("#/context")
    figures = sight.page.locator(".head.injected").first
    expect(figures).to_contain_text(f"{len(refs) - sums} observations")
    expect(figures).to_contain_text("1 summary" if sums == 1 else f"{sums} summaries")
    sight.follow(sight.page.get_by_role("link", name="the project's page"))
    expect(sight.page.get_by_role("heading", name="Open next steps")).to_be_visible()


def test_what_fits_but_has_no_room_is_not_said_to_be_unfit(sight: Sight) -> None:
    sight.follow(sight.page.get_by_role("link", name="Context"))
    sight.page.get_by_label("With a prompt", exact=True).fill(
        "why does the posh-git prompt string not render in pwsh any more?"
    )
    expect(sight.page.get_by_label("Injected with this prompt")).to_be_visible()
    expect(sight.main()).to_contain_text(re.compile(r"\b\d+ ?% of the best"))
    sight.page.get_by_label("Characters with a prompt").fill("100")
    expect(sight.main()).to_contain_text("do not fit within the limit for a prompt")


def test_in_a_narrow_window_titles_stay_readable_beside_their_scores(
    chromium: Browser, worker: Worker
) -> None:
    with viewer_browser.context(chromium, size=viewer_browser.NARROW) as context:
        sight = viewer_browser.look(
            context, worker, "#/context?prompt=why%20does%20the%20posh-git%20prompt%20break"
        )
        scores = sight.page.get_by_label("Score parts")
        title = scores.locator("tbody td").first
        expect(title).to_be_visible()
        row, box = scores.locator("tbody tr").first.bounding_box(), title.bounding_box()
        assert box is not None
        assert row is not None
        assert box["width"] == row["width"]  # a line of its own
        assert scores.evaluate("each => each.scrollWidth <= each.clientWidth")  # every column is in sight
        names = scores.locator("th").all_text_contents()
        said = "all => all.map((each) => getComputedStyle(each, '::before').content.split('\"')[1])"
        assert (
            scores.locator("tbody tr").first.locator("td:not(:first-child)").evaluate_all(said) == names[1:]
        )
        expect(scores.get_by_role("columnheader")).to_have_count(len(names))
        needed = "each => [each.offsetWidth, (each.style.width = 'max-content', each.offsetWidth)]"
        has, needs = sight.page.get_by_label("Project").evaluate(needed)
        assert has >= needs  # the name is not cut


def _told_at_start(worker: Worker, session: str, project: str) -> str:
    began = hook_process.run(worker.data, payloads.start(session, cwd=project, source="startup"))
    return str(began.json["hookSpecificOutput"]["additionalContext"])


def test_settings_that_are_kept_are_obeyed_by_the_next_session(
    context: BrowserContext, real: Path, tmp_path: Path
) -> None:
    with viewer_browser.copied(real, tmp_path / "data") as worker:
        project = worker.get("/api/projects")["items"][0]["name"]
        assert len(_told_at_start(worker, "before", project)) > 900
        sight = viewer_browser.look(context, worker, "#/context")
        keep = sight.page.get_by_role("button", name="Save these settings")
        expect(keep).to_be_disabled()
        characters = sight.page.get_by_label("Characters at session start")
        characters.fill("900")
        sight.page.get_by_label("Tokens at session start (approximate)").fill("")  # left to what holds
        keep.click()
        expect(sight.page.locator("#toasts")).to_contain_text("claude-mem worker restart")
        expect(keep).to_be_disabled()
        assert json.loads((worker.data / "settings.json").read_text()) == {
            "CLAUDE_MEM_CONTEXT_CHARACTERS": 900
        }
        text = sight.page.get_by_label("Injected at session start")
        expect(text).to_have_text(re.compile(r"^.{1,900}$", re.DOTALL))
        expect(characters).to_have_value("900")
        _cli(worker, "worker", "restart")
        workers.until(
            lambda: 0 < len(_told_at_start(worker, "after", project)) <= 900, "the context is rendered anew"
        )
        expect(sight.main()).to_contain_text("Exactly what is injected into a new session.")  # by itself
        sight.page.goto(viewer_browser.link(worker) + "#/context")
        expect(characters).to_have_value("900")
        expect(keep).to_be_disabled()


def test_what_is_kept_is_shown_as_kept_and_from_when_it_holds(
    context: BrowserContext, real: Path, tmp_path: Path
) -> None:
    with viewer_browser.copied(real, tmp_path / "data") as worker:
        sight = viewer_browser.look(context, worker, "#/context")
        expect(sight.main()).to_contain_text("Exactly what is injected into a new session.")
        characters = sight.page.get_by_label("Characters with a prompt")
        expect(characters).to_have_value("2400")
        characters.fill("1000")
        expect(sight.main()).to_contain_text("with these settings, which are not saved.")
        expect(characters).to_have_accessible_description("Currently 2400.")
        sight.page.get_by_role("button", name="Save these settings").click()
        for _ in ("at once", "after a reload"):
            expect(sight.main()).to_contain_text("once the worker has restarted")
            expect(sight.main()).not_to_contain_text("Exactly")
            expect(characters).to_have_value("1000")
            expect(characters).to_have_accessible_description(
                "Saved: 1000. In use until the worker restarts: 2400."
            )
            sight.page.reload()
        worker.post("/api/settings", changes={"CLAUDE_MEM_PROMPT_CHARACTERS": None})  # in another tab
        expect(characters).to_have_value("2400")
        expect(sight.main()).to_contain_text("Exactly what is injected into a new session.")
        assert sight.all_that_went_wrong() == []


def test_settings_that_cannot_be_read_keep_nobody_from_the_preview(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    (quiet.data / "settings.json").write_text("{")
    sight = viewer_browser.look(context, quiet, "#/context")
    expect(sight.page.get_by_label("Injected at session start")).to_contain_text("pennies")
    expect(sight.main().get_by_role("alert").filter(has_text="Fix the file")).to_be_visible()
    expect(sight.page.get_by_label("Characters with a prompt")).to_have_value("2400")


def test_what_the_environment_sets_is_kept_but_said_to_be_overridden(
    chromium: Browser, tmp_path: Path
) -> None:
    env = {"CLAUDE_MEM_CONTEXT_CHARACTERS": "2000"}
    with workers.running(tmp_path / "data", **env) as data, viewer_browser.context(chromium) as context:
        worker = Worker(data)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        worker.settle()
        sight = viewer_browser.look(context, worker, "#/context")
        sight.page.get_by_label("Characters at session start").fill("900")
        sight.page.get_by_role("button", name="Save these settings").click()
        expect(sight.page.locator("#toasts")).to_contain_text(
            "the environment overrides CLAUDE_MEM_CONTEXT_CHARACTERS"
        )
        characters = sight.page.get_by_label("Characters at session start")
        expect(characters).to_have_value("2000")  # it is what holds, now and after the next start
        expect(characters).to_have_accessible_description(
            re.compile("Set to 2000 by an environment variable")
        )
        assert sight.all_that_went_wrong() == []


def test_a_size_nobody_may_set_is_refused_beside_it(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/context")
    characters = sight.page.get_by_label("Characters at session start")
    alert = sight.page.locator("aside").get_by_role("alert")
    keep = sight.page.get_by_role("button", name="Save these settings")
    for size in ("99999", "-1", "1.5"):
        characters.fill(size)
        expect(alert).to_have_text("Characters at session start: a whole number from 0 to 9900.")
        expect(characters).to_have_attribute("aria-invalid", "true")
        expect(keep).to_be_disabled()
    characters.fill("900")
    expect(alert).to_be_empty()
    expect(characters).not_to_have_attribute("aria-invalid", "true")
    expect(keep).to_be_enabled()
    assert sight.all_that_went_wrong() == []


def test_another_project_is_another_context(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py", project="till")
    quiet.works("mill-1", "Grind finer", "src/burrs.py", project="mill")
    quiet.settle()
    sight = viewer_browser.look(context, quiet, "#/context?project=mill")
    text = sight.page.get_by_label("Injected at session start")
    expect(text).to_contain_text("Grind finer")
    sight.page.get_by_label("Project").select_option("till")
    expect(text).to_contain_text("pennies")
    expect(text).not_to_contain_text("Grind finer")
    assert sight.all_that_went_wrong() == []


def test_nothing_is_told_where_nothing_is_remembered(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/context")
    expect(sight.main()).to_contain_text("No projects yet.")
    assert sight.all_that_went_wrong() == []


def _cli(worker: Worker, *words: str) -> None:
    env = os.environ | {"CLAUDE_MEM_DATA_DIR": str(worker.data)}
    subprocess.run([sys.executable, "-m", "claude_mem", *words], env=env, check=True, capture_output=True)
