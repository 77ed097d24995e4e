"""Splits a batch into turns, with the steps of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

from claude_mem.model.events import Kind
from claude_mem.model.memory import Batch
from claude_mem.model.structs import replace
from claude_mem.observe import shell
from claude_mem.observe.evidence import is_clients_notice, seen_from
from claude_mem.observe.offline import commands, request, steps
from claude_mem.observe.offline.commands import Check, Commit
from claude_mem.observe.offline.sentences import VOCABULARY, listed, pattern, shortened, words
from claude_mem.observe.offline.steps import Edited, Noted, Ran, Step
from claude_mem.observe.tool_calls import ParsedEvent

_TROUBLE = re.compile(r"\b(?:fail\w*|broken|errors?|blocked)\b", re.I)


Where = Callable[[str], str]  # a path as it is seen from the project's root


class FileChange(Struct):
    """The combined effect of a turn's edits on one file."""

    path: str
    created: bool = False
    whole: bool = False  # it was written, not edited: perhaps new
    deleted: bool = False
    last: int = 0  # the step that touched it last


class Turn(Struct):
    """A turn: from a request to the agent's last message, with the steps sorted by kind."""

    request: str = ""
    message: str = ""
    interim_message: str = ""  # last, before a tool call: its message, where it has no other
    stopped: bool = False
    steps: int = 0
    edits: list[tuple[int, Edited]] = field(default_factory=list)
    opened: dict[str, None] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    plan: str = ""
    todos: tuple[tuple[str, bool], ...] = ()
    staged: list[str] = field(default_factory=list)
    undone: int = 0  # commits of before this turn that it took back
    rules: list[Edited] = field(default_factory=list)  # written into the agent's own memory
    is_wish_alone: bool = False  # it begins with a standing instruction, which counts whatever follows

    def changes(self) -> list[FileChange]:
        """The project's files that the turn changed, as of its end, without those it created and removed."""
        found: dict[str, FileChange] = {}
        for at, edit in self.edits:
            if not is_project_file(edit.path):
                continue
            change = found.setdefault(
                edit.path, FileChange(edit.path, edit.created, edit.created or bool(edit.text))
            )
            change.deleted, change.last = edit.deleted, at
        return [change for change in found.values() if not (change.whole and change.deleted)]

    def last_checks(self) -> list[Check]:
        """The last result of each test and check, if it is known."""
        last = {check.key: check for check in self.checks}
        return sorted((check for check in last.values() if check.ok is not None), key=lambda check: check.at)

    def still_failing(self) -> list[str]:
        """The checks that failed in their last run, except the agent's own mistakes."""
        found = []
        for check in self.last_checks():
            if check.ok is not False or any(commands.SLIP.search(error) for error in check.errors[:1]):
                continue
            if check.kind == "check" and not _TROUBLE.search(self.message):
                continue  # a linter always has something to say
            names = check.run.failing if check.run else ()
            why = listed(names, 110) if names else (check.errors[0] if check.errors else "")
            found.append(shortened(f"still failing: {check.command}" + (f": {why}" if why else ""), 200))
        return found


def turns(batch: Batch, seen: Sequence[ParsedEvent]) -> Iterator[Turn]:
    """The batch's turns in their order. Nothing of a private event is in them."""
    folders = [event.cwd for event in batch.events if event.cwd and not event.private]
    root = _root(batch.project, folders)

    def where(path: str) -> str:
        return seen_from(root, path.strip("\"' "))

    turn = Turn(request.cleaned(batch.request))
    for event, call in seen:
        if event.kind is Kind.PROMPT:
            prompt = request.cleaned(event.text) if not event.private else ""
            if not prompt and not event.private:
                continue
            if turn.steps or turn.message or turn.is_wish_alone:
                yield turn
            turn = Turn(prompt, is_wish_alone=request.is_rule(request.standing_instruction(prompt)))
        elif event.private:
            continue
        elif event.kind is Kind.STOP:
            failed = is_clients_notice(event.text or "")
            turn.message = turn.interim_message if failed else event.text or turn.interim_message
            turn.stopped = bool(turn.message or turn.steps or not failed)
            yield turn
            turn = Turn(turn.request)
        elif event.kind is Kind.AGENT_MESSAGE:
            turn.interim_message = event.text or turn.interim_message
        elif call is not None:
            for step in steps.read(call):
                _take(turn, step, where)
                turn.steps += 1
    if turn.steps or turn.message or turn.is_wish_alone:
        yield turn


