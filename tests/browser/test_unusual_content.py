"""What is long, foreign, many or missing is shown as well as the rest, in a narrow window too."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import NARROW, WIDE
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers

DEEP = "/srv/" + "/".join(f"a-department-of-some-length-{nth}" for nth in range(8)) + "/the-service"
TITLES = (
    "Ein sehr langer Titel, " * 9,  # 207 characters, cut to 200
    "x" * 200,  # without a place to break it
    "日本語の題名です。" * 20,
    "\u202eevil\u202c مرحبا بالعالم 👩‍👩‍👧‍👦 naïve",
)
FILES = [f"src/part-{nth}/a-module-with-quite-a-long-name-{nth}.py" for nth in range(50)]
PLACES = (
    "#/",
    "#/live",
    "#/find",
    "#/find?project={key}",
    "#/projects",
    "#/project/{key}",
    "#/session/{session}",
    "#/observation/{ref}",
    "#/observation/{many}",
    "#/file/{file}",
    "#/cost",
    "#/context?project={key}",
)


CUT_OFF = """() => [...document.querySelectorAll("main *")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !each.closest(".wide, .unseen, pre, svg"); })
    .map((each) => each.outerHTML.slice(0, 120))"""


@dataclass(frozen=True)
class Odd:
    worker: Worker
    named: dict[str, str]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Odd]:
    with workers.running(tmp_path_factory.mktemp("odd") / "data") as data:
        worker = Worker(data)
        session = f"team/alpha 50%2F off? #é {'s' * 60}"
        told = {"cwd": DEEP, "prompt_id": "p-1"}
        edits = [
            payloads.payload(
                "PostToolUse",
                session,
                **told,
                tool_name="Edit",
                tool_use_id=f"toolu_{nth}",
                tool_input={"file_path": f"{DEEP}/{path}", "old_string": "a", "new_string": "b"},
                tool_response={"filePath": f"{DEEP}/{path}"},
            )
            for nth, path in enumerate(FILES)
        ]
        begun, ended = (
            payloads.prompt("Rename the ledger's column everywhere: " + "y" * 300, session, **told),
            payloads.payload(
                "Stop",
                session,
                **told,
                last_assistant_message="Renamed the ledger's column in all fifty files.",
            ),
        )
        for payload in (begun, *edits, ended):
            assert hook_process.run(data, payload).code == 0
        worker.settle()
        (many,) = worker.get("/api/observations", session=session, limit=1)["items"]
        project = many["project"]
        refs = [
            worker.post("/api/memory/save", text=title * 3, title=title, project=project)["ref"]
            for title in TITLES
        ]
        worker.settle()
        named = {
            "key": quote(project, safe=""),
            "session": quote(session, safe=""),
            "ref": refs[1],
            "many": many["ref"],
            "file": quote(FILES[7], safe=""),
        }
        yield Odd(worker, named)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("bare") / "data") as data:
        yield Worker(data)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_sticks_out(
    chromium: Browser, odd: Odd, subtests: pytest.Subtests, size: tuple[int, int]
) -> None:
    with viewer_browser.context(chromium, size=size) as context:
        sight = viewer_browser.look(context, odd.worker)
        for place in PLACES:
            with subtests.test(place=place):
                sight.go(place.format(**odd.named))
                expect(sight.page.locator("main .skeleton")).to_have_count(0)
                expect(sight.page.locator("[aria-busy]")).to_have_count(0)
                expect(sight.page.locator("main h1")).not_to_have_text("Something went wrong")
                assert sight.page.evaluate("document.documentElement.scrollWidth") <= size[0]
                assert sight.page.evaluate(CUT_OFF) == []
                assert sight.all_that_went_wrong() == []


def test_of_many_files_and_tool_uses_a_few_are_seen_and_the_rest_unfolds(chromium: Browser, odd: Odd) -> None:
    with viewer_browser.context(chromium) as context:
        sight = viewer_browser.look(context, odd.worker, f"#/observation/{odd.named['many']}")
        for place, few in (
            (
                sight.main().locator("section", has=sight.page.get_by_role("heading", name="Files changed")),
                10,
            ),
        ):
            expect(place.locator("li a:visible")).to_have_count(few)
            place.locator("summary").click()
            expect(place.locator("li a:visible")).to_have_count(len(FILES))
        origin = sight.page.locator("aside")
        expect(origin.locator("li a:visible")).to_have_count(1)  # what was asked for
        origin.locator("summary").first.click()
        expect(origin.locator("li a:visible")).to_have_count(8 + 1)
        origin.locator("summary").nth(1).click()
        expect(origin.locator("li a:visible")).to_have_count(len(FILES) + 1)
        sight.follow(sight.page.get_by_role("link", name=FILES[49], exact=True))
        sight.heading(FILES[49])


def test_a_long_title_is_read_whole_on_its_page_and_on_its_row(chromium: Browser, odd: Odd) -> None:
    with viewer_browser.context(chromium, size=NARROW) as context:
        sight = viewer_browser.look(context, odd.worker, f"#/observation/{odd.named['ref']}")
        sight.heading("x" * 200)
        sight.go("#/find")
        row = sight.page.locator(f'.hit[data-ref="{odd.named["ref"]}"] a.title')
        expect(row).to_have_text("x" * 200)
        box = row.bounding_box()
        assert box is not None
        assert box["height"] < 30  # a row is one line, whatever it says


EMPTY = {
    "#/": "No memories yet",
    "#/live": "No memories yet",
    "#/find": "No results.",
    "#/find?q=badger": "No results for “badger”",
    "#/projects": "No projects yet.",
    "#/file/src%2Fnowhere.py": "No memories about this file.",
    "#/context": "No projects yet.",
    "#/cost": "nothing in this period",
}


def test_what_is_empty_says_so(context: BrowserContext, bare: Worker, subtests: pytest.Subtests) -> None:
    sight = viewer_browser.look(context, bare)
    for place, said in EMPTY.items():
        with subtests.test(place=place):
            sight.go(place)
            expect(sight.main()).to_contain_text(said)
            assert sight.all_that_went_wrong() == []


def test_a_list_of_sessions_is_there_once_there_is_one(chromium: Browser, quiet: Worker) -> None:
    with viewer_browser.context(chromium) as context:
        sight = viewer_browser.look(context, quiet)
        heading = sight.page.get_by_role("heading", name="Sessions")
        expect(sight.main()).to_contain_text("No memories yet")
        expect(heading).to_have_count(0)
        quiet.works("till-1", "Make the till count pennies", "src/till.py")
        expect(heading).to_be_visible()
        assert sight.all_that_went_wrong() == []


MISSING = {
    "#/observation/12": ("Not found", "No memory with id 12."),
    "#/session/nobody": ("Not found", "nobody"),
    "#/project/nobody": (
        "Not found",
        "No project named 'nobody'. To list all: claude-mem projects",
    ),
    "#/find?project=nobody": ("", "nobody"),
    "#/badger": ("Something went wrong", "badger"),
}


def test_what_is_not_there_is_said_with_a_way_on(
    context: BrowserContext, bare: Worker, subtests: pytest.Subtests
) -> None:
    sight = viewer_browser.look(context, bare)
    for place, (heading, said) in MISSING.items():
        with subtests.test(place=place):
            sight.go(place)
            expect(sight.main()).to_contain_text(said)
            if heading:
                sight.heading(heading)
                sight.follow(sight.page.get_by_role("link", name="Back to the home page"))
                sight.heading("Where you left off")
