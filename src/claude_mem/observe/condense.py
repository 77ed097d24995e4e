"""Shortens what is too long for a prompt: a text to its head and tail, a diff to its changed lines, a forge's
reply to what people wrote, a patch to its files, a plan to its last state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from claude_mem.model.text import lazy_pattern
from claude_mem.observe.tool_calls import ToolUse

LONGEST_MARK = len("\n[…9999999999 chars…]\n")
MOST_PREAMBLE = 600  # of what stands before a diff: a commit's message, a status
MOST_BODY = 900
MOST_COMMENT = 400
MOST_STEP = 160
SHORT = 80  # what stands in one line with others
DEEPEST = 5


def elide(text: str, cap: int, *, tail: float = 0.3) -> str:
    """Shortens a text to at most cap characters (only a mark, if there is no room for more)."""
    if len(text) <= cap:
        return text
    room = cap - LONGEST_MARK
    if room <= 0:
        mark = _mark(len(text))
        return mark if len(mark) <= cap else ""
    head, last = _whole_lines(text, room - int(room * tail), int(room * tail))
    return f"{head}\n{_mark(len(text) - len(head) - len(last))}\n{last}".rstrip("\n")


def _whole_lines(text: str, start: int, end: int) -> tuple[str, str]:
    """The beginning and the end, cut between lines or words where that costs little."""
    head, last = text[:start], text[len(text) - end :] if end else ""
    for sign in ("\n", " "):
        at = head.rfind(sign)
        if at >= 0.8 * start:
            head = head[:at]
            break
    for sign in ("\n", " "):
        at = last.find(sign)
        if 0 <= at <= 0.2 * end:
            last = last[at + 1 :]
            break
    return head, last


def line(text: str, cap: int) -> str:
    """The text as one line of at most cap characters."""
    flat = " ".join(text[: 4 * cap].split())
    return flat if len(flat) <= cap else flat[: cap - 1] + "…"


def _mark(count: int) -> str:
    return f"[…{count} chars…]"


# --- diffs and patches ---

_HUNK = lazy_pattern(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_FILE = lazy_pattern(r"^diff --git ", re.MULTILINE)
# Made by a program: they are not informative.
_GENERATED = ("go.sum", "lock", "lock.json", "lock.yaml", ".snap", ".min.js")
_FILE_NOTES = ("new file mode", "deleted file mode", "rename from", "rename to", "Binary files")


def diff(text: str, cap: int) -> str | None:
    """Each file with its hunks' heads and changed lines, all cut alike; None: it is not a diff."""
    first = _FILE.search(text)
    if first is None:
        return None
    before = elide(text[: first.start()].strip(), MOST_PREAMBLE)
    files = ["\n".join(_of_file(part)) for part in _FILE.split(text[first.start() :])[1:]]
    return "\n".join(filter(None, [before, *_alike(files, cap - len(before))]))


def _of_file(part: str) -> Iterator[str]:
    head, *lines = part.splitlines() or [""]
    path = head.rpartition(" b/")[2].strip('"')
    at = next((number for number, each in enumerate(lines) if each.startswith("@@ ")), len(lines))
    file_notes = [each for each in lines[:at] if each.startswith(_FILE_NOTES)]
    changed = [each for each in lines[at:] if each[:1] in ("+", "-", "@") and each[1:].strip()]
    added, removed = (sum(each.startswith(sign) for each in changed) for sign in "+-")
    yield f"{path} (+{added} −{removed}){'; ' if file_notes else ''}{'; '.join(file_notes)}"
    if not path.endswith(_GENERATED):
        yield from (_HUNK.sub(r"@\1 \2", each).rstrip() for each in changed)


