"""Commands: how tests went, what failed and what mended it, what was installed and changed elsewhere."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.acting import Acting

from claude_mem.observe.offline import testruns

FAILED = (
    "FAILED tests/test_auth.py::test_expired - AssertionError: 1 != 2\n=== 1 failed, 3 passed in 0.12s ==="
)
PASSED = "=== 4 passed in 0.11s ==="


def test_a_test_that_failed_and_passes_after_edits_is_a_bugfix_with_its_evidence() -> None:
    seen = (
        Acting("the login is odd")
        .fail("uv run pytest -q", FAILED)
        .edit("src/auth.py", " def expired(at):", "-    return at < 1", "+    return at <= 1")
        .run("uv run pytest -q", PASSED)
        .only()
    )
    assert seen.type == "bugfix"
    assert seen.title == "test_expired passes again: expired() changed in src/auth.py"
    assert seen.facts[0] == "pytest failed in tests/test_auth.py::test_expired; after the change: 4 passed"


def test_what_a_turn_broke_and_mended_itself_is_no_bugfix() -> None:
    seen = (
        Acting("add a cache")
        .edit("src/cache.go", "+func Get() string {", "+}")
        .fail("go build ./...", "src/cache.go:12:3: missing return", 1)
        .edit("src/cache.go", " func Get() string {", "+\treturn x")
        .run("go build ./...")
        .only()
    )
    assert seen.type == "feature"


def test_what_fails_at_the_end_is_said_to_be_failing() -> None:
    acted = Acting("x").edit("src/a.py", " def f():", "+    y").fail("pytest", FAILED)
    assert any(
        fact.startswith("still failing: pytest: tests/test_auth.py::test_expired")
        for fact in acted.only().facts
    )


def test_a_failing_run_without_edits_is_a_discovery() -> None:
    seen = Acting("do the tests pass?").fail("pytest", FAILED).only()
    assert (seen.type, seen.title) == ("discovery", "pytest fails: tests/test_auth.py::test_expired")


def test_a_pipe_hides_the_exit_code_but_not_the_diagnostics() -> None:
    acted = Acting("x").run("go build ./... 2>&1 | head -50", "# proj\nsrc/a.go:7:2: undefined: Frob")
    assert acted.only().title == "go build fails: src/a.go:7: undefined: Frob"


def test_a_search_through_the_output_proves_nothing() -> None:
    acted = Acting("x").edit("a.go", " func F() {", "+\tx()").run('go vet ./... 2>&1 | grep -v "unsafe"', "")
    assert "Checked" not in (acted.only().narrative or "")


def test_a_command_that_works_only_another_way_is_a_trap_worth_knowing() -> None:
    seen = (
        Acting("run them")
        .fail("go test ./...", "pattern ./...: directory prefix . does not contain main module")
        .run("cd src && go test -count=1 ./...", "ok  \tproj/a\t0.1s")
        .only()
    )
    assert seen.concepts == ("gotcha",)
    assert "worked: go test -count=1 ./..." in seen.facts


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
    run = testruns.read(framework, output, code_failed=True)
    assert run is not None
    assert (run.framework, run.ok, (run.passed, run.failed)) == (framework, False, counts)
    assert run.failing == (failing,)


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("uv add httpx rich", "httpx, rich installed with uv"),
        ("python3 -m pip install -r r.txt requests", "requests installed with pip"),
        ("cd web && npm i -D vitest@2", "vitest@2 installed with npm"),
        ("sudo apt-get install -y jq", "jq installed with apt-get"),
        ("go get github.com/a/b@v1", "github.com/a/b@v1 installed with go"),
        ("gh pr create --title 'Add x' --body y", "Pull request #12 opened: Add x"),
        ("kubectl apply -f a.yml", "kubectl apply -f a.yml"),
        ("git push origin main", "pushed main to main"),
        ("git rm src/old.py", "src/old.py deleted"),
    ],
)
def test_what_was_added_or_changed_elsewhere_is_a_short_observation(command: str, title: str) -> None:
    said = "https://github.com/a/b/pull/12\n   aaaaaaa..bbbbbbb  main -> main"
    assert Acting("x").run(command, said).only().title == title


def test_an_install_that_failed_says_why() -> None:
    seen = (
        Acting("x")
        .fail("pip install nosuchthing", "ERROR: No matching distribution found for nosuchthing")
        .only()
    )
    assert seen.type == "discovery"
    assert "No matching distribution" in (seen.title or "")


def test_an_install_of_what_is_listed_already_is_none() -> None:
    assert Acting("x").run("npm install", "added 3 packages").run("pip install -e .").observations() == ()


def test_a_failure_followed_by_a_run_nobody_can_judge_is_not_said_to_remain() -> None:
    acted = Acting("x").edit("a.go", " func F() {", "+\tx()").fail("go vet ./...", "a.go:3:1: undefined: x")
    acted.run('go vet ./... 2>&1 | grep -v "unsafe"', "")
    assert not any(fact.startswith("still failing") for fact in acted.only().facts)
