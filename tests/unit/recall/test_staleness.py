"""What a repository's history says against a memory: asked of real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.recall.cards import DAY, NOW, card
from tests.unit.recall.repositories import Made

from claude_mem.model.refs import Card
from claude_mem.recall.git_facts import Repository
from claude_mem.recall.staleness import (
    FILES_CHANGED,
    FILES_DELETED,
    NEVER_MERGED,
    REVERTED,
    RepoFacts,
    Touch,
    marks,
    penalty,
    when_tagged,
)

MADE = NOW - 10 * DAY  # when the memory was made
HOUR = DAY // 24


@pytest.fixture
def made(tmp_path: Path) -> Made:
    repository = Made(tmp_path / "demo")
    repository.commit(MADE - 20 * DAY, "src/a.py", "src/b.py", "README.md")
    return repository


def judged(made: Made, memory: Card, branch: str | None = "main") -> tuple[str, ...]:
    facts = Repository(made.root).facts()
    assert facts is not None
    return marks(memory, facts, branch)


def about(*files: str, modified: bool = False, **more: Any) -> Card:
    return card(created_at=MADE, files=files, files_modified=files if modified else (), **more)


def test_a_file_that_nobody_touched_since_is_not_marked(made: Made) -> None:
    assert judged(made, about("src/a.py")) == ()


def test_what_was_only_read_is_marked_by_the_first_commit_after(made: Made) -> None:
    made.commit(MADE + HOUR, "src/a.py")
    assert judged(made, about("src/a.py")) == (FILES_CHANGED,)
    assert judged(made, about("src/b.py")) == ()


def test_a_memorys_own_work_committed_within_a_day_does_not_count_against_it(made: Made) -> None:
    made.commit(MADE + 3 * HOUR, "src/a.py")
    assert judged(made, about("src/a.py", modified=True)) == ()
    made.commit(MADE + 4 * HOUR, "src/a.py")
    assert judged(made, about("src/a.py", modified=True)) == (FILES_CHANGED,)


def test_work_committed_days_later_is_its_own_only_on_the_memorys_commit(made: Made) -> None:
    base = made.head()
    made.commit(MADE + 5 * DAY, "src/a.py")
    assert judged(made, about("src/a.py", modified=True, commit=base)) == ()
    assert judged(made, about("src/a.py", modified=True, commit="0" * 40)) == (FILES_CHANGED,)


def test_a_rebase_does_not_make_a_memory_look_outdated(made: Made) -> None:
    made.git("checkout", "-q", "-b", "topic")
    made.commit(MADE + HOUR, "src/a.py")
    made.git("checkout", "-q", "main")
    made.commit(MADE + 5 * DAY, "README.md")
    made.git("checkout", "-q", "topic")
    made.git("rebase", "-q", "main", at=None)
    assert judged(made, about("src/a.py", modified=True)) == ()


def test_one_changed_file_of_many_is_no_mark(made: Made) -> None:
    made.commit(MADE + HOUR, "README.md")
    assert judged(made, about("src/a.py", "src/b.py", "README.md")) == ()
    assert judged(made, about("src/a.py", "README.md")) == (FILES_CHANGED,)


def test_a_formatters_commit_is_not_looked_at(made: Made) -> None:
    made.commit(MADE + HOUR, "src/a.py", *(f"vendor/{number}" for number in range(300)))
    assert judged(made, about("src/a.py")) == ()


def test_files_are_known_from_a_subfolder_a_worktree_and_by_their_whole_path(made: Made) -> None:
    made.commit(MADE + HOUR, "src/deep/a.py", "src/a.py", "README.md")
    for name in ("deep/a.py", "/elsewhere/worktree/src/deep/a.py", f"{made.root}/src/a.py", "src\\a.py"):
        assert judged(made, about(name)) == (FILES_CHANGED,), name
    for name in ("a.py", "other/README.md", "/elsewhere/README.md", "b/a.py"):
        assert judged(made, about(name)) == (), name


def test_odd_names_are_read_as_they_are(made: Made) -> None:
    odd = 'src/ä b\n\t"c".py'
    made.commit(MADE + HOUR, odd, "src/x\x01y.py", "src/z.py")
    assert judged(made, about(odd)) == (FILES_CHANGED,)


def test_a_branch_that_is_still_unmerged_is_marked_but_not_on_it(made: Made) -> None:
    made.git("checkout", "-q", "-b", "wip")
    commit = made.commit(MADE - HOUR, "src/a.py")
    memory = about("src/a.py", branch="wip", commit=commit)
    assert judged(made, memory, "wip") == ()
    made.git("checkout", "-q", "main")
    assert judged(made, memory, "main") == (NEVER_MERGED,)
    made.git("merge", "-q", "--no-ff", "-m", "merge", "wip", at=MADE)
    assert judged(made, memory, "main") == ()


def test_the_trunk_is_merged_also_when_seen_from_a_branch_behind_it(made: Made) -> None:
    made.git("branch", "old")
    commit = made.commit(MADE - HOUR, "src/a.py")
    made.git("checkout", "-q", "old")
    assert judged(made, about("src/b.py", branch="main", commit=commit), "old") == ()


def test_a_branch_that_is_gone_is_judged_by_its_commit(made: Made) -> None:
    made.git("checkout", "-q", "-b", "kept")
    kept = made.commit(MADE - 2 * HOUR, "src/a.py")
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--ff-only", "kept")
    made.git("checkout", "-q", "-b", "dropped")
    dropped = made.commit(MADE - HOUR, "src/b.py")
    made.git("checkout", "-q", "main")
    made.git("branch", "-q", "-D", "kept", "dropped")
    assert judged(made, about("x/y.py", branch="kept", commit=kept)) == ()
    assert judged(made, about("x/y.py", branch="dropped", commit=dropped)) == (NEVER_MERGED,)
    assert judged(made, about("x/y.py", branch="dropped")) == (), "of an unknown commit nothing is said"


def test_a_branch_that_only_a_remote_has_is_known(made: Made, tmp_path: Path) -> None:
    made.git("checkout", "-q", "-b", "theirs")
    commit = made.commit(MADE - HOUR, "src/a.py")
    made.git("checkout", "-q", "main")
    made.git("clone", "-q", str(made.root), str(tmp_path / "clone"))
    facts = Repository(tmp_path / "clone").facts()
    assert facts is not None
    assert facts.branches == {"main": True, "theirs": False}
    assert marks(about("src/b.py", branch="theirs", commit=commit), facts, "main") == (NEVER_MERGED,)


def test_of_commits_older_than_were_looked_at_nothing_is_said() -> None:
    facts = RepoFacts("/r", commits=frozenset({"new"}), commits_since=MADE + HOUR)
    assert marks(about("a", branch="gone", commit="old"), facts, "main") == ()


def test_without_facts_there_are_no_marks() -> None:
    assert marks(about("src/a.py", branch="x", commit="y"), None, "main") == ()


def test_marks_lower_a_memory_and_never_hide_it() -> None:
    assert penalty(()) == 1.0
    assert penalty(("something else",)) == 1.0
    both = penalty((FILES_CHANGED, NEVER_MERGED))
    assert 0 < both < penalty((NEVER_MERGED,)) < penalty((FILES_CHANGED,)) < 1.0


def test_a_tag_is_found_by_its_name_without_its_v_and_by_the_beginning_of_its_line(made: Made) -> None:
    made.git("tag", "v1.9.0")
    made.commit(MADE, "src/a.py")
    made.git("tag", "-a", "-m", "two", "v2.0.0", at=MADE + HOUR)
    made.commit(MADE + DAY, "src/a.py")
    made.git("tag", "v2.1.0")
    made.git("tag", "nightly")
    facts = Repository(made.root).facts()
    assert (
        when_tagged(facts, "v2.1.0")
        == when_tagged(facts, "2.1.0")
        == when_tagged(facts, "nightly")
        == MADE + DAY
    )
    assert when_tagged(facts, "v2") == MADE + HOUR
    assert when_tagged(facts, "v1") == MADE - 20 * DAY
    assert when_tagged(facts, "v3") is None
    assert when_tagged(facts, "night") is None
    assert when_tagged(None, "v2") is None


def test_touches_are_told_the_newest_first(made: Made) -> None:
    second = made.commit(MADE, "src/a.py")
    facts = Repository(made.root).facts()
    assert facts is not None
    newest, oldest = facts.touches["src/a.py"]
    assert newest == Touch(MADE, second, (oldest.commit,))
    assert oldest.parents == ()


def test_a_file_that_is_gone_is_marked_even_within_a_day(made: Made) -> None:
    made.git("rm", "-q", "src/a.py")
    made.git("commit", "-q", "-m", "away", at=MADE + HOUR)
    assert judged(made, about("src/a.py", modified=True)) == (FILES_DELETED,)
    assert judged(made, about("src/a.py", modified=True, title="Removed src/a.py")) == ()


def test_a_renamed_file_is_gone_and_one_that_came_back_is_not(made: Made) -> None:
    made.git("mv", "src/a.py", "src/c.py")
    made.git("commit", "-q", "-m", "renamed", at=MADE + HOUR)
    assert judged(made, about("src/a.py")) == (FILES_DELETED,)
    made.commit(MADE + 2 * HOUR, "src/a.py")
    assert judged(made, about("src/a.py")) == (FILES_CHANGED,)


def test_a_commit_that_was_reverted_is_marked_until_that_is_reverted_too(made: Made) -> None:
    commit = made.commit(MADE + HOUR, "src/a.py")
    made.git("revert", "--no-edit", commit, at=MADE + 2 * HOUR)
    assert REVERTED in judged(made, about("src/a.py", modified=True))
    assert REVERTED not in judged(made, about("src/b.py", modified=True))
    made.git("revert", "--no-edit", "HEAD", at=MADE + 3 * HOUR)
    assert REVERTED not in judged(made, about("src/a.py", modified=True))
