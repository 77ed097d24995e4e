"""Takes the pictures of docs/viewer.md: every page, light and dark, wide and narrow, of nine real sessions.

    python -m tests.browser.screenshots docs/images [PAGE ...]

One sheet a page. The costs are those of a scripted model that was asked about the same sessions; only the
days they fell on are made up, since all nine were asked about within a minute.
"""

from __future__ import annotations

import base64
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, team_servers, workers
from tests.harness.model_script import Request, Say, Step
from tests.harness.model_server import ModelServer
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller, session_records

VIEWS = tuple((size, dark) for size in (viewer_browser.WIDE, viewer_browser.NARROW) for dark in (False, True))
SHOWN = 540  # pixels of height each view is given on its sheet
GAP = 12
MEMORY = Path("/tmp/claude-mem-pictures")  # the settings page shows it: no place of anybody's
REPLY = """\
<observation><type>change</type><title>What the turn changed</title><facts><fact>It was done.</fact></facts>\
</observation>"""
TO_THE_TOP = """(each) => scrollBy(0,
    each.getBoundingClientRect().top - document.querySelector(".top").offsetHeight - 40)"""
PROMPT = "why does the posh-git prompt string not render in pwsh any more?"
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Place:
    hash: str
    down_to: str = ""  # what is scrolled to
    key: str = ""  # what is pressed there


TEAM = {"team": Place("#/team"), "team-admin": Place("#/team", down_to="h2:text-is('Members')")}
"""Of a machine that has joined a team."""


def main(folder: Path, wanted: list[str]) -> int:
    shutil.rmtree(MEMORY, ignore_errors=True)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, MEMORY, ignore_errors=True)
        browser = stack.enter_context(_browser())
        claude = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(viewer_browser.connected(Path(claude)))
        if not set(wanted) <= TEAM.keys() or not wanted:
            worker = stack.enter_context(_remembering(MEMORY))
            _sheets(browser, worker, _places(worker), folder, wanted)
        if not wanted or TEAM.keys() & set(wanted):
            _sheets(browser, stack.enter_context(_team()), TEAM, folder, wanted)
    return 0


def _sheets(
    browser: Browser, worker: Worker, places: Mapping[str, Place], folder: Path, wanted: Sequence[str]
) -> None:
    for name, place in places.items():
        if not wanted or name in wanted:
            print(f"  {name} …", flush=True)
            _sheet(browser, worker, place, folder / f"viewer-{name}.png")


@contextmanager
def _browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=viewer_browser.CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _remembering(data: Path) -> Iterator[Worker]:
    """The nine sessions, observed offline, with what they would have cost beside them."""
    with workers.running(data):
        viewer_browser.feed(data)
        worker = Worker(data)
        worker.settle()
        project = worker.get("/api/projects")["items"][0]["name"]
        hook_process.run(data, payloads.start("the-next-one", cwd=project, source="startup"))
        hook_process.run(data, payloads.prompt(PROMPT, "the-next-one", cwd=project))
        hook_process.run(data, payloads.stop("It renders again.", "the-next-one"))
        hook_process.run(data, payloads.end("the-next-one"))
        worker.settle()
        worker.post("/api/memory/pin", ids=[5, 9])
    _charge(data / "claude-mem.db")
    with workers.running(data, CLAUDE_MEM_DAILY_TOKENS="60000"):
        yield Worker(data)


@contextmanager
def _team() -> Iterator[Worker]:
    """An admin's, with two other members; one of them has shared something."""
    url, shop = new_database(), "git.example/acme/shop"
    keys = team_servers.new_team(url, "ben", "carl")
    with team_servers.running(url) as server, tempfile.TemporaryDirectory() as folder:
        ben = Caller(server.port, keys["ben"])
        ben.post("/api/team/push", session_records("bens", shop, "The till counts in cents"))
        team_servers.grant(url, shop, "ada", "write")
        with workers.running(Path(folder) / "data"):
            worker = Worker(Path(folder) / "data")
            for project, title in (("till", "Prices are integers"), ("mill", "Grind finer in winter")):
                worker.post("/api/memory/save", text=title, title=title, project=project)
            worker.settle()
            worker.post("/api/sharing/join", url=f"http://127.0.0.1:{server.port}", key=keys["ada"])
            worker.post("/api/sharing/share", project="mill")
            worker.post("/api/sharing/exchange")
            yield worker


