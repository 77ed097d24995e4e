"""What a session did in a real repository, and what became of it there: pages say what may be stale."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import hook_process, payloads, workers
from tests.unit.recall.repositories import Made

CHANGED = "files changed since"


@dataclass(frozen=True)
class Weir:
    """A repository in which sessions work, and a worker that listens."""

    worker: Worker
    repository: Made

    def session_edits(self, session: str, path: str, root: Path | None = None) -> str:
        """By hooks, as the client runs them; the observation of it."""
        root = root or self.repository.root
        file = root / path
        file.write_text(f"by {session}\n", encoding="utf-8")
        told = {"cwd": str(root), "prompt_id": "p-1"}
        edit = {"tool_name": "Edit", "tool_use_id": f"toolu_{session}"}
        for payload in (
            payloads.prompt(f"Mend the water level in {path}", session, **told),
            payloads.payload(
                "PostToolUse",
                session,
                **(told | edit),
                tool_input={"file_path": str(file), "old_string": "a", "new_string": "b"},
                tool_response={"filePath": str(file)},
            ),
            payloads.payload(
                "Stop", session, **told, last_assistant_message=f"Fixed the water level in {path}."
            ),
        ):
            assert hook_process.run(self.worker.data, payload).code == 0
        self.worker.settle()
        (memory,) = self.worker.get("/api/observations", session=session)["items"]
        return str(memory["ref"])

    def marks(self, ref: str) -> list[str]:
        return list(self.worker.get(f"/api/observation/{ref}")["marks"])

    def commit(self, seconds: int, path: str) -> None:
        """Changes the file; `seconds` from now, since git counts no less."""
        self.repository.commit(int(time.time() + seconds) * 1000, path)


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    repository = Made(tmp_path / "weir")
    repository.commit(int(time.time() - 3600) * 1000, "src/sluice.py", "src/gate.py")
    with workers.running(tmp_path / "data") as data:
        yield Weir(Worker(data), repository)


def test_a_memory_is_marked_wherever_it_is_shown_once_its_file_was_changed_again(
    context: BrowserContext, weir: Weir
) -> None:
    ref = weir.session_edits("weir-1", "src/sluice.py")
    places = {
        "#/file/src%2Fsluice.py": f'.feed .line[data-ref="{ref}"]',
        f"#/observation/{ref}": ".head:has(button)",
        "#/find?file=src%2Fsluice.py": f'.hit[data-ref="{ref}"]',
    }
    sight = viewer_browser.look(context, weir.worker)

    def each_says(*marks: str) -> None:
        # git is asked a few times a second at most.
        workers.until(lambda: weir.marks(ref) == list(marks), "the repository is looked at")
        for place, shown in places.items():
            sight.go("#/projects")
            sight.heading("Projects")
            sight.go(place)
            expect(sight.main().locator(shown)).to_be_visible()
            expect(sight.main().locator(shown).locator(".chip.mark")).to_have_text(list(marks))

    each_says()
    weir.commit(2, "src/sluice.py")  # its own work
    weir.commit(3, "src/gate.py")  # another file
    each_says()
    weir.commit(4, "src/sluice.py")
    each_says(CHANGED)
    sight.go("#/file/src%2Fsluice.py")
    expect(sight.main().locator(".head")).to_contain_text("may be stale")
    assert sight.all_that_went_wrong() == []


def test_what_was_done_on_a_branch_that_was_never_merged_says_so(context: BrowserContext, weir: Weir) -> None:
    beside = weir.repository.root.parent / "weir-dry"
    weir.repository.git("worktree", "add", "-q", "-b", "dry-run", str(beside))
    ref = weir.session_edits("weir-2", "src/gate.py", root=beside)
    tree = Made(beside)
    tree.commit(int(time.time() + 2) * 1000, "src/gate.py")
    workers.until(lambda: bool(weir.marks(ref)), "the repository is looked at")
    sight = viewer_browser.look(context, weir.worker, f"#/observation/{ref}")
    expect(sight.main().locator(".head .chip.mark")).to_have_text(["branch never merged"])
    expect(sight.page.locator("aside")).to_contain_text("dry-run")
    weir.repository.git("merge", "-q", "--no-edit", "dry-run")
    workers.until(lambda: not weir.marks(ref), "the repository is looked at")
    sight.page.reload()
    sight.heading("gate")
    expect(sight.main().locator(".chip.mark")).to_have_count(0)
    assert sight.all_that_went_wrong() == []
