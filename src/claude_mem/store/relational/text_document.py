"""Builds a memory's index entry: its words and files. Pure: to remove an entry, it is built again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from msgspec import Struct

from claude_mem.model.full_text import indexed
from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.model.text import lazy_pattern
from claude_mem.store.relational.part import Row

VERSION = "2"
"""Changes with anything here or in `model.full_text`: the index is then rebuilt."""

MOST = 8_000
"""Characters of one text that are indexed: the beginning and the end of a long text, which say the most."""
MOST_OUTPUT = 2_000
"""The same limit for a tool's output: mostly files and listings, which are found by the tool's input."""
MOST_FILES = 100
HEAD, LONGEST_HEADING = 2_000, 200
LONGEST_FOLDER = 300

PATH_KEYS = ("file_path", "notebook_path", "path")
WRITERS = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))
_IN_PATHS = r"\w.@+~\-\[\]()$"
# Anchored at the beginning: if the pattern were tried at each letter, a long run would take quadratic time.
_NAMED = lazy_pattern(
    rf"(?<![{_IN_PATHS}/\\])(?:[A-Za-z]:)?[{_IN_PATHS}]*(?:[/\\]+[{_IN_PATHS}]+)+"
    r"|(?<![\w@+\-])[\w@+\-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b"
)


class TextDocument(Struct, frozen=True):
    memory_key: int
    project_id: int
    title: str
    body: str
    names: str
    tool: str
    files: tuple[tuple[str, str], ...]  # path, how


def document_of(kind: MemoryKind, row: Row, key: Callable[[int, int, Ref], int]) -> TextDocument:
    """Of a row of the `unindexed_…` statement of its kind. `key`: the store's (`Connection.key`)."""
    title, body, read, modified, mentions = _PARTS[kind](row)
    files = _files(row["cwd"], read, modified, mentions)
    text = indexed(_cut("\n".join(part for part in body if part), MOST))
    is_tool = kind == "evidence" and row["tool_name"] is not None
    return TextDocument(
        memory_key=key(row["project_id"], row["session_id"], Ref(kind, row["id"])),
        project_id=row["project_id"],
        title=indexed(_cut(title, MOST)),
        body="" if is_tool else text,
        names=names(kind, files),
        tool=text if is_tool else "",
        files=files,
    )


def names(kind: MemoryKind, files: Iterable[tuple[str, str]]) -> str:
    """The words of the paths a memory is about; those it only names, and a tool's, are among its words."""
    if kind == "evidence":
        return ""
    return indexed(" ".join(sorted(path for path, how in files if how != "named")))


_Parts = tuple[str, list[str | None], list[str], list[str], str]
"""Title, body, files read, files modified, and the text in which other files may be named."""


def _observation(row: Row) -> _Parts:
    body = [row["subtitle"], row["narrative"], *_array(row["facts"]), *_array(row["concepts"]), row["text"]]
    return row["title"] or "", body, _array(row["files_read"]), _array(row["files_modified"]), ""


def _summary(row: Row) -> _Parts:
    body = [row[name] for name in ("investigated", "learned", "completed", "next_steps", "notes")]
    return row["request"] or "", body, _array(row["files_read"]), _array(row["files_edited"]), ""


def _prompt(row: Row) -> _Parts:
    return _heading(row["prompt"]), [row["prompt"]], [], [], row["prompt"]


def _evidence(row: Row) -> _Parts:
    given = _object(row["tool_input"])
    paths = [path for key in PATH_KEYS if isinstance(path := given.pop(key, None), str)]
    input_text = _texts_of(given) if given else "" if paths else row["tool_input"]
    body = [row["tool_name"], *paths, input_text, _cut(row["tool_response"] or "", MOST_OUTPUT), row["text"]]
    read, modified = ([], paths) if row["tool_name"] in WRITERS else (paths, [])
    # Text written to a file may name dozens of others; a command names the files it works on.
    mentions = row["text"] or "" if row["tool_name"] in WRITERS else f"{input_text}\n{row['text'] or ''}"
    return "", body, read, modified, mentions


_PARTS = {"observation": _observation, "summary": _summary, "prompt": _prompt, "evidence": _evidence}


def _files(
    cwd: str | None, read: Iterable[str], modified: Iterable[str], mentions: str
) -> tuple[tuple[str, str], ...]:
    # With `@` people point at files, and with `-` an option's name begins.
    found = {relative(path.lstrip("@-"), cwd): "named" for path in _NAMED.findall(mentions[:MOST])}
    found |= {relative(path, cwd): "read" for path in read if path}
    found |= {relative(path, cwd): "modified" for path in modified if path}
    return tuple(sorted(found.items(), key=lambda file: (file[1], file[0]))[:MOST_FILES])


def relative(path: str, cwd: str | None) -> str:
    """A path relative to the session's directory, so that a file is the same in every worktree and clone."""
    inside = f"{(cwd or '').rstrip('/')}/"
    return path[len(inside) :] if cwd and path.startswith(inside) and len(path) > len(inside) else path


def split_path(path: str) -> tuple[str, str]:
    """A path's folder and its last part, one spelling for all systems."""
    folder, _, base = path.replace("\\", "/").strip("/").lower().rpartition("/")
    return folder[-LONGEST_FOLDER:], base[:200]


def _heading(prompt: str) -> str:
    """The heading of a long request: a plan's first heading states its subject."""
    if prompt.startswith("<"):
        return ""  # written by the client, not by the user
    lines = [line.strip() for line in prompt[:HEAD].splitlines() if line.strip()]
    headings = [line for line in lines if line.startswith("#")]
    return " ".join((headings or lines)[:1])[:LONGEST_HEADING] if len(lines) > 1 else ""


def _texts_of(given: dict[str, object]) -> str:
    """What went into a tool, value by value: the keys are the same every time and find nothing."""
    values = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in given.values()
    ]
    return "\n".join(values)


def _cut(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} {text[-half:]}"


def _array(value: str | None) -> list[str]:
    return [item for item in json.loads(value or "[]") if isinstance(item, str)]


def _object(value: str | None) -> dict[str, object]:
    """What a tool was given; empty when it is text, was cut short, or nests deeper than anyone reads."""
    if not value or not value.startswith("{"):
        return {}
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
