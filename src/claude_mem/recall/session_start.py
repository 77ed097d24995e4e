"""Renders the text that is injected at a session's start, within a budget and fenced. Pure. Later injections
are in `reminders`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from itertools import groupby
from typing import Any

from msgspec import Struct

from claude_mem.model.memory import DEEDS
from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.recall import label
from claude_mem.recall.fence import fenced, flowing, points, quoted
from claude_mem.recall.label import estimate_tokens
from claude_mem.recall.line_filter import (
    identifiers,
    is_closed_by,
    is_open,
    is_specific,
    is_task,
    removed_names,
    repeats,
    stands_alone,
)
from claude_mem.recall.staleness import NEWER


class Rendered(Struct, frozen=True):
    """A rendered text, its memories and its cost. Empty text: nothing is injected."""

    text: str = ""
    refs: tuple[Ref, ...] = ()
    tokens: int = 0


class Budget(Struct, frozen=True):
    characters: int
    tokens: int

    def holds(self, text: str) -> bool:
        return length(text) <= self.characters and estimate_tokens(text) <= self.tokens


def length(text: str) -> int:
    """The length as the client counts it, in UTF-16: an emoji is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def as_many_as_fit(most: int, render: Callable[[int], Rendered], budget: Budget) -> Rendered:
    """The first n of `most` lines, for the greatest n that fits the budget."""
    if not most:
        return Rendered()
    complete = render(most)
    if budget.holds(complete.text):
        return complete
    fit = bisect_left(range(1, most), True, key=lambda count: not budget.holds(render(count).text))
    return render(fit) if fit else Rendered()


def rendered(text: str, refs: tuple[Ref, ...]) -> Rendered:
    return Rendered(text, tuple(dict.fromkeys(refs)), estimate_tokens(text))


START_BUDGET = Budget(characters=9_500, tokens=3_000)
"""Includes the fence; the rest of the client's 10,000 characters is for other messages of the hook."""

_LONGEST_FIELD, _LONGEST_STEP, _LONGEST_SESSION = 420, 220, 140
_MOST_STEPS, _MOST_PINNED, _MOST_DECIDED, _MOST_SESSIONS, _MOST_TITLES, _MOST_OUTCOMES = 3, 12, 4, 4, 5, 4
_MOST_READ = 1


class SessionFinding(Struct, frozen=True):
    """An observation in the line of its session."""

    title: str
    ref: Ref
    is_deed: bool = True  # else it was found or decided


class LastSession(Struct, frozen=True):
    """A session's newest summary."""

    when: int  # epoch milliseconds
    ref: Ref | None = None
    branch: str | None = None
    request: str = ""
    completed: str = ""
    learned: str = ""
    next_steps: str = ""
    notes: str = ""
    is_cut: bool = False  # its words are sentences of the agent's, not written for this
    is_reader: bool = False  # it is the reader itself, after a compaction or a resume
    mark: str = ""  # where its words come from, if not from work
    outcomes: tuple[SessionFinding, ...] = ()  # what was observed in it, in order: its work, else findings
    client: str | None = None  # the agent's name
    author: str | None = None  # the member of the team whose it was; None: one's own


class NextStep(Struct, frozen=True):
    """A next step that a session left open."""

    text: str
    when: int
    ref: Ref | None = None
    mark: str = ""


class StartMaterial(Struct, frozen=True):
    project: str
    last: tuple[LastSession, ...] = ()  # the newest first; one is usual
    earlier: tuple[LastSession, ...] = ()  # those before
    pinned: tuple[Hit, ...] = ()
    relevant: tuple[Hit, ...] = ()  # the most relevant first
    sessions: int = 0  # how many there are in all
    observations: int = 0
    reader: str | None = None  # the agent of the session that reads it; others are named


class _Line(Struct, frozen=True):
    head: str  # the heading it stands under; lines of one heading stand together
    text: str
    ref: Ref | None = None
    outcomes: tuple[SessionFinding, ...] = ()  # that it names as well

    @property
    def refs(self) -> tuple[Ref, ...]:
        return (*((self.ref,) if self.ref else ()), *(each.ref for each in self.outcomes))


