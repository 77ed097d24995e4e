"""What memory costs, told by plots and by tables: a worker that has asked a model, and has a budget."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import workers
from tests.harness.model_script import Request, Say, Step
from tests.harness.model_server import ModelServer

MODEL = "claude-haiku-4-5"
REPLY = """\
<observation><type>bugfix</type><title>The till counts pennies</title>
<facts><fact>It counted pounds.</fact></facts></observation>
<summary><request>Count right</request><completed>It does.</completed></summary>"""


@pytest.fixture(scope="module")
def paying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker that has asked a model, and has a budget."""

    def script(request: Request) -> Step:
        return Say(REPLY)

    with ModelServer(script) as server:
        env = workers.asking(server.url, CLAUDE_MEM_MODEL=MODEL, CLAUDE_MEM_DAILY_TOKENS="50000")
        with workers.running(tmp_path_factory.mktemp("paying") / "data", **env) as data:
            worker = Worker(data)
            for nth in range(3):
                worker.works(f"till-{nth}", f"Count pennies, {nth}", "src/till.py")
                worker.settle()
            yield worker


def test_cost_is_told_by_plots_and_by_tables(context: BrowserContext, paying: Worker) -> None:
    sight = viewer_browser.look(context, paying, "#/cost")
    cost = paying.get("/api/cost", days=30)
    assert cost["total"]["calls"] == 3
    plot = sight.page.get_by_role("img", name="Tokens by day")
    expect(plot.locator("rect.one")).to_have_count(sum(1 for day in cost["by_day"] if day["input_tokens"]))
    models = sight.page.locator("section", has=sight.page.get_by_role("heading", name="By model"))
    expect(models.locator("tbody tr")).to_have_count(1)
    expect(models).to_contain_text(MODEL)
    expect(models).to_contain_text(f"{cost['total']['input_tokens']:,}")
    expect(sight.page.locator(".tile", has_text="Today")).to_contain_text("50.0 k tokens")
    expect(sight.main()).to_contain_text(cost["batching"]["explained"])
    sight.page.get_by_label("Period").select_option("7")
    expect(sight.page).to_have_url(re.compile("days=7"))
    expect(sight.page.get_by_role("img", name="Tokens by day").locator("g")).to_have_count(7)
    assert sight.all_that_went_wrong() == []


def test_the_numbers_of_each_plot_are_in_tables(context: BrowserContext, paying: Worker) -> None:
    paying.told("SessionStart", session_id="asks-1", cwd="/home/ada/shop", source="startup")
    sight = viewer_browser.look(context, paying, "#/cost")
    cost = paying.get("/api/cost", days=30)
    for title, rows, first in (
        ("By model", cost["by_model"], MODEL),
        ("By project", cost["by_project"], "shop"),
        ("By day", [each for each in cost["by_day"] if each["calls"]], cost["by_day"][-1]["day"]),
    ):
        table = sight.page.get_by_role("group", name=title)
        expect(table.locator("tbody tr")).to_have_count(len(rows))
        expect(table.locator("tbody td").first).to_have_text(first)
        for name in ("Calls", "Input", "Cached", "Output", "Spent"):
            expect(table.get_by_role("columnheader", name=name)).to_be_visible()
        expect(table.locator("tbody")).to_contain_text(f"{cost['total']['output_tokens']:,}")
    sight.follow(sight.page.get_by_role("group", name="By project").get_by_role("link", name="shop"))
    sight.heading("shop")
    assert sight.all_that_went_wrong() == []


def test_a_day_is_read_off_its_bar(context: BrowserContext, paying: Worker) -> None:
    sight = viewer_browser.look(context, paying, "#/cost?days=7")
    today = paying.get("/api/cost", days=7)["by_day"][-1]
    bar = sight.page.get_by_role("img", name="Tokens by day").locator("g", has_text=today["day"])
    expect(bar.locator("title")).to_contain_text(f"input {today['input_tokens']:,}")
    sight.page.get_by_label("Project", exact=True).select_option("shop")
    expect(sight.page).to_have_url(re.compile("project=shop"))
    expect(sight.page.locator(".tile", has_text="Spent")).to_contain_text("3 calls")


@pytest.mark.parametrize(
    ("budget", "said"), [("50000", "daily budget 50.0 k, above this scale"), ("20", "daily budget 20")]
)
def test_the_budget_is_a_line_across_the_plot_unless_it_is_above_its_scale(
    chromium: Browser, tmp_path: Path, budget: str, said: str
) -> None:
    def script(request: Request) -> Step:
        return Say(REPLY)

    with ModelServer(script) as server, viewer_browser.context(chromium) as context:
        limits = {"CLAUDE_MEM_DAILY_TOKENS": budget, "CLAUDE_MEM_DAILY_USD": "0"}
        env = workers.asking(server.url, CLAUDE_MEM_MODEL=MODEL, **limits)
        with workers.running(tmp_path / "data", **env) as data:
            worker = Worker(data)
            worker.works("till-1", "Count pennies", "src/till.py")
            worker.settle()
            sight = viewer_browser.look(context, worker, "#/cost")
            plot = sight.page.get_by_role("img", name="Tokens by day")
            figure = sight.page.locator("figure", has=plot)
            expect(figure.locator(".legend")).to_contain_text(said)  # not on a bar, where nobody can read it
            expect(plot).not_to_contain_text("budget")
            if "above" in said:
                expect(plot.locator("line.limit")).to_have_count(0)
            else:
                line, frame = plot.locator("line.limit").bounding_box(), plot.bounding_box()
                assert line is not None
                assert frame is not None
                assert frame["y"] <= line["y"] < frame["y"] + frame["height"]
                assert line["width"] > frame["width"] / 2
            expect(sight.page.get_by_role("img", name="Dollars by day").locator(".limit")).to_have_count(0)