def _take(turn: Turn, step: Step, where: Where) -> None:
    match step:
        case Edited():
            _edit(turn, step, where)
        case Ran():
            _run(turn, step, where)
        case Noted():
            turn.opened |= {where(step.opened): None} if step.opened else {}
            turn.fetched += [step.fetched] if step.fetched else []
            turn.answers += step.answers
            turn.plan = step.plan or turn.plan
            turn.todos = turn.todos if step.todos is None else step.todos


def _edit(turn: Turn, edit: Edited, where: Where) -> None:
    path = where(edit.path)
    if AGENT_MEMORY.search(path):
        turn.rules.append(edit)
    turn.edits.append((turn.steps, replace(edit, path=path)))


def _run(turn: Turn, ran: Ran, where: Where) -> None:
    at, simples = turn.steps, shell.commands(ran.command)
    if check := commands.judge(at, ran, simples):
        turn.checks.append(check)
    turn.staged += map(where, commands.staged(simples))
    made = commands.commits(at, ran, simples)
    for commit in made:
        commit.files = list(dict.fromkeys([*turn.staged, *map(where, commit.files)]))
        turn.staged = []
    if not ran.failed and not ran.interrupted:
        for simple in simples:
            back = commands.undone_commits(simple)
            turn.undone += max(0, back - len(turn.commits))
            turn.commits = turn.commits[: max(0, len(turn.commits) - back)] if back else turn.commits
            for edit in steps.written_by_shell(simple):
                _edit(turn, edit, where)
            _take_away(turn, simple, where)
    for commit in made:
        if commit.amended and turn.commits:
            commit.files = list(dict.fromkeys([*turn.commits.pop().files, *commit.files]))
        turn.commits.append(commit)


def _take_away(turn: Turn, simple: shell.SimpleCommand, where: Where) -> None:
    """Drops files that the turn created and removed, and edits that it reverted."""
    gone = set(map(where, steps.removed_by_shell(simple)))
    known = [edit.path for _, edit in turn.edits]
    turn.edits += [(turn.steps, Edited(path, deleted=True)) for path in known if path in gone]
    back = set(map(where, steps.restored_by_shell(simple)))
    turn.edits = [] if "." in back else [each for each in turn.edits if each[1].path not in back]


_TESTS = pattern("files", "tests", 0)
_SCRATCH = pattern("files", "scratch")
# Settings below a home folder, the system's own files.
_OUTSIDE = pattern("files", "not_ours")
AGENT_MEMORY = re.compile(r"/\.claude/.*\bmemory/[^/]+\.md$")

_DOCS, _CONFIG, _NAMED_CONFIG = (
    words(VOCABULARY["files"][name]) for name in ("docs", "config", "named_config")
)


def file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@lru_cache(maxsize=1024)
def file_kind(path: str) -> Literal["code", "tests", "docs", "config"]:
    base = file_name(path).lower()
    head, dot, tail = base.rpartition(".")
    suffix = tail if dot and head else ""
    if _TESTS.search(path):
        return "tests"
    if base in _NAMED_CONFIG or suffix in _CONFIG or (base.startswith(".") and not suffix):
        return "config"
    return "docs" if suffix in _DOCS else "code"


def is_project_file(shown: str) -> bool:
    """Of the repository, or of one beside it (a worktree); not a draft, nor settings in a home folder."""
    return _SCRATCH.search(shown) is None and _OUTSIDE.search(shown) is None


def is_inside(shown: str) -> bool:
    return not shown.startswith(("/", "~", "../")) and not re.match(r"[A-Za-z]:/", shown)


def _root(project: str, folders: list[str]) -> str | None:
    """The folder of the project's name among the working directories, else the outermost."""
    plain = [seen_from(None, folder) for folder in folders if folder]
    for folder in plain:
        parts = folder.split("/")
        if project and project in parts[1:]:
            return "/".join(parts[: parts.index(project, 1) + 1])
    return min(plain, key=len, default=None)
