"""Measures the viewer's page with 100,000 observations and with 100, in a real Chromium.

    python benchmarks/viewer_page.py          some minutes
    python benchmarks/viewer_page.py --quick  10,000

Both are made as in `viewer.py`, each with a worker of its own, and looked at in turn, each time by a browser
that knows nothing yet. A task is what keeps the page from answering a key: the longest is read from the
browser's own trace. From key to results includes the 90 ms in which the page waits for another key. The
session is one of 5,000 tool uses beside one of 20.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from tests.harness import workers

import synthetic_store
from claude_mem.hook import paths
from claude_mem.serve import control
from measure import machine, table
from synthetic_store import NOW, Words, say

PROJECT = "p1"
TYPED = "session cache"
SESSION = "of-many-uses"
MOST_RATIO = 3.0
"""How many times what 100 observations cost may 100,000."""
MOST_BYTES = 100_000
"""Of the first page, all that is fetched for it."""
SESSION_RATIO = 8.0
"""How many times what a session of 20 tool uses costs at a stroke may one of 5,000."""
OF_A_SESSION = ("longest task of a session, ms", "longest task while scrubbing, ms")
UNJUDGED = ("until all of a session is there, ms",)  # there is 250 times as much of it
TRACED = ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"]

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A worker's memory, and what was measured of it, round by round."""

    data: Path
    rounds: list[Figures] = field(default_factory=list)

    def median(self, what: str) -> float:
        return statistics.median(each[what] for each in self.rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="keep what is made here, and use it again")
    given = parser.parse_args()
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        sys.exit("chromium is not installed; make browser installs it")
    size = 20_000 if given.quick else 200_000
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        words = Words.read()
        few, many = (
            _data_set((given.data or Path(folder)) / f"viewer-{count}", words, count, uses)
            for count, uses in ((200, 20), (size, 5_000))
        )
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with _running(few), _running(many):
            for turn in range(given.rounds):
                say(f"round {turn + 1} …")
                for data_set in (few, many):
                    data_set.rounds.append(_looked_at(browser, data_set.data))
        browser.close()
    return report(few, many)


