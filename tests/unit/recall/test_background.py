"""What sessions are told at their start, rendered ahead of time."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, new_events
from tests.unit.recall.recall_store import DAY, House, house

from claude_mem.hook import paths
from claude_mem.model.events import Kind
from claude_mem.model.memory import Observation, Summary
from claude_mem.recall.background import COMPACTED, MAX_AGE_S, ContextFiles
from claude_mem.recall.inject import InjectionLimits, InjectionLog
from claude_mem.recall.session_start import Rendered
from claude_mem.store.values import Project


class Rendering:
    def __init__(self, memory: House, data: Path) -> None:
        self.memory, self.data = memory, data
        self.contexts = ContextFiles(data, memory.store, self.start, memory.clock)

    def start(self, project: Project, session: str, agent: str) -> Rendered:
        return self.memory.injector.start(project, session, reader=agent)

    def work(self, request: str, session: str = "s1", *, cwd: str = ORIGIN.root) -> None:
        event = self.memory.events.prompt(request, session, cwd=cwd)
        seen = [Observation("change", f"Did {request}")]
        self.memory.turn(None, event, session=session, observed=seen, summary=Summary(request=request))
        self.memory.clock.now += DAY

    def compacted(self, session: str = "s1") -> None:
        event = self.memory.events.make(Kind.PRE_COMPACT, session, note="auto", cwd=ORIGIN.root)
        self.memory.store.events.accept(new_events(event))

    def settle(self) -> None:
        while self.contexts.step():
            pass

    def files(self) -> set[str]:
        folder = self.data / paths.CONTEXT
        return {f"{paths.CONTEXT}/{file.name}" for file in folder.iterdir()} if folder.is_dir() else set()

    def told(self, name: str) -> str:
        """What a hook that finds this file shows."""
        stamp, _, line = (self.data / name).read_text().partition("\n")
        assert len(stamp) == 16
        return str(json.loads(line)["hookSpecificOutput"]["additionalContext"]) if line else ""


HERE = paths.directory_context(ORIGIN.root.encode())
OWN = paths.session_context(b"s1")


@pytest.fixture
def rendering(tmp_path: Path) -> Iterator[Rendering]:
    with house(tmp_path) as memory:
        yield Rendering(memory, tmp_path / "data")


def test_every_directory_a_project_is_worked_in_has_its_file(rendering: Rendering) -> None:
    worktree = "/home/a/wörk trees/shop-2"
    rendering.work("tame the heron")
    rendering.work("feed the heron", "s2", cwd=worktree)
    rendering.settle()
    there = paths.directory_context(os.fsencode(worktree))
    assert rendering.files() == {HERE, there}
    assert rendering.told(HERE) == rendering.told(there)
    assert "feed the heron" in rendering.told(HERE)


def test_a_file_is_private_whole_and_leaves_nothing_half_written(rendering: Rendering) -> None:
    before = os.umask(0)
    try:
        rendering.work("tame the heron")
        (rendering.data / paths.CONTEXT).mkdir()
        (rendering.data / paths.CONTEXT / f".{HERE.rpartition('/')[2]}.tmp").write_text("left by a kill")
        rendering.settle()
    finally:
        os.umask(before)
    (name,) = rendering.files()
    assert stat.S_IMODE((rendering.data / name).stat().st_mode) == 0o600
    (rendering.data / name).rename(rendering.data / "aside")
    (rendering.data / name).symlink_to(rendering.data / "aside")
    rendering.work("feed the heron")
    rendering.settle()
    assert not (rendering.data / name).is_symlink(), "replaced, not written through"


def test_the_folder_itself_is_private(rendering: Rendering) -> None:
    rendering.work("x")
    rendering.settle()
    assert stat.S_IMODE((rendering.data / paths.CONTEXT).stat().st_mode) == 0o700


def test_what_a_file_holds_is_noted_under_its_stamp(rendering: Rendering) -> None:
    rendering.work("tame the heron")
    rendering.settle()
    stamp = (rendering.data / HERE).read_text()[:16]
    found = rendering.memory.keeping.injections.rendering(stamp)
    assert found is not None
    assert "1" in found[0]
    assert found[1] > 0


def test_what_a_hook_showed_is_noted_once_however_often_it_is_reported(rendering: Rendering) -> None:
    rendering.work("tame the heron")
    rendering.settle()
    stamp = (rendering.data / HERE).read_text()[:16]
    notes = InjectionLog(rendering.memory.keeping.injections)
    for session, at in (("next", NOON), ("next", NOON), ("next", NOON + 1), ("another", NOON)):
        notes.note_rendered_start(session, stamp, at)
    notes.note_rendered_start("next", "0" * 16, NOON + 2)  # a stamp of nobody's
    notes.close()
    assert len(rendering.memory.told("next")) == 2
    assert [told.event for told in rendering.memory.told("another")] == ["SessionStart"]


def test_news_are_rendered_once_and_no_news_not_at_all(rendering: Rendering) -> None:
    assert rendering.contexts.step(), "at the start, whatever there is"
    assert not rendering.contexts.step()
    rendering.work("tame the heron")
    assert rendering.contexts.is_due()
    assert rendering.contexts.step()
    assert not rendering.contexts.step()
    assert not rendering.contexts.is_due()


def test_a_compacted_session_has_a_file_of_its_own_that_follows_what_is_understood_meanwhile(
    rendering: Rendering,
) -> None:
    rendering.settle()
    rendering.work("tame the heron")
    rendering.settle()
    assert OWN not in rendering.files()
    rendering.compacted()
    rendering.settle()
    assert "tame the heron" in rendering.told(OWN)
    rendering.work("what led to the compaction")
    rendering.settle()
    assert "what led to the compaction" in rendering.told(OWN)


def test_only_the_last_compacted_sessions_are_kept_up(rendering: Rendering) -> None:
    rendering.settle()
    names = [f"s{number}" for number in range(COMPACTED + 2)]
    for name in names:
        rendering.work(f"work of {name}", name)
        rendering.compacted(name)
        rendering.settle()
    assert list(rendering.contexts._compacted) == names[2:]


def test_what_is_forgotten_is_in_no_file_when_forgetting_returns(rendering: Rendering) -> None:
    rendering.work("tame the heron")
    rendering.compacted()
    rendering.settle()
    rendering.contexts.invalidate()
    assert rendering.files() == set()
    rendering.settle()
    assert HERE in rendering.files(), "and what is left is rendered again"


def test_a_file_of_an_earlier_worker_that_nobody_writes_again_goes(rendering: Rendering) -> None:
    """It may have been killed between forgetting and clearing."""
    rendering.work("tame the heron")
    (rendering.data / paths.CONTEXT).mkdir()
    (rendering.data / OWN).write_text("what was to be forgotten")
    rendering.settle()
    assert rendering.files() == {HERE}


def test_old_files_are_tidied_away_and_written_again_when_there_is_news(rendering: Rendering) -> None:
    rendering.work("tame the heron")
    rendering.settle()
    old = (rendering.data / HERE).stat().st_mtime - MAX_AGE_S - 10
    os.utime(rendering.data / HERE, (old, old))
    rendering.contexts.tidy()
    assert rendering.files() == set()
    rendering.contexts.render(rendering.memory.project())
    assert rendering.files() == {HERE}


def test_a_project_of_which_nothing_may_be_injected_has_a_file_that_says_nothing(tmp_path: Path) -> None:
    with house(tmp_path, size=InjectionLimits(context_characters=0)) as memory:
        rendering = Rendering(memory, tmp_path / "data")
        rendering.work("tame the heron")
        rendering.settle()
        assert rendering.told(HERE) == ""


# No rendering outlives a forgetting, however the two fall.


def test_what_is_just_being_rendered_when_something_is_forgotten_is_cleared_too(tmp_path: Path) -> None:
    reading, forgotten = Event(), Event()

    def slow_start(project: Project, session: str, agent: str) -> Rendered:
        reading.set()
        forgotten.wait(0.2)  # a forgetting does not wait for us to read; it may only wait to clear
        return Rendered("the secret")

    with house(tmp_path) as memory, ThreadPoolExecutor(2) as threads:
        memory.turn("x")
        contexts = ContextFiles(tmp_path / "data", memory.store, slow_start, memory.clock)
        step = threads.submit(contexts.step)
        assert reading.wait(10)
        contexts.invalidate()
        forgotten.set()
        step.result(10)
        left = [file.read_text() for file in (tmp_path / "data" / "context").glob("*")]
        assert left == []
        assert contexts.is_due(), "and what is left of it is rendered next"


def test_each_agent_that_worked_here_is_shown_who_did_what_the_others_did(rendering: Rendering) -> None:
    rendering.work("tame the heron")
    event = rendering.memory.events.prompt("paint", "codex:s1", cwd=ORIGIN.root, client="codex")
    summary = Summary(request="Paint the fence", completed="The fence is painted")
    rendering.memory.turn(None, event, session="codex:s1", summary=summary)
    rendering.settle()
    of_codex = paths.directory_context(ORIGIN.root.encode(), "codex")
    assert rendering.files() == {HERE, of_codex}
    assert "in Codex" in rendering.told(HERE)
    assert "in Claude Code" not in rendering.told(HERE)
    assert "in Codex" not in rendering.told(of_codex)
    assert "in Claude Code" in rendering.told(of_codex)
