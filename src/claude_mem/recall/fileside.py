"""Decides what is told of a file before it is read or edited: what went wrong in it, what was decided, what
changed; and nothing when that would be noise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from pathlib import PurePosixPath

from claude_mem.model.refs import Card, Hit
from claude_mem.recall import label
from claude_mem.recall.fence import fenced, quoted
from claude_mem.recall.packing import Budget, Rendered, as_many_as_fit, rendered
from claude_mem.recall.telling import gist

MOST_LINES = 6
BUDGET = Budget(characters=2_400, tokens=800)
_DAY_MS = 86_400_000
_STALE_AFTER = 90 * _DAY_MS  # after which `git log` tells a plain change as well as we do
_MANY_FILES = 4
_LONGEST_SAID = 240
# What a reader of the file could not see in it.
_LESSONS = frozenset(("bugfix", "decision", "discovery"))


def worth_saying(hits: Sequence[Hit], path: str, now: int) -> tuple[Hit, ...]:
    """Which of a file's memories are told, in order: lessons, then changes, the newest first. Often none."""
    base = PurePosixPath(path.replace("\\", "/")).name.lower()
    kept = [hit for hit in hits if _is_worth(hit.card, base, now)]
    kept.sort(
        key=lambda hit: (not hit.card.pinned, not _is_lesson(hit.card), bool(hit.marks), -hit.card.created_at)
    )
    return tuple(kept[:MOST_LINES])


def _is_lesson(card: Card) -> bool:
    return card.type in _LESSONS or card.source == "user"


def _is_worth(card: Card, base: str, now: int) -> bool:
    if card.pinned or (card.source == "user" and card.superseded_by is None):
        return True
    if card.ref.kind != "observation" or card.superseded_by is not None:
        return False  # that a file was mentioned or printed says nothing about it
    changed = any(_is(base, file) for file in card.files_modified)
    if _is_lesson(card):
        # Read in passing, with many others, and not worth a word: then it is not about this file.
        return changed or len(card.files) <= _MANY_FILES or base in f"{card.title} {card.text}".lower()
    return changed and now - card.created_at <= _STALE_AFTER


def _is(base: str, file: str) -> bool:
    return file.replace("\\", "/").lower().rpartition("/")[2] == base


def render_file(path: str, hits: Sequence[Hit], now: int, *, tz: tzinfo = UTC) -> Rendered:
    """A file's history, at most six lines; empty when nothing is worth saying."""
    told = worth_saying(hits, path, now)
    lines = [_line(hit, now, tz) for hit in told]
    about = f"History of {quoted(path, 200)}."

    def render(count: int) -> Rendered:
        return rendered(
            fenced("\n".join(lines[:count]), about=about), tuple(hit.card.ref for hit in told[:count])
        )

    return as_many_as_fit(len(lines), render, BUDGET)


def _line(hit: Hit, now: int, tz: tzinfo) -> str:
    card = hit.card
    said = gist(card.title, card.text, _LONGEST_SAID) or label.title(card)
    head = f"- {label.name(card.ref)} {label.dated(card.created_at, now, tz)} {label.kind(card)}"
    return f"{head}: {said}{label.marks(hit)}"
