"""A commit's own words are the memory of what it holds."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.acting import Acting

COMMIT = """git add src/a.py && git commit -m "$(cat <<'EOF'
fix(path): keep folder names from running

A folder's name reached the template engine.

Co-Authored-By: Somebody <a@example.com>
EOF
)" """
MADE = "[main 1d1cd9ab] fix(path): keep folder names from running\n"
MADE += " 1 file changed, 4 insertions(+), 1 deletion(-)"


def test_a_commit_is_told_in_its_own_words_with_hash_branch_and_counts() -> None:
    seen = Acting("commit it").run(COMMIT, MADE).only()
    assert seen.title == "fix(path): keep folder names from running"
    assert seen.type == "bugfix"
    assert (seen.narrative or "").startswith("A folder's name reached the template engine.")
    assert "Co-Authored-By" not in (seen.narrative or "")
    assert seen.facts[0] == "commit 1d1cd9ab on main: 1 file changed, 4 insertions(+), 1 deletion(-)"
    assert seen.files_modified == ("src/a.py",)


def test_a_quiet_commit_is_told_by_the_message_it_was_given() -> None:
    seen = (
        Acting("commit it")
        .run("git commit -qam 'Accept a decimal comma' && git log --oneline -1", "c85a9d1 x")
        .only()
    )
    assert seen.title == "Accept a decimal comma"


def test_edits_fold_into_the_commit_that_covers_them() -> None:
    seen = Acting("x").edit("src/a.py", "+def guard():", "+    pass").run(COMMIT, MADE).only()
    assert seen.title == "fix(path): keep folder names from running"
    assert "src/a.py (+2 −0): guard() added" in seen.facts


def test_two_commits_share_the_edits_by_what_was_staged() -> None:
    first, second = (
        Acting("x")
        .edit("src/a.py", "+def a():")
        .edit("docs/b.md", "+## B")
        .run("git add src/a.py && git commit -m 'feat: a'", "[main aaaaaaa] feat: a\n 1 file changed")
        .run("git add docs/b.md && git commit -m 'docs: b'", "[main bbbbbbb] docs: b\n 1 file changed")
        .observations()
    )
    assert (first.type, first.files_modified) == ("feature", ("src/a.py",))
    assert (second.type, second.files_modified) == ("change", ("docs/b.md",))


def test_a_commit_that_failed_is_none() -> None:
    acted = Acting("x").fail("git commit -m 'feat: a'", "nothing to commit, working tree clean")
    assert acted.observations() == ()


def test_a_commit_named_in_a_string_is_none() -> None:
    assert Acting("x").run("echo 'git commit -m \"feat: a\"'", "git commit").observations() == ()


def test_an_amended_commit_told_before_leaves_its_new_edits_to_stand_alone() -> None:
    acted = (
        Acting("x")
        .edit("docs/b.md", "+## B")
        .run("git commit --amend --no-edit", "[main ccccccc] feat: a\n 2 files changed")
    )
    (seen,) = acted.observations(recorded=("feat: a",))
    assert seen.title == "docs/b.md: section “B” added"


LONG = "feat: " + "many words that say what was done " * 5


@pytest.mark.parametrize("subject", ["feat: a", LONG], ids=["short", "long"])
def test_an_amended_commit_told_before_is_not_told_again(subject: str) -> None:
    first = Acting("x").run(f"git commit -m '{subject}'", f"[main aaaaaaa] {subject}\n 1 file changed").only()
    acted = Acting("x").run(
        f"git commit --amend -m '{subject}'", f"[main bbbbbbb] {subject}\n 1 file changed"
    )
    assert acted.observations(recorded=(first.title or "",)) == ()


def test_another_commit_under_the_same_subject_is_told_as_well() -> None:
    acted = Acting("x").run("git commit -m 'wip'", "[main bbbbbbb] wip\n 1 file changed")
    (seen,) = acted.observations(recorded=("wip",))
    assert seen.facts[0].startswith("commit bbbbbbb on main")


def test_a_commit_taken_back_in_the_turn_is_forgotten() -> None:
    acted = (
        Acting("x")
        .run("git commit -m 'wip: a'", "[main aaaaaaa] wip: a\n 1 file changed")
        .run("git reset --soft HEAD~1")
    )
    assert acted.observations() == ()


def test_a_branch_of_any_name_and_a_message_in_any_language() -> None:
    seen = (
        Acting("x")
        .run(
            "git commit -m '修复登录超时'",
            "[feat/вход 1234567] 修复登录超时\n 1 file changed, 1 insertion(+)",
        )
        .only()
    )
    assert (seen.type, seen.title) == ("bugfix", "修复登录超时")