def render_start(
    start: StartMaterial,
    *,
    now: int,
    budget: Budget = START_BUDGET,
    tz: tzinfo = UTC,
    plain: bool = False,
) -> Rendered:
    """For a client, fenced; empty when there is nothing to inject. `plain`: for a person, the same lines
    without the fence. The least relevant is dropped first."""
    project = quoted(start.project, 80)
    about = f"Memory of {project}, as of {label.day(now, tz)} {label.clock(now, tz)}"
    lines = list(_lines(start, now, tz))

    def render(count: int) -> Rendered:
        shown = lines[:count]
        text = "\n\n".join([*_sections(shown), _closing(start, shown)])
        refs = tuple(ref for line in shown for ref in line.refs)
        open_items = sum(line.head == _OPEN for line in shown)
        counted = [(len(set(refs)), "memory"), *([(open_items, "open item")] if open_items else [])]
        counts = ", ".join(_many(*each) for each in counted)
        complete = f"{about}\n\n{text}" if plain else fenced(text, about=f"{about}: {counts}.")
        return rendered(complete, refs)

    shown = as_many_as_fit(len(lines), render, budget)
    return rendered(f"No previous sessions found for {project}.", ()) if plain and not shown.text else shown


def _lines(start: StartMaterial, now: int, tz: tzinfo) -> Iterator[_Line]:
    """All lines that could be injected, most important first, without duplicates."""
    for number, last in enumerate(start.last):
        yield from _summary(last, number, now, tz, start.reader)
    for step in open_steps((*start.last, *start.earlier))[:_MOST_STEPS]:
        origin = f"{label.name(step.ref)}, " if step.ref else ""
        mark = f"; {step.mark}" if step.mark else ""
        text = f"- {step.text} ({origin}{label.age(step.when, now, tz)}{mark})"
        yield _Line(_OPEN, text, step.ref)
    used = _UsedClauses(text for last in start.last for text in (last.completed, last.learned))
    for last in start.last:
        used.add(last.outcomes[-_MOST_OUTCOMES:])
    for before in start.earlier[:_MOST_SESSIONS]:
        if (outcome := _outcome(before)) and used.add_if_new(outcome):
            used.add(before.outcomes[-2:])
            named = f" {label.name(before.ref)}" if before.ref else ""
            by = label.byline(before.author, before.client, start.reader)
            notes = "; ".join(filter(None, (by, before.mark)))
            mark = f" ({notes})" if notes else ""
            text = f"- {label.day(before.when, tz)}{named}: {outcome}{mark}"
            yield _Line("Earlier sessions:", text, before.ref, before.outcomes[-2:])
    shown = {last.ref for last in start.last}
    for hit in start.pinned[:_MOST_PINNED]:
        shown.add(hit.card.ref)
        dated = label.dated(hit.card.created_at, now, tz)
        yield _Line("Pinned:", _entry(hit, dated, start.reader), hit.card.ref)
    removed = {
        name
        for session in (*start.last, *start.earlier)
        for each in session.outcomes
        for name in removed_names(each.title)
    }
    new_hits = [
        hit
        for hit in start.relevant
        if hit.card.ref not in shown
        and not any(mark.startswith(NEWER) for mark in hit.marks)
        and (hit.card.is_users_wish or _is_understood(hit.card))
        and not identifiers(label.title(hit.card)) & removed
        and used.add_if_new(label.title(hit.card))
    ]
    new_hits.sort(key=lambda hit: hit.card.source == "external")  # what was merely read comes last
    decided = [hit for hit in new_hits if hit.card.type == "decision" or hit.card.is_users_wish]
    for head, hits in (
        (_DECIDED, decided[:_MOST_DECIDED]),
        (_TITLES, _few_read([hit for hit in new_hits if hit not in decided])[:_MOST_TITLES]),
    ):
        for hit in hits:
            day = label.day(hit.card.created_at, tz)
            yield _Line(head, _entry(hit, day, start.reader), hit.card.ref)


def _is_cut(card: Card) -> bool:
    return (card.provider or "").startswith("offline")


