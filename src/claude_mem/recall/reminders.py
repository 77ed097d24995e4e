"""The text that is injected at a prompt and before a file is touched. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo
from pathlib import PurePosixPath

from claude_mem.model.clock import DAY_MS
from claude_mem.model.refs import Card, Hit
from claude_mem.recall import label
from claude_mem.recall.fence import fenced, quoted
from claude_mem.recall.label import gist
from claude_mem.recall.render import Budget, Rendered, as_many_as_fit, rendered

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
    said = gist(card.title, card.text, most, words) or label.title(card)
    files = label.files(card, said) if with_files else ""
    head = f"- {label.name(card.ref)} {label.dated(card.created_at, now, tz)} {label.kind(card)}"
    return f"{head}: {said}{f' {files}' if files else ''}{label.marks(hit, reader)}"


MOST_FILE_LINES = 6
FILE_BUDGET = Budget(characters=2_400, tokens=800)
_STALE_AFTER = 90 * DAY_MS  # after which `git log` shows a plain change as well as we do
_MANY_FILES = 4
_LONGEST_FILE_LINE = 240
# What a reader of the file could not see in it.
_LESSONS = frozenset(("bugfix", "decision", "discovery"))


def file_lessons(hits: Sequence[Hit], path: str, now: int) -> tuple[Hit, ...]:
    """Which of a file's memories are injected, in order: lessons, then changes, the newest first."""
    base = PurePosixPath(path.replace("\\", "/")).name.lower()
    kept = [hit for hit in hits if _is_worth(hit.card, base, now)]
    kept.sort(
        key=lambda hit: (not hit.card.pinned, not _is_lesson(hit.card), bool(hit.marks), -hit.card.created_at)
    )
    return tuple(kept[:MOST_FILE_LINES])


def _is_lesson(card: Card) -> bool:
    return card.type in _LESSONS or card.is_users_wish


def _is_worth(card: Card, base: str, now: int) -> bool:
    if card.pinned or (card.is_users_wish and card.superseded_by is None):
        return True
    if card.ref.kind != "observation" or card.superseded_by is not None:
        return False  # that a file was mentioned or printed says nothing about it
    changed = any(_has_name(base, file) for file in card.files_modified)
    if _is_lesson(card):
        # Read in passing, with many others, and not worth a word: then it is not about this file.
        return changed or len(card.files) <= _MANY_FILES or base in f"{card.title} {card.text}".lower()
    return changed and now - card.created_at <= _STALE_AFTER


def _has_name(base: str, file: str) -> bool:
    return file.replace("\\", "/").lower().rpartition("/")[2] == base


def render_file(
    path: str, hits: Sequence[Hit], now: int, *, tz: tzinfo = UTC, reader: str | None = None
) -> Rendered:
    """A file's history, at most six lines; empty when nothing is worth saying."""
    lessons = file_lessons(hits, path, now)
    lines = [_gist_line(hit, now, tz, _LONGEST_FILE_LINE, (), reader, with_files=False) for hit in lessons]
    about = f"History of {quoted(path, 200)}."

    def render(count: int) -> Rendered:
        return rendered(
            fenced("\n".join(lines[:count]), about=about), tuple(hit.card.ref for hit in lessons[:count])
        )

    return as_many_as_fit(len(lines), render, FILE_BUDGET)
