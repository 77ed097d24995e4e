"""Parses the tool calls of all agents. Each call's JSON and command line are parsed once, here.

The prompt, the evidence of changed files, the trust mark and the offline observer use the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.text import lazy_pattern
from claude_mem.observe import shell
from claude_mem.observe.shell import SimpleCommand, Use

Fields = Mapping[str, object]


class ToolKind(Enum):
    """The kind of a tool."""

    READ = auto()
    LOOK = auto()  # listings and searches
    EDIT = auto()
    WRITE = auto()
    COMMAND = auto()
    AGENT = auto()
    WEB = auto()
    OTHER = auto()


# Claude Code's names, Codex's, Copilot's, Gemini's and Qwen's, OpenCode's, Cursor's, Cline's and Roo's,
# Droid's, Windsurf's and VS Code's, in lower case. What no name shows, the call's shape does (`_by_shape`).
NAMES = {
    ToolKind.READ: "read notebookread read_file read_files read_many_files view view_file view_image",
    ToolKind.LOOK: "glob grep ls list search search_file_content grep_search list_directory list_dir"
    " file_search codebase_search semantic_search toolsearch search_files search_codebase list_files"
    " find_by_name list_code_definition_names rg",
    ToolKind.EDIT: "edit multiedit notebookedit replace edit_file search_replace apply_patch applypatch patch"
    " str_replace replace_in_file apply_diff insert_content search_and_replace replace_file_content"
    " multi_replace_file_content replace_string_in_file multi_replace_string_in_file insert_edit_into_file",
    ToolKind.WRITE: "write write_file create create_file write_to_file",
    ToolKind.COMMAND: "bash bashoutput powershell shell local_shell exec exec_command run_shell_command"
    " run_terminal_cmd execute execute_command run_command run_commands run_in_terminal read_bash write_bash",
    ToolKind.AGENT: "task agent new_task run_subagent",
    ToolKind.WEB: "webfetch websearch web_fetch web_search google_web_search fetch fetch_url fetchurl"
    " fetch_webpage fetch_web_content read_url_content search_web",
}
_KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}
_PATH_KEYS = (
    *("file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file", "TargetFile"),
    *("AbsolutePath", "filename", "fileName", "filepath", "file", "uri", "fsPath"),
    *("dir_path", "directory_path", "dirPath", "DirectoryPath"),
)
_MANY_PATHS = ("paths", "files", "include")
_COMMAND_KEYS = ("command", "cmd", "CommandLine", "commandLine", "commands")
_PATCH_KEYS = ("input", "patch", "patchText", "diff")
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
BEGIN_PATCH = "*** Begin Patch"  # Codex's patches, which others took over
_APPLIES = lazy_pattern(r"\bapply_?patch\b")
_EDITORS = {
    "view": ToolKind.READ,
    "create": ToolKind.WRITE,
    "str_replace": ToolKind.EDIT,
    "insert": ToolKind.EDIT,
    "undo_edit": ToolKind.EDIT,
}
"""The values of `command` in a text editor tool; they are not shell commands."""
_WORDS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BY_WORDS = {
    ToolKind.EDIT: "save saved edit edited modify update patch replace insert rewrite rename delete"
    " remove change",
    ToolKind.WRITE: "write create new add",
    ToolKind.READ: "read view open opened cat show load",
}
"""The kind of a tool with a path, by the words in its name."""
_REPLACES = frozenset(
    (
        *("old_string", "new_string", "oldString", "newString", "old_str", "new_str", "old_text"),
        *("new_text", "code_edit", "edits", "diff", "patch", "ReplacementChunks", "insert_line"),
    )
)
_CONTENTS = ("content", "file_text", "contents", "CodeContent", "new_source")
_SEARCHES = frozenset(("pattern", "regex", "glob_pattern", "glob", "search_term"))
_NOTES = frozenset(("todo", "todos", "memory"))  # what such a tool writes is its own
_TEXT_KEYS = (
    *("stdout", "stderr", "output", "result", "content", "text", "returnDisplay", "llmContent"),
    *("text_result_for_llm", "textResultForLlm", "error"),
)
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "pwsh", "powershell"])
_RUN = "[A-Za-z0-9+/_=-]"
# The look-behind prevents a search from starting again inside a run that was just measured.
_BINARY = lazy_pattern(f"(?<!{_RUN}){_RUN}{{400,}}+")
_ESCAPES = lazy_pattern(r"\x1b\[[0-9;?]*+[A-Za-z]")


class ToolUse(Struct, frozen=True):
    """One parsed tool call. If its input or output is not JSON, or was truncated, it is the text itself."""

    tool: ToolCall  # as it was recorded
    kind: ToolKind  # by its name, else by its shape
    failed: bool
    cwd: str | None
    given: object
    answer: object
    fields: Fields  # of what was given; none where it is no object
    answered: Fields  # of the answer, likewise
    path: str  # the file or folder it names, "" for none
    command: str  # what was run, "" for nothing
    uses: tuple[tuple[Use, SimpleCommand], ...]  # its programs, and what each was run for

    def word(self, *keys: str) -> str:
        """The first of these inputs that is a non-empty string."""
        return _word(self.fields, *keys)

    @property
    def patch(self) -> str:
        return self.word(*_PATCH_KEYS) or self.command

    def text(self) -> str:
        """The readable text of the output."""
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
        """The files that it certainly read."""
        name = self.path.replace("\\", "/").rpartition("/")[2]
        # A search names a file or a folder; only a name with an extension is certainly a file.
        is_file = self.kind is ToolKind.READ or (self.kind is ToolKind.LOOK and "." in name.strip("."))
        if self.path and is_file:
            yield self.path
        many = next((found for key in _MANY_PATHS if (found := self.fields.get(key))), None)
        if self.kind is ToolKind.READ and isinstance(many, list):
            named = (each if isinstance(each, str) else path_of(_fields(each)) for each in many)
            yield from (each for each in named if each and "*" not in each)

    def written_paths(self) -> Iterator[str]:
        """The files an edit or a write changed; what a command changed, `shell` knows."""
        if self.kind not in (ToolKind.EDIT, ToolKind.WRITE):
            return
        if self.path:
            yield self.path
        if "patch" in self.tool.name.lower() or BEGIN_PATCH in self.patch:
            for line in self.patch.splitlines():
                if line.startswith(_PATCH_LINES):
                    yield line.partition(": ")[2].strip()


class ParsedEvent(NamedTuple):
    event: Event
    call: ToolUse | None  # None: it is not about a tool


def parse_all(events: Iterable[Event]) -> list[ParsedEvent]:
    return [ParsedEvent(event, parse(event)) for event in events]


def parse(event: Event) -> ToolUse | None:
    tool = event.tool
    if tool is None:
        return None
    given, answer = load(tool.input), load(tool.response)
    fields = _fields(given)
    kind, command = kind_of(tool.name, fields), given if isinstance(given, str) else _command(fields)
    if kind is ToolKind.COMMAND and BEGIN_PATCH in command and _APPLIES.search(command):
        kind = ToolKind.EDIT
    command = "" if _is_editor(fields) else command
    return ToolUse(
        tool=tool,
        kind=kind,
        failed=event.kind is Kind.TOOL_FAILURE or _says_it_failed(answer, is_run=kind is ToolKind.COMMAND),
        cwd=event.cwd,
        given=given,
        answer=answer,
        fields=fields,
        answered=_fields(answer),
        path=path_of(fields),
        command=command,
        uses=tuple(shell.uses(command)) if kind is ToolKind.COMMAND else (),
    )


def kind_of(tool: str, fields: Fields) -> ToolKind:
    if _is_editor(fields):
        return _EDITORS[str(fields["command"])]
    # An MCP server's file tools have its name as a prefix: mcp__files__read_file. Its other tools are not
    # interpreted: the file they write may be on another machine.
    if tool == "editor" and "new_text" in fields and "old_text" not in fields:
        return ToolKind.WRITE  # Cline's, for a new file
    known = _KINDS.get(tool.lower().rpartition("__")[2])
    if known is not None or tool.startswith("mcp__"):
        return known or ToolKind.OTHER
    return _by_shape(frozenset(map(str.lower, _WORDS.findall(tool))), fields)


def _is_editor(fields: Fields) -> bool:
    return isinstance(verb := fields.get("command"), str) and verb in _EDITORS and bool(path_of(fields))


def _by_shape(words: frozenset[str], fields: Fields) -> ToolKind:
    if _command(fields):
        return ToolKind.COMMAND
    if BEGIN_PATCH in _word(fields, *_PATCH_KEYS):
        return ToolKind.EDIT
    if not _SEARCHES.isdisjoint(fields):
        return ToolKind.LOOK
    if path_of(fields) and _NOTES.isdisjoint(words):
        if not _REPLACES.isdisjoint(fields):
            return ToolKind.EDIT
        by_words = (kind for kind, those in _BY_WORDS.items() if not words.isdisjoint(those.split()))
        by_content = ToolKind.WRITE if any(key in fields for key in _CONTENTS) else ToolKind.OTHER
        return next(by_words, by_content)
    return ToolKind.WEB if _word(fields, "url") else ToolKind.OTHER


_EXIT = lazy_pattern(
    r"^(?:Exit code: |<shellId: \S+ completed with exit code |\[(?:Process|Command) exited with code )[1-9]",
    re.IGNORECASE | re.MULTILINE,
)
"""Exit codes as Codex, Gemini, Copilot, droid and Cline print them, at the beginning or the end."""


def _says_it_failed(answer: object, *, is_run: bool) -> bool:
    """Whether it failed: not every agent has a separate event for failures."""
    if isinstance(answer, list):
        return any(_says_it_failed(each, is_run=is_run) for each in answer[:50] if isinstance(each, dict))
    answered = _fields(answer)
    if is_run and isinstance(answered.get("exit"), int) and answered["exit"] != 0:
        return True
    if is_run and (text := text_of(answer)) and _EXIT.search(f"{text[:200]}\n{text[-200:]}"):
        return True
    how = answered.get("result_type") or answered.get("resultType")
    flagged = answered.get("is_error") is True or answered.get("isError") is True
    return flagged or answered.get("success") is False or how in ("failure", "error", "rejected", "denied")


def path_of(fields: Fields) -> str:
    """The named file or folder; not a URL, unless it is a file's."""
    for key in _PATH_KEYS:
        value = fields.get(key)
        if not isinstance(value, str) or not value.strip():
            continue
        if value.startswith("file://"):
            return unquote(value.removeprefix("file://"))
        if "://" not in value:
            return value
    return ""