def _is_understood(card: Card) -> bool:
    """Whether a reader without context understands it. A model writes a title; offline it is cut from a
    message."""
    judged = is_specific if _is_cut(card) else stands_alone
    return judged(label.title(card), card.text)


def _few_read(hits: Sequence[Hit]) -> list[Hit]:
    """Limits memories that were only read, because the next session rarely needs them."""
    read = [hit for hit in hits if hit.card.source == "external"]
    return [hit for hit in hits if hit not in read[_MOST_READ:]]


_OPEN = "Open items, as recorded:"
_DECIDED = "Decisions still in effect:"
_TITLES = "Other work, most relevant first (#id date type: title [files] ~tokens to read in full):"


class _UsedClauses:
    """The clauses that were already used: a line that repeats one is left out."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._clauses = {_bare(clause) for text in texts for clause in _CLAUSE.split(text)}

    def add(self, outcomes: Iterable[SessionFinding]) -> None:
        self._clauses.update(_bare(each.title) for each in outcomes)

    def add_if_new(self, text: str) -> bool:
        bare = _bare(text)
        if bare in self._clauses:
            return False
        self._clauses.add(bare)
        return True


_CLAUSE = re.compile(r"; |\n|(?<=\.)(?<!\.\w\.) ")


def _bare(text: str) -> str:
    return flowing(text).casefold().rstrip(" .…;")


def _summary(last: LastSession, number: int, now: int, tz: tzinfo, reader: str | None) -> Iterator[_Line]:
    called = "This session so far" if last.is_reader else "Last session" if number == 0 else "Before that"
    head = (
        f"{called}, {label.day(last.when, tz)} {label.clock(last.when, tz)} ({label.age(last.when, now, tz)})"
    )
    by = label.byline(last.author, last.client, reader)
    head += f", {by}" if by else ""
    head += f", on branch {quoted(last.branch, 60)}" if last.branch else ""
    head += f", {label.name(last.ref)}" if last.ref else ""
    head += f" ({last.mark})" if last.mark else ""
    # The newest summary covers only the last turn; the titles cover the whole session.
    outcomes = last.outcomes[-_MOST_OUTCOMES:]
    used = _UsedClauses(())
    used.add(last.outcomes)
    again = not used.add_if_new(last.request) or last.request.casefold() in last.completed.casefold()
    again = again or any(repeats(last.request, each.title.casefold()) for each in outcomes)
    shows_request = last.is_reader or (is_task(last.request) and not again)
    learned = "; ".join(each for each in _CLAUSE.split(last.learned) if stands_alone(each))
    if last.is_cut and outcomes:
        learned = ""  # what it came to is in its titles
    rest = [each for each in _CLAUSE.split(last.completed) if used.add_if_new(each) and stands_alone(each)]
    if last.is_cut and not outcomes:
        rest = rest if any(map(is_specific, rest[:2])) else []
    is_whole = len(outcomes) < 2 and not last.is_cut
    titles = [each.title for each in outcomes if not any(_bare(each.title) in _bare(part) for part in rest)]
    done = last.completed if is_whole and last.completed else "; ".join([*titles, *rest])
    came = "Done" if last.completed or any(each.is_deed for each in outcomes) else "Found"
    task = "Task" if last.author else "Asked"  # another's request is none of the reader's user
    for what, text in ((task, last.request if shows_request else ""), (came, done), ("Learned", learned)):
        if line := flowing(text.strip("; "), _LONGEST_FIELD):
            yield _Line(f"{head}:", f"- {what}: {line}", last.ref, outcomes if what == came else ())


def _outcome(session: LastSession) -> str:
    """A session's outcome in one line."""
    if session.outcomes:
        return flowing("; ".join(each.title for each in session.outcomes[-2:]), _LONGEST_SESSION)
    for text in () if session.is_cut else (session.completed, session.learned):
        first = next(iter(points(text)), "").split("; ")[0]
        if first and stands_alone(first):
            return flowing(first, _LONGEST_SESSION)
    return ""


