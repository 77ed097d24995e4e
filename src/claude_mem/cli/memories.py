"""How memories are shown to a person: as a list, and whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from claude_mem.cli import evidence
from claude_mem.cli.columns import fit, pad, verbatim, width, wrap
from claude_mem.cli.say import ELLIPSIS, Paint
from claude_mem.hook import notices

Result = dict[str, Any]

AGE, TYPE = 8, 11
FILES = 3
AS_TYPED = ("text", "prompt")

_SAID = (
    ("subtitle", ""),
    ("narrative", ""),
    ("text", ""),
    ("prompt", ""),
    ("request", "Asked"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Done"),
    ("next_steps", "Next"),
    ("notes", "Notes"),
    ("facts", "Facts"),
    ("files", "Files"),
    ("concepts", "Concepts"),
)


def table(results: Sequence[Result], now: float, columns: int, paint: Paint) -> str:
    """Two lines each: what, and where. With `parts`, of what the score is made."""
    digits = max([2, *(len(str(result["ref"])) for result in results)])
    margin = digits + 2 + AGE + 1 + TYPE + 1
    lines = [paint("dim", f"{'id':>{digits}}  {'age':<{AGE}} {'type':<{TYPE}} what")]
    for result in results:
        head = f"{paint('bold', str(result['ref']).rjust(digits))}  {pad(_age(result, now), AGE)} "
        kind = pad(fit(str(result.get("type") or result["kind"]), TYPE), TYPE)
        lines.append(f"{head}{kind} {fit(_title(result), columns - margin)}".rstrip())
        beneath = [fit(line, columns - margin) for line in _beneath(result)]
        beneath += wrap(_marks(result), columns - margin) + wrap(_score(result), columns - margin)
        lines += [paint("dim", " " * margin + line) for line in beneath]
    return "\n".join(lines)


def whole(result: Result, now: float, columns: int, paint: Paint) -> str:
    """Everything that is known of one."""
    kind = str(result.get("type") or result["kind"])
    about = [_when(result, now), str(result.get("project") or ""), f"session {result.get('session_id')}"]
    about += [f"branch {result['branch']}"] if result.get("branch") else []
    head, is_cut = _head(result, columns)
    lines = [paint("bold", line) for line in head]
    lines += wrap(" · ".join([kind, *(part for part in about if part)]), columns, "  ")
    lines += [paint("yellow", line) for line in wrap(_marks(result), columns, "  ")]
    told = set() if is_cut else {_title(result)}
    for name, label in _SAID:
        value = result.get(name)
        if not value or (isinstance(value, str) and value in told):
            continue
        told.add(value if isinstance(value, str) else "")
        written = verbatim(str(value), columns, "  ") if name in AS_TYPED else _section(label, value, columns)
        lines += ["", *written]
    for section in evidence.sections(result, columns):
        lines += ["", *section]
    return "\n".join(lines)


def _head(result: Result, columns: int) -> tuple[list[str], bool]:
    """The title, and whether it is cut: only where what it is the beginning of follows."""
    ref, title = f"{result['ref']}  ", _title(result)
    follows = title.endswith(ELLIPSIS) or any(result.get(name) == title for name, _ in _SAID)
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


def _beneath(result: Result) -> list[str]:
    files = [str(path) for path in result.get("files") or ()]
    more = [f"{len(files) - FILES} more"] if len(files) > FILES else []
    where = " · ".join(
        part for part in (str(result.get("project") or ""), ", ".join([*files[:FILES], *more])) if part
    )
    lines = [where] if where else []
    snippet = str(result.get("snippet") or "")
    if snippet.strip(" …") not in _title(result):
        lines.append(snippet)
    return lines


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
        marks.append("from text that was only read")
    return " · ".join([*marks, *map(str, result.get("marks") or ())])


def _title(result: Result) -> str:
    return str(result.get("title") or result.get("subtitle") or result.get("snippet") or "(no title)")


def _age(result: Result, now: float) -> str:
    at = result.get("created_at_epoch")
    return notices.age(now - at / 1000) if isinstance(at, int | float) else ""


def _when(result: Result, now: float) -> str:
    at = result.get("created_at_epoch")
    if not isinstance(at, int | float):
        return ""
    day = datetime.fromtimestamp(at / 1000).astimezone()
    return f"{day:%Y-%m-%d %H:%M} ({notices.age(now - at / 1000)} ago)"
