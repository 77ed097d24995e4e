"""The worker's log as it grows, from a level on; and the queue's length over the last day."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import workers

from claude_mem.serve import control


def test_the_log_is_followed_and_sifted(context: BrowserContext, quiet: Worker) -> None:
    sight = viewer_browser.look(context, quiet)
    sight.follow(sight.page.get_by_role("link", name="Logs"))
    log = sight.page.get_by_label("Log, newest last")
    expect(log.locator("li").first).to_be_visible()
    sight.page.get_by_label("Level").select_option("ERROR")
    said = sight.main().get_by_role("status")
    expect(said).to_have_text("No lines at level ERROR or above.")
    expect(log).to_be_hidden()
    sight.page.get_by_label("Level").select_option("DEBUG")
    expect(log.locator("li").first).to_be_visible()
    expect(said).to_contain_text("only if CLAUDE_MEM_LOG_LEVEL in the settings is DEBUG")
    sight.page.get_by_label("Level").select_option("INFO")
    expect(said).to_have_text("")
    sight.page.get_by_label("Contains").fill("no line holds this")
    expect(said).to_have_text("No lines contain “no line holds this”.")
    expect(log).to_be_hidden()
    sight.page.get_by_label("Contains").fill("")
    expect(log.locator("li").first).to_be_visible()
    assert sight.all_that_went_wrong() == []


def test_the_queue_of_the_last_day_is_plotted_and_an_alert_is_shown(
    context: BrowserContext, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with workers.running(data, CLAUDE_MEM_QUEUE_ALERT_EVENTS="1"):
        worker = Worker(data)
        for number in range(4):
            use = {"tool_name": "Read", "tool_use_id": f"t{number}", "claudeSessionId": "s1"}
            assert worker.ask("POST", "/api/sessions/observations", use)[0] == 202
        control.stop(data)
        control.start(data)  # its first sample sees them
        workers.until(lambda: bool(worker.get("/api/queue")["history"]["samples"]), "a sample is taken")
        sight = viewer_browser.look(context, worker)
        sight.follow(sight.page.get_by_role("link", name="Logs"))
        queue = sight.page.get_by_role("region", name="Queue")
        expect(queue.get_by_role("alert")).to_contain_text("CLAUDE_MEM_QUEUE_ALERT_EVENTS")
        expect(queue.get_by_role("img")).to_have_count(1)
        expect(queue.locator("figcaption")).to_contain_text("at most 4 events waiting")
        expect(queue.locator("rect.one")).to_have_count(1)
        assert sight.all_that_went_wrong() == []
