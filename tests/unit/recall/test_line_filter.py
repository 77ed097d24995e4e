"""Which lines are worth their place at a session's start."""

from __future__ import annotations

import pytest

from claude_mem.recall.line_filter import is_open, is_specific, is_task, removed_names, stands_alone


@pytest.mark.parametrize(
    "title",
    [
        "Refresh now syncs checkpoint metadata before reloading the views",
        "Fix Slow Project Stats Query",
        "Root cause: the cache key left out the tenant",
        "Step 5: Add covering indexes for status queries",
        "Prices are integers",
        "Migration",
        "一時ファイルを閉じる",
        "Die Warteschlange wird beim Start geleert",
    ],
)
def test_a_title_that_names_its_subject_stands_alone(title: str) -> None:
    assert stands_alone(title)


@pytest.mark.parametrize(
    "title",
    [
        "Fixed the issue and added tests to verify the fix works",
        "All fixes in commit 203e663a, pushed",
        "Updated both documentation files",
        "Added two tests to cart_test.py",
        "Fixed by saving the hash before the assignment",
        "Removed (not in the docs or transcripts)",
        "I think a separate package is the right boundary",
        "Never mind, we'll look at it later",
        "Go ahead, including the rename",
        "For 4: if I understand correctly",
        "Do I need to run the dashboard locally: yes",
        "The cart regression passed in the final run",
        "Verified orchestration quality gates",
        "The spinner of the cart is not showing anymore",
        "Now when running setup interactively",
    ],
)
def test_a_fragment_a_turn_of_talk_and_a_passed_check_do_not(title: str) -> None:
    assert not stands_alone(title)


@pytest.mark.parametrize(
    "title",
    [
        "Fix Slow Mail Job Query",
        "Removed containsLine from config.go",
        "The basket header now uses a flexible column",
        "A gradient costs 15 times as much as a solid color inside the writer",
        "一時ファイルを閉じる",
    ],
)
def test_a_title_cut_from_what_was_said_needs_its_place_or_more_words(title: str) -> None:
    assert is_specific(title)


@pytest.mark.parametrize(
    "title",
    [
        "Fixed cascading code changes across multiple files",
        "Reviewed and aligned the tracker around the goal",
        "Fix the critical and medium issues",
        "Add an additional note",
        "Worth flagging on the process side",
        "The error was the view contribution, not the provider code",
        "Add an integration test for the mail job, testing this",
    ],
)
def test_one_that_leaves_open_what_it_is_about_does_not_say_enough(title: str) -> None:
    assert not is_specific(title)


def test_a_title_cut_in_the_middle_of_a_phrase_does_not_stand_alone() -> None:
    title = "Both releases of the mail job exist in Forge"
    assert not stands_alone(title, f"{title} releases but not on the registry.")
    assert stands_alone(title, f"{title}, not on the registry.")
    assert stands_alone(title, f"{title} because the job was skipped.")


def test_what_was_taken_away_is_known_by_its_names() -> None:
    assert removed_names("Remove transcript_path storage of checkpoints") == {"transcript_path"}
    assert not removed_names("Fix: persist transcript_path in checkpoints")


def test_a_title_that_ends_before_its_point_does_not() -> None:
    title = "The basket filter now checks"
    assert stands_alone(title, "The basket filter now checks. It did not before.")
    assert not stands_alone(title, "The basket filter now checks for rows without a price.")


@pytest.mark.parametrize(
    "request_",
    ["Make the pump wait as the provider says", "show status in the terminal", "add a retry to the mail job"],
)
def test_a_request_that_says_what_was_wanted_is_a_task(request_: str) -> None:
    assert is_task(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "Commit the changes",
        "let's merge it and clean up stale workers.",
        "ok, please push",
        "fix everything",
        "Context. Your name is Robin, a managed agent. You are executing tasks from a playbook.",
        "Root cause: the cache key left out the tenant",
    ],
)
def test_an_errand_boilerplate_and_a_finding_are_none(request_: str) -> None:
    assert not is_task(request_)


@pytest.mark.parametrize(
    "step",
    [
        "measure it on a slow disk",
        "still failing: ruff check .",
        "Not pushed: the branch with the mail job",
        "The mail job needs a migration",
    ],
)
def test_what_is_left_to_do_is_open(step: str) -> None:
    assert is_open(step)


@pytest.mark.parametrize(
    "step",
    [
        "refactor(shell): strip restating comments",
        "Fixed the error messages in all 4 places",
        "Option B: a second parameter with a default",
        "Parallel Session (separate) - open a new session",
        "You can also run it by hand",
        "Use the local tool to see it at once",
        "Should the cache be cleared?",
    ],
)
def test_a_commit_a_deed_an_option_advice_and_a_question_are_not(step: str) -> None:
    assert not is_open(step)
