"""What memory costs, told by plots and by tables: a worker that has asked a model, and has a budget."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewing
from tests.contract.recalling import Worker

from claude_mem.testing import workers
from claude_mem.testing.model_server import ModelServer, Request, Say, Step

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
    sight = viewing.look(context, paying, "#/cost")
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
    sight.page.get_by_label("Over").select_option("7")
    expect(sight.page).to_have_url(re.compile("days=7"))
    expect(sight.page.get_by_role("img", name="Tokens by day").locator("g")).to_have_count(7)
    assert sight.all_that_went_wrong() == []
