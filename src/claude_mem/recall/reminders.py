"""Decides what is injected at a prompt, before a file is touched and before a command runs, and formats
it.

For a command, something is injected only in clear cases: the same command failed at least twice in other
sessions of this project, with the same error, and has rarely succeeded since. Nothing is allowed or denied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import PurePosixPath

from msgspec import Struct

from claude_mem.model.clock import DAY_MS
from claude_mem.model.full_text import STOP_WORDS, query_words
from claude_mem.model.refs import Card, Filters, Hit, Ref, kind_at, ref_at
from claude_mem.model.structs import replace
from claude_mem.model.text import lazy_pattern
from claude_mem.privacy import tags
from claude_mem.recall import label, query_paths
from claude_mem.recall.fence import fenced, quoted
from claude_mem.recall.label import gist
from claude_mem.recall.search import SearchResults
from claude_mem.recall.session_start import Budget, Rendered, StartMaterial, as_many_as_fit, rendered
from claude_mem.store.base import Memories
from claude_mem.store.values import Injection, TextQuery

FEWEST_WORDS = 2
ENOUGH, SHARED_WEIGHT, WORD_WEIGHT, UNKNOWN_WEIGHT = 8.0, 1.5, 0.25, 16.0
"""The least evidence for injecting anything; what each word counts that the best memory has, and each
meaningful word of the prompt; and what is subtracted for words that no memory has (times their share): a
prompt about something new shares only ordinary words with the past."""
COVERED_PER_WORD = 0.01
"""How much of the prompt its best memory must have, for each meaningful word: a pasted text has so many words
that any memory has some of them."""
BESIDE_THE_BEST = 0.8
"""The share of the best score that another memory needs: beside a good match, a weak one is noise."""
MOST_INJECTED = 3

_CHAT = """
thanks thank thx please ok okay yes yeah yep no nope sure great good perfect nice cool fine awesome
excellent looks look looking right wrong correct go going ahead continue carry proceed stop wait hold
start resume again more less next step steps first last just now today later one two three run rerun
running test tests unit build lint compile commit commits push pull merge rebase branch branches main
master draft pr prs request open close undo redo revert edit edits change changed changes diff show
explain tell try tried retry fix formatting format save update switch green red done left remaining
everything anything something all touch shorter longer simpler simple brief briefly words word paragraph
sentence propose proposed suggested like doing make sort rename variable import imports alphabetically
server dev file files code line lines time once still yet also only other another here up down out off
over back same new old let lets us need want
"""
CHAT_WORDS = frozenset(_CHAT.split())
"""Words about the current work, whatever it is; a prompt with only these needs no memory."""

START, PROMPT, FILE = "SessionStart", "UserPromptSubmit", "PreToolUse"

TOOL = "tool"
"""The source of a query from an agent that injects nothing before its first tool."""

ROUNDED_MS = 1_000
"""The client reports whole seconds, and an answer is recorded a moment after it was given."""


class HookQuestion(Struct, frozen=True):
    """A recall hook's query on behalf of its session."""

    event: str
    session: str
    cwd: str
    prompt: str = ""
    file: str = ""
    command: str = ""
    source: str = ""  # of a start: startup, resume, compact, clear, fork; TOOL
    idle_s: int | None = None  # of a fork: since the session it carries on was last answered

    @classmethod
    def parse(cls, question: Mapping[str, object]) -> HookQuestion | None:
        """None if it is not a valid question, or names no session; only a start may have none."""
        payload, event = question.get("payload"), question.get("event")
        if not isinstance(payload, dict) or event not in (START, PROMPT, FILE):
            return None
        text = {name: value for name, value in payload.items() if isinstance(value, str)}
        idle = payload.get("seconds_since_last_response")
        session = text.get("session_id", "")
        if not text.get("cwd") or not (session or (event == START and "session_id" not in payload)):
            return None
        return cls(
            event=str(event),
            session=session,
            cwd=text["cwd"],
            prompt=text.get("prompt", ""),
            file=text.get("file_path", ""),
            command=text.get("command", ""),
            source=text.get("source", ""),
            idle_s=idle if isinstance(idle, int) else None,
        )


