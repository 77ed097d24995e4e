"""Git is asked in the background: nobody who searches waits for it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, arrivals
from tests.harness.workers import PATIENCE_S, until
from tests.unit.recall.repositories import Made

from claude_mem.model.events import Kind, Origin
from claude_mem.model.memory import Memory, Observation
from claude_mem.model.refs import Filters
from claude_mem.recall.git import Repository
from claude_mem.recall.search import Search
from claude_mem.recall.truth import FILES_CHANGED
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.wiring import gittruth
from claude_mem.wiring.clock import now
from claude_mem.wiring.gittruth import GitTruth

DAY_MS = 24 * 60 * 60 * 1000
LONG_AGO = now() - 30 * DAY_MS


class SlowGit:
    """A git that waits, each time, until somebody lets it go on."""

    def __init__(self, folder: Path) -> None:
        self._gate, self._open, self._calls = folder / "gate", folder / "open", folder / "calls"
        self._held: list[int] = []
        folder.mkdir()
        os.mkfifo(self._gate)
        real = shutil.which("git")
        assert real is not None
        gate, opened, calls, real = map(shlex.quote, map(str, (self._gate, self._open, self._calls, real)))
        program = (
            f'#!/bin/sh\necho called >> {calls}\n[ -e {opened} ] || read go < {gate}\nexec {real} "$@"\n'
        )
        (folder / "git").write_text(program, encoding="utf-8")
        (folder / "git").chmod(0o755)
        self.environ = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}

    def calls(self) -> int:
        return len(self._calls.read_text(encoding="utf-8").split()) if self._calls.exists() else 0

    def let_go(self) -> None:
        """From now on it answers at once."""
        self._open.touch()
        # Held open, and for reading too: one may come to the gate who saw it closed.
        self._held.append(os.open(self._gate, os.O_RDWR | os.O_NONBLOCK))
        os.write(self._held[-1], b"go\n" * 64)

    def hang(self) -> None:
        self.close()
        self._gate.unlink()
        os.mkfifo(self._gate)
        self._open.unlink()

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())


@pytest.fixture
def history(tmp_path: Path) -> Made:
    repository = Made(tmp_path / "shop")
    repository.commit(LONG_AGO - DAY_MS, "cart.py")
    return repository


@pytest.fixture
def git(tmp_path: Path) -> Iterator[SlowGit]:
    slow = SlowGit(tmp_path / "bin")
    yield slow
    slow.close()


@pytest.fixture
def library(tmp_path: Path, history: Made) -> Iterator[SqliteLibrary]:
    """One memory about a file."""
    origin = Origin(key="shop", name="shop", root=str(history.root), branch="main")
    backups = tmp_path / "backups"
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=lambda: LONG_AGO, backups=backups) as store:
        stop = Events().make(Kind.STOP, text="done", at=LONG_AGO)
        store.accept(arrivals(stop, origin=origin))
        lease = store.lease(9)
        assert lease is not None
        learnt = Observation("discovery", "The cart rounds to cents", files_read=("cart.py",))
        store.settle(lease, Memory((learnt,)))
        indexing = Indexing(store.readers, store.writer)
        indexing.prepare()
        while indexing.step():
            pass
        yield SqliteLibrary(store.readers)


@pytest.fixture
def truth(library: SqliteLibrary, git: SlowGit, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitTruth]:
    monkeypatch.setattr(gittruth, "HOLDS_S", 0.0)
    # However busy the machine is, this git is not given up on.
    asked = partial(Repository, within_s=PATIENCE_S, environ=git.environ)
    built = GitTruth(library, lambda root: Origin(root, root, root, branch="main"), asked)
    yield built
    git.let_go()
    built.close()


def marks(library: SqliteLibrary, truth: GitTruth) -> tuple[str, ...]:
    """What the one memory is marked with, in the answer of a search that must not need git to go on."""
    search = Search(library, now, None, truth)
    with ThreadPoolExecutor(1) as asking:
        found = asking.submit(search, "cart rounds cents", Filters(), 5, hurried=True).result(PATIENCE_S)
    (hit,) = found.hits
    return hit.marks


def test_a_search_answers_while_git_hangs_and_later_with_what_git_said(
    library: SqliteLibrary, truth: GitTruth, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    assert marks(library, truth) == ()
    until(lambda: git.calls() == 1, "git is asked in the background")
    for _ in range(10):
        assert marks(library, truth) == ()
    assert git.calls() == 1, "one at a time"
    git.let_go()
    until(lambda: marks(library, truth) == (FILES_CHANGED,), "what git said is used")


def test_after_a_commit_the_older_facts_hold_until_git_has_answered(
    library: SqliteLibrary, truth: GitTruth, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    git.let_go()
    until(lambda: marks(library, truth) == (FILES_CHANGED,), "what git said is used")
    git.hang()
    history.git("checkout", "-q", "--detach", "HEAD~1")
    calls = git.calls()
    until(lambda: marks(library, truth) == (FILES_CHANGED,) and git.calls() > calls, "git is asked again")
    assert marks(library, truth) == (FILES_CHANGED,)
    git.let_go()
    until(lambda: marks(library, truth) == (), "what git said is used")


def test_who_needs_an_answer_of_git_waits_for_it(truth: GitTruth, history: Made, git: SlowGit) -> None:
    history.git("tag", "v1")
    git.let_go()
    facts = truth.facts(str(history.root))
    assert facts is not None
    assert set(facts.tags) == {"v1"}


def test_once_closed_it_asks_git_no_more_and_answers_with_what_it_has(
    library: SqliteLibrary, truth: GitTruth, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    git.let_go()
    until(lambda: marks(library, truth) == (FILES_CHANGED,), "what git said is used")
    truth.close()
    calls = git.calls()
    history.git("checkout", "-q", "--detach", "HEAD~1")
    assert marks(library, truth) == (FILES_CHANGED,)
    assert git.calls() == calls
