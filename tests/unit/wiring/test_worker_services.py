"""Recall put together as the worker has it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from tests.contracts.memory_write_contract import ELSEWHERE
from tests.contracts.store_contract import NOON, ORIGIN, Events, new_events
from tests.harness.faults import fill, small_disk

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import EditRequest, ForgetRequest
from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.events import Origin
from claude_mem.model.memory import Findings, Observation
from claude_mem.serve.services import Recall
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.wiring import worker_services


def origin_of(cwd: str) -> Origin:
    return ELSEWHERE if cwd.startswith(ELSEWHERE.root) else ORIGIN


@contextmanager
def recalling(data: Path) -> Iterator[tuple[Recall, SqliteStore]]:
    with SqliteStore.open(data / "claude-mem.db", clock=now, backups=data / "backups") as store:
        settings = Settings(data, vectors="off")
        with ExitStack() as closing:
            assembled = worker_services.build_recall(
                settings,
                store,
                closing,
                note=lambda _: None,
                origin_of=origin_of,
                clean=str,
                drain=lambda: 0,
                instructions="",
            )
            yield assembled, store


def remember(store: SqliteStore, title: str, number: int = 0) -> None:
    """Past the writer: nothing indexes it."""
    seen = Observation("change", f"{title} {number}", narrative="z" * 3000, files_modified=("src/till.py",))
    store.memories.remember(seen, ORIGIN, session="s", at=NOON + number)


def test_the_index_is_tidied_once_everything_is_indexed_and_rendered(tmp_path: Path) -> None:
    with recalling(tmp_path) as (assembled, store):
        for number in range(43):
            remember(store, "heron", number)
            store.text_index.catch_up()
        while assembled.background.step():
            pass
        with store.readers.read() as db:
            (segments,) = db.execute("SELECT COUNT(DISTINCT segid) FROM memory_text_idx").fetchone()
        assert segments <= 6, "at most one of each size, and sizes double"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_on_a_full_disk_what_is_indexed_is_found(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk, recalling(disk) as (assembled, store):
        remember(store, "heron")
        while assembled.background.step() or assembled.background.embed():
            pass
        remember(store, "heron", 1)
        hog = fill(disk)
        with suppress(StoreUnavailable):
            for number in range(2, 1000):
                remember(store, "heron", number)  # the log may have room for the first few
        with pytest.raises(StoreUnavailable):
            store.text_index.step()

        found = assembled.memory.search("heron", FilterRequest(), Page())
        assert [result.title for result in found.results] == ["heron 0"]
        anchor = assembled.memory.timeline("", FilterRequest(), query="heron").anchor
        assert anchor is not None
        assert anchor.title == "heron 0"
        assert len(assembled.memory.file_history("till.py", FilterRequest()).results) == 1
        assert len(assembled.memory.search("", FilterRequest(file="till.py"), Page()).results) == 1

        hog.unlink()
        store.upkeep.checkpoint()
        assert len(assembled.memory.search("heron", FilterRequest(), Page()).results) > 1


def worked(store: SqliteStore, *origins: Origin) -> None:
    """A session in each project, with something to tell: 1, 2, …"""
    events = Events()
    for origin in origins:
        store.events.accept(new_events(events.prompt("go on", origin.name, cwd=origin.root), origin=origin))
        lease = store.queue.lease(10)
        assert lease is not None
        store.queue.settle(lease, Findings((Observation("change", f"Counted stock in {origin.name}"),)))


def rendered(data: Path) -> dict[str, bytes]:
    """By the project's name."""
    files = {each.name: data / paths.directory_context(each.root.encode()) for each in (ORIGIN, ELSEWHERE)}
    return {name: file.read_bytes() for name, file in files.items() if file.exists()}


CHANGES: dict[str, Callable[[Recall], object]] = {
    "pin": lambda made: made.corrections.pin(["1"], pinned=True),
    "edit": lambda made: made.corrections.edit(EditRequest(id=1, title="Did another thing")),
    "wrong": lambda made: made.corrections.mark_wrong(["1"], wrong=True),
    "remember": lambda made: made.writer.remember("the till rounds up", {"project": ORIGIN.key}),
    "import": lambda made: made.writer.import_observations(
        [{"text": "the till rounds up", "project": ORIGIN.key}]
    ),
    "rename": lambda made: made.projects.rename(ORIGIN.key, "store"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_in_one_project_leaves_the_context_of_the_others_alone(
    tmp_path: Path, change: str
) -> None:
    with recalling(tmp_path) as (made, store):
        worked(store, ORIGIN, ELSEWHERE)
        while made.background.step() or made.background.embed():
            pass
        before = rendered(tmp_path)
        assert before.keys() == {ORIGIN.name, ELSEWHERE.name}
        CHANGES[change](made)
        assert rendered(tmp_path) == {ELSEWHERE.name: before[ELSEWHERE.name]}, "what is out of date is gone"
        assert not made.background.progress().context.fresh
        while made.background.step() or made.background.embed():
            pass
        after = rendered(tmp_path)
        assert after[ELSEWHERE.name] == before[ELSEWHERE.name]
        assert after.keys() == before.keys()
        assert after[ORIGIN.name] != before[ORIGIN.name]
        assert made.background.progress().context.fresh


def test_an_undone_change_is_rendered_as_it_was(tmp_path: Path) -> None:
    with recalling(tmp_path) as (made, store):
        worked(store, ORIGIN, ELSEWHERE)
        while made.background.step() or made.background.embed():
            pass
        before = rendered(tmp_path)
        _, undo = made.corrections.edit(EditRequest(id=1, title="Did another thing"))
        made.corrections.undo(undo.token)
        assert rendered(tmp_path) == {ELSEWHERE.name: before[ELSEWHERE.name]}
        while made.background.step() or made.background.embed():
            pass
        assert b"Counted stock in shop" in rendered(tmp_path)[ORIGIN.name]


def test_merged_projects_are_both_rendered_anew(tmp_path: Path) -> None:
    with recalling(tmp_path) as (made, store):
        worked(store, ORIGIN, ELSEWHERE)
        while made.background.step() or made.background.embed():
            pass
        made.projects.merge(ELSEWHERE.key, ORIGIN.key, dry_run=False)
        assert rendered(tmp_path) == {}
        while made.background.step() or made.background.embed():
            pass
        here, there = rendered(tmp_path).values()
        assert here == there
        assert f"Counted stock in {ELSEWHERE.name}".encode() in here


def test_after_a_forgetting_no_context_is_left(tmp_path: Path) -> None:
    with recalling(tmp_path) as (made, store):
        worked(store, ORIGIN, ELSEWHERE)
        while made.background.step() or made.background.embed():
            pass
        made.deleter.forget(ForgetRequest(ids=("1",)), dry_run=False)
        assert rendered(tmp_path) == {}