def open_steps(sessions: Sequence[LastSession]) -> list[NextStep]:
    """What sessions left open and no later one did, the newest first. `sessions`: the newest first, one's own
    before those of others."""
    found: dict[str, NextStep] = {}
    for at, session in enumerate(sessions):
        done = [
            f"{each.completed}\n{each.notes}".casefold()
            for number, each in enumerate(sessions)
            if number < at or each.when > session.when
        ]
        for step in points(session.next_steps):
            text = flowing(step, _LONGEST_STEP)
            again = any(repeats(text, known) for known in found)
            if text and is_open(text) and not again and not any(is_closed_by(text, later) for later in done):
                by = label.byline(session.author, None, None)
                mark = "; ".join(filter(None, (by, session.mark)))
                found[text.casefold()] = NextStep(text, session.when, session.ref, mark)
    return list(found.values())


def _entry(hit: Hit, when: str, reader: str | None) -> str:
    card = hit.card
    title = label.title(card)
    files = label.files(card, title)
    entry = f"- {label.name(card.ref)} {when} {label.kind(card)}: {title}"
    return f"{entry}{f' {files}' if files else ''} ~{label.cost(card)}{label.marks(hit, reader)}"


def _sections(shown: Sequence[_Line]) -> Iterator[str]:
    for head, lines in groupby(shown, key=lambda line: line.head):
        yield "\n".join([head, *(line.text for line in lines)])


def _closing(start: StartMaterial, shown: Sequence[_Line]) -> str:
    refs = {ref for line in shown for ref in line.refs}
    left_out = {hit.card.ref for hit in (*start.pinned, *start.relevant)} - refs
    more = f"{len(left_out)} more not shown. " if left_out else ""
    totals = (
        f"In total: {_many(start.observations, 'observation')}, {_many(start.sessions, 'session')}. "
        if start.sessions
        else ""
    )
    named = [ref for line in shown for ref in line.refs]
    example = next((ref for ref in named if ref.kind == "observation"), named[0] if named else "ID")
    return (
        f"{more}{totals}Full text: MCP tools get_observations (by id), search, timeline; "
        f"or `claude-mem show {example}`."
    )


def _many(count: int, one: str) -> str:
    several = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{count} {one if count == 1 else several}"


def last_sessions(summaries: list[LastSession]) -> tuple[list[LastSession], list[LastSession]]:
    """The last session and, if it has no outcome, the last one with an outcome. Of the user's own sessions,
    if there are any, because users continue their own work."""
    own = [each for each in summaries if each.author is None] or summaries
    last = own[:1]
    if last and not last[0].completed and not last[0].learned:
        last += [each for each in own[1:] if each.completed][:1]
    return last, [each for each in summaries if each not in last]


_WORK = (*DEEDS, "decision")


def outcomes(cards: Iterable[Card]) -> dict[str, tuple[SessionFinding, ...]]:
    """The outcome of each session, by its id."""
    found: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: (card.created_at, card.ref.id)):
        if not card.is_users_wish and _is_understood(card):
            found.setdefault(card.session, []).append(card)
    return {
        session: tuple(
            SessionFinding(label.title(card), card.ref, card.type in DEEDS)
            for card in [c for c in own if c.type in _WORK] or own
        )
        for session, own in found.items()
    }


def cut_sessions(cards: Sequence[Card], sessions: Iterable[str]) -> set[str]:
    """Whose words were cut from messages: by who wrote what was observed in them, else the newest in all."""
    by_session = {card.session: _is_cut(card) for card in cards}
    newest = _is_cut(cards[0]) if cards else False
    return {session for session in sessions if by_session.get(session, newest)}


_SUMMARY_TEXTS = ("request", "completed", "learned", "next_steps", "notes")


def last_session(
    card: Card, columns: dict[str, Any], outcomes: tuple[SessionFinding, ...] = (), *, is_cut: bool = False
) -> LastSession:
    texts: dict[str, Any] = {name: columns[name] or "" for name in _SUMMARY_TEXTS}
    return LastSession(
        when=card.created_at,
        ref=card.ref,
        branch=card.branch,
        **texts,
        mark=label.origin(card.source, card.author),
        is_cut=is_cut,
        outcomes=outcomes,
        client=card.client,
        author=card.author,
    )
