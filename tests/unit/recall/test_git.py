"""Git is asked rarely, and a stranger's repository cannot make it run anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.recall.cards import NOW
from tests.unit.recall.repositories import Made

from claude_mem.recall.git import Repository


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
    assert repository.times_asked == 1
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
        assert repository.times_asked == times


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
    assert repository.times_asked == 1


def test_a_strangers_configuration_runs_nothing(made: Made, tmp_path: Path) -> None:
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
