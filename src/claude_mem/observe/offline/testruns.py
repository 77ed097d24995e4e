"""How a test run went, from the formats the runners print."""

from __future__ import annotations

import re
from dataclasses import dataclass

from claude_mem.observe.offline.wording import clip, unique


@dataclass(frozen=True, slots=True)
class TestRun:
    __test__ = False  # not one of pytest's

    framework: str
    ok: bool | None  # None: it does not say
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()

    @property
    def counts(self) -> str:
        ok = "passed"
        if self.framework == "go test":  # it names packages, not tests
            ok = "package ok" if self.passed == 1 else "packages ok"
        numbers = ((self.passed, ok), (self.failed, "failed"), (self.skipped, "skipped"))
        parts = [f"{number} {word}" for number, word in numbers if number]
        return ", ".join(parts) or {True: "passed", False: "failed", None: "ran"}[self.ok]


@dataclass(frozen=True, slots=True)
class Format:
    framework: str
    seen: re.Pattern[str]  # in the output: this runner spoke
    passed: re.Pattern[str] | None
    failed: re.Pattern[str] | None
    failing: re.Pattern[str] | None
    skipped: re.Pattern[str] | None = None
    each: bool = False  # passed and failed are lines to count, not numbers to read


def _re(text: str) -> re.Pattern[str]:
    return re.compile(text, re.M)


FORMATS = (
    Format(
        "pytest",
        _re(r"^=+ .*\bin [\d.]+s.*=+$|^(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.* in [\d.]+s"),
        _re(r"(\d+) passed\b"),
        _re(r"(\d+) (?:failed|errors?)\b"),
        _re(r"^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)"),
        _re(r"(\d+) skipped\b"),
    ),
    Format(
        "unittest",
        _re(r"^Ran \d+ tests? in [\d.]+s"),
        _re(r"^Ran (\d+) tests? in"),
        _re(r"(?:failures|errors)=(\d+)"),
        _re(r"^(?:FAIL|ERROR): (\S+)"),
        _re(r"skipped=(\d+)"),
    ),
    Format(
        "vitest",
        _re(r"^\s*Test(?:s| Files)\s+.*\(\d+\)"),
        _re(r"^\s*Tests\s.*?(\d+) passed"),
        _re(r"^\s*Tests\s.*?(\d+) failed"),
        _re(r"^\s*(?:FAIL|×)\s+(\S+ > .+|\S+\.(?:test|spec)\.\w+.*)$"),
        _re(r"^\s*Tests\s.*?(\d+) skipped"),
    ),
    Format(
        "jest",
        _re(r"^Tests:\s+.*\btotal$"),
        _re(r"^Tests:\s.*?(\d+) passed"),
        _re(r"^Tests:\s.*?(\d+) failed"),
        _re(r"^\s*● (.+ › .+)$"),
        _re(r"^Tests:\s.*?(\d+) skipped"),
    ),
    Format(
        "cargo test",
        _re(r"^test result: \w+\."),
        _re(r"^test result: .*?(\d+) passed"),
        _re(r"^test result: .*?(\d+) failed"),
        _re(r"^test (\S+) \.\.\. FAILED"),
        _re(r"^test result: .*?(\d+) ignored"),
    ),
    Format(
        "go test",
        _re(r"^(?:ok  |FAIL|---? (?:FAIL|PASS):|\?  )\s*\S"),
        _re(r"^ok  \s*\S"),
        _re(r"^\s*--- FAIL:|^FAIL\t\S"),
        _re(r"^\s*--- FAIL: (\S+)"),
        each=True,
    ),
    Format(
        "bun test",
        _re(r"^\s*\d+ pass$"),
        _re(r"^\s*(\d+) pass$"),
        _re(r"^\s*(\d+) fail$"),
        _re(r"^\(fail\) (.+?)(?: \[[\d.]+ms\])?$"),
    ),
    Format(
        "deno test",
        _re(r"^(?:ok|FAILED) \| \d+ passed"),
        _re(r"\| (\d+) passed"),
        _re(r"\| (\d+) failed"),
        _re(r"^(.+) \.\.\. FAILED"),
    ),
    Format(
        "mocha",
        _re(r"^\s*\d+ passing\b"),
        _re(r"^\s*(\d+) passing\b"),
        _re(r"^\s*(\d+) failing\b"),
        _re(r"^\s{2,4}\d+\) (.+?):?$"),
        _re(r"^\s*(\d+) pending\b"),
    ),
    Format(
        "rspec",
        _re(r"^\d+ examples?, \d+ failures?"),
        _re(r"^(\d+) examples?"),
        _re(r"(\d+) failures?"),
        _re(r"^rspec (\S+)"),
    ),
    Format(
        "phpunit",
        _re(r"^OK \(\d+ tests?|^Tests: \d+, Assertions: \d+"),
        _re(r"^(?:OK \(|Tests: )(\d+)"),
        _re(r"(?:Failures|Errors): (\d+)"),
        _re(r"^\d+\) (\S+::\S+)"),
    ),
    Format(
        "dotnet test",
        _re(r"^\s*(?:Passed|Failed)!\s+-|^Total tests: \d+"),
        _re(r"Passed:\s+(\d+)"),
        _re(r"Failed:\s+(\d+)"),
        _re(r"^\s*(?:Failed|X) ([\w.]+(?:\([^)]*\))?) \["),
        _re(r"Skipped:\s+(\d+)"),
    ),
    Format(
        "maven",
        _re(r"Tests run: \d+, Failures: \d+"),
        _re(r"Tests run: (\d+),"),
        _re(r"(?:Failures|Errors): (\d+)"),
        _re(r"^\[ERROR\]\s+([\w$]+(?:\.[\w$]+)+)[:\s]"),
        _re(r"Skipped: (\d+)"),
    ),
    Format(
        "gradle",
        _re(r"^\d+ tests? completed"),
        _re(r"^(\d+) tests? completed"),
        _re(r"completed, (\d+) failed"),
        _re(r"^(\S+ > .+?) FAILED"),
    ),
    Format(
        "ctest",
        _re(r"\d+% tests passed, \d+ tests failed out of \d+"),
        _re(r"out of (\d+)"),
        _re(r"(\d+) tests failed"),
        _re(r"^\s*\d+ - (\S+) \("),
    ),
    Format(
        "tap",
        _re(r"^# tests? \d+$|^TAP version|^# pass +\d+"),
        _re(r"^# pass +(\d+)"),
        _re(r"^# fail +(\d+)"),
        _re(r"^not ok \d+ -? ?(.+)$"),
    ),
)
_TOTALS = frozenset(
    {"unittest", "rspec", "phpunit", "maven", "gradle", "ctest"}
)  # their first number counts all


