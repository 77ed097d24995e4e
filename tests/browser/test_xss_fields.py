"""Row 25, field by field: each holds markup of its own, is read where it belongs, and is only text there.

What no road would take in is written into the files themselves, as somebody with access to them could."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.browser.test_xss import MARK, assert_only_text
from tests.browser.viewer_browser import Sight
from tests.contracts.worker_client import Worker
from tests.harness import workers
from tests.harness.model_script import Status
from tests.harness.model_server import ModelServer

from claude_mem.recall import fence


def hostile(name: str) -> str:
    return f"{name} <img src=x onerror=window.{MARK}=1>"


SHORT = {
    "commit_sha": "<b>c0ffee",
    "claude_session_id": "<b>s1",
    "session": "<b>s2",
}  # only their beginning is shown
LISTS = ("facts", "concepts", "files_read", "files_modified", "files_edited")
OBSERVATION = ("title", "subtitle", "narrative", "facts", "concepts", "files_read", "files_modified", "type")
SUMMARY = ("request", "investigated", "learned", "completed", "next_steps")
COLUMNS = {
    "projects": ("name", "root"),
    "sdk_sessions": ("title", "subtitle", "client", "branch", "status", "claude_session_id"),
    "user_prompts": ("prompt",),
    "observations": (*OBSERVATION, "project", "client", "branch", "provider", "commit_sha"),
    "session_summaries": (*SUMMARY, "notes", "files_read", "files_edited"),
    "pending_messages": ("tool_name", "tool_input", "tool_response"),
    "spending": ("provider", "model", "project"),
    "injections": ("event", "claude_session_id"),
}


def value(table: str, column: str) -> str:
    if column in SHORT:
        return SHORT["session" if table == "injections" else column]
    return hostile(f"{table}.{column}")


@dataclass(frozen=True)
class Tampered:
    worker: Worker
    use: str  # the tool use

    def place(self, named: str) -> str:
        """With the names of what it is about."""
        session, file = value("sdk_sessions", "claude_session_id"), value("observations", "files_modified")
        names = {"use": self.use, "session": session, "project": value("projects", "name"), "file": file}
        return named.format_map({name: quote(text, safe="") for name, text in names.items()})


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampered]:
    data = tmp_path_factory.mktemp("tampered") / "data"
    with workers.running(data):
        worker = Worker(data)
        worker.works("till-1", "Make the till count pennies", "src/till.py")
        worker.settle()
        # While it runs: a database that breaks its own rules is not opened.
        with closing(sqlite3.connect(data / "claude-mem.db")) as db, db:
            use = tamper(db)
        with (data / "logs" / "worker.log").open("a") as log:
            log.write(
                f"2026-01-01 00:00:00,000 WARNING {MARK}: {hostile('logged')}\n<b>and where it passed\n"
            )
        settings = {"CLAUDE_MEM_MODEL": hostile("setting"), hostile("unknown"): "x"}
        (data / "settings.json").write_text(json.dumps(settings))
        yield Tampered(worker, use)


def tamper(db: sqlite3.Connection) -> str:
    """One row of each table, all of whose texts are markup; the tool use's number."""
    at = db.execute("SELECT created_at, created_at_epoch FROM observations").fetchone()
    spent = "INSERT INTO spending VALUES (1, 1, '', '', '', 1000, 0, 100, 0.5, ?, ?)"
    told = "INSERT INTO injections VALUES (1, '', '', '[\"1\"]', NULL, 10, ?, ?)"
    for insert in (spent, told):
        db.execute(insert, at)
    (use,) = db.execute("SELECT id FROM pending_messages WHERE tool_name IS NOT NULL").fetchone()
    db.execute("PRAGMA ignore_check_constraints = ON")
    for table, columns in COLUMNS.items():
        texts = [value(table, column) for column in columns]
        values = [
            json.dumps([text]) if column in LISTS else text
            for column, text in zip(columns, texts, strict=True)
        ]
        named = ", ".join(f"{column} = ?" for column in columns)
        row = use if table == "pending_messages" else 1
        assert db.execute(f"UPDATE {table} SET {named} WHERE id = ?", (*values, row)).rowcount == 1
    file = value("observations", "files_modified")
    indexed = "UPDATE memory_files SET base = ?, path = ?, folder = '' WHERE how = 'modified'"
    assert db.execute(indexed, (file.lower(), file)).rowcount > 0
    return f"e{use}"


def of(table: str, *columns: str) -> list[str]:
    return [value(table, column) for column in columns]


