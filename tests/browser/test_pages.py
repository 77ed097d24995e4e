"""Every page of the viewer once: opened signed in, its main thing seen, nothing wrong in the console.

Of this folder `make test` runs these alone. What they look at is made up here, so they run anywhere.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.test_xss import PAYLOADS, assert_only_text
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer

import claude_mem.serve

TITLE = "The till counts pennies"
REPLY = f"""\
<observation><type>bugfix</type><title>{TITLE}</title><facts><fact>It counted pounds.</fact></facts>
<files_modified><file>src/till.py</file></files_modified></observation>
<summary><request>Count right</request><completed>It does.</completed></summary>"""
MODEL = "claude-haiku-4-5"

PAGES = {
    "home": ("#/", "Where you left off", ".card", TITLE),
    "live": ("#/live", "Live", ".feed .line", TITLE),
    "find": ("#/find?q=pennies", "Find", ".hit", TITLE),
    "session": ("#/session/till-1", "Count right", ".story > li", TITLE),
    "projects": ("#/projects", "Projects", "main", "shop"),
    "project": ("#/project/shop", "shop", "main", "till.py"),
    "file": ("#/file/src%2Ftill.py", "src/till.py", ".feed > li", TITLE),
    "observation": ("#/observation/1", TITLE, "main li", "It counted pounds."),
    "cost": ("#/cost", "Cost", "main table", MODEL),
    "context": ("#/context?project=shop", "Context", "main pre", "Count right"),
    "team": ("#/team", "Team", "main pre", "claude-mem join"),
    "settings": ("#/settings", "Settings", "#row-CLAUDE_MEM_EVIDENCE_DAYS", "How many days"),
    "logs": ("#/logs", "Logs", ".log li", "worker"),
}
"""Where each page is, its heading, and what is to be read there."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker that has asked a model about a session."""
    with ModelServer([Say(REPLY)]) as server:
        env = workers.asking(server.url, CLAUDE_MEM_MODEL=MODEL)
        with workers.running(tmp_path_factory.mktemp("shop") / "data", **env) as data:
            worker = Worker(data)
            worker.works("till-1", "Make the till count pennies", "src/till.py")
            worker.settle()
            yield worker


@pytest.fixture(scope="module")
def tab(chromium: Browser, shop: Worker) -> Iterator[Sight]:
    with viewer_browser.context(chromium) as context:
        yield viewer_browser.look(context, shop)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_it_is_for(tab: Sight, page: str) -> None:
    tab.wrong.clear()  # of another page
    place, heading, where, said = PAGES[page]
    tab.go(place)
    tab.heading(heading)
    expect(tab.page.locator(where).filter(has_text=said).first).to_be_visible()
    expect(tab.page.locator("main .skeleton")).to_have_count(0)
    expect(tab.page.locator("#state")).to_have_text("up to date")
    assert tab.all_that_went_wrong() == []


def test_every_page_there_is_has_been_opened() -> None:
    main = (Path(claude_mem.serve.__file__).parent / "viewer/main.js").read_text()
    (pages,) = re.findall(r"const PAGES = \[(.*?)\]", main, re.DOTALL)
    assert re.findall(r'"(\w+)"', pages) == [*PAGES]


def test_what_is_remembered_is_only_ever_text(context: BrowserContext, quiet: Worker) -> None:
    """All attacks in every field of one memory. `test_xss.py` has each of them, wherever it comes from."""
    attack = " ".join(PAYLOADS)
    path = "src/<img src=x onerror=pwned=12>.py"
    quiet.works("till-1", attack, path)
    record = {
        **dict.fromkeys(("title", "subtitle", "narrative", "client", "branch"), attack),
        **{key: list(PAYLOADS) for key in ("facts", "concepts")},
        **{key: [path] for key in ("files_read", "files_modified")},
        **{"type": "discovery", "project": "shop"},
    }
    quiet.post("/api/import", records=[record])
    quiet.settle()
    refs = [each["ref"] for each in quiet.get("/api/observations")["items"]]
    sight = viewer_browser.look(context, quiet)
    places = ["", "find", "projects", "project/shop", "session/till-1", "context?project=shop"]
    for place in [*places, *(f"observation/{ref}" for ref in refs)]:
        sight.go(f"#/{place}")
        expect(sight.page.locator("main .skeleton")).to_have_count(0)
        assert_only_text(sight, place)
    assert PAYLOADS[0] in sight.main().inner_text(), "it was there to be read"
    assert sight.all_that_went_wrong() == []


def test_a_link_signs_in_once_and_who_signs_out_sees_nothing_more(
    chromium: Browser, context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    link = viewer_browser.link(quiet)
    page = context.new_page()
    page.goto(link)
    expect(page.locator("main h1")).to_have_text("Where you left off")
    expect(page.locator(".card")).to_contain_text("pennies")
    with viewer_browser.context(chromium) as another:
        refused = another.new_page().goto(link)
        assert refused is not None
        assert (refused.status, another.cookies()) == (403, [])
    page.goto(f"http://127.0.0.1:{quiet.port}/#/settings")
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.locator("body")).to_contain_text("claude-mem open")
    expect(page.locator("body")).not_to_contain_text("pennies")
    assert context.request.get(f"http://127.0.0.1:{quiet.port}/api/observations").status == 401