def is_worth_searching(prompt: str) -> bool:
    """Not for a notification (the agent knows the task it started), nor for a single significant word."""
    if tags.is_task_notification(prompt):
        return False
    return len(prompt_terms(prompt)) >= FEWEST_WORDS or bool(query_paths.paths_in(prompt))


def prompt_terms(prompt: str) -> set[str]:
    return set(prompt_words(prompt)) - STOP_WORDS - CHAT_WORDS


def evidence(prompt: str, found: SearchResults) -> float:
    """The evidence that memory has an answer: below ENOUGH, nothing is injected."""
    words = prompt_terms(prompt)
    if found.covered < COVERED_PER_WORD * len(words):
        return 0.0
    in_common = SHARED_WEIGHT * len(words & found.shared) + WORD_WEIGHT * len(words)
    return in_common + found.strength - UNKNOWN_WEIGHT * found.unknown


def choose(hits: Sequence[Hit], known: set[Ref], *, is_answered: bool) -> list[tuple[Hit, bool]]:
    """Each hit, and whether to inject it. `is_answered`: whether there is enough evidence; without it, only
    memories about a file that the prompt names are injected."""
    floor = BESIDE_THE_BEST * max((hit.score for hit in hits), default=0.0)
    found, injected = [], 0
    for hit in hits:
        is_injected = hit.card.ref not in known and hit.score >= floor and injected < MOST_INJECTED
        is_injected = is_injected and (is_answered or bool(hit.parts.get("file")))
        injected += is_injected
        found.append((hit, is_injected))
    return found


def of_others(material: StartMaterial, session: str, since: int | None) -> StartMaterial:
    """For a resumed session, to which the client replays its own past: only what other sessions did since
    then or, if nothing was ever injected (`since` is None), everything that other sessions did."""
    others = replace(
        material,
        last=tuple(last for last in material.last if not last.is_reader),
        relevant=tuple(hit for hit in material.relevant if hit.card.session != session),
    )
    if since is None:
        return others
    return replace(
        others,
        last=tuple(last for last in others.last if last.when > since),
        earlier=(),
        pinned=(),
        relevant=tuple(hit for hit in others.relevant if hit.card.created_at > since),
    )


def still_present(injections: Iterable[Injection], compacted_at: int) -> list[Injection]:
    """The injections still in the session's context, except that of its start, which has only titles. A
    compaction removes them."""
    return [each for each in injections if each.event != START and each.at > compacted_at]


def injected_refs(injections: Iterable[Injection]) -> set[Ref]:
    refs = {ref for each in injections for ref in each.refs}
    return {ref for ref in map(Ref.parse, refs) if ref is not None}


def prompt_words(prompt: str) -> list[str]:
    return list(query_words(prompt)[0])


MOST_HITS = 5
PROMPT_CHARACTERS = 2_400
_LONGEST_PROMPT_LINE = 300
_PROMPT_HEADING = "Memories that may be relevant to this prompt."
_PROMPT_FOOTER = "Full text: MCP tool get_observations (by id), or `claude-mem show {}`."


def render_prompt(
    hits: Sequence[Hit],
    *,
    now: int,
    budget: int = PROMPT_CHARACTERS,
    tz: tzinfo = UTC,
    words: Collection[str] = (),
    reader: str | None = None,
) -> Rendered:
    """The best first. `words`: the prompt's, in lower case; sentences that hold some are preferred."""
    best = [hit for hit in hits if hit.card.superseded_by is None or hit.card.pinned][:MOST_HITS]
    lines = [_gist_line(hit, now, tz, _LONGEST_PROMPT_LINE, words, reader, with_files=True) for hit in best]

    def render(count: int) -> Rendered:
        text = "\n".join([*lines[:count], _PROMPT_FOOTER.format(best[0].card.ref)])
        return rendered(fenced(text, about=_PROMPT_HEADING), tuple(hit.card.ref for hit in best[:count]))

    return as_many_as_fit(len(lines), render, Budget(budget, budget))


