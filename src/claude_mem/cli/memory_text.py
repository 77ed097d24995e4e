"""Formats memories as text: a table, one memory in full, and the evidence of a tool call."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from claude_mem.agents import CLAUDE_CODE, short_id
from claude_mem.cli.output import ELLIPSIS, Paint, fit, pad, plural, terminal, verbatim, width, wrap
from claude_mem.hook import notices
from claude_mem.recall.label import MEMORY_FIELDS, byline, headline

PARTS = (("tool_input", "Input"), ("tool_response", "Output"))


def evidence_sections(result: dict[str, Any], columns: int) -> Iterator[list[str]]:
    """What the output repeats of the input is shown once."""
    shown: set[str] = set()
    for name, label in PARTS:
        value = _parsed(result.get(name))
        if lines := _parts(value, columns, 4, frozenset(shown)):
            yield [f"  {label}:", *lines]
        shown |= _strings(value)


def _parsed(text: object) -> Any:
    """Parses JSON; text that is truncated or is not JSON is shown as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _parts(value: Any, columns: int, depth: int, shown: frozenset[str]) -> list[str]:
    depth = min(depth, columns // 2)
    if isinstance(value, dict):
        if isinstance(value.get("lines"), list) and "oldStart" in value:
            return _hunk(value, columns, depth)
        return [line for key in value for line in _field(str(key), value[key], columns, depth, shown)]
    if isinstance(value, list):
        return [line for item in value for line in _parts(item, columns, depth, shown)]
    return [] if value is None or value in shown else verbatim(_text(value), columns, " " * depth)


def _field(key: str, value: Any, columns: int, depth: int, shown: frozenset[str]) -> list[str]:
    inner = _parts(value, columns, depth + 2, shown)
    if isinstance(value, dict | list) or not inner:
        return [f"{' ' * depth}{key}:", *inner] if inner else []
    line = f"{' ' * depth}{key}: {inner[0].strip()}"
    return [line] if len(inner) == 1 and width(line) <= columns else [f"{' ' * depth}{key}:", *inner]


def _hunk(hunk: dict[str, Any], columns: int, depth: int) -> list[str]:
    """As a diff has it."""
    where = " ".join(f"{sign}{hunk.get(f'{one}Start')},{hunk.get(f'{one}Lines')}" for sign, one in _SIDES)
    text = "\n".join([f"@@ {where} @@", *map(str, hunk["lines"])])
    return verbatim(text, columns, " " * depth)


_SIDES = (("-", "old"), ("+", "new"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _strings(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return {text for item in inner for text in _strings(item)}
    return {value} if isinstance(value, str) else set()


Result = dict[str, Any]

DAY, TYPE = 10, 11
LINES = 2
FILES = 3
AS_TYPED = ("text", "prompt")

_FIELDS = (*MEMORY_FIELDS, ("files", "Files"))


def found(
    results: Sequence[Result], sessions: Sequence[Result], columns: int = 0, paint: Paint | None = None
) -> str:
    """Search results by session: its time and subject, and below it the matching memories, each with the
    sentence that matches. If there is only one project, it is named once. With `parts`, shows how the score
    is computed. For the terminal, unless `columns` and `paint` are given."""
    columns, paint = columns or terminal(), paint or Paint(sys.stdout)
    found_in = {result["session_id"] for result in results}
    sessions = [session for session in sessions if session["session_id"] in found_in]
    projects = {str(session["project"]) for session in sessions}
    lines = [paint("dim", fit(projects.pop(), columns))] if len(projects) == 1 else []
    digits = max([2, *(len(str(result["ref"])) for result in results)])
    margin = 2 + digits + 2
    for session in sessions:
        hits = [result for result in results if result["session_id"] == session["session_id"]]
        # Another member's session has no title if its prompt was not shared.
        title = str(session["title"] or ("" if hits[0].get("author") else "(no title)"))
        where = [fit(str(session["project"]), columns // 3)] if projects else []
        head = f"{day(session)}  {''.join(f'{part} · ' for part in (*where, _agent(hits[0])) if part)}"
        head = head if title else head.removesuffix(" · ")
        lines += ["", head + paint("bold", fit(title, columns - width(head)))]
        for result in hits:
            ref = paint("bold", str(result["ref"]).rjust(digits))
            first, *beneath = _row(result, columns - margin)
            lines.append(f"  {ref}  {first}")
            beneath += wrap(_marks(result), columns - margin) + wrap(_score(result), columns - margin)
            lines += [paint("dim", " " * margin + line) for line in beneath]
        if rest := _rest(session):
            lines.append(paint("dim", " " * margin + fit(rest, columns - margin)))
    return "\n".join(lines).lstrip("\n")


def day(of: Result) -> str:
    at = of.get("created_at_epoch")
    if not isinstance(at, int | float):
        return ""
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%Y-%m-%d}"


def _row(result: Result, room: int) -> list[str]:
    """One memory: what it is, and at most two lines of the sentence that matches."""
    kind = str(result.get("type") or result["kind"])
    title, snippet = headline(str(result["kind"]), _title(result), str(result.get("snippet") or ""))
    if not snippet and title != _title(result):
        return _shortened(f"{kind}: {title}", room)
    return [fit(f"{kind}: {title}", room), *_shortened(snippet, room)]


def _shortened(text: str, room: int) -> list[str]:
    lines = wrap(text, room)
    return lines if len(lines) <= LINES else [lines[0], fit(" ".join(lines[1:]), room)]


def _rest(session: Result) -> str:
    parts = []
    if session.get("more"):
        parts.append(f"{session['more']} more (--session {short_id(str(session['session_id']))})")
    if session.get("events"):
        parts.append(f"{plural(session['events'], 'tool event')} (--raw)")
    return f"+ {', '.join(parts)}" if parts else ""


def table(results: Sequence[Result], columns: int = 0, paint: Paint | None = None) -> str:
    """Two lines each: what, and where. For the terminal, as above."""
    columns, paint = columns or terminal(), paint or Paint(sys.stdout)
    digits = max([2, *(len(str(result["ref"])) for result in results)])
    margin = digits + 2 + DAY + 1 + TYPE + 1
    projects = {str(result.get("project") or "") for result in results}
    lines = [paint("dim", f"{'id':>{digits}}  {'date':<{DAY}} {'type':<{TYPE}} what")]
    if len(projects) == 1:
        lines.insert(0, paint("dim", fit(next(iter(projects)), columns)))
    for result in results:
        head = f"{paint('bold', str(result['ref']).rjust(digits))}  {pad(day(result), DAY)} "
        kind = pad(fit(str(result.get("type") or result["kind"]), TYPE), TYPE)
        lines.append(f"{head}{kind} {fit(_title(result), columns - margin)}".rstrip())
        beneath = [fit(line, columns - margin) for line in _beneath(result, projects)]
        beneath += wrap(_marks(result), columns - margin)
        lines += [paint("dim", " " * margin + line) for line in beneath]
    return "\n".join(lines)


def in_full(result: Result, now: float | None = None, columns: int = 0, paint: Paint | None = None) -> str:
    """A memory with all its fields."""
    columns, paint = columns or terminal(), paint or Paint(sys.stdout)
    kind = str(result.get("type") or result["kind"])
    about = [
        _when(result, time.time() if now is None else now),
        str(result.get("project") or ""),
        _agent(result),
        f"session {result.get('session_id')}",
    ]
    about += [f"branch {result['branch']}"] if result.get("branch") else []
    head, is_cut = _head(result, columns)
    lines = [paint("bold", line) for line in head]
    lines += wrap(" · ".join([kind, *(part for part in about if part)]), columns, "  ")
    lines += [paint("yellow", line) for line in wrap(_marks(result), columns, "  ")]
    shown = set() if is_cut else {_title(result)}
    for name, label in _FIELDS:
        value = result.get(name)
        if not value or (isinstance(value, str) and value in shown):
            continue
        shown.add(value if isinstance(value, str) else "")
        written = verbatim(str(value), columns, "  ") if name in AS_TYPED else _section(label, value, columns)
        lines += ["", *written]
    for section in evidence_sections(result, columns):
        lines += ["", *section]
    return "\n".join(lines)


def _head(result: Result, columns: int) -> tuple[list[str], bool]:
    """The title, and whether it is cut: only where what it is the beginning of follows."""
    ref, title = f"{result['ref']}  ", _title(result)
    follows = title.endswith(ELLIPSIS) or any(result.get(name) == title for name, _ in _FIELDS)
    if follows and width(title) > columns - len(ref):
        return [ref + fit(title, columns - len(ref))], True
    first, *rest = wrap(title, columns, " " * len(ref)) or [ref]
    return [ref + first[len(ref) :], *rest], False


def _section(label: str, value: object, columns: int) -> list[str]:
    if isinstance(value, list):
        items = [line for item in value for line in _bullet(str(item), columns)]
        return [f"  {label}:", *items]
    return wrap(f"{label}: {value}" if label else str(value), columns, "  ")


def _bullet(item: str, columns: int) -> list[str]:
    first, *rest = wrap(item, columns, "    ") or ["    "]
    return [f"  - {first[4:]}", *rest]


def _beneath(result: Result, projects: Collection[str]) -> list[str]:
    files = [str(path) for path in result.get("files") or ()]
    more = [f"{len(files) - FILES} more"] if len(files) > FILES else []
    project = str(result.get("project") or "") if len(projects) > 1 else ""
    parts = (project, _agent(result), ", ".join([*files[:FILES], *more]))
    where = " · ".join(part for part in parts if part)
    lines = [where] if where else []
    snippet = str(result.get("snippet") or "")
    if snippet.strip(" …") not in _title(result):
        lines.append(snippet)
    return lines


def _agent(result: Result) -> str:
    """`by ada in Codex`, of what a member of the team did, or was not done in Claude Code."""
    return byline(result.get("author"), result.get("client"), CLAUDE_CODE)


def _score(result: Result) -> str:
    if not isinstance(result.get("parts"), dict):
        return ""
    parts = (f"{name} {value:.3f}" for name, value in result["parts"].items())
    return f"score {float(result.get('score') or 0):.3f}: {', '.join(parts)}"


def _marks(result: Result) -> str:
    marks = ["pinned"] if result.get("pinned") else []
    if result.get("superseded_by"):
        marks.append(f"replaced by {result['superseded_by']}")
    if result.get("source") == "external":
        marks.append("from text that was only read, not verified")
    return " · ".join([*marks, *map(str, result.get("marks") or ())])


def _title(result: Result) -> str:
    return str(result.get("title") or result.get("subtitle") or result.get("snippet") or "(no title)")


def _when(result: Result, now: float) -> str:
    at = result.get("created_at_epoch")
    if not isinstance(at, int | float):
        return ""
    day = datetime.fromtimestamp(at / 1000).astimezone()
    return f"{day:%Y-%m-%d %H:%M} ({notices.age(now - at / 1000)} ago)"
