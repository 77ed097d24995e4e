"""Row 25: what memory says is only ever text. Payloads in every field, on every page."""

from collections.abc import Iterator
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers

MARK = "pwned"
PAYLOADS = (
    f"<img src=x onerror=\"window.{MARK}=1;alert('x')\">",
    f"<script>window.{MARK}=2;alert(2)</script>",
    f"<svg/onload=window.{MARK}=3>",
    f"\"><iframe srcdoc='<script>parent.{MARK}=4</script>'></iframe>",
    f"javascript:window.{MARK}=5",
    f"</textarea></title></style><script>window.{MARK}=6</script>",
    f'<a href="javascript:window.{MARK}=7">click</a>',
    f"${{window.{MARK}=8}} {{{{constructor.constructor('window.{MARK}=9')()}}}}",
    f"' onmouseover='window.{MARK}=10' style='position:fixed;inset:0'",
)
ALL = " ".join(PAYLOADS)
BRANCH = f"x'onmouseover='window.{MARK}=11"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker whose every text is an attack: what is captured, what is saved, what is imported."""
    with workers.running(tmp_path_factory.mktemp("hostile") / "data") as data:
        worker = Worker(data)
        for nth, payload in enumerate(PAYLOADS):
            worker.works(
                f"s{nth}\"'><b>{nth}", payload, f"src/{payload}.py", project=f"p{nth} {payload}"[:80]
            )
        path = "src/<img src=x onerror=pwned=12>.py"
        record = {
            "title": ALL,
            "subtitle": ALL,
            "narrative": ALL,
            "facts": list(PAYLOADS),
            "concepts": list(PAYLOADS),
            "files_read": [path, *PAYLOADS],
            "files_modified": [path],
            "type": "discovery",
            "project": "p0",
            "branch": BRANCH,
            "client": PAYLOADS[0],
        }
        worker.post("/api/import", records=[record])
        worker.post(
            "/api/memory/save",
            text=ALL,
            title=PAYLOADS[0],
            project="p0",
            files=[path],
            concepts=list(PAYLOADS),
        )
        worker.settle()
        yield worker


def places(worker: Worker) -> list[str]:
    """Every page there is, of everything there is."""

    def named(text: str) -> str:
        return quote(text, safe="")

    found = ["#/", "#/live", "#/find", "#/projects", "#/cost", "#/context", "#/settings", "#/logs"]
    found += [f"#/find?q={named(payload)}" for payload in PAYLOADS]
    found += [f"#/{named(payload)}" for payload in PAYLOADS[:2]]
    found += [f"#/project/{named(each['name'])}" for each in worker.get("/api/projects", limit=100)["items"]]
    found += [f"#/session/{named(each['id'])}" for each in worker.get("/api/sessions", limit=100)["items"]]
    for kind in ("observations", "summaries", "prompts"):
        for each in worker.get(f"/api/{kind}", limit=100)["items"]:
            found.append(f"#/observation/{each['ref']}")
            found += [f"#/file/{named(path)}" for path in each["files"][:1]]
    return found


MADE = "img, iframe, script, object, embed, style, b, base, form[action]"
LED = 'a[href^="javascript:" i], a[href^="data:" i], a[href^="http"], a[href^="//"]'


def assert_only_text(sight: Sight, place: str) -> None:
    """Nothing that was told became an element, an attribute or a script."""
    page = sight.page
    assert page.evaluate(f"window.{MARK}") is None, place
    assert page.locator(f"body :is({MADE}, [onerror], [onload], [onmouseover])").count() == 0, place
    assert page.locator(LED).count() == 0, place


def test_no_text_becomes_anything_but_text_on_any_page(context: BrowserContext, hostile: Worker) -> None:
    sight = viewer_browser.look(context, hostile)
    seen = ""
    for place in places(hostile):
        sight.go(place)
        expect(sight.page.locator("main h1")).to_be_attached()
        expect(sight.page.locator("main .skeleton")).to_have_count(0)
        if place.startswith("#/find?q="):
            expect(sight.main().get_by_role("status")).to_contain_text(
                unquote(place.removeprefix("#/find?q="))
            )
        seen += sight.page.locator("main").inner_text()
        for box in sight.page.locator("main summary").all()[:3]:
            box.click()
        assert_only_text(sight, place)
    assert sight.violations() == []
    assert [wrong for wrong in sight.wrong if "404" not in wrong and "400" not in wrong] == []
    for payload in PAYLOADS[:3]:  # the counterpart: they were there to be read
        assert payload in seen


def test_what_arrives_while_one_looks_is_text_as_well(context: BrowserContext, hostile: Worker) -> None:
    sight = viewer_browser.look(context, hostile)
    expect(sight.page.locator("#state")).to_have_text("up to date")
    hostile.works("arriving", PAYLOADS[0] + " arriving", "src/a.py", project="p0")
    expect(sight.page.locator(".feed li.new .prompt").first).to_contain_text(PAYLOADS[0])
    assert sight.page.evaluate(f"window.{MARK}") is None
    assert sight.all_that_went_wrong() == []


def test_forms_and_dialogs_hold_it_as_text(context: BrowserContext, hostile: Worker) -> None:
    ref = next(
        each["ref"]
        for each in hostile.get("/api/observations", limit=100)["items"]
        if len(each["facts"]) == len(PAYLOADS)
    )
    sight = viewer_browser.look(context, hostile, f"#/observation/{ref}")
    sight.page.get_by_role("button", name="Edit").click()
    expect(sight.page.get_by_label("Facts")).to_have_value("\n".join(PAYLOADS))
    sight.page.get_by_label("Title", exact=True).fill(PAYLOADS[1])
    sight.page.get_by_role("button", name="Save").click()
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    sight.heading(PAYLOADS[1])
    sight.page.get_by_role("button", name="Forget").click()
    expect(sight.page.get_by_role("dialog")).to_contain_text(PAYLOADS[1])
    sight.page.get_by_role("button", name="Cancel").click()
    assert sight.page.evaluate(f"window.{MARK}") is None
    assert sight.all_that_went_wrong() == []


def made(tag: str, name: str, value: str) -> str:
    return f"const e = document.createElement('{tag}'); e.{name} = '{value}'; document.body.append(e)"


def test_the_browser_itself_forbids_what_the_page_does_not_do(
    context: BrowserContext, hostile: Worker
) -> None:
    """The counterpart: with the page's own care left out, the headers still stop every one of these."""
    sight = viewer_browser.look(context, hostile)
    tries = {
        "inline script": made("script", "textContent", "window.pwned=1"),
        "markup": "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=pwned=1>')",
        "text as script": "setTimeout('window.pwned=1')",
        "style attribute": "document.body.setAttribute('style', 'color:red')",
        "elsewhere": "fetch('http://127.0.0.1:9/')",
        "picture": made("img", "src", "http://127.0.0.1:9/x.png"),
        "frame": made("iframe", "src", "http://127.0.0.1:9/"),
    }
    for name, attack in tries.items():
        before = len(sight.violations())
        sight.page.evaluate(f"async () => {{ try {{ {attack} }} catch (error) {{ }} }}")
        workers.until(lambda before=before: len(sight.violations()) > before, name)  # type: ignore[misc]
        assert sight.page.evaluate(f"window.{MARK}") is None, name
