"""The packaged extension in a real VS Code (code-server), driven as a person does, with a real worker."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.viewer_browser import PATIENCE_MS
from tests.contracts.worker_client import Worker
from tests.harness import code_server, workers

pytestmark = [pytest.mark.prove, pytest.mark.timeout(900)]


@pytest.fixture
def editor(chromium: Browser, quiet: Worker, tmp_path: Path) -> Iterator[Page]:
    """A window on a folder with a file, whose project remembers one thing."""
    spec = importlib.util.spec_from_file_location("vsix", code_server.ROOT / "scripts" / "vsix.py")
    assert spec
    assert spec.loader
    vsix = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vsix)
    shop, home = tmp_path / "shop", tmp_path / "home"
    shop.mkdir()
    home.mkdir()
    (shop / "login.ts").write_text("let a = 1\n")
    quiet.post("/api/memory/save", text="Passwords need 12 letters", title="Passwords", cwd=str(shop))
    with code_server.serving(home, vsix.package(tmp_path / "ours.vsix"), quiet.data) as address:
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(f"{address}/?folder={shop}")
        yield page
        context.close()


def command(page: Page, name: str) -> None:
    """By the command palette."""
    page.keyboard.press("F1")
    box = page.locator(".quick-input-widget input")
    expect(box).to_have_value(">", timeout=PATIENCE_MS)
    box.fill(f">claude-mem: {name}")
    entry = page.locator(".quick-input-list .monaco-list-row").filter(has_text=name)
    expect(entry.first).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("Enter")


def answer(page: Page, question: str, text: str) -> None:
    expect(page.locator(".quick-input-widget")).to_contain_text(question, timeout=PATIENCE_MS)
    page.locator(".quick-input-widget input").fill(text)
    page.keyboard.press("Enter")


def session(worker: Worker) -> dict[str, Any] | None:
    found: list[dict[str, Any]] = worker.get("/api/sessions", client="vscode")["items"]
    return found[0] if found else None


def events(worker: Worker) -> list[dict[str, Any]]:
    known = session(worker)
    found: list[dict[str, Any]] = worker.get(f"/api/session/{known['id']}/events")["items"] if known else []
    return found


def test_a_window_is_told_records_finds_and_ends(editor: Page, quiet: Worker, tmp_path: Path) -> None:
    expect(editor.locator(".statusbar")).to_contain_text("memory: 1", timeout=PATIENCE_MS)

    command(editor, "Show Injected Context")
    expect(editor.locator(".tabs-container")).to_contain_text("Injected context")
    expect(editor.locator(".editor-instance .view-lines").first).to_contain_text("claude-mem-context")

    command(editor, "Search Memory")
    answer(editor, "What did earlier sessions do", "passwords letters")
    row = editor.locator(".quick-input-list .monaco-list-row").filter(has_text="Passwords")
    expect(row.first).to_be_visible(timeout=PATIENCE_MS)
    editor.keyboard.press("Enter")
    expect(editor.locator(".tabs-container")).to_contain_text("Memory 1.md")

    command(editor, "Start a Task")
    answer(editor, "What are you working on?", "Refuse empty passwords")
    workers.until(lambda: any(each["kind"] == "prompt" for each in events(quiet)), "the prompt is recorded")

    editor.keyboard.press("Control+p")
    editor.locator(".quick-input-widget input").fill("login.ts")
    found = editor.locator(".quick-input-list .monaco-list-row").filter(has_text="login.ts")
    expect(found.first).to_be_visible(timeout=PATIENCE_MS)
    editor.keyboard.press("Enter")
    expect(editor.locator(".tab.active")).to_contain_text("login.ts", timeout=PATIENCE_MS)
    editor.locator(".editor-instance .view-lines").first.click()
    editor.keyboard.press("Control+End")
    editor.keyboard.type("let refused = true")
    editor.keyboard.press("Control+s")
    workers.until(lambda: "FileSave" in [each.get("tool_name") for each in events(quiet)], "it is recorded")

    told = events(quiet)
    saved = next(each for each in told if each.get("tool_name") == "FileSave")
    given = json.loads(saved["tool_input"])
    assert given["file_path"] == str(tmp_path / "shop" / "login.ts")
    assert "let refused = true" in given["new_string"]
    assert any(each.get("tool_name") == "FileOpen" for each in told)
    assert [each["prompt"] for each in told if each["kind"] == "prompt"] == ["Refuse empty passwords"]

    editor.close()
    workers.until(lambda: (session(quiet) or {}).get("status") == "completed", "the session has ended")