def read(framework: str, output: str, code_failed: bool) -> TestRun | None:
    """The run an output tells of. `framework`: the runner the command named, or ''."""
    shape = next((f for f in FORMATS if f.framework == framework and f.seen.search(output)), None)
    shape = shape or next(
        (f for f in FORMATS if f.framework not in ("go test", "tap") and f.seen.search(output)), None
    )
    if shape is None:
        if not framework:
            return None
        return TestRun(framework, False if code_failed else (None if not output.strip() else _said(output)))
    count = _lines if shape.each else _numbers
    passed, failed, skipped = (
        count(pattern, output) for pattern in (shape.passed, shape.failed, shape.skipped)
    )
    failing = unique((clip(name, 120) for name in shape.failing.findall(output)), 12) if shape.failing else ()
    if shape.each:
        failed = len(failing) or failed
    if shape.framework in _TOTALS:
        passed = max(0, passed - failed - skipped)
    bad = bool(failed or failing or code_failed)
    return TestRun(
        shape.framework, not bad if bad or passed or skipped else None, passed, failed, skipped, failing
    )


def _said(output: str) -> bool | None:
    return False if re.search(r"^(?:FAIL\b|FAILED\b|not ok )", output, re.M) else None


def _numbers(pattern: re.Pattern[str] | None, output: str) -> int:
    return sum(int(number[:9]) for number in pattern.findall(output)) if pattern else 0


def _lines(pattern: re.Pattern[str] | None, output: str) -> int:
    return sum(1 for _ in pattern.finditer(output)) if pattern else 0