def _gist_line(
    hit: Hit,
    now: int,
    tz: tzinfo,
    most: int,
    words: Collection[str] = (),
    reader: str | None = None,
    *,
    with_files: bool,
) -> str:
    card = hit.card
    text = gist(card.title, card.text, most, words) or label.title(card)
    files = label.files(card, text) if with_files else ""
    head = f"- {label.name(card.ref)} {label.dated(card.created_at, now, tz)} {label.kind(card)}"
    return f"{head}: {text}{f' {files}' if files else ''}{label.marks(hit, reader)}"


MOST_FILE_LINES = 6
FILE_BUDGET = Budget(characters=2_400, tokens=800)
_STALE_AFTER = 90 * DAY_MS  # after which `git log` shows a plain change as well as we do
_MANY_FILES = 4
_LONGEST_FILE_LINE = 240
# What is not visible in the file itself.
_LESSONS = frozenset(("bugfix", "decision", "discovery"))


def file_lessons(hits: Sequence[Hit], path: str, now: int) -> tuple[Hit, ...]:
    """The memories of a file that are injected, in order: lessons, then changes, newest first."""
    base = PurePosixPath(path.replace("\\", "/")).name.lower()
    lessons = [hit for hit in hits if _is_relevant(hit.card, base, now)]
    lessons.sort(
        key=lambda hit: (not hit.card.pinned, not _is_lesson(hit.card), bool(hit.marks), -hit.card.created_at)
    )
    return tuple(lessons[:MOST_FILE_LINES])


def _is_lesson(card: Card) -> bool:
    return card.type in _LESSONS or card.is_users_wish


def _is_relevant(card: Card, base: str, now: int) -> bool:
    if card.pinned or (card.is_users_wish and card.superseded_by is None):
        return True
    if card.ref.kind != "observation" or card.superseded_by is not None:
        return False  # that a file was mentioned or printed says nothing about it
    changed = any(_has_name(base, file) for file in card.files_modified)
    if _is_lesson(card):
        # The file was read among many others and is not mentioned, so the memory is not about it.
        return changed or len(card.files) <= _MANY_FILES or base in f"{card.title} {card.text}".lower()
    return changed and now - card.created_at <= _STALE_AFTER


def _has_name(base: str, file: str) -> bool:
    return file.replace("\\", "/").lower().rpartition("/")[2] == base


def render_file(
    path: str, hits: Sequence[Hit], now: int, *, tz: tzinfo = UTC, reader: str | None = None
) -> Rendered:
    """A file's history, in at most six lines; empty if nothing is worth injecting."""
    lessons = file_lessons(hits, path, now)
    lines = [_gist_line(hit, now, tz, _LONGEST_FILE_LINE, (), reader, with_files=False) for hit in lessons]
    about = f"History of {quoted(path, 200)}."

    def render(count: int) -> Rendered:
        return rendered(
            fenced("\n".join(lines[:count]), about=about), tuple(hit.card.ref for hit in lessons[:count])
        )

    return as_many_as_fit(len(lines), render, FILE_BUDGET)


LONGEST_COMMAND = 1_500  # characters of a command that is looked for
SINCE_MS = 90 * DAY_MS
MOST_ROWS = 3_000
MOST_RUNS = 60
FAILED_OFTEN = 2
PASSED_SINCE = 3  # after as many, what went wrong is over
LONGEST_ERROR, LONGEST_FIX = 200, 160
COMMAND_HEADING = "Earlier runs of this command in this project."

_TROUBLE = lazy_pattern(
    r"error|not found|no such|denied|cannot|can't|could not|unable|refused|missing|invalid|unknown"
    r"|unrecognized|timed out|undefined|unresolved|fatal|must |required|unsupported",
    re.IGNORECASE,
)
_NUMBERS = lazy_pattern(r"\d+")


