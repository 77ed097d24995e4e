"""The one reader of tool calls, whichever agent they came from. A call's JSON is parsed here, once.

Prompt, evidence of changed files, mark of trust and offline observer take their facts from here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct

from claude_mem.model.events import Event, Kind, ToolCall

Fields = Mapping[str, object]


class ToolKind(Enum):
    """What sort of thing a tool does."""

    READ = auto()
    LOOK = auto()  # listings and searches
    EDIT = auto()
    WRITE = auto()
    COMMAND = auto()
    AGENT = auto()
    WEB = auto()
    OTHER = auto()


# Claude Code's names, Codex's, Gemini's, OpenCode's, Cursor's, Cline's and Droid's, in lower case.
NAMES = {
    ToolKind.READ: "read notebookread read_file read_many_files view",
    ToolKind.LOOK: "glob grep ls list search_file_content grep_search list_directory list_dir file_search"
    " codebase_search toolsearch search_files list_files",
    ToolKind.EDIT: "edit multiedit notebookedit replace edit_file search_replace apply_patch patch"
    " str_replace",
    ToolKind.WRITE: "write write_file create_file",
    ToolKind.COMMAND: "bash bashoutput powershell shell local_shell exec_command run_shell_command"
    " run_terminal_cmd execute execute_command",
    ToolKind.AGENT: "task agent",
    ToolKind.WEB: "webfetch websearch web_fetch web_search google_web_search fetch fetch_url fetchurl",
}
_KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}
_PATH_KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file")
_PATCH_KEYS = ("input", "patch", "patchText")
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_TEXT_KEYS = [
    "stdout",
    "stderr",
    "output",
    "result",
    "content",
    "text",
    "returnDisplay",
    "llmContent",
    "error",
]
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "pwsh", "powershell"])
_RUN = "[A-Za-z0-9+/_=-]"
# The look-behind keeps a search from starting again inside a run it has just measured.
_BINARY = re.compile(f"(?<!{_RUN}){_RUN}{{400,}}+")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*+[A-Za-z]")


class ToolUse(Struct, frozen=True):
    """One tool call, read. What is not JSON, or no longer since it was cut, is the text itself."""

    tool: ToolCall  # as it was recorded
    kind: ToolKind
    failed: bool
    cwd: str | None
    given: object
    answer: object
    fields: Fields  # of what was given; none where it is no object
    answered: Fields  # of the answer, likewise
    path: str  # the file or folder it names, "" for none
    command: str  # what was run, "" for nothing

    def word(self, *keys: str) -> str:
        """The first of these inputs that is text and says something."""
        return _word(self.fields, *keys)

    @property
    def patch(self) -> str:
        return self.word(*_PATCH_KEYS) or self.command

    def text(self) -> str:
        """What a person would read in the answer."""
        return text_of(self.answer)

    def changed_lines(self) -> str:
        """Of an edit: by the client's own patch when it gave one, else by what was to be replaced by what."""
        hunks = self.answered.get("structuredPatch")
        if isinstance(hunks, list) and hunks:
            return "\n".join(_lines_of_patch(hunks))
        edits = self.fields.get("edits")
        parts = edits if isinstance(edits, list) else [self.fields]
        return "\n".join(line for part in parts for line in _lines_between(_fields(part)))

    def read_paths(self) -> Iterator[str]:
        """The files it surely read."""
        name = self.path.replace("\\", "/").rpartition("/")[2]
        # A search names a file or a folder; only a name with an extension is surely the former.
        is_file = self.kind is ToolKind.READ or (self.kind is ToolKind.LOOK and "." in name.strip("."))
        if self.path and is_file:
            yield self.path
        many = self.fields.get("paths")
        if self.kind is ToolKind.READ and isinstance(many, list):
            yield from (each for each in many if isinstance(each, str) and each and "*" not in each)

    def written_paths(self) -> Iterator[str]:
        """The files an edit or a write changed; what a command changed, `shell` knows."""
        if self.kind not in (ToolKind.EDIT, ToolKind.WRITE):
            return
        if self.path:
            yield self.path
        if "patch" in self.tool.name.lower():
            for line in self.patch.splitlines():
                if line.startswith(_PATCH_LINES):
                    yield line.partition(": ")[2].strip()