def _alike(parts: Sequence[str], cap: int) -> list[str]:
    """Shortens the parts to fit the cap; longer parts get the space that short ones leave."""
    shares: dict[int, int] = {}
    left = cap
    for count, at in enumerate(sorted(range(len(parts)), key=lambda at: len(parts[at]))):
        shares[at] = min(len(parts[at]), max(left // (len(parts) - count), 0))
        left -= shares[at]
    cut = (elide(part, shares[at], tail=0.2) for at, part in enumerate(parts))
    return [each for each in cut if each]


_PATCH_HEADS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def patched(patch: str) -> dict[str, str]:
    """Of a patch as Codex writes them: the files, and the lines that change in each."""
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for each in patch.splitlines():
        if each.startswith(_PATCH_HEADS):
            lines = files.setdefault(each.partition(": ")[2].strip(), [])
            if each.startswith("*** Delete"):
                lines.append("(deleted)")
        elif each.startswith("*** Move to: "):
            lines.append(f"(moved to {each.partition(': ')[2].strip()})")
        elif each[:1] in ("+", "-") and each[1:].strip():
            lines.append(each)
        elif each.startswith("@@ "):
            lines.append(each.replace("@@ ", "@", 1))
    return {path: "\n".join(lines) for path, lines in files.items()}


# --- a forge's reply ---

_WRITTEN = frozenset(
    ("title", "body", "comments", "reviews", "html_url", "node_id", "headRefName", "bodyText")
)
_DROPPED = lazy_pattern(
    r"(?:^|_)(?:id|ids|url|urls|href|links|sha|oid|etag|count|counts|reactions|permissions|color|cursor)$"
    r"|[a-z](?:Id|ID|Url|URL|Oid|Count|Groups)$|avatar|^(?:__typename|additions|deletions|changed_?[fF]iles"
    r"|commits|is_?bot|viewer\w*|includesCreatedEdit|isMinimized|minimizedReason|author_?[aA]ssociation"
    r"|site_admin|type|user_view_type|performed_via_github_app|pageInfo|total|position|original_\w+"
    r"|(?:updated|submitted|created|closed|published|pushed)(?:_at|At)|diff_hunk|is_default|default)$"
)
_PEOPLE = ("author", "user", "login", "name", "assignee", "owner", "actor")
_BOILERPLATE = lazy_pattern(
    r"^[-*] \[[ xX]\] (?:I|The commit|Tests for|Docs).*$|^\[[^\]\n]+\]: \S+$|\r", re.MULTILINE
)
_EMPTY_HEADING = lazy_pattern(r"^#+ .*\n+(?=#+ |\Z)", re.MULTILINE)


def forge_reply(text: str, cap: int) -> str | None:
    """The texts and the state of an issue or pull request, without addresses, ids and counts; None: it is
    neither."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or _WRITTEN.isdisjoint(first):
        return None
    return elide("\n".join(_labelled_fields(value, MOST_BODY)), cap, tail=0.1)


def _labelled_fields(value: object, most: int, depth: int = DEEPEST) -> Iterator[str]:
    """Short fields in a line, then the long ones, then those in them."""
    if isinstance(value, list):
        for each in value:
            yield from (
                f"{'  ' if at else '- '}{lines}"
                for at, lines in enumerate(_labelled_fields(each, most, depth - 1))
            )
        return
    if not isinstance(value, Mapping) or depth <= 0:
        text = _plain(str(value))
        if text:
            yield elide(text, most, tail=0)
        return
    fields = {key: _short(each) for key, each in value.items() if each and not _DROPPED.search(str(key))}
    brief = {key: each for key, each in fields.items() if isinstance(each, str) and len(each) <= SHORT}
    names = sorted((key for key in brief if key not in _PEOPLE), key=lambda key: key != "title")
    people = "".join(f"{each}: " for key, each in brief.items() if key in _PEOPLE)
    if brief:
        yield f"{people}{', '.join(f'{key} {brief[key]}' for key in names)}".strip()
    for key in [key for key in fields if key not in brief]:
        lines = list(
            _labelled_fields(fields[key], most if isinstance(fields[key], str) else MOST_COMMENT, depth - 1)
        )
        yield from (
            lines if key == "body" else (f"{key}: {lines[0]}",) if len(lines) == 1 else (f"{key}:", *lines)
        )


def _short(value: object) -> object:
    """A person or a label by its name, words in a list as words, and a text without its template."""
    if isinstance(value, Mapping):
        name = value.get("login") or value.get("name")
        return name if isinstance(name, str) else value
    if isinstance(value, list):
        names = [_short(each) for each in value]
        are_words = all(isinstance(each, str) and len(each) <= SHORT for each in names)
        return ", ".join(map(str, names)) if are_words else value
    return _plain(value) if isinstance(value, str) else str(value)


def _plain(text: str) -> str:
    first, *others = text.split("<!--")
    visible = first + "".join(each.partition("-->")[2] for each in others)
    bare = "\n".join(filter(str.strip, _BOILERPLATE.sub("", visible).splitlines()))
    return _EMPTY_HEADING.sub("", bare).strip()


# --- plans ---

_PLANS = frozenset(
    (
        *("todowrite", "todoread", "updateplan", "writetodos", "managetodolist", "updatetodolist"),
        *("taskcreate", "taskupdate", "tasklist", "taskget"),
    )
)
_DONE = {"completed": "[x]", "done": "[x]", "in_progress": "[>]"}


def is_plan(tool: str) -> bool:
    """Whether a tool keeps the agent's list of what is to be done."""
    return tool.rpartition("__")[2].replace("_", "").lower() in _PLANS


def plan(calls: Iterable[ToolUse]) -> str:
    """The state of the list after the last of these calls."""
    steps: dict[str, tuple[str, str]] = {}
    for call in calls:
        given = next((call.fields[key] for key in ("todos", "plan", "items") if call.fields.get(key)), None)
        if isinstance(given, list):
            steps = {str(at): _step(each) for at, each in enumerate(given)}
        elif "create" in call.tool.name.lower():
            task = call.answered.get("task")
            id = task.get("id") if isinstance(task, Mapping) else None
            steps[str(id or len(steps) + 1)] = (call.word("subject", "title", "description", "input"), "")
        elif "taskupdate" in call.tool.name.replace("_", "").lower():
            _update(steps, call)
        elif text := call.word("todos", "plan", "input"):
            steps = {"": (text, "")}
    most = MOST_STEP if len(steps) > 1 else 6 * MOST_STEP  # one may be the complete list, as a text
    return "\n".join(f"{_DONE.get(how, '-')} {line(what, most)}" for what, how in steps.values() if what)


def _update(steps: dict[str, tuple[str, str]], call: ToolUse) -> None:
    id, how = call.word("taskId", "task_id", "id"), call.word("status")
    what, before = steps.get(id, (f"task {id}" if id else "", ""))
    if how == "deleted":
        steps.pop(id, None)
    elif id:
        steps[id] = (call.word("subject", "title") or what, how or before)


def _step(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return str(value), ""
    text = next(
        (value[key] for key in ("content", "step", "title", "description", "text") if value.get(key)), ""
    )
    return str(text), str(value.get("status") or "")
