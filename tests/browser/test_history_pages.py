"""What did we do here? Sessions, projects, files and memories, of nine real sessions, by clicking."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight, needs_transcripts
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers

from claude_mem.agents import TITLES

pytestmark = needs_transcripts


def long_session(worker: Worker) -> dict[str, Any]:
    sessions = worker.get("/api/sessions", limit=20)["items"]
    found: dict[str, Any] = max(sessions, key=lambda each: each["observations"])
    return found


def test_a_session_tells_what_it_was_about_and_all_that_happened_in_order(
    sight: Sight, worker: Worker
) -> None:
    session = long_session(worker)
    sight.go(f"#/session/{session['id']}")
    story = sight.page.locator(".story > li")
    events = worker.get(f"/api/session/{session['id']}/events", limit=200)
    assert events["total"] > 20
    expect(story).to_have_count(events["total"])
    assert [each.get_attribute("data-ref") for each in story.all()[:30]] == [
        each["ref"] for each in events["items"][:30]
    ]
    about = sight.page.get_by_label("Session summary")
    for part in ("Request", "Investigated", "Completed"):
        expect(about.locator("dt", has_text=part)).to_be_visible()
    about.locator("summary").first.click()
    expect(about.locator("details[open] li").first).to_be_visible()


def test_next_steps_are_the_last_turns_and_none_that_an_earlier_one_left(
    sight: Sight, worker: Worker
) -> None:
    project = worker.get("/api/projects")["items"][0]["name"]
    open_ = {
        each["session_id"]: each["text"] for each in worker.get("/api/project", project=project)["next_steps"]
    }
    known = [
        worker.get(f"/api/session/{each['id']}") for each in worker.get("/api/sessions", limit=20)["items"]
    ]
    planned = {
        whole["session"]["id"]: open_.get(whole["session"]["id"])
        for whole in known
        if any(each["next_steps"] for each in whole["summaries"])
    }
    assert {bool(left) for left in planned.values()} == {True, False}
    for session, left in planned.items():
        sight.go(f"#/session/{session}")
        about = sight.page.get_by_label("Session summary")
        expect(about.locator("dt", has_text="Request")).to_be_visible()
        steps = about.locator("dt", has_text="Next steps")
        expect(steps).to_have_count(1 if left else 0)
        if left:
            expect(steps.locator("+ dd")).to_have_text(left)


ANSWERS: dict[str, tuple[object, str | None]] = {
    "fields": (
        {"stdout": "one\n\ttwo", "stderr": "", "edits": [{"new": "a\nb"}], "files": ["x", "y"], "of": {}},
        "stdout\none\n\ttwo\nstderr  \nedits[0].new\na\nb\nfiles\nx\ny\nof  {}",
    ),
    "cut": ('{"stdout": "one\\ntwo \\u00e9 and then', "stdout\none\ntwo é and then …"),
    "elided": (
        '{"out": "one\n[… 7 characters elided …]\ntwo", "n": 3}',
        "out\none\n[… 7 characters elided …]\ntwo\nn  3",
    ),
    "other": ("{nothing of that sort}", None),  # as it is
    "deep": ("[" * 5_000, None),
    "many": ([[1]] * 400, None),
    "markup": ({"<b>name": "<img src=x>"}, "<b>name  <img src=x>"),
}


def test_what_a_tool_was_given_and_answered_is_read_field_by_field(
    context: BrowserContext, quiet: Worker, subtests: pytest.Subtests
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    sight = viewer_browser.look(context, quiet)
    for name, (given, read) in ANSWERS.items():
        with subtests.test(name=name):
            told = {
                "claudeSessionId": "till-1",
                "cwd": "/home/ada/shop",
                "tool_name": f"Bash-{name}",
                "tool_use_id": f"toolu_{name}",
                "tool_response": given,
            }
            assert quiet.ask("POST", "/api/sessions/observations", told)[0] in (200, 202)
            events = quiet.get("/api/session/till-1/events", limit=100)["items"]
            (use,) = [each for each in events if each.get("tool_name") == f"Bash-{name}"]
            sight.go(f"#/observation/{use['ref']}")
            is_kept = quiet.get(f"/api/observation/{use['ref']}")["tool_response"]
            expect(sight.main()).to_contain_text(f"Bash-{name}")
            came = sight.page.get_by_label("What came out")
            assert came.text_content() == (is_kept if read is None else read)
            assert sight.all_that_went_wrong() == []


def test_the_raw_text_of_a_tool_use_is_a_click_away(sight: Sight, worker: Worker) -> None:
    sight.go(f"#/session/{long_session(worker)['id']}")
    use = sight.page.locator(".story > li.evidence").first
    use.locator("summary").click()
    expect(use.locator("pre").first).to_be_visible()
    expect(use.locator("pre").first).not_to_be_empty()
    sight.page.get_by_label("raw tool uses").uncheck()
    expect(use).to_be_hidden()
    expect(sight.page.locator(".story > li.prompt").first).to_be_visible()


def test_raw_tool_uses_are_folded_until_they_are_wanted_and_that_is_remembered(
    context: BrowserContext, worker: Worker
) -> None:
    page = f"#/session/{long_session(worker)['id']}"
    sight = viewer_browser.look(context, worker, page)
    sight.page.get_by_label("raw tool uses").uncheck()
    sight.page.reload()
    expect(sight.page.locator(".story > li.prompt").first).to_be_visible()
    expect(sight.page.get_by_label("raw tool uses")).not_to_be_checked()
    expect(sight.page.locator(".story > li.evidence")).to_have_count(0)


def test_the_scrubber_plays_a_session_again(sight: Sight, worker: Worker) -> None:
    sight.go(f"#/session/{long_session(worker)['id']}")
    shown = sight.page.locator(".story > li:not([hidden])")
    everything = sight.page.locator(".story > li")
    expect(everything.first).to_be_attached()
    scrub = sight.page.get_by_label("Position in the session")
    scrub.focus()
    sight.press("Home")
    expect(shown).to_have_count(1)
    sight.press("ArrowRight", "ArrowRight")
    expect(shown).to_have_count(3)
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(r"^3 of \d+"))
    sight.page.locator("main h1").focus()
    sight.press("ArrowLeft")
    expect(shown).to_have_count(2)
    sight.page.get_by_role("button", name="Play").click()
    expect(shown).to_have_count(4)
    sight.page.get_by_role("button", name="Pause").click()
    expect(sight.page.get_by_role("button", name="Play")).to_be_visible()
    scrub.focus()
    sight.press("End")
    expect(shown).to_have_count(everything.count())


def test_the_scrubber_passes_over_what_is_left_out_of_sight(sight: Sight, worker: Worker) -> None:
    session = long_session(worker)
    events = worker.get(f"/api/session/{session['id']}/events", limit=200)["items"]
    understood = [nth for nth, each in enumerate(events, 1) if each["kind"] != "evidence"]
    assert understood[1] > 2, "there is something to pass over"
    sight.go(f"#/session/{session['id']}")
    scrub = sight.page.get_by_label("Position in the session")
    scrub.focus()
    sight.press("Home")
    sight.page.get_by_label("raw tool uses").uncheck()
    sight.page.locator("main h1").focus()
    first = next(nth for nth in understood if nth > 1)
    sight.press("ArrowRight")
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(f"^{first} of "))
    sight.press("ArrowRight", "ArrowLeft")
    expect(scrub).to_have_attribute("aria-valuetext", re.compile(f"^{first} of "))


def test_a_project_shows_its_year_its_files_and_its_sessions(sight: Sight, worker: Worker) -> None:
    sight.follow(sight.page.get_by_role("link", name="Projects"))
    project = worker.get("/api/projects")["items"][0]["name"]
    sight.follow(sight.page.locator("main").get_by_role("link", name="oh-my-posh", exact=True))
    sight.heading("oh-my-posh")
    known = worker.get("/api/project", project=project, days=371)
    expect(sight.page.locator(".heat rect.day:not(.heat-0)")).to_have_count(len(known["activity"]))
    sight.page.locator("summary", has_text="As numbers").click()
    expect(sight.page.locator("details tbody tr")).to_have_count(len(known["activity"]))
    files = sight.page.locator(".files a")
    expect(files).to_have_count(len(known["files"]))
    assert known["files"]
    path = files.first.inner_text()
    files.first.click()
    sight.heading(path)


def test_a_day_of_the_year_leads_to_what_was_done_then(sight: Sight, worker: Worker) -> None:
    project = worker.get("/api/projects")["items"][0]["name"]
    day = worker.get("/api/project", project=project, days=371)["activity"][0]
    sight.go(f"#/project/{quote(project, safe='')}")
    sight.page.locator(".heat rect.day", has_text=day["day"]).click()
    expect(sight.page.get_by_label("Since")).to_have_value(day["day"])
    expect(sight.page.locator(".hit")).to_have_count(day["observations"])


def test_open_next_steps_and_pinned_memories_are_on_the_projects_page(sight: Sight, worker: Worker) -> None:
    project = worker.get("/api/projects")["items"][0]["name"]
    worker.post("/api/memory/pin", ids=[9])
    steps = worker.get("/api/project", project=project)["next_steps"]
    sight.go(f"#/project/{quote(project, safe='')}")
    pinned = sight.page.locator("section", has=sight.page.get_by_role("heading", name="Pinned"))
    expect(pinned.locator(".line")).to_have_attribute("data-ref", "9")
    todo = sight.page.locator("section", has=sight.page.get_by_role("heading", name="Open next steps"))
    expect(todo.locator("li")).to_have_count(len(steps))


def test_a_file_tells_its_history_by_session(sight: Sight, worker: Worker) -> None:
    paths = [path for each in worker.get("/api/observations", limit=100)["items"] for path in each["files"]]
    results, path = max(
        ((worker.get("/api/file", path=path, limit=100)["results"], path) for path in dict.fromkeys(paths)),
        key=lambda found: len({each["session_id"] for each in found[0]}),
    )
    assert len({each["session_id"] for each in results}) > 1
    sight.go(f"#/file/{quote(path, safe='')}")
    sight.heading(path)
    expect(sight.page.locator(".feed > li")).to_have_count(len(results))
    expect(sight.page.locator("main h2 a")).to_have_count(len({each["session_id"] for each in results}))


def test_a_memory_tells_where_it_comes_from(sight: Sight, worker: Worker) -> None:
    memories = (
        worker.get(f"/api/observation/{each['ref']}")
        for each in worker.get("/api/observations", limit=100)["items"]
    )
    memory = next(
        each
        for each in memories
        if each["files_read"] and each["facts"] and each["branch"]
        if worker.get(f"/api/observation/{each['ref']}/provenance")["tool_uses"]
    )
    sight.go(f"#/observation/{memory['ref']}")
    sight.heading(memory["title"][:60])
    facts = sight.page.locator("section", has=sight.page.get_by_role("heading", name="Facts")).locator("li")
    assert facts.all_inner_texts() == memory["facts"]
    origin = sight.page.locator("aside")
    for said in (
        memory["branch"],
        TITLES[memory["client"]],
        memory["provider"],
        "tool use",
        "Injected into sessions",
    ):
        expect(origin).to_contain_text(said)
    sight.follow(sight.page.get_by_role("link", name=memory["files_read"][0]))
    sight.heading(memory["files_read"][0])
    sight.back()
    sight.follow(sight.page.get_by_role("link", name=re.compile("^session ")))
    expect(sight.page).to_have_url(re.compile("#/session/"))
    expect(sight.page.locator('.story > li[data-ref="' + memory["ref"] + '"]')).to_be_in_viewport()


def test_what_is_not_there_is_said(sight: Sight) -> None:
    for place in ("#/observation/99999", "#/session/nobody-knows-it"):
        sight.go(place)
        sight.heading("Not found")
        sight.go("#/projects")
        sight.heading("Projects")
    assert all("404" in wrong for wrong in sight.wrong)
    sight.wrong.clear()


def test_a_memory_tells_when_it_was_injected_and_into_what(
    context: BrowserContext, real: Path, tmp_path: Path
) -> None:
    with viewer_browser.copied(real, tmp_path / "data") as worker:
        project = worker.get("/api/projects")["items"][0]["name"]
        ref = next(each for each in _told_of(worker, project) if each.isdigit())
        sight = viewer_browser.look(context, worker, f"#/observation/{ref}")
        told = sight.page.locator("aside")
        expect(told).to_contain_text("Not yet.")
        began = hook_process.run(worker.data, payloads.start("hearkening-1", cwd=project))
        assert began.json["hookSpecificOutput"]["additionalContext"]
        workers.until(lambda: _injected(worker, ref) == 1, "it is noted that the session was told")
        sight.page.reload()
        expect(told).to_contain_text("1 time")
        expect(told.locator("li", has_text="at session start")).to_be_visible()
        sight.follow(told.get_by_role("link", name="hearkeni"))
        expect(sight.page).to_have_url(re.compile("#/session/hearkening-1$"))
        assert sight.all_that_went_wrong() == []


def _told_of(worker: Worker, project: str) -> list[str]:
    refs: list[str] = worker.post("/api/context/preview", project=project)["start"]["refs"]
    return refs


def _injected(worker: Worker, ref: str) -> int:
    return int(worker.get(f"/api/observation/{ref}/provenance")["injected_times"])


def test_a_session_page_follows_corrections_without_losing_the_place(sight: Sight, worker: Worker) -> None:
    session = long_session(worker)
    sight.go(f"#/session/{session['id']}")
    items = worker.get(f"/api/session/{session['id']}/events", limit=200)["items"]
    ref = next(each["ref"] for each in items if each["kind"] == "observation")
    line = sight.page.locator(f'.story > li[data-ref="{ref}"]')
    scrub = sight.page.get_by_label("Position in the session")
    expect(line).to_be_attached()
    scrub.focus()
    sight.press("ArrowLeft", "ArrowLeft")
    shown = sight.page.locator(".story > li:not([hidden])").count()
    asked: list[str] = []
    sight.page.on("request", lambda request: asked.append(request.url))
    for nth in range(3):
        worker.post("/api/memory/edit", id=ref, title=f"The pangolin's {nth}th title")
        expect(line).to_contain_text(f"The pangolin's {nth}th title")
    expect(sight.page.locator(".story > li:not([hidden])")).to_have_count(shown)
    assert len([url for url in asked if "/batch" in url]) == 3
    assert not [url for url in asked if "/events" in url]


def test_a_session_is_left_for_the_one_before_and_found_again(sight: Sight, worker: Worker) -> None:
    sessions = worker.get("/api/sessions", limit=20)["items"]
    wholes = [worker.get(f"/api/session/{each['id']}") for each in sessions]
    whole = next(each for each in wholes if each["previous"])
    sight.go(f"#/session/{whole['session']['id']}")
    sight.follow(sight.page.get_by_role("link", name="← Earlier"))
    expect(sight.page).to_have_url(re.compile(f"#/session/{whole['previous']['id']}$"))
    sight.follow(sight.page.get_by_role("link", name="Later →"))
    expect(sight.page).to_have_url(re.compile(f"#/session/{whole['session']['id']}$"))
