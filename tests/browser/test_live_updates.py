"""Watching memory form: what streams in, what is wrong, and what happens when the line breaks."""

import os
import signal
from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers
from tests.harness.model_script import Hang, Request, Say, Step
from tests.harness.model_server import ModelServer

from claude_mem.serve import control

REPLY = """\
<observation><type>bugfix</type><title>The till counts pennies</title>
<facts><fact>It counted pounds.</fact></facts></observation>
<summary><request>Count right</request><completed>It does.</completed></summary>"""


def test_what_a_session_does_appears_while_one_looks(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator(".feed .empty")).to_be_visible()
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    feed = sight.page.locator(".feed")
    expect(feed.locator(".line.prompt")).to_contain_text("Make the till count pennies")
    expect(feed.locator(".line.observation").first).to_be_visible()
    expect(feed.locator(".line.summary").first).to_be_visible()
    expect(sight.page.locator("aside")).to_contain_text("Make the till count pennies")
    expect(sight.page.locator(".feed .empty")).to_have_count(0)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    assert sight.all_that_went_wrong() == []


def test_only_the_chosen_project_is_shown(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py", project="till")
    quiet.works("mill-1", "Grind finer", "src/burrs.py", project="mill")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator(".feed")).to_contain_text("Grind finer")
    sight.page.get_by_label("Project").select_option("till")
    expect(sight.page.locator(".feed")).not_to_contain_text("Grind finer")
    quiet.works("mill-2", "Grind coarser", "src/burrs.py", project="mill")
    quiet.works("till-2", "Print receipts", "src/till.py", project="till")
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    expect(sight.page.locator(".feed")).not_to_contain_text("Grind coarser")
    assert sight.all_that_went_wrong() == []


def test_a_spinner_turns_while_the_observer_works_and_the_queue_is_told(
    context: BrowserContext, tmp_path: Path
) -> None:
    held = True

    def script(request: Request) -> Step:
        return Hang() if held else Say(REPLY)

    with ModelServer(script) as server, workers.running(tmp_path / "data", **workers.asking(server.url)):
        worker = Worker(tmp_path / "data")
        sight = viewer_browser.look(context, worker)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        server.wait_for_request()
        expect(sight.page.locator("#state .spin")).to_be_visible()
        expect(sight.page.locator("#state")).to_contain_text("observing")
        observer = sight.page.get_by_role("group", name="The observer")
        expect(observer.locator(".spin")).to_be_visible()
        expect(observer).to_contain_text("working")
        expect(observer).to_contain_text("events, the oldest")
        held = False
        server.release()
        control.stop(worker.data)
    assert sight.violations() == []


def test_a_worker_that_goes_away_is_said_and_what_was_missed_comes_in(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator(".feed")).to_contain_text("pennies")
    control.stop(quiet.data)
    expect(sight.page.locator("#banner")).to_contain_text("Lost the connection to the worker")
    expect(sight.page.locator("#banner")).to_contain_text("claude-mem worker start")
    expect(sight.page.locator("#state")).to_contain_text("reconnecting")
    control.start(quiet.data)
    quiet.works("till-2", "Print receipts", "src/till.py")
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    expect(sight.page.locator("#banner")).to_be_empty()
    expect(viewer_browser.prompts(sight)).to_have_text(
        ["Print receipts", "Make the till count pennies"]
    )  # each once
    assert sight.violations() == []


def test_a_line_that_breaks_is_taken_up_where_it_broke_off(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    asked = viewer_browser.asked_since(sight)
    context.set_offline(True)
    sight.page.evaluate(
        "document.dispatchEvent(new Event('visibilitychange'))"
    )  # as after sleep: it connects anew
    expect(sight.page.locator("#banner")).to_contain_text("Lost the connection to the worker")
    quiet.works("till-2", "Print receipts", "src/till.py")
    quiet.settle()
    context.set_offline(False)
    expect(sight.page.locator(".feed")).to_contain_text("Print receipts")
    assert asked
    assert all(each and each.startswith("p1-o1-") for each in asked)


def test_a_worker_that_was_killed_and_started_again_is_taken_up_where_it_broke_off(
    context: BrowserContext, quiet: Worker
) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])
    expect(sight.page.locator("#state")).to_have_text("up to date")
    asked = viewer_browser.asked_since(sight)
    (pid,) = workers.processes(quiet.data)
    os.kill(pid, signal.SIGKILL)
    expect(sight.page.locator("#banner")).to_contain_text("Lost the connection to the worker")
    control.start(quiet.data)
    quiet.works("till-2", "Print receipts", "src/till.py")
    quiet.settle()
    expect(viewer_browser.prompts(sight)).to_have_text(["Print receipts", "Make the till count pennies"])
    expect(sight.page.locator(".feed .line.summary")).to_have_count(2)
    expect(sight.page.locator("#banner")).to_be_empty()
    assert asked
    assert all(each and each.startswith("p1-o1-") for each in asked)