def report(few: DataSet, many: DataSet) -> int:
    rows, missed = [], False
    for what in few.rounds[0]:
        before, after = few.median(what), many.median(what)
        if what in UNJUDGED:
            most, target = math.inf, ""
        elif "bytes" in what:
            most, target = MOST_BYTES, f"{MOST_BYTES:,}"
        elif what in OF_A_SESSION:
            most, target = SESSION_RATIO * before, f"{SESSION_RATIO:.0f}x"
        else:
            most, target = MOST_RATIO * before, f"{MOST_RATIO:.0f}x"
        missed |= after > most
        rows.append((what, f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.1f}x", target))
    print(f"{machine()}\n")
    print(table(("in the browser", "100", "100,000", "ratio", "at most"), rows))
    return 1 if missed else 0


def _data_set(data: Path, words: Words, size: int, uses: int) -> DataSet:
    synthetic_store.make(data, words, size)
    with closing(sqlite3.connect(data / paths.DATABASE)) as db, db:
        if db.execute("SELECT 1 FROM sdk_sessions WHERE claude_session_id = ?", (SESSION,)).fetchone():
            return DataSet(data)
        (project,) = db.execute("SELECT id FROM projects WHERE name = ?", (PROJECT,)).fetchone()
        session = db.execute(
            "INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, created_at,"
            " created_at_epoch, updated_at, updated_at_epoch)"
            " VALUES (?,?,?,'completed','claude-code','',?,'',?)",
            (SESSION, PROJECT, project, NOW - uses * 1000, NOW),
        ).lastrowid
        db.executemany(
            "INSERT INTO pending_messages (event_id, session_id, kind, effect_key, prompt_number, tool_name,"
            " tool_input, tool_response, state, created_at, created_at_epoch)"
            " VALUES (?,?,'tool_use',?,1,'Read',?,?,'done','',?)",
            [
                (
                    f"use-{number}",
                    session,
                    f"use-{number}",
                    json.dumps({"file_path": f"/crowd/src/{number}.py"}),
                    "a line\n" * 20,
                    NOW - (uses - number) * 1000,
                )
                for number in range(uses)
            ],
        )
    return DataSet(data)


@contextmanager
def _running(data_set: DataSet) -> Iterator[None]:
    with workers.running(data_set.data):
        workers.until(lambda: not any(_waiting(data_set.data)), "the indexes are in step")
        yield


def _waiting(data: Path) -> tuple[int, int]:
    figures = _request(data, "GET", "/api/stats")
    return figures["index"]["waiting"], figures["vectors"]["waiting"]


def _request(data: Path, method: str, path: str) -> Any:
    status, answer = control.request(data, method, path, {} if method == "POST" else None, deadline_s=60)
    if status != 200:
        raise RuntimeError(answer)
    return answer


def _looked_at(browser: Browser, data: Path) -> Figures:
    figures: Figures = {}
    with _page(browser) as page:
        fetched = _bytes_of(page)
        page.goto(_request(data, "POST", "/api/signin")["link"])
        page.locator(".feed li a").first.wait_for()
        figures["first contentful paint, ms"] = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        figures["until the newest are there, ms"] = page.evaluate("performance.now()")
        figures["page, styles and scripts, bytes"] = sum(fetched["parts"])
        figures["and what they show, bytes"] = sum(fetched["parts"] + fetched["answers"])
        figures["until a list is there, ms"] = _until(page, f"#/find?project={PROJECT}", ".row .hit")
        with _traced(browser, page) as tasks:
            figures["from key to results, ms"] = _typed(page)
        figures["longest task while typing, ms"] = max(tasks)
        page.locator("#q").fill("")
        page.get_by_text("newest first").wait_for()
        page.locator(".row .hit").first.wait_for()
        with _traced(browser, page) as tasks:
            _scrolled(page)
        figures["longest task while scrolling, ms"] = max(tasks)
        figures["elements in the page"] = page.evaluate("document.querySelectorAll('*').length")
        figures["until a project is there, ms"] = _until(page, f"#/project/{PROJECT}", ".heat")
        with _traced(browser, page) as tasks:
            figures["until a session is there, ms"] = _until(page, f"#/session/{SESSION}", ".story li")
            figures["until all of a session is there, ms"] = _whole(page)
        figures["longest task of a session, ms"] = max(tasks)
        with _traced(browser, page) as tasks:
            _scrubbed(page)
        figures["longest task while scrubbing, ms"] = max(tasks)
        figures["elements of a session"] = page.evaluate("document.querySelectorAll('*').length")
    return figures


@contextmanager
def _page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    try:
        yield page
    finally:
        context.close()


def _bytes_of(page: Page) -> dict[str, list[float]]:
    """Of every answer as it comes, with its head, as it went over the wire."""
    fetched: dict[str, list[float]] = {"parts": [], "answers": []}
    of: dict[str, str] = {}

    def requested(event: Any) -> None:
        of[event["requestId"]] = "answers" if "/api/" in event["request"]["url"] else "parts"

    devtools = page.context.new_cdp_session(page)
    devtools.on("Network.requestWillBeSent", requested)
    devtools.on(
        "Network.loadingFinished",
        lambda event: fetched[of[event["requestId"]]].append(event["encodedDataLength"]),
    )
    devtools.send("Network.enable")
    return fetched


def _until(page: Page, hash: str, selector: str) -> float:
    """From the link to what it leads to, as the page itself sees it."""
    return float(
        page.evaluate(
            """([hash, selector]) => new Promise((done) => {
                const began = window.__began = performance.now();
                document.getElementById("main").replaceChildren();
                const look = () => document.querySelector(selector)
                    ? done(performance.now() - began) : requestAnimationFrame(look);
                location.hash = hash;
                look();
            })""",
            [hash, selector],
        )
    )


def _typed(page: Page) -> float:
    """Letter by letter, each after the answer to the last one; the median of what they took."""
    page.evaluate(
        """() => {
            const box = document.getElementById("q"), said = document.querySelector("main [role=status]");
            window.__took = [];
            const press = () => { window.__pressed = performance.now(); };
            box.addEventListener("keydown", press, { capture: true });
            new MutationObserver(() => {
                if (said.textContent.includes(`“${box.value.trim()}”`)) requestAnimationFrame(() => {
                    window.__took.push(performance.now() - window.__pressed);
                    window.__answered = box.value;
                });
            }).observe(said, { childList: true, characterData: true, subtree: true });
        }"""
    )
    for count, letter in enumerate(TYPED, 1):
        page.locator("#q").press_sequentially(letter)
        if letter != " ":
            page.wait_for_function("typed => window.__answered === typed", arg=TYPED[:count])
    return float(statistics.median(page.evaluate("window.__took")))


def _scrolled(page: Page) -> None:
    page.mouse.move(600, 600)
    for _ in range(40):
        page.mouse.wheel(0, 1500)
        page.evaluate("new Promise(requestAnimationFrame)")
    for share in (0.5, 1.0, 0.25, 0.0):
        page.evaluate("share => scrollTo(0, share * document.documentElement.scrollHeight)", share)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.row')].filter((row) => {"
            " const { top, bottom } = row.getBoundingClientRect();"
            " return bottom > 200 && top < innerHeight; })"
            ".every((row) => row.querySelector('.hit'))"
        )


def _whole(page: Page) -> float:
    """Until the scrubber goes on to the last of its events."""
    uses = _asked_by(page, f"/api/session/{SESSION}/events?limit=1")["total"]
    page.wait_for_function("uses => document.getElementById('scrub').max === String(uses)", arg=uses)
    return float(page.evaluate("performance.now() - window.__began"))


def _asked_by(page: Page, path: str) -> Any:
    return page.evaluate("path => fetch(path).then((answer) => answer.json())", path)


def _scrubbed(page: Page) -> None:
    """Dragged by its handle from the end to the beginning and back, then let go in the middle."""
    box = page.locator("#scrub").bounding_box()
    if box is None:
        raise RuntimeError("there is no scrubber")
    left, right, height = box["x"] + 8, box["x"] + box["width"] - 8, box["y"] + box["height"] / 2
    page.mouse.move(right, height)
    page.mouse.down()
    for share in [*(nth / 20 for nth in range(20, -1, -1)), 0.9, 0.1, 1.0, 0.5]:
        page.mouse.move(left + share * (right - left), height)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.mouse.up()


@contextmanager
def _traced(browser: Browser, page: Page) -> Iterator[list[float]]:
    """How long each task of the page's main thread took, in milliseconds."""
    tasks: list[float] = []
    browser.start_tracing(page=page, categories=TRACED)
    try:
        yield tasks
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
        mains = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks += [
            event["dur"] / 1000
            for event in events
            if event["name"] in ("RunTask", "ThreadControllerImpl::RunTask")
            and event.get("dur")
            and (event["pid"], event["tid"]) in mains
        ]


if __name__ == "__main__":
    raise SystemExit(main())