class ReadEvent(NamedTuple):
    event: Event
    call: ToolUse | None  # None: it is not about a tool


def read_all(events: Iterable[Event]) -> list[ReadEvent]:
    return [ReadEvent(event, read(event)) for event in events]


def read(event: Event) -> ToolUse | None:
    tool = event.tool
    if tool is None:
        return None
    given, answer = load(tool.input), load(tool.response)
    fields = _fields(given)
    return ToolUse(
        tool=tool,
        kind=kind_of(tool.name),
        failed=event.kind is Kind.TOOL_FAILURE,
        cwd=event.cwd,
        given=given,
        answer=answer,
        fields=fields,
        answered=_fields(answer),
        path=_word(fields, *_PATH_KEYS),
        command=given if isinstance(given, str) else _command(fields),
    )


def kind_of(tool: str) -> ToolKind:
    # An MCP server's file tools carry its name in front: mcp__files__read_file.
    return _KINDS.get(tool.lower().rpartition("__")[2], ToolKind.OTHER)


def load(text: str | None) -> object:
    """JSON, or the text as it is."""
    if not text:
        return ""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_of(value: object, depth: int = 4) -> str:
    """What a person would read in a tool's answer: its text, without pictures, binary data and colours."""
    if isinstance(value, str):
        plain = _ESCAPES.sub("", value) if "\x1b" in value else value
        return _BINARY.sub(lambda run: f"[…{len(run[0])} chars of binary data…]", plain).strip()
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (text_of(each, depth - 1) for each in value)))
    if isinstance(value, dict) and depth:
        if value.get("type") == "image" or value.get("isImage") is True:
            return "[image]"
        known = [text_of(value[key], depth - 1) for key in _TEXT_KEYS if value.get(key)]
        return "\n".join(filter(None, known)) if known else compact(value)
    return "" if value is None else compact(value)


def compact(value: object) -> str:
    try:
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "[…]"
    return _BINARY.sub("[…binary data…]", plain)


def _fields(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _word(fields: Fields, *keys: str) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _command(fields: Fields) -> str:
    """Codex gives a list of words, as for exec."""
    value = fields.get("command") or fields.get("cmd")
    if isinstance(value, list):
        words = [part for part in value if isinstance(part, str)]
        return words[-1] if _is_shell_call(words) else " ".join(words)
    return value if isinstance(value, str) else ""


def _is_shell_call(words: list[str]) -> bool:
    """`bash -lc "make test"`, whose last word is all that matters."""
    if len(words) != 3 or not words[1].startswith("-"):
        return False
    return re.split(r"[\\/]", words[0].lower())[-1].removesuffix(".exe") in _SHELLS


def _lines_of_patch(hunks: list[object]) -> Iterator[str]:
    """The changed lines, never the whole file."""
    for hunk in hunks:
        fields = _fields(hunk)
        lines = fields.get("lines")
        if not isinstance(lines, list):
            continue
        start = fields.get("newStart")
        if isinstance(start, int):
            yield f"@{start}"
        yield from (line for line in lines if isinstance(line, str) and line[:1] in "+-" and line[1:].strip())


def _lines_between(part: Fields) -> Iterator[str]:
    old = _word(part, "old_string", "oldString", "old_str")
    new = _word(part, "new_string", "newString", "new_str", "new_source", "content", "file_text")
    before, after = old.splitlines(), new.splitlines()
    # What both begin and end with is context. (difflib would find more, in quadratic time.)
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    left = shorter - head
    tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    yield from (f"-{line}" for line in before[head : len(before) - tail] if line.strip())
    yield from (f"+{line}" for line in after[head : len(after) - tail] if line.strip())