SEEN = {
    "#/live": [
        *of("observations", "title", "type", "branch"),
        *of("session_summaries", "request"),
        *of("user_prompts", "prompt"),
        *of("sdk_sessions", "title", "status"),
        *of("projects", "name"),
    ],
    "#/find": [*of("observations", "title", "type", "project"), *of("sdk_sessions", "branch", "client")],
    "#/observation/1": [
        *of("observations", *COLUMNS["observations"]),
        *of("sdk_sessions", "claude_session_id"),
        *of("injections", "event", "claude_session_id"),
        *of("user_prompts", "prompt"),
        *of("pending_messages", "tool_name"),
    ],
    "#/observation/s1": of("session_summaries", *COLUMNS["session_summaries"]),
    "#/observation/p1": of("user_prompts", "prompt"),
    "#/observation/{use}": of("pending_messages", "tool_name", "tool_input", "tool_response"),
    "#/session/{session}": [
        *of("sdk_sessions", *COLUMNS["sdk_sessions"]),
        *of("session_summaries", *SUMMARY),
        *of("user_prompts", "prompt"),
        *of("observations", "title", "type"),
        *of("pending_messages", "tool_name", "tool_input", "tool_response"),
    ],
    "#/projects": of("projects", "name", "root"),
    "#/project/{project}": [
        *of("projects", "name"),
        *of("sdk_sessions", "title"),
        *of("session_summaries", "next_steps"),
    ],
    "#/file/{file}": [*of("observations", "files_modified", "title")],
    "#/cost": of("spending", "provider", "model", "project"),
    # As it would be injected: no bracket in it makes a tag.
    "#/context?project={project}": [
        *of("projects", "name"),
        *map(fence.disarmed, of("session_summaries", "request", "completed", "learned", "next_steps")),
    ],
    "#/logs": [hostile("logged"), "<b>and where it passed"],
    f"#/find?q={quote(hostile('search'))}": [hostile("search")],
    f"#/find?type={quote(hostile('type'))}": [hostile("type")],
    f"#/{quote(hostile('page'))}": [quote(hostile("page"))],
    f"#/observation/{quote(hostile('no number'))}": [],
    f"#/session/{quote(hostile('no session'))}": [hostile("no session")],
    f"#/project/{quote(hostile('no project'))}": [hostile("no project")],
    f"#/file/{quote(hostile('no file'))}": [hostile("no file")],
    f"#/logs?level={quote(hostile('level'))}": [],
    f"#/cost?project={quote(hostile('cost'))}": [],
}


UNFOLDED = """() => {
    const main = document.querySelector("main");
    main.querySelectorAll("details").forEach((each) => { each.open = true; });
    return main.textContent;
}"""


def is_read(sight: Sight, text: str) -> None:
    workers.until(lambda: text in str(sight.page.evaluate(UNFOLDED)), f"{text} is read")


def test_each_field_is_read_where_it_belongs_and_is_text(
    context: BrowserContext, tampered: Tampered, subtests: pytest.Subtests
) -> None:
    sight = viewer_browser.look(context, tampered.worker)
    for named, texts in SEEN.items():
        with subtests.test(named=named):
            place = tampered.place(named) if "{" in named else named
            sight.go(place)
            expect(sight.page.locator("main .skeleton")).to_have_count(0)
            for text in texts:
                is_read(sight, text)
            assert_only_text(sight, place)
            assert sight.violations() == []
            assert [wrong for wrong in sight.wrong if "404" not in wrong and "400" not in wrong] == []


def test_a_setting_is_text_in_its_field_and_in_what_is_wrong_with_it(
    context: BrowserContext, tampered: Tampered
) -> None:
    sight = viewer_browser.look(context, tampered.worker, "#/settings")
    expect(sight.page.get_by_label("CLAUDE_MEM_MODEL", exact=True)).to_have_value(hostile("setting"))
    box = sight.page.get_by_label("CLAUDE_MEM_DAILY_TOKENS", exact=True)
    box.fill(hostile("amount"))
    box.press("Enter")
    expect(sight.page.locator("#row-CLAUDE_MEM_DAILY_TOKENS .wrongly")).to_contain_text(hostile("amount"))
    assert_only_text(sight, "settings")
    assert sight.violations() == []


def test_a_banners_reason_is_text(context: BrowserContext, tmp_path: Path) -> None:
    model = hostile("model")
    with ModelServer([Status(404)]) as server:
        env = workers.asking(server.url, CLAUDE_MEM_MODEL=model)
        with workers.running(tmp_path / "data", **env):
            worker = Worker(tmp_path / "data")
            sight = viewer_browser.look(context, worker)
            worker.works("till-1", "Make the till count pennies", "src/till.py")
            expect(sight.page.locator("#banner")).to_contain_text(f"does not have the model '{model}'")
            assert_only_text(sight, "banner")
            assert sight.all_that_went_wrong() == []


def test_a_refusal_that_quotes_what_was_asked_is_text(context: BrowserContext, tampered: Tampered) -> None:
    sight = viewer_browser.look(context, tampered.worker, "#/observation/1")
    sight.page.get_by_role("button", name="Edit").click()
    sight.page.get_by_label("Title", exact=True).fill(hostile("long") + "x" * 10_000)
    sight.page.get_by_role("button", name="Save").click()
    expect(sight.page.get_by_role("alert")).to_contain_text("`title` is longer than")
    assert_only_text(sight, "dialog")
    assert sight.violations() == []