class Run(Struct, frozen=True):
    card: Card
    error: str | None  # the line that says why it failed; "" if none does; None: it went well


def before_command(
    memories: Memories, project_id: int, session: str, command: str, *, now: int, tz: tzinfo = UTC
) -> Rendered:
    """What is injected into a session of the project that is about to run it."""
    runs = [run for run in _runs(memories, project_id, command, now) if run.card.session != session]
    failed = _repeated(runs)
    if not failed:
        return Rendered()
    last = failed[-1].card
    passed = [run for run in runs if run.error is None and run.card.created_at > last.created_at]
    if len(passed) >= PASSED_SINCE:
        return Rendered()
    day = datetime.fromtimestamp(last.created_at / 1000, tz).date().isoformat()
    text = f"It failed {len(failed)} times, last on {day}: {quoted(failed[-1].error or '', LONGEST_ERROR)}"
    refs = [last.ref]
    if passed:
        fix = _find_fix(memories, last, passed[0].card)
        text += "\nIt succeeded afterwards" + (
            f": {quoted(fix.title, LONGEST_FIX)} (#{fix.ref})" if fix else "."
        )
        refs += [fix.ref] if fix else []
    else:
        text += "\nIt has not succeeded since."
    return rendered(fenced(text, about=COMMAND_HEADING), tuple(refs))


def command_label(command: str) -> str:
    """The label under which an injection for a command is recorded."""
    return f"$ {command[:200]}"


def error_line(error: str) -> str:
    """The line of an error that states the problem; '' if none does."""
    return next((" ".join(line.split()) for line in error.splitlines() if _TROUBLE.search(line)), "")


def _repeated(runs: Sequence[Run]) -> list[Run]:
    """The failures with the same error as the last one that had any, if there are several; oldest first."""
    with_error = [run for run in runs if run.error]
    if not with_error:
        return []
    last_error = _NUMBERS.sub("0", with_error[-1].error or "")
    same = [run for run in with_error if _NUMBERS.sub("0", run.error or "") == last_error]
    return same if len(same) >= FAILED_OFTEN else []


def _runs(memories: Memories, project_id: int, command: str, now: int) -> list[Run]:
    """The runs of exactly this command, oldest first."""
    words, _ = query_words(command)
    if not words or len(command) > LONGEST_COMMAND:
        return []
    found = memories.match(TextQuery(words, (), MOST_ROWS, is_hurried=True), project_id).matched
    known = [frozenset(match.scores) for match in found if match.scores]
    keys = [key for key in frozenset.intersection(*known) if kind_at(key) == "evidence"] if known else []
    refs = [ref_at(key) for key in sorted(keys)[-MOST_RUNS:]]
    runs = [
        Run(card, _error(columns))
        for card, columns in memories.details(refs).values()
        if card.created_at >= now - SINCE_MS and _command_in(columns.get("tool_input")) == command.strip()
    ]
    return sorted(runs, key=lambda run: (run.card.created_at, run.card.ref.id))


def _command_in(tool_input: object) -> str:
    try:
        given = json.loads(tool_input) if isinstance(tool_input, str) else None
    except (ValueError, RecursionError):
        return ""
    found = given.get("command") if isinstance(given, dict) else None
    return found.strip() if isinstance(found, str) else ""


def _error(columns: dict[str, object]) -> str | None:
    failed = columns.get("kind") == "tool_failure" or columns.get("type") == "tool_failure"
    return error_line(str(columns.get("tool_response") or "")) if failed else None


def _find_fix(memories: Memories, failed: Card, passed: Card) -> Card | None:
    """The first observation after the failure, in the session in which the command then succeeded."""
    filters = Filters(
        session=passed.session, kinds=("observation",), since=failed.created_at, superseded=False, wrong=False
    )
    return next(iter(memories.list_cards(filters, limit=1, newest_first=False)), None)
