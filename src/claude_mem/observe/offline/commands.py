"""What a command did: the result of a test or a check, or a commit with its message."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct, field

from claude_mem.observe import shell
from claude_mem.observe.offline.sentences import VOCABULARY, one_line, pattern, shortened, unique, words
from claude_mem.observe.offline.steps import Ran
from claude_mem.observe.shell import SimpleCommand

CheckKind = Literal["test", "check"]

_TESTERS: dict[str, str] = VOCABULARY["testers"]
_MAY_TEST = words(VOCABULARY["commands"]["may_test"])
_CHECKERS = words(VOCABULARY["commands"]["checkers"])
_CHECK_WORDS = words(VOCABULARY["commands"]["checks"])
_SIFTERS = frozenset(("grep", "rg", "findstr", "Select-String", "awk"))


class TestRun(Struct, frozen=True):
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
        return ", ".join(parts) or _OUTCOMES[self.ok]


_OUTCOMES = {True: "passed", False: "failed", None: "ran"}
# By runner: what shows that it spoke; how many passed, failed, were skipped; the names of those that failed.
_FORMATS = {
    runner: {name: re.compile(text, re.M) for name, text in lines.items()}
    for runner, lines in VOCABULARY["testruns"].items()
}
_TOTALS = words("unittest rspec phpunit maven gradle ctest")  # their first number counts all


def read_run(framework: str, output: str, code_failed: bool) -> TestRun | None:
    """The run that an output describes. `framework`: the runner the command named, or ''."""
    matching = [runner for runner, lines in _FORMATS.items() if lines["seen"].search(output)]
    others = [runner for runner in matching if runner not in ("go test", "tap")]
    runner = framework if framework in matching else next(iter(others), "")
    if not runner:
        ok = False if code_failed or re.search(r"^(?:FAIL\b|FAILED\b|not ok )", output, re.M) else None
        return TestRun(framework, ok) if framework else None
    passed, failed, skipped = (_count(runner, name, output) for name in ("passed", "failed", "skipped"))
    failing = unique((shortened(name, 120) for name in _FORMATS[runner]["failing"].findall(output)), 12)
    failed = (len(failing) or failed) if runner == "go test" else failed
    passed = max(0, passed - failed - skipped) if runner in _TOTALS else passed
    bad = bool(failed or failing or code_failed)
    return TestRun(runner, not bad if bad or passed or skipped else None, passed, failed, skipped, failing)


def _count(runner: str, name: str, output: str) -> int:
    """The sum of the numbers; without numbers, the number of lines."""
    found = _FORMATS[runner][name].findall(output) if name in _FORMATS[runner] else []
    return sum(int(each[:9]) if each.isdigit() else 1 for each in found)


class Check(Struct, frozen=True):
    at: int  # the step's place in its turn
    key: str  # what was run, so that a later run of the same is known
    kind: CheckKind
    ok: bool | None  # None: nothing can be said
    command: str  # as a person would quote it
    run: TestRun | None = None
    errors: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        return self.run.counts if self.run else _OUTCOMES[self.ok]

    @property
    def fact(self) -> str:
        """A fact in one line: the command and its result."""
        return f"{self.command if len(self.command) <= 80 else self.key}: {self.outcome}"


def judge(at: int, ran: Ran, simples: list[SimpleCommand]) -> Check | None:
    """None for a command that is neither a test nor a check."""
    if any(simple.program == "git" and simple.sub == "stash" for simple in simples):
        return None  # run without the changes, to compare
    quoted = shell.quoted_command(ran.command)
    for simple in simples:
        framework = _framework(simple)
        if framework is None and simple.program not in _MAY_TEST:
            continue
        run = read_run(framework or "", ran.output, ran.failed)
        if run:
            errors = why(ran.output) if run.ok is False else ()
            unsure = ran.interrupted or (run.ok and _is_sifted(simples, simple))
            ok = None if unsure else run.ok
            return Check(at, framework or run.framework, "test", ok, quoted, run, errors)
    checker = next(
        (each for each in simples if each.program in _CHECKERS or _pair(each) in _CHECK_WORDS), None
    )
    if checker is None:
        return None
    key = f"{checker.program} {checker.sub}" if _pair(checker) in _CHECK_WORDS else checker.program
    if key.endswith(" run"):
        key += " " + next(iter(checker.plain()[1:]), "")
    errors = placed(ran.output)
    bad = ran.failed or bool(errors)
    unsure = ran.interrupted or (not bad and _is_sifted(simples, checker))
    errors = errors or (why(ran.output) if bad else ())
    return Check(at, key, "check", None if unsure else not bad, quoted, None, errors)


def _framework(simple: SimpleCommand) -> str | None:
    program, given = simple.program, simple.words
    for name in (program, *(f"{program} {word}" for word in given[1:4])):
        if name in _TESTERS:
            return _TESTERS[name]
    runs = program in ("npm", "yarn", "pnpm", "bun", "mise") and len(given) > 2 and given[1] == "run"
    return f"{program} run {given[2]}" if runs and re.match(r"^(?:test|spec|e2e)\b", given[2]) else None


def _pair(simple: SimpleCommand) -> str:
    return f"{simple.program}.{simple.sub}"


def _is_sifted(simples: list[SimpleCommand], of: SimpleCommand) -> bool:
    """Whether its output was filtered, so that an empty output proves nothing."""
    after = simples.index(of) + 1
    piped = of.piped and any(simple.program in _SIFTERS for simple in simples[after : after + 2])
    return of.into is not None or piped


_TRACE = re.compile(
    r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Fault)\b(?::.*)?$|.*panicked at"
)
_PLACED = re.compile(
    r"(?:\S+: )?(?:[A-Za-z]:)?[\w@./\\+-]+\.\w{1,12}(?::\d+(?::\d+)?:?|\(\d+,\d+\): error)\s+.{3,}$"
)
_MARKED = re.compile(
    r"(?:\S{1,40}[:\s]\s*)?(?:error|fatal|panic|FATAL|ERROR|Error|npm ERR!|E)(?:\[\w+\])?:?\s+(?=\S).{3,}$"
)
_WARNING = re.compile(r"\bwarn(?:ing)?\b(?!.*error)", re.I)
_LINES, _ERROR = 3_000, 180
# The agent's own mistake, not a property of the project: a wrong folder, a wrong quote.
SLIP = pattern("commands", "slip", 0)


def placed(output: str) -> tuple[str, ...]:
    """`file:line: message` diagnostics, warnings left out."""
    found = _matching(_PLACED, output.splitlines())
    return unique((shortened(line, _ERROR) for line in found if not _WARNING.search(line)), 5)


def why(output: str) -> tuple[str, ...]:
    """The errors, best first: the end of a traceback, compiler diagnostics, marked lines, else the last
    line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    has_trace = any(mark in output for mark in ("Traceback (most recent", "    at ", "panicked at"))
    traced = _matching(_TRACE, lines)[-1:] if has_trace else []
    found = [*traced, *placed(output), *_matching(_MARKED, lines)]
    if not found and lines:
        found = [lines[-1] if len(lines[-1]) > 8 else lines[0]]
    return unique((shortened(line, _ERROR) for line in found), 3)