def test_nothing_spent_is_said_in_words(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet, "#/cost")
    expect(sight.main()).to_contain_text("Tokens by day: nothing in this period.")
    expect(sight.main()).to_contain_text("no model was used")
    assert sight.all_that_went_wrong() == []


def test_all_that_was_sent_and_answered_is_in_sight_in_tiles_and_tables(
    chromium: Browser, tmp_path: Path
) -> None:
    def script(request: Request) -> Step:
        return Say(REPLY, input_tokens=3_000, cache_write_tokens=0, cached_tokens=400, output_tokens=200)

    with (
        ModelServer(script) as server,
        viewer_browser.context(chromium, size=viewer_browser.NARROW) as context,
    ):
        env = workers.asking(server.url, CLAUDE_MEM_MODEL=MODEL)
        with workers.running(tmp_path / "data", **env) as data:
            worker = Worker(data)
            worker.works("till-1", "Count pennies", "src/till.py")
            worker.settle()
            spent = f"${worker.get('/api/cost')['total']['cost_usd']:.4f}"  # as the command line says it
            sight = viewer_browser.look(context, worker, "#/cost")
            for name, said in (
                ("Spent", spent),
                ("Input", "3,000tokens, plus 400 cached"),
                ("Output", "200tokens"),
                ("Today", "3,600tokens"),
            ):
                expect(sight.page.locator(".tile", has_text=name)).to_contain_text(said)
            for title in ("By model", "By project", "By day"):
                table = sight.page.get_by_role("group", name=title)
                expect(table.locator("td").last).to_have_text(spent)
                assert table.evaluate("each => each.scrollWidth <= each.clientWidth"), title
            assert sight.all_that_went_wrong() == []


def test_a_choice_is_walked_through_by_keyboard(context: BrowserContext, paying: Worker) -> None:
    sight = viewer_browser.look(context, paying, "#/cost?days=7")
    over = sight.page.get_by_label("Period")
    over.focus()
    for days in ("30", "90"):
        sight.press("ArrowDown")
        expect(sight.page).to_have_url(re.compile(f"days={days}"))
        expect(sight.page.get_by_role("img", name="Tokens by day").locator("g")).to_have_count(int(days))
        expect(over).to_be_focused()
        expect(over).to_have_value(days)
    assert sight.all_that_went_wrong() == []


def test_the_budget_is_that_of_all_projects(context: BrowserContext, paying: Worker) -> None:
    sight = viewer_browser.look(context, paying, "#/cost?project=shop")
    plot = sight.page.get_by_role("img", name="Tokens by day")
    expect(plot.locator("rect.one")).to_have_count(1)
    expect(sight.page.get_by_text("daily budget")).to_have_count(0)
    expect(sight.page.locator(".tile", has_text="Today")).to_contain_text("all projects")
    sight.page.get_by_label("Project", exact=True).select_option("")
    expect(sight.page.get_by_text("daily budget")).to_have_count(2)  # of tokens and of dollars
    for budget in sight.page.get_by_text("daily budget").all():
        expect(budget).to_be_visible()
    expect(sight.page.locator(".tile", has_text="Today")).not_to_contain_text("all projects")


def test_an_axis_says_no_number_twice(context: BrowserContext, paying: Worker) -> None:
    sight = viewer_browser.look(context, paying, "#/cost")
    for name in ("Tokens by day", "Dollars by day"):
        said = sight.page.get_by_role("img", name=name).locator("text[text-anchor=end].axis")
        expect(said).to_have_count(3)
        assert len(set(said.all_text_contents())) == 3, said.all_text_contents()


def test_numbers_are_said_in_the_pages_language_whatever_the_browsers(
    chromium: Browser, paying: Worker
) -> None:
    said = {
        "number(1234567)": "1,234,567",
        "short(9999)": "9,999",
        "short(50000)": "50.0 k",
        "short(999_499)": "999 k",
        "short(999_950)": "1.00 M",
        "short(12_345_678)": "12.3 M",
        "money(1234.5)": "$1,234.50",
        "money(0.12)": "$0.12",
        "money(0.00083)": "$0.0008",
        "money(0.00001)": "< $0.0001",
        "money(0)": "$0",
        "dollars(0.005)": "$0.005",
        "date(0)": "1 Jan 1970",
    }
    context = chromium.new_context(locale="de-DE", timezone_id="UTC")
    sight = viewer_browser.look(context, paying, "#/cost")
    for call, words in said.items():
        assert sight.page.evaluate(f"import('/viewer/words.js').then((words) => words.{call})") == words, call
    context.close()
