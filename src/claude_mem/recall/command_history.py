"""What came of a shell command before, injected before it is run again. Nothing is allowed or denied.

Silent unless it is clear: the same command failed at least twice in other sessions of this project, with the
same error, and has not often passed since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from claude_mem.model.clock import DAY_MS
from claude_mem.model.full_text import query_words
from claude_mem.model.refs import Card, Filters, kind_at, ref_at, span
from claude_mem.recall.fence import fenced, quoted
from claude_mem.recall.render import Rendered, rendered
from claude_mem.store.base import Memories
from claude_mem.store.values import TextQuery

LONGEST = 1_500  # characters of a command that is looked for
SINCE_MS = 90 * DAY_MS
MOST_ROWS = 3_000
MOST_RUNS = 60
FAILED_OFTEN = 2
PASSED_SINCE = 3  # after as many, what went wrong is over
LONGEST_ERROR, LONGEST_FIX = 200, 160
ABOUT = "Earlier runs of this command in this project."

_TROUBLE = re.compile(
    r"error|not found|no such|denied|cannot|can't|could not|unable|refused|missing|invalid|unknown"
    r"|unrecognized|timed out|undefined|unresolved|fatal|must |required|unsupported",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+")


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
        fix = _fix(memories, last, passed[0].card)
        text += "\nIt succeeded afterwards" + (
            f": {quoted(fix.title, LONGEST_FIX)} (#{fix.ref})" if fix else "."
        )
        refs += [fix.ref] if fix else []
    else:
        text += "\nIt has not succeeded since."
    return rendered(fenced(text, about=ABOUT), tuple(refs))


def about(command: str) -> str:
    """By which it is known that it was injected into a session."""
    return f"$ {command[:200]}"


def error_line(error: str) -> str:
    """The line of an error that says what is wrong; '' if none does."""
    return next((" ".join(line.split()) for line in error.splitlines() if _TROUBLE.search(line)), "")


def _repeated(runs: Sequence[Run]) -> list[Run]:
    """The failures with the same error as the last one that had any, if there are several; oldest first."""
    with_error = [run for run in runs if run.error]
    if not with_error:
        return []
    said = _NUMBERS.sub("0", with_error[-1].error or "")
    same = [run for run in with_error if _NUMBERS.sub("0", run.error or "") == said]
    return same if len(same) >= FAILED_OFTEN else []


def _runs(memories: Memories, project_id: int, command: str, now: int) -> list[Run]:
    """Of exactly this command, oldest first."""
    words, _ = query_words(command)
    if not words or len(command) > LONGEST:
        return []
    found = memories.match(TextQuery(words, (), MOST_ROWS), span(project_id)).matched
    known = [frozenset(match.scores) for match in found if match.scores]
    keys = [key for key in frozenset.intersection(*known) if kind_at(key) == "evidence"] if known else []
    refs = [ref_at(key) for key in sorted(keys)[-MOST_RUNS:]]
    runs = [
        Run(card, _error(columns))
        for card, columns in memories.details(refs).values()
        if card.created_at >= now - SINCE_MS and _command(columns.get("tool_input")) == command.strip()
    ]
    return sorted(runs, key=lambda run: (run.card.created_at, run.card.ref.id))


def _command(tool_input: object) -> str:
    try:
        given = json.loads(tool_input) if isinstance(tool_input, str) else None
    except (ValueError, RecursionError):
        return ""
    found = given.get("command") if isinstance(given, dict) else None
    return found.strip() if isinstance(found, str) else ""


def _error(columns: dict[str, object]) -> str | None:
    failed = columns.get("kind") == "tool_failure" or columns.get("type") == "tool_failure"
    return error_line(str(columns.get("tool_response") or "")) if failed else None


def _fix(memories: Memories, failed: Card, passed: Card) -> Card | None:
    """What was observed first after the failure, in the session in which it then passed."""
    wanted = Filters(
        session=passed.session, kinds=("observation",), since=failed.created_at, superseded=False, wrong=False
    )
    return next(iter(memories.list_cards(wanted, limit=1, newest_first=False)), None)