def _charge(path: Path) -> None:
    """What a model is sent for the same sessions, counted by four characters a token, over the last weeks."""

    def script(request: Request) -> Step:
        sent = len(str(request.body)) // 4
        return Say(
            REPLY, input_tokens=sent, cache_write_tokens=0, cached_tokens=0, output_tokens=len(REPLY) // 4
        )

    with tempfile.TemporaryDirectory() as folder, ModelServer(script) as server:
        data = Path(folder) / "data"
        env = workers.asking(server.url, CLAUDE_MEM_MODEL="claude-haiku-4-5")
        with workers.running(data, **env):
            viewer_browser.feed(data, offline=False)
            workers.settled(data)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("ATTACH ? AS asked", (str(data / "claude-mem.db"),))
            db.execute(_SPENT, {"day": DAY_MS})
            db.execute(
                "UPDATE pending_messages SET settled_at_epoch = (SELECT MAX(created_at_epoch) FROM spending)"
            )


_SPENT = """
INSERT INTO spending (session_id, project, provider, model, input_tokens, cached_tokens, output_tokens,
                      cost_usd, created_at, created_at_epoch)
SELECT ours.id, s.project, s.provider, s.model, s.input_tokens, s.cached_tokens, s.output_tokens, s.cost_usd,
       STRFTIME('%Y-%m-%dT%H:%M:%fZ', (s.created_at_epoch - ago * :day) / 1000.0, 'unixepoch'),
       s.created_at_epoch - ago * :day
FROM (SELECT *, (id * 7) % 23 AS ago FROM asked.spending) AS s
JOIN asked.sdk_sessions AS theirs ON theirs.id = s.session_id
JOIN sdk_sessions AS ours USING (claude_session_id)
"""


def _places(worker: Worker) -> dict[str, Place]:
    project = quote(worker.get("/api/projects")["items"][0]["name"], safe="")
    sessions = worker.get("/api/sessions", limit=20)["items"]
    longest = max(sessions, key=lambda each: each["observations"])
    session, context = f"#/session/{longest['id']}", f"#/context?prompt={quote(PROMPT)}"
    return {
        "home": Place("#/"),
        "live": Place("#/live"),
        "find": Place("#/find?q=posh-git%20prompt"),
        "session": Place(session),
        "replay": Place(session, down_to=".scrub"),
        "project": Place(f"#/project/{project}"),
        "projects": Place("#/projects"),
        "file": Place(f"#/file/{quote('website/docs/segments/scm/git.mdx', safe='')}"),
        "observation": Place("#/observation/5"),
        "forget": Place("#/observation/5", key="#"),
        "cost": Place("#/cost"),
        "context": Place(context),
        "why": Place(context, down_to="#for-prompt"),
        "settings": Place("#/settings"),
        "logs": Place("#/logs"),
    }


def _sheet(browser: Browser, worker: Worker, place: Place, path: Path) -> None:
    views = [(size, _look(browser, worker, place, size=size, dark=dark)) for size, dark in VIEWS]
    widths = [round(size[0] * SHOWN / size[1]) for size, _ in views]
    page = browser.new_page(viewport={"width": sum(widths) + GAP * (len(views) - 1), "height": SHOWN})
    pictures = "".join(
        f'<img width="{width}" height="{SHOWN}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        for width, (_, png) in zip(widths, views, strict=True)
    )
    page.set_content(
        f'<body style="margin:0;background:#888"><div style="display:flex;gap:{GAP}px">{pictures}</div>'
    )
    page.screenshot(path=path)
    page.close()


def _look(browser: Browser, worker: Worker, place: Place, *, size: tuple[int, int], dark: bool) -> bytes:
    with viewer_browser.context(browser, size=size, dark=dark, still=True) as context:
        sight = viewer_browser.look(context, worker, place.hash)
        _rested(sight.page)
        if place.down_to:
            sight.page.locator(place.down_to).evaluate(TO_THE_TOP)
        if place.key:
            sight.press(place.key)
            expect(sight.page.get_by_role("dialog")).to_be_visible()
        assert sight.all_that_went_wrong() == []
        return sight.page.screenshot()


def _rested(page: Page) -> None:
    """All that the page asked for is there; the stream alone goes on."""
    expect(page.locator("#state")).to_have_text("up to date")
    expect(page.locator("main .skeleton")).to_have_count(0)
    shown = page.locator("main :is(.card, .line, .hit, .story li, table, pre, form.setting, .log li)")
    expect(shown.filter(visible=True).first).to_be_visible()


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2:]))
