"""A commit's own words are the memory of what it holds."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import Acting

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
    assert "commit 1d1cd9ab on main: 1 file changed, 4 insertions(+), 1 deletion(-)" in seen.facts
    assert seen.files_modified == ("src/a.py",)


def test_a_quiet_commit_is_told_by_the_message_it_was_given() -> None:
    quiet = "git commit -qam 'Accept a decimal comma' && git log --oneline -1"
    assert Acting("commit it").run(quiet, "c85a9d1 x").only().title == "Accept a decimal comma"


def test_edits_fold_into_the_commit_that_covers_them() -> None:
    seen = Acting("x").edit("src/a.py", "+def guard():", "+    pass").run(COMMIT, MADE).only()
    assert seen.title == "fix(path): keep folder names from running"
    assert "changed: src/a.py" in seen.facts


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


def test_many_commits_of_one_turn_are_one_observation() -> None:
    acted = Acting("split the parser")
    for name in ("a", "b", "c", "d"):
        acted.edit(f"src/{name}.py", "+x = 1")
        acted.run(f"git add src/{name}.py && git commit -m 'part {name}'", f"[main aaaaaa{name}] part {name}")
    seen = acted.stop("Split the parser into four modules.").only()
    assert seen.title == "Split the parser into four modules"
    assert len(seen.files_modified) == 4


@pytest.mark.parametrize(
    "subject", ["wip", "Address review feedback", "address review: 7 findings", "fix lint"]
)
def test_a_subject_that_says_nothing_gives_way_to_what_the_agent_said(subject: str) -> None:
    acted = (
        Acting("yes").edit("a.py", "+y = 1").run(f"git commit -m '{subject}'", f"[main aaaaaaa] {subject}")
    )
    assert acted.stop("Fixed the order of the columns in a.py.").only().title == (
        "Fixed the order of the columns in a.py"
    )


def test_a_long_subject_is_cut_without_a_mark() -> None:
    subject = "feat: " + "many words that say what was done " * 5
    seen = Acting("x").run(f"git commit -m '{subject}'", f"[main aaaaaaa] {subject}").only()
    assert len(seen.title or "") <= 72
    assert "…" not in (seen.title or "")


def test_a_commit_that_failed_is_none() -> None:
    acted = Acting("x").fail("git commit -m 'feat: a'", "nothing to commit, working tree clean")
    assert acted.observations() == ()


def test_a_commit_named_in_a_string_is_none() -> None:
    assert Acting("x").run("echo 'git commit -m \"feat: a\"'", "git commit").observations() == ()


def test_an_amended_commit_takes_the_place_of_what_was_told_of_it() -> None:
    amend = "git commit --amend --no-edit"
    acted = Acting("x").edit("docs/b.md", "+## B").run(amend, "[main ccccccc] feat: a\n 2 files changed")
    memory = acted.memory(recorded=("feat: a", "something else"))
    assert [seen.title for seen in memory.observations] == ["feat: a"]
    assert memory.replaces == (("feat: a", "feat: a"),)


def test_a_commit_amended_in_its_turn_is_told_once() -> None:
    acted = Acting("x").edit("src/a.py", "+y = 1").run("git commit -am 'feat: a'", "[main aaaaaaa] feat: a")
    acted.edit("src/b.py", "+y = 1").run(
        "git commit --amend -am 'feat: a and b'", "[main bbbbbbb] feat: a and b"
    )
    assert acted.only().title == "feat: a and b"


def test_a_commit_of_earlier_work_takes_the_place_of_what_was_told_of_it() -> None:
    acted = Acting("commit it").run("git commit -am 'feat: cache prices for an hour'", "[main aaaaaaa] x")
    memory = acted.memory(recorded=("Added a parser", "Cached prices for an hour"))
    assert memory.replaces == ()  # no file of this session is named: nothing says it is the same
    acted = Acting("commit it").run(
        "git commit -am 'feat: cache prices for an hour' -m 'Prices are cached now.'",
        "[main aaaaaaa] feat: cache prices for an hour",
    )
    acted.stop("Committed: the price cache, prices cached for an hour.")
    replaced = acted.memory(recorded=("Added a parser", "Price cache: prices cached for an hour")).replaces
    assert [old for _, old in replaced] == ["Price cache: prices cached for an hour"]


def test_a_commit_taken_back_in_the_turn_is_forgotten() -> None:
    acted = (
        Acting("x")
        .run("git commit -m 'feat: a'", "[main aaaaaaa] feat: a\n 1 file changed")
        .run("git reset --soft HEAD~1")
    )
    assert acted.observations() == ()


def test_a_branch_of_any_name_and_a_message_in_any_language() -> None:
    made = "[feat/вход 1234567] 修复登录超时\n 1 file changed, 1 insertion(+)"
    seen = Acting("x").run("git commit -m '修复登录超时'", made).only()
    assert (seen.type, seen.title) == ("bugfix", "修复登录超时")