def _matching(regex: re.Pattern[str], lines: list[str]) -> list[str]:
    return [line.strip() for line in lines[:_LINES] if len(line) < 500 and regex.match(line.strip())]


_COMMIT_LINE = re.compile(
    r"^\[(?P<branch>[^\]]{1,200}?)(?: \(root-commit\))? (?P<sha>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M
)
_STAT = re.compile(r"^ ?(\d+ files? changed(?:, \d+ insertions?\(\+\))?(?:, \d+ deletions?\(-\))?)", re.M)
_MODE = re.compile(r"^ (?:create|delete) mode \d+ (.+)$", re.M)
_TRAILER = re.compile(r"^(?:[A-Z][\w-]+(?:-[Bb]y|-[Ii]d)?: |🤖|\[?Generated with |Entire-)", re.M)
_SHORT_M = re.compile(r"-[a-zA-Z]{0,8}m")  # -m, and in a cluster: -am, -qam
_TRIVIAL = pattern("commit", "says_nothing")


def is_trivial(subject: str) -> bool:
    """“wip”, “Address review: 7 findings”: whether a subject does not describe the work."""
    return _TRIVIAL.fullmatch(subject) is not None


class Commit(Struct):
    at: int
    subject: str
    body: str = ""
    sha: str = ""
    branch: str = ""
    stat: str = ""
    amended: bool = False
    files: list[str] = field(default_factory=list)

    @property
    def fact(self) -> str:
        where = " ".join(part for part in (self.sha, f"on {self.branch}" if self.branch else "") if part)
        return f"commit {where}" + (f": {self.stat}" if self.stat else "") if where else ""


def commits(at: int, ran: Ran, simples: list[SimpleCommand]) -> list[Commit]:
    """The commits a command made; none if git says it made none."""
    calls = [
        simple
        for simple in simples
        if simple.program == "git" and simple.sub == "commit" and "--dry-run" not in simple.words
    ]
    made = list(_COMMIT_LINE.finditer(ran.output)) if calls else []
    if not calls or (not made and (ran.failed or ran.interrupted)):
        return []
    stats = _STAT.findall(ran.output)
    found = []
    for index, call in enumerate(calls):
        subject, body = _message(call)
        line = made[index] if index < len(made) else None
        if line and not subject.startswith(line["subject"].rstrip("….")):
            subject = line["subject"]
        if subject.strip():
            commit = Commit(at, one_line(subject), body, amended="--amend" in call.words)
            commit.sha, commit.branch = (line["sha"][:8], line["branch"]) if line else ("", "")
            commit.stat = stats[index] if index < len(stats) else ""
            commit.files = _MODE.findall(ran.output)
            found.append(commit)
    return found


def _message(call: SimpleCommand) -> tuple[str, str]:
    parts: list[str] = []
    for index, word in enumerate(call.words):
        if (word == "--message" or _SHORT_M.fullmatch(word)) and index + 1 < len(call.words):
            parts.append(call.words[index + 1])
        elif word.startswith("--message="):
            parts.append(word[10:])
    text = "\n\n".join(parts)
    if call.heredoc is not None and ("HEREDOC" in text or not text):
        text = call.heredoc
    subject, _, body = text.strip().partition("\n")
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", body.strip())]
    return subject, "\n\n".join(part for part in paragraphs if part and not _TRAILER.match(part))


def undone_commits(simple: SimpleCommand) -> int:
    """How many of the last commits this command undoes."""
    if simple.program != "git" or simple.sub != "reset":
        return 0
    found = re.search(r"HEAD(?:~(\d{1,2})|(\^+))?$", " ".join(simple.words))
    return 0 if not found else int(found[1]) if found[1] else len(found[2] or "")


def staged(simples: list[SimpleCommand]) -> list[str]:
    """The files that were named to `git add`."""
    added = (each.plain()[1:] for each in simples if each.program == "git" and each.sub == "add")
    return [word for words in added for word in words if word != "." and not re.search(r"[*$]|^:/", word)]
