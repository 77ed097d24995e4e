"""Commands: how tests went, and what of it belongs to the change."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import Acting

from claude_mem.observe.offline import commands

FAILED = (
    "FAILED tests/test_auth.py::test_expired - AssertionError: 1 != 2\n=== 1 failed, 3 passed in 0.12s ==="
)
PASSED = "=== 4 passed in 0.11s ==="


FIXED = "Fixed the expiry of logins in src/auth.py."


def test_the_state_before_and_after_is_one_fact() -> None:
    acted = Acting("the login is odd").fail("uv run pytest -q", FAILED).edit("src/auth.py", "+y = 1")
    seen = acted.run("uv run pytest -q", PASSED).stop(FIXED).only()
    assert seen.type == "bugfix"
    said = "uv run pytest -q: 4 passed; before: 3 passed, 1 failed (tests/test_auth.py::test_expired)"
    assert said in seen.facts


def test_a_run_from_before_the_last_edit_proves_nothing_of_it() -> None:
    acted = Acting("the login is odd").run("pytest -q", PASSED).edit("src/auth.py", "+y = 1").stop(FIXED)
    assert not any("4 passed" in fact for fact in acted.only().facts)


def test_a_run_followed_by_words_alone_still_counts() -> None:
    acted = Acting("the login is odd").edit("src/auth.py", "+y = 1").run("pytest -q", PASSED)
    seen = acted.edit("CHANGELOG.md", "+- logins").stop(FIXED).only()
    assert "pytest -q: 4 passed" in seen.facts


def test_what_fails_at_the_end_is_said_to_be_failing_and_open() -> None:
    acted = Acting("the login is odd").edit("src/a.py", "+    y").fail("pytest", FAILED).stop(FIXED)
    left = "still failing: pytest: tests/test_auth.py::test_expired"
    assert left in acted.only().facts
    assert left in (acted.memory().summaries[0].next_steps or "")


def test_what_a_later_run_cured_is_not_open() -> None:
    acted = Acting("the login is odd").edit("src/a.py", "+    y").fail("pytest", FAILED)
    acted.edit("src/a.py", "+    z").run("pytest", PASSED).stop(FIXED)
    assert acted.memory().summaries[0].next_steps is None


def test_a_linters_complaint_that_the_agent_does_not_mention_is_not_open() -> None:
    acted = (
        Acting("the login is odd")
        .edit("docs/a.md", "+    y")
        .fail("markdownlint docs", "docs/a.md:3: MD013 long")
    )
    assert acted.stop("Rewrote the page on logins.").memory().summaries[0].next_steps is None


def test_a_search_through_the_output_proves_nothing() -> None:
    acted = (
        Acting("tidy it").edit("a.go", "+\tx()").run('go vet ./... 2>&1 | grep -v "unsafe"', "").stop(FIXED)
    )
    assert not any("go vet" in fact for fact in acted.only().facts)


def test_a_command_that_works_only_another_way_is_a_fact() -> None:
    acted = Acting("run them").edit("src/a.go", "+\tx()")
    acted.fail("go test ./...", "pattern ./...: directory prefix . does not contain main module")
    seen = acted.run("cd src && go test -count=1 ./...", "ok  \tproj/a\t0.1s").stop(FIXED).only()
    assert any(
        fact.startswith("go test -count=1 ./...: 1 package ok; go test ./... failed: ") for fact in seen.facts
    )


def test_slips_and_looks_leave_nothing() -> None:
    acted = (
        Acting("x")
        .fail("cd src && ls", "/usr/bin/bash: line 1: cd: src: No such file or directory")
        .run("ls -la", "total 0")
        .run("git status --short", " M a.py")
        .run("cat a.py | head", "x")
        .fail("grep -rn foo .", "")
        .read("a.py", "x = 1")
    )
    assert acted.observations() == ()


@pytest.mark.parametrize(
    ("framework", "output", "counts", "failing"),
    [
        ("pytest", FAILED, (3, 1), "tests/test_auth.py::test_expired"),
        ("unittest", "FAIL: test_x (t.T)\nRan 3 tests in 0.1s\n\nFAILED (failures=1)", (2, 1), "test_x"),
        ("jest", "  ● api › logs in\n\nTests:       1 failed, 4 passed, 5 total", (4, 1), "api › logs in"),
        (
            "vitest",
            " FAIL  src/a.test.ts > adds\n      Tests  1 failed | 3 passed (4)",
            (3, 1),
            "src/a.test.ts > adds",
        ),
        (
            "go test",
            "--- FAIL: TestOpen (0.00s)\nFAIL\tproj/store\t0.1s\nok  \tproj/a\t0.1s",
            (1, 1),
            "TestOpen",
        ),
        (
            "cargo test",
            "test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
            (2, 1),
            "a::b",
        ),
        ("mocha", "  3 passing (9ms)\n  1 failing\n\n  1) api logs in:\n", (3, 1), "api logs in"),
        ("rspec", "4 examples, 1 failure\n\nrspec ./spec/a_spec.rb:3 # x", (3, 1), "./spec/a_spec.rb:3"),
        ("phpunit", "1) A\\BTest::testX\n\nTests: 5, Assertions: 9, Failures: 1.", (4, 1), "A\\BTest::testX"),
        (
            "dotnet test",
            "  Failed A.B.C [3 ms]\nFailed!  - Failed:     1, Passed:    12, Skipped:     0",
            (12, 1),
            "A.B.C",
        ),
        (
            "maven",
            "[ERROR]   FooTest.bar:12 expected\nTests run: 5, Failures: 1, Errors: 0, Skipped: 0",
            (4, 1),
            "FooTest.bar",
        ),
        ("gradle", "FooTest > bar() FAILED\n5 tests completed, 1 failed", (4, 1), "FooTest > bar()"),
        ("ctest", "75% tests passed, 1 tests failed out of 4\n\t  2 - parse (Failed)", (3, 1), "parse"),
        ("tap", "not ok 2 - parses\n# tests 3\n# pass  2\n# fail  1", (2, 1), "parses"),
        ("bun test", "(fail) adds up [0.1ms]\n 3 pass\n 1 fail", (3, 1), "adds up"),
    ],
)
def test_each_runner_is_read_by_its_format(
    framework: str, output: str, counts: tuple[int, int], failing: str
) -> None:
    run = commands.read_run(framework, output, code_failed=True)
    assert run is not None
    assert (run.framework, run.ok, (run.passed, run.failed)) == (framework, False, counts)
    assert run.failing == (failing,)


@pytest.mark.parametrize(
    "command",
    [
        "uv add httpx rich",
        "gh pr create --title 'Add x' --body y",
        "git push origin main",
        "git mv a.py b.py",
    ],
)
def test_what_only_moved_or_installed_something_leaves_nothing(command: str) -> None:
    said = "https://github.com/a/b/pull/12\n   aaaaaaa..bbbbbbb  main -> main"
    assert Acting("x").run(command, said).stop("Done.").observations() == ()


def test_a_failure_followed_by_a_run_nobody_can_judge_is_not_said_to_remain() -> None:
    acted = Acting("tidy the parser").edit("a.go", "+\tx()").fail("go vet ./...", "a.go:3:1: undefined: x")
    acted.run('go vet ./... 2>&1 | grep -v "unsafe"', "")
    assert not any(fact.startswith("still failing") for fact in acted.only().facts)
