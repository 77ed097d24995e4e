"""Where one turn ends and the next begins, and what was done in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from claude_mem.model.events import Kind
from claude_mem.model.memory import Batch
from claude_mem.observe import shell
from claude_mem.observe.offline import commands, file_kinds, request, steps
from claude_mem.observe.offline.commands import Check, Commit
from claude_mem.observe.offline.file_kinds import Place
from claude_mem.observe.offline.sentences import listed, shortened
from claude_mem.observe.offline.steps import Chose, Edited, Fetched, Opened, Planned, Ran, Step, Todos
from claude_mem.observe.tool_calls import ReadEvent

_TROUBLE = re.compile(r"\b(?:fail\w*|broken|errors?|blocked)\b", re.I)


@dataclass(slots=True)
class FileChange:
    """All that a turn's edits made of one file."""

    path: str
    added: int = 0
    removed: int = 0
    created: bool = False
    deleted: bool = False
    last: int = 0  # the step that touched it last


@dataclass(slots=True)
class Turn:
    """From a request to the agent's last word on it, sorted by what each step was."""

    request: str = ""
    message: str = ""
    said: str = ""  # last, before a tool call: its message, where it has no other
    stopped: bool = False
    steps: int = 0
    edits: list[tuple[int, Edited]] = field(default_factory=list)
    opened: dict[str, None] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    plan: str = ""
    reports: list[str] = field(default_factory=list)
    todos: tuple[tuple[str, bool], ...] = ()
    staged: list[str] = field(default_factory=list)
    undone: int = 0  # commits of before this turn that it took back
    rules: list[Edited] = field(default_factory=list)  # written into the agent's own memory

    @property
    def is_empty(self) -> bool:
        return not self.steps and not self.message

    def changes(self) -> list[FileChange]:
        """The project's files it changed, as they stood at its end: one that was made and removed is none."""
        found: dict[str, FileChange] = {}
        for at, edit in self.edits:
            if not file_kinds.is_project_file(edit.path):
                continue
            change = found.setdefault(edit.path, FileChange(edit.path, created=edit.created))
            change.added, change.removed = change.added + edit.added, change.removed + edit.removed
            change.deleted, change.last = edit.deleted, at
        return [change for change in found.values() if not (change.created and change.deleted)]

    def last_checks(self) -> list[Check]:
        """Each test and check as it went the last time, if anything can be said of that."""
        last = {check.key: check for check in self.checks}
        return sorted((check for check in last.values() if check.ok is not None), key=lambda check: check.at)

    def still_failing(self) -> list[str]:
        """What failed in its last run; a slip of the agent's own is none."""
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


def turns(batch: Batch, seen: Sequence[ReadEvent]) -> Iterator[Turn]:
    """The batch's turns in their order. Nothing of a private event is in them."""
    folders = [event.cwd for event in batch.events if event.cwd and not event.private]
    where = file_kinds.place(batch.project, folders)
    turn = Turn(request.cleaned(batch.request))
    for event, call in seen:
        if event.kind is Kind.PROMPT:
            asked = request.cleaned(event.text) if not event.private else ""
            if not asked and not event.private:
                continue
            if not turn.is_empty:
                yield turn
            turn = Turn(asked)
        elif event.private:
            continue
        elif event.kind is Kind.STOP:
            turn.message, turn.stopped = event.text or turn.said, True
            yield turn
            turn = Turn(turn.request)
        elif event.kind is Kind.SAID:
            turn.said = event.text or turn.said
        elif event.kind is Kind.SUBAGENT_STOP and event.text:
            turn.reports.append(event.text)
        elif call is not None:
            for step in steps.read(call):
                _take(turn, step, where)
                turn.steps += 1
    if not turn.is_empty:
        yield turn


def _take(turn: Turn, step: Step, where: Place) -> None:
    match step:
        case Edited():
            _edit(turn, step, where)
        case Ran():
            _run(turn, step, where)
        case Opened(path):
            turn.opened[where.shown(path)] = None
        case Fetched(what):
            turn.fetched.append(what)
        case Chose(answers):
            turn.answers += answers
        case Planned(text):
            turn.plan = text
        case Todos(items):
            turn.todos = items


def _edit(turn: Turn, edit: Edited, where: Place) -> None:
    path = where.shown(edit.path)
    if file_kinds.AGENT_MEMORY.search(path):
        turn.rules.append(edit)
    turn.edits.append((turn.steps, Edited(path, edit.added, edit.removed, edit.created, edit.deleted)))


def _run(turn: Turn, ran: Ran, where: Place) -> None:
    at, simples = turn.steps, shell.commands(ran.command)
    if check := commands.judge(at, ran, simples):
        turn.checks.append(check)
    turn.staged += map(where.shown, commands.staged(simples, ran.output))
    made = commands.commits(at, ran, simples)
    for commit in made:
        commit.files = list(dict.fromkeys([*turn.staged, *map(where.shown, commit.files)]))
        turn.staged = []
    if not ran.failed and not ran.interrupted:
        for simple in simples:
            back = commands.taken_back(simple)
            turn.undone += max(0, back - len(turn.commits))
            turn.commits = turn.commits[: max(0, len(turn.commits) - back)] if back else turn.commits
            for edit in steps.written_by_shell(simple):
                _edit(turn, edit, where)
    for commit in made:
        if commit.amended and turn.commits:
            commit.files = list(dict.fromkeys([*turn.commits.pop().files, *commit.files]))
        turn.commits.append(commit)
