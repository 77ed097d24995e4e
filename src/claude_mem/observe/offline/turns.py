"""Where one turn ends and the next begins, and sorts what was done in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from claude_mem.model.events import Kind
from claude_mem.model.memory import Batch
from claude_mem.observe import shell
from claude_mem.observe.offline import (
    commits,
    diffs,
    file_names,
    installs,
    operations,
    tool_steps,
    user_request,
    verdicts,
)
from claude_mem.observe.offline.commits import Commit
from claude_mem.observe.offline.file_names import Place
from claude_mem.observe.offline.installs import Install
from claude_mem.observe.offline.operations import Operation
from claude_mem.observe.offline.outline import Outline
from claude_mem.observe.offline.steps import (
    Chose,
    Delegated,
    Edited,
    Fetched,
    Opened,
    Planned,
    Ran,
    Searched,
    Step,
    Todos,
)
from claude_mem.observe.offline.verdicts import Verdict
from claude_mem.observe.tool_calls import ReadEvent

_OUTLINED = 40  # files of a turn whose outlines are kept


@dataclass(slots=True)
class Turn:
    """From a request to the agent's last word on it, sorted by what each step was."""

    request: str = ""
    message: str = ""
    stopped: bool = False
    steps: int = 0
    edits: list[tuple[int, Edited]] = field(default_factory=list)
    contents: dict[str, list[Opened]] = field(default_factory=dict)
    opened: dict[str, None] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    installs: list[Install] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    searches: list[Searched] = field(default_factory=list)
    fetched: list[Fetched] = field(default_factory=list)
    chosen: list[Chose] = field(default_factory=list)
    plans: list[Planned] = field(default_factory=list)
    reports: list[Delegated] = field(default_factory=list)
    todos: tuple[tuple[str, bool], ...] = ()
    staged: list[str] = field(default_factory=list)

    def outlines(self, path: str) -> tuple[Outline, ...]:
        return tuple(Outline(path, read.content, read.start) for read in self.contents.get(path, ())[-6:])

    @property
    def is_empty(self) -> bool:
        return not self.steps and not self.message


def turns(batch: Batch, seen: Sequence[ReadEvent]) -> Iterator[Turn]:
    """The batch's turns in their order. Nothing of a private event is in them."""
    where = file_names.place(
        batch.project, [event.cwd for event in batch.events if event.cwd and not event.private]
    )
    turn = Turn(user_request.cleaned(batch.request))
    for event, call in seen:
        if event.kind is Kind.PROMPT:
            asked = user_request.cleaned(event.text) if not event.private else ""
            if not asked and not event.private:
                continue
            if not turn.is_empty:
                yield turn
            turn = Turn(asked)
        elif event.private:
            continue
        elif event.kind is Kind.STOP:
            turn.message, turn.stopped = event.text or "", True
            yield turn
            turn = Turn(turn.request)
        elif event.kind is Kind.SUBAGENT_STOP and event.text:
            turn.reports.append(Delegated(event.agent_type or "", event.text))
        elif call is not None:
            for step in tool_steps.read(call):
                _take(turn, step, where)
                turn.steps += 1
    if not turn.is_empty:
        yield turn


def _take(turn: Turn, step: Step, where: Place) -> None:
    at = turn.steps
    match step:
        case Edited():
            moved = where.shown(step.moved_to) if step.moved_to else None
            turn.edits.append(
                (at, Edited(where.shown(step.path), step.hunks, step.created, step.deleted, moved))
            )
        case Ran():
            _ran(turn, at, step, where)
        case Opened():
            path = where.shown(step.path)
            turn.opened[path] = None
            if step.content and len(turn.contents) < _OUTLINED:
                turn.contents.setdefault(path, []).append(step)
        case Searched():
            hits = tuple(where.shown(hit) for hit in step.hits[:200])
            turn.searches.append(
                Searched(step.pattern, hits, tuple(where.shown(line) for line in step.lines[:200]))
            )
        case Fetched():
            turn.fetched.append(step)
        case Chose():
            turn.chosen.append(step)
        case Planned():
            turn.plans.append(step)
        case Delegated():
            turn.reports.append(step)
        case Todos():
            turn.todos = step.items


def _ran(turn: Turn, at: int, ran: Ran, where: Place) -> None:
    simples = shell.commands(ran.command)
    verdict = verdicts.judge(at, ran, simples)
    if verdict:
        turn.verdicts.append(verdict)
    turn.staged += [where.shown(path) for path in commits.staged(simples, ran.output)]
    made = commits.read(at, ran, simples)
    for commit in made:
        commit.files = list(dict.fromkeys([*turn.staged, *map(where.shown, commit.files)]))
        turn.staged = []
    for simple in simples if not ran.failed else ():
        taken_back = commits.undone(simple)
        turn.commits = turn.commits[: len(turn.commits) - taken_back] if taken_back else turn.commits
    turn.commits += made
    for simple in simples:
        wanted = installs.read(simple)
        if wanted:
            turn.installs.append(
                Install(at, *wanted, ok=not ran.failed, errors=verdict.errors if verdict else ())
            )
        elif not ran.failed and not ran.interrupted:
            done = operations.read(at, simple, ran.output)
            if done and not (
                done.paths and all(file_names.is_scratch(file_names.canonical(path)) for path in done.paths)
            ):
                turn.operations.append(done)
            turn.edits += [(at, edit) for edit in _written(simple, where)]


def _written(simple: shell.SimpleCommand, where: Place) -> Iterator[Edited]:
    """Files a shell wrote: a here-document into a file, an edit in place."""
    if simple.heredoc is not None and (simple.into or simple.program == "tee"):
        target = simple.into or simple.sub
        if target and "$" not in target:
            yield Edited(where.shown(target), diffs.between("", simple.heredoc), created=True)
    elif simple.program in ("sed", "perl") and any(
        word.startswith(("-i", "-pi", "--in-place")) for word in simple.words
    ):
        for target in simple.plain()[1:20]:
            if "." in target and not set("*$\\{(") & set(target):
                yield Edited(where.shown(target))
