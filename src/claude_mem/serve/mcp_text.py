"""Tells a model what was found, in few tokens: a line for each, whole only where it is asked for.

What memory holds is kept apart from what we say about it, so that it can be fenced as the quotation it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MOST_FILES = 3
LONGEST_TITLE = 160

Found = Mapping[str, Any]

_WHOLE = (
    ("subtitle", ""),
    ("text", ""),
    ("narrative", ""),
    ("prompt", ""),
    ("facts", "Facts"),
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
    ("concepts", "Concepts"),
    ("files_read", "Files read"),
    ("files_modified", "Files modified"),
    ("files_edited", "Files edited"),
    ("branch", "Branch"),
    ("commit", "Commit"),
    ("session_id", "Session"),
)


_SOURCES = {"external": "only read", "user": "kept by the user"}


@dataclass(frozen=True, slots=True)
class Told:
    """Our words, memory's words, our words."""

    before: str = ""
    memory: str = ""
    after: str = ""

    def in_words(self, fence: Callable[[str], str]) -> str:
        fenced = fence(self.memory) if self.memory else ""
        return "\n".join(part for part in (self.before, fenced, self.after) if part)


def index(found: Found) -> Told:
    results = found.get("results") or []
    if not results:
        return Told("Nothing found. Other words, or fewer filters, may find more.")
    offset = int(found.get("offset") or 0)
    after = "For the work around one: timeline(anchor=id). For all of it: get_observations(ids=[…])."
    if found.get("hasMore"):
        after = f"More: the same search with offset={offset + len(results)}. {after}"
    return Told(_note(found), _lines(results), after)


def timeline(found: Found) -> Told:
    before, after, anchor = found.get("before") or [], found.get("after") or [], found.get("anchor")
    here = [f"> {line(anchor)}"] if anchor else [f"> {found.get('at') or ''}"]
    if not before and not after and not anchor:
        return Told("Nothing is remembered around that time.")
    told = [*(line(result) for result in before), *here, *(line(result) for result in after)]
    return Told(_note(found), "\n".join(told), "For all of one: get_observations(ids=[…]).")


def whole(found: Found) -> Told:
    missing = ", ".join(f"#{ref}" for ref in found.get("missing") or [])
    before = f"There is no {missing}." if missing else ""
    return Told(before, "\n\n".join(_whole(result) for result in found.get("results") or []))


def session(found: Found) -> Told:
    about = found.get("session") or {}
    parts = [
        " ".join(
            str(about[key])
            for key in ("session_id", "project", "status", "created_at", "title")
            if about.get(key)
        )
    ]
    parts += [_whole(summary) for summary in found.get("summaries") or []]
    parts += [_lines(found[key]) for key in ("prompts", "observations") if found.get(key)]
    parts += [f"{key}: {_id(found[key])}" for key in ("previous", "next") if found.get(key)]
    return Told(memory="\n\n".join(part for part in parts if part))


def file_history(found: Found) -> Told:
    results = found.get("results") or []
    if not results:
        return Told("Nothing is remembered of that file.")
    return Told(_note(found), _lines(results), "For all of one: get_observations(ids=[…]).")


def saved(found: Found) -> Told:
    ref = found.get("ref")
    return Told(
        f"It was known already, as #{ref}." if found.get("status") == "known" else f"Remembered as #{ref}."
    )


def forgotten(found: Found) -> Told:
    kinds = ("observations", "summaries", "prompts", "evidence", "sessions", "vectors")
    counts = [f"{found[kind]} {kind}" for kind in kinds if found.get(kind)]
    total = ", ".join(counts) or "nothing"
    backups = found.get("backups")
    kept = f" Backups that still hold it: {backups}." if backups else ""
    if not found.get("dry_run"):
        return Told(f"Forgotten for good: {total}.{kept}")
    after = (
        f'Ask the user. If they agree, call it again with the same ids and confirm="{found.get("confirm")}".'
    )
    return Told(f"This would be forgotten for good: {total}.{kept}", _lines(found.get("sample") or []), after)


def line(result: Found) -> str:
    """As `#12 bugfix 2026-11-10 shop  The title  [a.py, b.py +2] (~120 tok)`."""
    title = " ".join(str(result.get("title") or result.get("snippet") or "").split())
    if len(title) > LONGEST_TITLE:
        title = title[: LONGEST_TITLE - 1] + "…"
    head = " ".join(
        str(part)
        for part in (
            f"#{result.get('ref') or result.get('id')}",
            result.get("type") or result.get("kind"),
            str(result.get("created_at") or "")[:10],
            result.get("project"),
        )
        if part
    )
    files = list(result.get("files") or [])
    more = f" +{len(files) - MOST_FILES}" if len(files) > MOST_FILES else ""
    told = [
        head,
        title,
        f"[{', '.join(str(file) for file in files[:MOST_FILES])}{more}]" if files else "",
        f"{{{'; '.join(marks)}}}" if (marks := _marks(result)) else "",
    ]
    tokens = result.get("tokens")
    return "  ".join(part for part in told if part) + (f" (~{tokens} tok)" if tokens else "")


def _marks(result: Found) -> list[str]:
    marks = ["pinned"] if result.get("pinned") else []
    if result.get("superseded_by"):
        marks.append(f"superseded by #{result['superseded_by']}")
    if source := _SOURCES.get(str(result.get("source"))):
        marks.append(source)
    return [*marks, *(str(mark) for mark in result.get("marks") or [])]


def _lines(results: Iterable[Found]) -> str:
    return "\n".join(line(result) for result in results)


def _whole(result: Found) -> str:
    told = [line(result)]
    for name, label in _WHOLE:
        value = result.get(name)
        if value and isinstance(value, list | tuple):
            told.append("\n- ".join([f"{label}:", *(str(item) for item in value)]))
        elif value:
            told.append(f"{label}: {value}" if label else str(value))
    return "\n".join(told)


def _id(of: object) -> object:
    return of.get("session_id", of.get("id")) if isinstance(of, Mapping) else of


def _note(found: Found) -> str:
    return str(found.get("note") or "")
