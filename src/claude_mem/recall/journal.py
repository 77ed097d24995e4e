"""Formats a project's memory as a journal in Markdown, to read or to commit: by day and session. Pure.

Memory contains text by others. So each text is on one line and escaped: it cannot create a heading,
a link, an image or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from itertools import groupby
from typing import Any

from msgspec import Struct, field

from claude_mem.model.records import FOREIGN, Record, content_key_of, name_of
from claude_mem.recall import label
from claude_mem.recall.fence import points, quoted

LONGEST_PROMPT = 400
MOST_FILES = 12
SUMMED_UP = (
    ("Asked", "request"),
    ("Learned", "learned"),
    ("Completed", "completed"),
    ("Next steps", "next_steps"),
    ("Notes", "notes"),
)

_CODE = re.compile("(`[^`]+`)")
_SPECIAL = re.compile(r"([\\`*\[\]<])")
_BEGINS = re.compile(r"^(\d+)(?=[.)])|^(?=[#>+\-=|~])")


class _Session(Struct):
    record: Record
    prompts: list[Record] = field(default_factory=list)
    observations: list[Record] = field(default_factory=list)
    summaries: list[Record] = field(default_factory=list)

    def is_empty(self) -> bool:
        return not (self.prompts or self.observations or self.summaries)


def journal(records: Iterable[Record], tz: tzinfo) -> Iterator[str]:
    """Line by line, without line ends. Empty sessions, and what was done in them, are left out."""
    projects: dict[str, str] = {}
    sessions: dict[str, _Session] = {}
    replaced: set[str] = set()
    for record in records:
        match record["kind"]:
            case "project":
                projects[record["key"]] = record["name"]
            case "session":
                sessions[record["session_id"]] = _Session(record)
            case "prompt" if record.get("text"):
                sessions[record["session_id"]].prompts.append(record)
            case "observation":
                sessions[record["session_id"]].observations.append(record)
                replaced.add(record.get("supersedes", ""))
            case "summary":
                sessions[record["session_id"]].summaries.append(record)
    for key, name in projects.items():
        project_sessions = [
            each for each in sessions.values() if each.record["project"] == key and not each.is_empty()
        ]
        if project_sessions:
            yield from _project(name, project_sessions, replaced, tz)


def _project(name: str, sessions: list[_Session], replaced: set[str], tz: tzinfo) -> Iterator[str]:
    yield from (f"# Journal of {_line(name)}", "")

    def day_of(session: _Session) -> str:
        return label.day(session.record["created_at"], tz)

    for day, of_day in groupby(sorted(sessions, key=lambda each: int(each.record["created_at"])), key=day_of):
        yield from (f"## {day}", "")
        for session in of_day:
            yield from _session(session, replaced, tz)


def _session(session: _Session, replaced: set[str], tz: tzinfo) -> Iterator[str]:
    about = session.record
    first = about.get("first_user_prompt") or (session.prompts[0]["text"] if session.prompts else "")
    title = _line(about.get("title") or first or about["session_id"], 120)
    yield from (f"### {title}", "", _where(about, tz), "")
    for prompt in session.prompts if not session.summaries else ():
        yield f"- Asked: {_line(prompt['text'], LONGEST_PROMPT)}"
    if session.prompts and not session.summaries:
        yield ""
    for summary in session.summaries:
        summed = list(_summed_up(summary))
        yield from (*summed, "") if summed else ()
    if session.observations:
        yield from (*_noted(session.observations, replaced, about.get("author")), "")


def _where(about: Record, tz: tzinfo) -> str:
    began, ended = about["created_at"], about.get("updated_at", about["created_at"])
    until = label.clock(ended, tz)
    if label.day(ended, tz) != label.day(began, tz):
        until = f"{label.day(ended, tz)} {until}"
    parts = [f"{label.clock(began, tz)} to {until}"]
    if about.get("branch"):
        parts.append(f"branch {_code(about['branch'])}")
    if by := label.byline(about.get("author"), None, None):
        parts.append(_line(by))
    if about.get("client") == FOREIGN:
        parts.append("imported, not trusted")
    return f"{', '.join(parts)}, session {_code(about['session_id'])}"


def _summed_up(summary: Record) -> Iterator[str]:
    for called, name in SUMMED_UP:
        parts = [_line(point) for point in points(summary.get(name) or "")]
        if len(parts) == 1:
            yield f"- **{called}:** {parts[0]}"
        elif parts:
            yield f"- **{called}:**"
            yield from (f"  - {_begun(point)}" for point in parts)


def _noted(observations: list[Record], replaced: set[str], author: str | None) -> Iterator[str]:
    for each in observations:
        title = _line(each.get("title") or "")
        narrative = _line(each.get("narrative") or each.get("text") or "")
        origin = label.origin(str(each.get("source")), author)
        marks = [origin] if origin else []
        marks += ["pinned"] if each.get("pinned") else []
        marks += ["replaced by a later one"] if _name(each) in replaced else []
        parts = f"- **{each['type']}:** {title or narrative}"
        yield parts + (f" ({'; '.join(marks)})" if marks else "")
        if title and narrative and narrative != title:
            yield f"  - {_begun(narrative)}"
        yield from (f"  - {_begun(_line(fact))}" for fact in each.get("facts", ()) if fact.strip())
        files = list(dict.fromkeys((*each.get("files_modified", ()), *each.get("files_read", ()))))
        if files:
            more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
            yield f"  - Files: {', '.join(map(_code, files[:MOST_FILES]))}{more}"


def _name(record: Mapping[str, Any]) -> str:
    return name_of(record["session_id"], record["at"], content_key_of(record))


def _line(text: str, cap: int | None = None) -> str:
    """A text on one line; code stays code, and everything else is escaped."""
    # Single backticks only: with runs of them, what is code here and to a reader of Markdown would differ.
    flat = re.sub("`{2,}", "`", quoted(text, cap))
    parts = _CODE.split(flat)
    return "".join(part if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts))


def _begun(line: str) -> str:
    """Escaped for the beginning of an item, so that it starts no list, heading or quotation."""
    return _BEGINS.sub(lambda found: f"{found[1] or ''}\\", line)


def _code(text: str) -> str:
    return f"`{quoted(text, 200).replace('`', '´')}`"
