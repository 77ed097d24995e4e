"""What becomes of an answer that does not arrive whole."""

from playwright.sync_api import Route, expect
from tests.browser.viewer_browser import Sight

# The worker's own answer, left just when it begins to arrive.
LEFT = """async () => {
    const { get } = await import("/viewer/api.js");
    const leaving = new AbortController(), ask = window.fetch;
    window.fetch = async (...asked) => { const got = await ask(...asked); leaving.abort(); return got; };
    return get("/api/observations", { limit: 100 }, leaving.signal)
        .then(() => "answered", (error) => error.name)
        .finally(() => { window.fetch = ask; });
}"""


def test_an_answer_that_is_left_while_it_arrives_is_none(sight: Sight) -> None:
    """It was taken for an empty one, and the page left stumbled over that."""
    assert sight.page.evaluate(LEFT) == "AbortError"


def test_half_an_answer_is_said_to_be_none(sight: Sight) -> None:
    def cut(route: Route) -> None:
        route.fulfill(status=200, content_type="application/json", body=route.fetch().text()[:40])

    sight.route("**/api/cost?*", cut)
    sight.go("#/cost")
    expect(sight.main()).to_contain_text("The worker cannot be reached.")
    sight.page.unroute_all()
