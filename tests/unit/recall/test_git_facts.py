"""Git is asked rarely, and a stranger's repository cannot make it run anything."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, new_events
from tests.harness.workers import PATIENCE_S, until
from tests.unit.recall.cards import NOW
from tests.unit.recall.repositories import Made

from claude_mem.model.clock import now
from claude_mem.model.events import Kind, Origin
from claude_mem.model.memory import Findings, Observation
from claude_mem.model.refs import Filters
from claude_mem.recall.git_facts import GitFacts, Repository
from claude_mem.recall.search import Search
from claude_mem.recall.staleness import FILES_CHANGED
from claude_mem.store.sqlite import SqliteStore


@pytest.fixture
def made(tmp_path: Path) -> Made:
    repository = Made(tmp_path / "demo")
    repository.commit(NOW, "a.py")
    return repository


def test_it_is_asked_once_until_a_commit_a_branch_a_tag_or_a_checkout_changes_something(made: Made) -> None:
    repository = Repository(made.root)
    first = repository.facts()
    assert first is not None
    assert repository.facts() is first
    assert repository.reads == 1
    changes: tuple[Callable[[], str], ...] = (
        lambda: made.commit(NOW + 1000, "a.py"),
        lambda: made.git("branch", "topic/deep/one"),
        lambda: made.git("tag", "v1"),
        lambda: made.git("checkout", "-q", "--detach"),
        lambda: made.git("pack-refs", "--all"),
        lambda: made.git("branch", "-D", "topic/deep/one"),
    )
    for times, change in enumerate(changes, start=2):
        change()
        repository.facts()
        repository.facts()
        assert repository.reads == times


def test_no_repository_no_commit_no_folder_and_no_git_are_no_facts(made: Made, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert Repository(tmp_path / "plain").facts() is None
    assert Repository(tmp_path / "missing").facts() is None
    assert Repository(Made(tmp_path / "empty").root).facts() is None
    assert Repository(made.root, environ={"PATH": str(tmp_path / "plain")}).facts() is None


def test_a_repository_that_comes_later_is_seen(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    repository = Repository(tmp_path / "demo")
    assert repository.facts() is None
    made = Made(tmp_path / "demo")
    assert repository.facts() is None
    made.commit(NOW, "a.py")
    assert repository.facts() is not None


def test_a_worktree_sees_its_own_head_and_the_shared_branches(made: Made, tmp_path: Path) -> None:
    made.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Made.__new__(Made)
    side.root = tmp_path / "side"
    commit = side.commit(NOW + 1000, "b.py")
    there = Repository(side.root)
    here, seen = Repository(made.root).facts(), there.facts()
    assert here is not None
    assert seen is not None
    assert commit in seen.commits
    assert commit not in here.commits
    assert here.branches == {"main": True, "side": False}
    made.git("tag", "v1")
    assert (facts := there.facts()) is not None
    assert "v1" in facts.tags


def test_a_git_that_hangs_is_given_up_on_and_not_asked_again_for_the_same_state(
    made: Made, tmp_path: Path
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 86400\n", encoding="utf-8")
    slow.chmod(0o755)
    path = f"{slow.parent}:{os.environ['PATH']}"
    repository = Repository(made.root, within_s=0.2, environ={"PATH": path})
    assert repository.facts() is None
    assert repository.facts() is None
    assert repository.reads == 1


def test_an_untrusted_configuration_runs_nothing(made: Made, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> '{trap}'\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    hooks = made.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("reference-transaction", "post-index-change", "fsmonitor-watchman"):
        (hooks / hook).write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
        (hooks / hook).chmod(0o755)
    (made.root / ".gitattributes").write_text("* diff=trap filter=trap\n", encoding="utf-8")
    made.commit(NOW + 1000, "a.py", ".gitattributes")
    for key in (
        *(
            "core.fsmonitor",
            "core.pager",
            "pager.log",
            "diff.external",
            "diff.trap.command",
            "diff.trap.textconv",
        ),
        *(
            "gpg.program",
            "core.sshCommand",
            "core.editor",
            "alias.log",
            "alias.for-each-ref",
            "filter.trap.clean",
        ),
        *("credential.helper", "core.alternateRefsCommand", "gpg.ssh.program"),
    ):
        made.git("config", key, f"!{program}" if key.startswith("alias") else str(program))
    made.git("config", "log.showSignature", "true")
    made.sign()
    made.git("config", "diff.relative", "true")
    made.git("config", "log.diffMerges", "on")
    made.git("config", "log.showRoot", "false")
    trap.unlink(missing_ok=True)
    facts = Repository(made.root).facts()
    assert facts is not None
    assert set(facts.touches) >= {"a.py", ".gitattributes"}
    assert not trap.exists(), trap.read_text(encoding="utf-8")


def test_the_users_environment_stays_with_the_user(made: Made, tmp_path: Path) -> None:
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f"#!/bin/sh\nenv > '{tmp_path}/seen'\nexit 1\n", encoding="utf-8")
    spy.chmod(0o755)
    environ = {
        "PATH": f"{spy.parent}:{os.environ['PATH']}",
        "API_KEY": "secret",
        "GIT_DIR": "/x",
        "HOME": "/h",
    }
    assert Repository(made.root, environ=environ).facts() is None
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert "HOME=/h" in seen
    assert "secret" not in seen
    assert "GIT_DIR" not in seen


def test_a_bare_repository_planted_in_a_folder_is_not_entered(tmp_path: Path) -> None:
    planted = Made(tmp_path / "origin")
    planted.commit(NOW, "a.py")
    planted.git("clone", "-q", "--bare", str(planted.root), str(tmp_path / "planted"))
    assert Repository(tmp_path / "planted").facts() is None


# Git is asked in the background: nobody who searches waits for it.


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
def library(tmp_path: Path, history: Made) -> Iterator[SqliteStore]:
    """One memory about a file."""
    origin = Origin(key="shop", name="shop", root=str(history.root), branch="main")
    backups = tmp_path / "backups"
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=lambda: LONG_AGO, backups=backups) as store:
        stop = Events().make(Kind.STOP, text="done", at=LONG_AGO)
        store.events.accept(new_events(stop, origin=origin))
        lease = store.queue.lease(9)
        assert lease is not None
        learnt = Observation("discovery", "The cart rounds to cents", files_read=("cart.py",))
        store.queue.settle(lease, Findings((learnt,)))
        indexing = store.text_index
        indexing.prepare()
        while indexing.step():
            pass
        yield store


@pytest.fixture
def git_facts(library: SqliteStore, git: SlowGit, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitFacts]:
    monkeypatch.setattr("claude_mem.recall.git_facts.HOLDS_S", 0.0)
    # However busy the machine is, this git is not given up on.
    asked = partial(Repository, within_s=PATIENCE_S, environ=git.environ)
    built = GitFacts(library.projects, lambda root: Origin(root, root, root, branch="main"), asked)
    yield built
    git.let_go()
    built.close()


def marks(library: SqliteStore, git_facts: GitFacts) -> tuple[str, ...]:
    """What the one memory is marked with, in the answer of a search that must not need git to go on."""
    search = Search(library.memories, now, None, git_facts)
    with ThreadPoolExecutor(1) as asking:
        found = asking.submit(search, "cart rounds cents", Filters(), 5, hurried=True).result(PATIENCE_S)
    (hit,) = found.hits
    return hit.marks


def test_a_search_answers_while_git_hangs_and_later_with_what_git_said(
    library: SqliteStore, git_facts: GitFacts, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    assert marks(library, git_facts) == ()
    until(lambda: git.calls() == 1, "git is asked in the background")
    for _ in range(10):
        assert marks(library, git_facts) == ()
    assert git.calls() == 1, "one at a time"
    git.let_go()
    until(lambda: marks(library, git_facts) == (FILES_CHANGED,), "what git said is used")


def test_after_a_commit_the_older_facts_hold_until_git_has_answered(
    library: SqliteStore, git_facts: GitFacts, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    git.let_go()
    until(lambda: marks(library, git_facts) == (FILES_CHANGED,), "what git said is used")
    git.hang()
    history.git("checkout", "-q", "--detach", "HEAD~1")
    calls = git.calls()
    until(lambda: marks(library, git_facts) == (FILES_CHANGED,) and git.calls() > calls, "git is asked again")
    assert marks(library, git_facts) == (FILES_CHANGED,)
    git.let_go()
    until(lambda: marks(library, git_facts) == (), "what git said is used")


def test_who_needs_an_answer_of_git_waits_for_it(git_facts: GitFacts, history: Made, git: SlowGit) -> None:
    history.git("tag", "v1")
    git.let_go()
    facts = git_facts.facts(str(history.root))
    assert facts is not None
    assert set(facts.tags) == {"v1"}


def test_once_closed_it_asks_git_no_more_and_answers_with_what_it_has(
    library: SqliteStore, git_facts: GitFacts, history: Made, git: SlowGit
) -> None:
    history.commit(LONG_AGO + DAY_MS, "cart.py")
    git.let_go()
    until(lambda: marks(library, git_facts) == (FILES_CHANGED,), "what git said is used")
    git_facts.close()
    calls = git.calls()
    history.git("checkout", "-q", "--detach", "HEAD~1")
    assert marks(library, git_facts) == (FILES_CHANGED,)
    assert git.calls() == calls