def test_what_arrives_while_the_list_is_on_its_way_is_in_it(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")

    def slow(route: Route) -> None:
        answer = route.fetch()
        quiet.works("till-2", "Print receipts", "src/till.py")
        expect(viewer_browser.prompts(sight)).to_have_text(["Print receipts", "Make the till count pennies"])
        sight.page.evaluate(
            "document.querySelectorAll('.feed li').forEach((each) => { each.id = 'before'; })"
        )
        route.fulfill(response=answer)

    sight.route("**/api/search?*", slow)
    with sight.page.expect_response("**/api/search?*"):
        sight.page.get_by_label("Project").select_option("shop")
    expect(sight.page.locator("#before")).to_have_count(0)
    expect(viewer_browser.prompts(sight)).to_have_text(["Print receipts", "Make the till count pennies"])


def test_a_list_that_cannot_be_had_is_said(context: BrowserContext, quiet: Worker) -> None:
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    quiet.settle()
    sight = viewer_browser.look(context, quiet)
    expect(viewer_browser.prompts(sight)).to_have_text(["Make the till count pennies"])
    context.set_offline(True)
    sight.page.get_by_label("Project").select_option("shop")
    expect(sight.page.locator("#toasts")).to_contain_text("The worker cannot be reached")


def test_the_list_stays_short_however_much_arrives(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    many = 1_000
    for start in range(0, many, 500):
        records = [
            {
                "title": f"Till {nth}",
                "narrative": f"It was number {nth}.",
                "type": "change",
                "project": "shop",
            }
            for nth in range(start, start + 500)
        ]
        quiet.post("/api/import", records=records)
    expect(sight.page.locator(".feed")).to_contain_text(f"Till {many - 1}")
    assert sight.page.locator(".feed > li").count() == 300
    assert sight.all_that_went_wrong() == []


def test_earlier_ones_are_not_offered_once_what_lies_between_is_gone(
    context: BrowserContext, quiet: Worker
) -> None:
    def arrive(name: str, count: int) -> None:
        records = [{"title": f"{name} {nth}", "narrative": "So.", "project": "shop"} for nth in range(count)]
        quiet.post("/api/import", records=records)

    arrive("Earlier", 20)
    sight = viewer_browser.listen(context, quiet, "#/live")
    earlier = sight.page.get_by_role("button", name="Earlier")
    rest = sight.page.get_by_role("link", name="Show older ones in Find")
    expect(earlier).to_be_visible()
    expect(rest).to_be_hidden()
    arrive("Till", 299)
    expect(sight.page.locator(".feed > li")).to_have_count(300)
    expect(sight.page.locator(".feed > li").last).to_contain_text("Earlier 19")
    expect(earlier).to_be_hidden()
    rest.click()
    sight.heading("Find")
    expect(sight.main().get_by_role("status")).to_contain_text("319 observations")
    assert sight.all_that_went_wrong() == []


def test_a_line_that_ends_at_once_is_no_connection(context: BrowserContext, quiet: Worker) -> None:
    """As of a worker that cannot read its database: it answers, and hangs up."""
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    sight.route("**/stream", lambda route: route.fulfill(content_type="text/event-stream", body=""))
    sight.page.evaluate("window.dispatchEvent(new Event('online'))")
    note = sight.page.locator("#banner .note")
    expect(note).to_contain_text("Lost the connection to the worker")
    note.evaluate("note => note.setAttribute('data-same', '')")
    for _ in range(2):
        with sight.page.expect_response("**/stream"):
            pass
    expect(sight.page.locator("#banner .note[data-same]")).to_be_visible()  # it did not come and go
    sight.page.unroute("**/stream")
    expect(sight.page.locator("#banner")).to_be_empty()


def test_many_corrections_at_once_are_read_in_one_question(context: BrowserContext, quiet: Worker) -> None:
    records = [{"title": f"Till {nth}", "narrative": "It is so.", "project": "shop"} for nth in range(12)]
    quiet.post("/api/import", records=records)
    sight = viewer_browser.look(context, quiet)
    lines = sight.page.locator(".feed > li[data-ref]")
    expect(lines).to_have_count(12)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    asked: list[str] = []
    sight.page.on("request", lambda request: asked.append(request.url.partition("/api/")[2]))
    quiet.post("/api/memory/pin", ids=[each.get_attribute("data-ref") for each in lines.all()])
    expect(lines.locator(".chip.pin")).to_have_count(12)
    assert [each for each in asked if each.startswith("observation")] == ["observations/batch"]


def test_a_running_session_grows_and_only_who_is_at_its_end_goes_along(
    context: BrowserContext, quiet: Worker
) -> None:
    def events() -> int:
        quiet.settle()
        return int(quiet.get("/api/session/till-1/events")["total"])

    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    one = events()
    sight = viewer_browser.look(context, quiet, "#/session/till-1")
    said = sight.page.locator("output")
    expect(said).to_contain_text(f"{one} of {one},")
    quiet.works("till-1", "Print receipts", "src/printer.py")
    two = events()
    assert two > one
    expect(said).to_contain_text(f"{two} of {two},")
    expect(sight.page.locator(".story > li.prompt .title")).to_have_text(
        ["Make the till count pennies", "Print receipts"]
    )
    expect(sight.page.get_by_label("Session summary")).to_contain_text("Print receipts")
    sight.page.locator("main h1").focus()
    sight.press("ArrowLeft", "ArrowLeft")
    expect(said).to_contain_text(f"{two - 2} of {two},")
    quiet.works("till-1", "Open the drawer", "src/drawer.py")
    expect(said).to_contain_text(f"{two - 2} of {events()},")
    expect(sight.page.locator(".story > li")).to_have_count(two - 2)
    expect(sight.page.locator("main h1")).to_be_focused()
    assert sight.all_that_went_wrong() == []


def test_a_turn_that_goes_on_is_no_backlog_and_one_that_ended_is_not_at_work(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.main()).to_contain_text("claude-mem backfill")
    hook_process.run(quiet.data, payloads.start("turning", cwd="/home/ada/lathe"))
    hook_process.run(quiet.data, payloads.prompt("Turn a leg.", "turning", cwd="/home/ada/lathe"))
    expect(sight.page.locator("#state")).to_have_text("1 event of this turn")
    expect(sight.page.locator("#state .dot.warning")).to_have_count(0)
    expect(sight.page.get_by_label("Project").locator("option", has_text="lathe")).to_be_attached()
    hook_process.run(quiet.data, payloads.stop("Turned.", "turning"))
    expect(sight.page.locator("#state")).to_have_text("up to date")
    expect(sight.page.locator("aside")).to_contain_text("between turns")
    assert sight.all_that_went_wrong() == []


def test_a_session_is_told_once_beside_the_list_which_is_the_same_when_read_anew(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    quiet.works("till-1", "Make the till count pennies", "src/till.py")
    sessions = sight.page.locator("aside .plain > li")
    expect(sessions).to_have_count(1)
    expect(sessions).to_contain_text("between turns")
    expect(sight.page.locator(".feed .line.summary")).to_have_count(1)
    quiet.settle()
    titles = sight.page.locator(".feed .title")
    shown = sorted(titles.all_text_contents())
    sight.page.reload()
    expect(titles).to_have_count(len(shown))
    assert sorted(titles.all_text_contents()) == shown
    expect(sessions).to_contain_text("shop")
    assert sight.all_that_went_wrong() == []


def test_a_reason_without_a_space_stays_in_its_panel(context: BrowserContext, quiet: Worker) -> None:
    """As the path of an interpreter is one, where no model is set up."""
    sight = viewer_browser.look(context, quiet)
    observer = sight.page.get_by_role("group", name="The observer")
    why = observer.get_by_role("row", name="Provider").locator(".meta")
    expect(why).to_be_visible()
    assert why.evaluate(
        """why => {
            why.textContent = "/opt/" + "python".repeat(20);
            const right = (each) => why.closest(each).getBoundingClientRect().right;
            return right("table") <= right(".panel");
        }"""
    )
