"""What kind of command was run (a test, a check, another) and whether it went well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from claude_mem.observe import shell
from claude_mem.observe.offline import failures, testruns
from claude_mem.observe.offline.steps import Ran
from claude_mem.observe.offline.testruns import TestRun
from claude_mem.observe.offline.wording import words
from claude_mem.observe.shell import SimpleCommand

Sort = Literal["test", "check", "command"]

_TESTERS = {
    "pytest": "pytest",
    "py.test": "pytest",
    "unittest": "unittest",
    "jest": "jest",
    "vitest": "vitest",
    "mocha": "mocha",
    "rspec": "rspec",
    "phpunit": "phpunit",
    "ctest": "ctest",
    "tox": "tox",
    "nox": "nox",
    "ava": "tap",
    "tap": "tap",
    "gotestsum": "go test",
    "nextest": "cargo test",
}
_TEST_WORDS = {
    ("go", "test"): "go test",
    ("cargo", "test"): "cargo test",
    ("cargo", "nextest"): "cargo test",
    ("dotnet", "test"): "dotnet test",
    ("mvn", "test"): "maven",
    ("mvn", "verify"): "maven",
    ("gradle", "test"): "gradle",
    ("gradlew", "test"): "gradle",
    ("deno", "test"): "deno test",
    ("bun", "test"): "bun test",
    ("npm", "test"): "npm test",
    ("npm", "t"): "npm test",
    ("yarn", "test"): "yarn test",
    ("pnpm", "test"): "pnpm test",
    ("make", "test"): "make test",
    ("make", "check"): "make check",
    ("swift", "test"): "swift test",
    ("mix", "test"): "mix test",
    ("node", "--test"): "tap",
    ("rails", "test"): "rails test",
    ("rake", "test"): "rake test",
    ("php", "artisan"): "phpunit",
}
_CHECKERS = words(
    """tsc eslint mypy pyright ruff flake8 pylint black isort prettier golangci-lint staticcheck gcc g++
    clang clang++ cc make cmake ninja javac gradle gradlew mvn swiftc rustc rubocop shellcheck vale
    markdownlint markdownlint-cli2 stylelint biome tflint hadolint ktlint webpack vite rollup esbuild hugo
    pre-commit import-linter lint-imports bazel meson modernize fieldalignment"""
)
_CHECK_WORDS = frozenset(
    {
        ("go", "build"),
        ("go", "vet"),
        ("cargo", "build"),
        ("cargo", "check"),
        ("cargo", "clippy"),
        ("cargo", "fmt"),
        ("dotnet", "build"),
        ("swift", "build"),
        ("npm", "run"),
        ("yarn", "run"),
        ("pnpm", "run"),
        ("bun", "run"),
        ("yarn", "build"),
        ("yarn", "lint"),
        ("pnpm", "build"),
        ("pnpm", "lint"),
        ("docker", "build"),
        ("terraform", "validate"),
        ("terraform", "plan"),
        ("gofmt", "-l"),
    }
)
_LOOKERS = words(
    """cat head tail less more grep rg ag egrep fgrep find fd ls tree wc stat file which where type echo
    printf pwd test [ true sed awk jq sort uniq cut diff cmp du df ps env printenv date id whoami uname
    tee xxd od base64 Get-Content Select-String Get-ChildItem dir"""
)
_LOOKING_GIT = words(
    """status branch config reflog ls-files fetch log remote blame rev-parse show grep describe diff"""
)


@dataclass(frozen=True, slots=True)
class Verdict:
    at: int  # the step's place in its turn
    key: str  # what was run, so that a later run of the same is known
    sort: Sort
    ok: bool | None  # None: nothing can be said
    command: str  # as a person would quote it
    described: str = ""
    run: TestRun | None = None
    errors: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        return self.run.counts if self.run else {True: "passed", False: "failed", None: "ran"}[self.ok]

    @property
    def told(self) -> str:
        """One line for a fact: what ran, and how it went."""
        return f"{self.command}: {self.outcome}"


def judge(at: int, ran: Ran, simples: list[SimpleCommand]) -> Verdict | None:
    """None for a command that only looks."""
    telling = [
        simple
        for simple in simples
        if not _looks(simple) and simple.program not in ("cd", "pushd", "export", "set", "source", "sleep")
    ]
    if not telling:
        return None
    if any(simple.program == "git" and simple.sub == "stash" for simple in simples):
        return None  # run without the changes, to compare
    quoted = shell.quoted_command(ran.command)
    for simple in telling:
        framework = _framework(simple)
        if framework is None and not _may_test(simple):
            continue
        run = testruns.read(framework or "", ran.output, ran.failed)
        if run:
            errors = failures.why(ran.output) if run.ok is False else ()
            unsure = ran.interrupted or (run.ok and _filtered(simples, simple))
            return Verdict(
                at,
                framework or run.framework,
                "test",
                None if unsure else run.ok,
                quoted,
                ran.described,
                run,
                errors,
            )
    checks = [simple for simple in telling if _checks(simple)]
    if checks:
        key = (
            " ".join((checks[0].program, checks[0].sub))
            if (checks[0].program, checks[0].sub) in _CHECK_WORDS
            else checks[0].program
        )
        if key.endswith(" run"):
            key += " " + next(iter(checks[0].plain()[1:]), "")
        errors = failures.placed(ran.output)
        bad = ran.failed or bool(errors)
        unsure = ran.interrupted or (not bad and _filtered(simples, checks[0]))
        return Verdict(
            at,
            key,
            "check",
            None if unsure else not bad,
            quoted,
            ran.described,
            None,
            errors or (failures.why(ran.output) if bad else ()),
        )
    first = telling[0]
    trace = failures.raised(ran.output)
    bad = ran.failed or trace is not None
    ok = None if ran.interrupted else not bad
    return Verdict(
        at,
        f"{first.program} {first.sub}".strip()[:80],
        "command",
        ok,
        quoted,
        ran.described,
        None,
        failures.why(ran.output) if bad else (),
    )


def _filtered(simples: list[SimpleCommand], of: SimpleCommand) -> bool:
    """Whether what it said was sifted before anybody saw it: then silence proves nothing."""
    following = simples[simples.index(of) + 1 : simples.index(of) + 3]
    return of.into is not None or (
        of.piped
        and any(simple.program in ("grep", "rg", "findstr", "Select-String", "awk") for simple in following)
    )


def _framework(simple: SimpleCommand) -> str | None:
    program, words = simple.program, simple.words
    if program in _TESTERS:
        return _TESTERS[program]
    for word in words[1:4]:
        if (program, word) in _TEST_WORDS:
            return _TEST_WORDS[program, word]
    if (
        program in ("npm", "yarn", "pnpm", "bun")
        and len(words) > 2
        and words[1] == "run"
        and re.match(r"^(?:test|spec|e2e)\b", words[2])
    ):
        return f"{program} run {words[2]}"
    return None


def _may_test(simple: SimpleCommand) -> bool:
    return simple.program in (
        "make",
        "just",
        "task",
        "npm",
        "yarn",
        "pnpm",
        "bun",
        "sh",
        "bash",
        "python",
        "python3",
        "node",
        "docker",
        "nox",
        "invoke",
    )


def _checks(simple: SimpleCommand) -> bool:
    return (
        simple.program in _CHECKERS
        or (simple.program, simple.sub) in _CHECK_WORDS
        or simple.program in ("gofmt",)
    )


def _looks(simple: SimpleCommand) -> bool:
    if simple.program in _LOOKERS:
        return True
    return (simple.program == "git" and simple.sub in _LOOKING_GIT) or (
        simple.program == "gh"
        and bool({"view", "list", "diff", "status", "api", "checks"} & set(simple.words[1:3]))
    )