def load(text: str | None) -> object:
    """Parses JSON; other text stays as it is."""
    if not text:
        return ""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_of(value: object, depth: int = 4) -> str:
    """The readable text of a tool's output, without images, binary data and colors."""
    if isinstance(value, str):
        plain = _ESCAPES.sub("", value) if "\x1b" in value else value
        return _BINARY.sub(lambda run: f"[…{len(run[0])} chars of binary data…]", plain).strip()
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (text_of(each, depth - 1) for each in value)))
    if (
        isinstance(value, dict) and depth and value.get("llmContent")
    ):  # for the model; the rest is for a screen
        text = text_of(value["llmContent"], depth - 1)
        return text.removeprefix("<untrusted_context>").removesuffix("</untrusted_context>").strip()
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
    """Codex gives a list of words, as for exec; Cline a list of commands."""
    value = next((found for key in _COMMAND_KEYS if (found := fields.get(key))), None)
    if isinstance(value, list):
        if "commands" in fields:
            return "\n".join(part for part in value if isinstance(part, str))
        words = [part for part in value if isinstance(part, str)]
        return words[-1] if _is_shell_call(words) else " ".join(words)
    return value if isinstance(value, str) else ""


def _is_shell_call(words: list[str]) -> bool:
    """`bash -lc "make test"`, whose last word is all that matters."""
    if len(words) != 3 or not words[1].startswith("-"):
        return False
    return re.split(r"[\\/]", words[0].lower())[-1].removesuffix(".exe") in _SHELLS


def _lines_of_patch(hunks: list[object]) -> Iterator[str]:
    """The changed lines, never all of the file."""
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
    old = _word(part, "old_string", "oldString", "old_str", "old_text")
    new = _word(part, "new_string", "newString", "new_str", "new_text", *_CONTENTS)
    before, after = old.splitlines(), new.splitlines()
    # The common beginning and end are context. (difflib would find more, but in quadratic time.)
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    left = shorter - head
    tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    yield from (f"-{line}" for line in before[head : len(before) - tail] if line.strip())
    yield from (f"+{line}" for line in after[head : len(after) - tail] if line.strip())
