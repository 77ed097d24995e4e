"""How a test run went, from the formats the runners print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from claude_mem.observe.offline.sentences import VOCABULARY, shortened, unique


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
    passed: re.Pattern[str] | None = None
    failed: re.Pattern[str] | None = None
    failing: re.Pattern[str] | None = None
    skipped: re.Pattern[str] | None = None
    each: bool = False  # passed and failed are lines to count, not numbers to read


def _format(framework: str, given: Mapping[str, Any]) -> Format:
    lines = {name: re.compile(text, re.M) for name, text in given.items() if isinstance(text, str)}
    return Format(framework, **lines, each=given.get("each", False))


FORMATS = tuple(_format(framework, given) for framework, given in VOCABULARY["testruns"].items())
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
    failing = (
        unique((shortened(name, 120) for name in shape.failing.findall(output)), 12) if shape.failing else ()
    )
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
