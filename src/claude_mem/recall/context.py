"""Decides what a session is told when it starts: a dated index of what matters for its project now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import groupby

from claude_mem.model.refs import Hit, Ref
from claude_mem.recall import label
from claude_mem.recall.fence import fenced, flowing, points, quoted
from claude_mem.recall.packing import Budget, Rendered, as_many_as_fit, rendered

DEFAULT_CHARACTERS = (
    9_500  # with the fence; the rest of the client's 10,000 is for what else a hook has to say
)
DEFAULT_TOKENS = 3_000

_LONGEST_FIELD, _LONGEST_STEP = 420, 220
_MOST_STEPS, _MOST_PINNED, _MOST_RELEVANT = 6, 12, 200


@dataclass(frozen=True, slots=True)
class LastSession:
    """What a session's newest summary says."""

    when: int  # epoch milliseconds
    ref: Ref | None = None
    branch: str | None = None
    request: str = ""
    completed: str = ""
    learned: str = ""
    next_steps: str = ""
    goes_on: bool = False  # it is the very session that is told, after a compaction or a resume


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something an earlier session than the last left open."""

    text: str
    when: int
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class StartMaterial:
    project: str
    last: tuple[LastSession, ...] = ()  # the newest first; one is usual
    next_steps: tuple[NextStep, ...] = ()
    pinned: tuple[Hit, ...] = ()
    relevant: tuple[Hit, ...] = ()  # the most relevant first
    sessions: int = 0  # how many there are in all
    observations: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    head: str  # the heading it stands under; lines of one heading stand together
    text: str
    at: int = 0
    ref: Ref | None = None
    day: str = ""  # of the index by day


def render_start(
    start: StartMaterial,
    *,
    now: int,
    budget_chars: int = DEFAULT_CHARACTERS,
    budget_tokens: int = DEFAULT_TOKENS,
    tz: tzinfo = UTC,
) -> Rendered:
    """For a client, fenced; empty when there is nothing to tell. The least relevant is dropped first."""
    about = f"Memory of {quoted(start.project, 80)}, as of {label.day(now, tz)} {label.clock(now, tz)}."
    return _packed(
        start, now, tz, Budget(budget_chars, budget_tokens), lambda text: fenced(text, about=about)
    )


def render_plain(
    start: StartMaterial,
    *,
    now: int,
    budget_chars: int = DEFAULT_CHARACTERS,
    budget_tokens: int = DEFAULT_TOKENS,
    tz: tzinfo = UTC,
) -> Rendered:
    """For a person: the same lines without the fence."""
    project = quoted(start.project, 80)
    head = f"Memory of {project}, as of {label.day(now, tz)} {label.clock(now, tz)}"
    told = _packed(start, now, tz, Budget(budget_chars, budget_tokens), lambda text: f"{head}\n\n{text}")
    return told if told.text else rendered(f"No previous sessions found for {project}.", ())


def _packed(
    start: StartMaterial, now: int, tz: tzinfo, budget: Budget, wrap: Callable[[str], str]
) -> Rendered:
    lines = list(_lines(start, now, tz))

    def render(count: int) -> Rendered:
        shown = lines[:count]
        text = "\n\n".join([*_sections(shown), _closing(start, shown)])
        return rendered(wrap(text), tuple(line.ref for line in shown if line.ref is not None))

    return as_many_as_fit(len(lines), render, budget)


def _lines(start: StartMaterial, now: int, tz: tzinfo) -> Iterator[_Line]:
    """All there is to tell, the most important first."""
    for number, last in enumerate(start.last):
        yield from _summary(last, number, now, tz)
    yield from _open_steps(start, now, tz)
    told = {last.ref for last in start.last}
    for hit in start.pinned[:_MOST_PINNED]:
        told.add(hit.card.ref)
        dated = label.dated(hit.card.created_at, now, tz)
        yield _Line("Pinned:", _entry(hit, dated), hit.card.created_at, hit.card.ref)
    fresh = [hit for hit in start.relevant if hit.card.ref not in told]
    for hit in fresh[:_MOST_RELEVANT]:
        at = hit.card.created_at
        day = f"{label.day(at, tz)}, {label.age(at, now, tz)}"
        yield _Line(_INDEX, _entry(hit, label.clock(at, tz)), at, hit.card.ref, day)


_INDEX = "Earlier work (#id time kind: title [files] ~tokens of the whole):"


def _summary(last: LastSession, number: int, now: int, tz: tzinfo) -> Iterator[_Line]:
    called = "This session so far" if last.goes_on else "Last session" if number == 0 else "Before that"
    head = (
        f"{called}, {label.day(last.when, tz)} {label.clock(last.when, tz)} ({label.age(last.when, now, tz)})"
    )
    head += f", on branch {quoted(last.branch, 60)}" if last.branch else ""
    head += f", {label.name(last.ref)}" if last.ref else ""
    said = (("Asked", last.request), ("Done", last.completed), ("Learned", last.learned))
    for what, text in said:
        if told := flowing(text, _LONGEST_FIELD):
            yield _Line(f"{head}:", f"- {what}: {told}", last.when, last.ref)


def _open_steps(start: StartMaterial, now: int, tz: tzinfo) -> Iterator[_Line]:
    steps = [
        NextStep(step, last.when, last.ref) for last in start.last for step in points(last.next_steps)
    ] + list(start.next_steps)
    seen: set[str] = set()
    for step in steps:
        text = flowing(step.text, _LONGEST_STEP)
        if text and text.casefold() not in seen and len(seen) < _MOST_STEPS:
            seen.add(text.casefold())
            origin = f"{label.name(step.ref)}, " if step.ref else ""
            said = f"- {text} ({origin}{label.age(step.when, now, tz)})"
            yield _Line("Left open, as far as was recorded:", said, step.when, step.ref)


def _entry(hit: Hit, when: str) -> str:
    card = hit.card
    title = label.title(card)
    files = label.files(card, title)
    said = f"- {label.name(card.ref)} {when} {label.kind(card)}: {title}"
    return f"{said}{f' {files}' if files else ''} ~{label.cost(card)}{label.marks(hit)}"


def _sections(shown: Sequence[_Line]) -> Iterator[str]:
    for head, lines in groupby(shown, key=lambda line: line.head):
        if head == _INDEX:
            by_time = sorted(lines, key=lambda line: line.at, reverse=True)
            days = groupby(by_time, key=lambda line: line.day)
            yield "\n".join([head, *(f"{day}\n{_joined(of_day)}" for day, of_day in days)])
        else:
            yield f"{head}\n{_joined(lines)}"


def _joined(lines: Iterable[_Line]) -> str:
    return "\n".join(line.text for line in lines)


def _closing(start: StartMaterial, shown: Sequence[_Line]) -> str:
    refs = {line.ref for line in shown}
    left_out = {hit.card.ref for hit in (*start.pinned, *start.relevant)} - refs
    more = f"{len(left_out)} more found, not shown. " if left_out else ""
    kept = (
        f"Kept in all: {_many(start.observations, 'observation')}, {_many(start.sessions, 'session')}. "
        if start.sessions
        else ""
    )
    named = [line.ref for line in shown if line.ref is not None]
    example = next((ref for ref in named if ref.kind == "observation"), named[0] if named else "ID")
    return (
        f"{more}{kept}Any of them in full: MCP tools get_observations (by id), search, timeline; "
        f"or `claude-mem show {example}`."
    )


def _many(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}"
