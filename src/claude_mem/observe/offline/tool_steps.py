"""What a tool call was: by its fields, not by its name, so that any client's tools are understood."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from claude_mem.observe.offline import diffs
from claude_mem.observe.offline.steps import (
    Chose,
    Delegated,
    Edited,
    Fetched,
    Opened,
    Planned,
    Ran,
    Searched,
    Step,
    Todos,
)
from claude_mem.observe.offline.wording import words
from claude_mem.observe.tool_calls import ToolUse

LONGEST = 200_000  # characters of one text that are looked at
LONGEST_LINE = 1_000
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d{1,5})\b\s*")
_SALVAGED = re.compile(r'"(\w{1,40})"\s*:\s*"((?:[^"\\]|\\.)*)')
_PATH = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "filename", "path")
_WRITTEN = (
    "content",
    "new_string",
    "newString",
    "new_str",
    "new_source",
    "file_text",
    "edits",
    "patch",
    "diff",
    "old_string",
)
_SHELLS = words("""run_shell_command local_shell powershell shell bash terminal execute_command exec""")
_WRITERS = frozenset({"edit", "write", "multiedit", "write_file", "replace", "create"})


def read(call: ToolUse) -> list[Step]:
    """The steps one tool call took; none for one that says nothing."""
    tool, failed = call.tool, call.failed
    given, got = _value(tool.input, call.given), _value(tool.response, call.answer)
    fields: Mapping[str, object]
    if isinstance(given, Mapping):
        fields = given
    else:
        fields = _plain(tool.name, given if isinstance(given, str) else "")
    command = fields.get("command", fields.get("cmd"))
    if isinstance(command, Sequence) and not isinstance(command, str):
        command = " ".join(part for part in command if isinstance(part, str))
    if isinstance(command, str) and command.strip():
        if diffs.BEGIN in command:
            return [] if failed else list(diffs.patched(command))
        return [_ran(command, got, failed, _text(fields, "description"))]
    if failed:
        return []  # a slip of the agent's (a wrong path, a text that was not there), not an event of the work
    for recognise in (_written, _listed, _planned, _chosen, _sought, _fetched, _delegated):
        steps = recognise(tool.name, fields, got)
        if steps is not None:
            return steps
    path = _text(fields, *_PATH)
    return [_opened(path, got)] if path else []


def _written(_tool: str, fields: Mapping[str, object], got: object) -> list[Step] | None:
    patch = _text(fields, "patch", "input", "diff")
    if diffs.BEGIN in patch:
        return list(diffs.patched(patch))
    path = _text(fields, *_PATH)
    if not path or not any(key in fields for key in _WRITTEN) or "pattern" in fields:
        return None
    response = got if isinstance(got, Mapping) else {}
    hunks = diffs.structured(response.get("structuredPatch"))
    whole = _text(fields, "content", "file_text")
    if not hunks and (whole or "content" in fields):
        update = response.get("type") == "update" or _text(response, "originalFile") != ""
        hunks = diffs.between(_text(response, "originalFile"), whole)
        return [Edited(path, hunks, created=not update)]
    if not hunks:
        pairs = [fields]
        edits = fields.get("edits")
        if isinstance(edits, Sequence) and not isinstance(edits, str):
            pairs = [edit for edit in edits if isinstance(edit, Mapping)]
        hunks = tuple(
            hunk
            for pair in pairs
            for hunk in diffs.between(
                _text(pair, "old_string", "oldString", "old_str"),
                _text(pair, "new_string", "newString", "new_str", "new_source"),
            )
        )
    return [Edited(path, hunks, created=response.get("type") == "create")]


def _listed(_tool: str, fields: Mapping[str, object], _got: object) -> list[Step] | None:
    todos = fields.get("todos")
    if not isinstance(todos, Sequence) or isinstance(todos, str):
        return None
    items = [
        (_text(item, "content", "text"), _text(item, "status") == "completed")
        for item in todos
        if isinstance(item, Mapping)
    ]
    return [Todos(tuple((what, done) for what, done in items if what))]


def _planned(_tool: str, fields: Mapping[str, object], _got: object) -> list[Step] | None:
    plan = fields.get("plan")
    return [Planned(plan[:LONGEST])] if isinstance(plan, str) and plan.strip() else None


def _chosen(_tool: str, fields: Mapping[str, object], got: object) -> list[Step] | None:
    if not isinstance(fields.get("questions"), Sequence):
        return None
    answers = got.get("answers") if isinstance(got, Mapping) else None
    answers = answers if answers is not None else fields.get("answers")
    if not isinstance(answers, Mapping):
        return []
    pairs = [
        (str(question), answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        for question, answer in answers.items()
    ]
    return [Chose(tuple(pairs))] if pairs else []


def _sought(_tool: str, fields: Mapping[str, object], got: object) -> list[Step] | None:
    pattern = _text(fields, "pattern", "regex", "glob_pattern")
    if not pattern:
        return None
    where = _text(fields, "path")
    response = got if isinstance(got, Mapping) else {}
    names = response.get("filenames")
    hits = (
        [hit for hit in names if isinstance(hit, str)]
        if isinstance(names, Sequence) and not isinstance(names, str)
        else []
    )
    shown = _text(response, "content") if isinstance(got, Mapping) else told(got)
    lines = [line for line in shown[:LONGEST].splitlines() if line.strip()]
    if (
        lines and where and re.match(r"^\d+[:-]", lines[0])
    ):  # one file was searched: its lines come without its name
        lines, hits = [f"{where}:{line}" for line in lines if re.match(r"^\d+:", line)], [where]
    elif not hits:
        hits = [
            found[1]
            for line in lines
            if (found := re.match(r"^((?:[A-Za-z]:)?[^:\s]+\.\w+)(?::\d+:|$)", line))
        ]
    return [Searched(pattern, tuple(dict.fromkeys(hits)), tuple(lines))]


def _fetched(tool: str, fields: Mapping[str, object], got: object) -> list[Step] | None:
    address, query = _text(fields, "url", "uri"), _text(fields, "query", "q", "search_query")
    if not address and not query:
        return None
    if query.startswith("select:") or tool == "ToolSearch":
        return []  # the client's own look for its tools
    if isinstance(got, Mapping):
        code = got.get("code")
        if isinstance(code, int) and code >= 400:
            return []
    return [
        Fetched(query or address, told(got)[:LONGEST], address or (tool if tool.startswith("mcp__") else ""))
    ]


def _delegated(_tool: str, fields: Mapping[str, object], got: object) -> list[Step] | None:
    if not _text(fields, "prompt") or not (_text(fields, "description") or _text(fields, "subagent_type")):
        return None
    report = told(got.get("content")) if isinstance(got, Mapping) else told(got)
    return [Delegated(_text(fields, "description"), report[:LONGEST])]


def _opened(path: str, got: object) -> Opened:
    file = got.get("file") if isinstance(got, Mapping) else None
    if not isinstance(file, Mapping):
        return Opened(path)
    start = file.get("startLine")
    return Opened(path, _text(file, "content")[:LONGEST], start if isinstance(start, int) else 1)


def _ran(command: str, got: object, failed: bool, described: str) -> Ran:
    response = got if isinstance(got, Mapping) else {}
    output = _ANSI.sub("", told(got)[:LONGEST]).replace("\r", "")
    # No pattern is tried on a line of unbounded length: that keeps the whole linear.
    output = "\n".join(line[:LONGEST_LINE] for line in output.split("\n"))
    code = next(
        (
            value
            for key in ("code", "exitCode", "exit_code", "returnCode", "returncode")
            if isinstance(value := response.get(key), int) and not isinstance(value, bool)
        ),
        None,
    )
    exit_line = _EXIT.match(output) if failed else None
    if exit_line:
        code, output = int(exit_line[1]), output[exit_line.end() :]
    unfinished = response.get("interrupted") is True or bool(response.get("backgroundTaskId"))
    return Ran(command[:LONGEST], output, code, failed or bool(code), unfinished, described)


def told(got: object, depth: int = 0) -> str:
    """The text in a tool's answer, whatever its shape."""
    if isinstance(got, str):
        return got
    if isinstance(got, Mapping):
        if "stdout" in got or "stderr" in got:
            return "\n".join(part for part in (_text(got, "stdout"), _text(got, "stderr")) if part)
        return next(
            (
                text
                for key in (
                    "result",
                    "text",
                    "output",
                    "llmContent",
                    "content",
                    "results",
                    "error",
                    "message",
                )
                if depth < 5 and (text := told(got.get(key), depth + 1))
            ),
            "",
        )
    if isinstance(got, Sequence) and depth < 5:
        return "\n".join(text for part in got[:200] if (text := told(part, depth + 1)))
    return ""


def _value(text: str | None, loaded: object) -> object:
    if not text or text.lstrip()[:1] not in ("{", "["):
        return text
    if not isinstance(loaded, str):
        return loaded
    # Cut somewhere, with an elision mark or without: what is still whole is kept.
    found = {key: _unescaped(value) for key, value in _SALVAGED.findall(text[:LONGEST])[:40]}
    return found or text


def _unescaped(text: str) -> str:
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _plain(tool: str, text: str) -> dict[str, object]:
    """A call told as bare text, as some API callers do."""
    if tool.lower() in _SHELLS:
        return {"command": text}
    first, _, rest = text.strip().partition(" ")
    if tool.lower() in _WRITERS and ("/" in first or "\\" in first or "." in first):
        return {"file_path": first, "new_string": rest.strip()}
    return {"path": first} if tool.lower().startswith(("read", "view")) and first else {}


def _text(fields: Mapping[str, object], *keys: str) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
    return ""
