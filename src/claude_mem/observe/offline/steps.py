"""Converts each tool call to a step, by the call's fields if its name is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from claude_mem.observe import shell
from claude_mem.observe.offline.sentences import words
from claude_mem.observe.tool_calls import BEGIN_PATCH, ToolKind, ToolUse, path_of

LONGEST = 200_000  # characters of one text that are looked at
LONGEST_LINE = 1_000
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d{1,5})\b\s*")
_SALVAGED = re.compile(r'"(\w{1,40})"\s*:\s*"((?:[^"\\]|\\.)*)')
_TEXT_FIELDS = words("content new_string newString new_str new_source file_text edits patch diff old_string")
_PATCH = ("patch", "input", "diff", "patchText")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.M)
_CODES = ("code", "exitCode", "exit_code", "returnCode", "returncode")


class Edited(Struct, frozen=True):
    path: str
    created: bool = False
    deleted: bool = False
    text: str = ""  # of a file that was written, not edited


class Ran(Struct, frozen=True):
    command: str
    output: str = ""
    failed: bool = False
    interrupted: bool = False


class Noted(Struct, frozen=True):
    """Any other step; it may contain nothing useful."""

    opened: str = ""  # a file
    fetched: str = ""  # an address, or a question
    answers: tuple[tuple[str, str], ...] = ()  # the user's, to questions the agent put
    plan: str = ""  # that the user let pass
    todos: tuple[tuple[str, bool], ...] | None = None  # what, done


Step = Edited | Ran | Noted


def read(call: ToolUse) -> list[Step]:
    """The steps of one tool call."""
    fields, answered = _fields(call), call.answered
    command = call.command or ("" if call.fields else _text(fields, "command", "cmd"))
    if isinstance(call.given, str) and call.kind is not ToolKind.COMMAND:
        command = ""  # a bare text is what its tool takes it for
    patch = next((text for text in (command, _text(fields, *_PATCH)) if BEGIN_PATCH in text), "")
    if command.strip() and not patch:
        return [_ran(command, call)]
    if call.failed:
        return []  # a slip of the agent's (a wrong path, a text that was not there), not an event of the work
    return list(_patched(patch)) if patch else [_step(call, fields, answered)]


def _step(call: ToolUse, fields: Mapping[str, object], answered: Mapping[str, object]) -> Step:
    path = path_of(fields)
    writes = call.kind in (ToolKind.EDIT, ToolKind.WRITE) or bool(_TEXT_FIELDS & fields.keys())
    searches = bool(_text(fields, "pattern", "regex", "glob_pattern"))
    query = _text(fields, "url", "uri", "query", "q", "search_query")
    if path and writes and not searches:
        return _edited(path, call, fields)
    noted = _todos(fields) or _plan(fields) or _answers(fields, answered)
    if noted is not None:
        return noted
    if query and not query.startswith("select:") and call.tool.name != "ToolSearch":
        return Noted(fetched=query)
    return Noted(opened="" if searches else path)


def _fields(call: ToolUse) -> Mapping[str, object]:
    if call.fields:
        return call.fields
    text = call.tool.input or ""
    if text.lstrip()[:1] in ("{", "["):
        # Cut somewhere, with an elision mark or without: what is still complete is used.
        return {key: _unescaped(value) for key, value in _SALVAGED.findall(text[:LONGEST])[:40]}
    first, _, rest = text[:LONGEST].strip().partition(" ")
    if call.kind in (ToolKind.EDIT, ToolKind.WRITE) and any(sign in first for sign in "/\\."):
        return {"file_path": first, "new_string": rest.strip()}
    return {"path": first} if call.kind is ToolKind.READ and first else {}


def _unescaped(text: str) -> str:
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _edited(path: str, call: ToolUse, fields: Mapping[str, object]) -> Edited:
    whole = _text(fields, "content", "file_text")
    # That it was written, not edited, does not prove that it is new.
    return Edited(path, created=call.answered.get("type") == "create", text=whole[:LONGEST])


def _patched(patch: str) -> Iterator[Edited]:
    """`*** Update File: path` and its kin, one edit per file."""
    for each in _PATCHED.finditer(patch[:LONGEST]):
        yield Edited(each[2].strip(), each[1] == "Add", each[1] == "Delete")


def written_by_shell(simple: shell.SimpleCommand) -> Iterator[Edited]:
    """Files a shell wrote: a here-document into a file, an edit in place."""
    if simple.heredoc is not None and (simple.into or simple.program == "tee"):
        target = simple.into or simple.sub
        if target and "$" not in target:
            yield Edited(target, text=simple.heredoc)
    elif simple.program in ("sed", "perl") and any(
        word.startswith(("-i", "-pi", "--in-place")) for word in simple.words
    ):
        for target in simple.plain()[1:20]:
            if "." in target and not set("*$\\{(") & set(target):
                yield Edited(target)


def removed_by_shell(simple: shell.SimpleCommand) -> list[str]:
    return simple.plain() if simple.program in ("rm", "del", "Remove-Item") else []


def restored_by_shell(simple: shell.SimpleCommand) -> list[str]:
    """Files that stand as they were committed; `.`: all of them."""
    words = simple.words
    if simple.program != "git":
        return []
    if simple.sub == "reset" and "--hard" in words:
        return ["."]
    if simple.sub == "restore" and not {"--staged", "-S"} & set(words):
        return simple.plain()[1:]
    return list(words[words.index("--") + 1 :]) if simple.sub == "checkout" and "--" in words else []


def _todos(fields: Mapping[str, object]) -> Noted | None:
    todos = fields.get("todos")
    if not isinstance(todos, Sequence) or isinstance(todos, str):
        return None
    items = [
        (_text(item, "content", "text"), _text(item, "status") == "completed")
        for item in todos
        if isinstance(item, Mapping)
    ]
    return Noted(todos=tuple((what, done) for what, done in items if what))


def _plan(fields: Mapping[str, object]) -> Noted | None:
    plan = fields.get("plan")
    return Noted(plan=plan[:LONGEST]) if isinstance(plan, str) and plan.strip() else None


def _answers(fields: Mapping[str, object], answered: Mapping[str, object]) -> Noted | None:
    if not isinstance(fields.get("questions"), Sequence):
        return None
    answers = answered.get("answers", fields.get("answers"))
    given = answers.items() if isinstance(answers, Mapping) else ()
    pairs = [(str(q), a if isinstance(a, str) else json.dumps(a, ensure_ascii=False)) for q, a in given]
    return Noted(answers=tuple(pairs))


def _ran(command: str, call: ToolUse) -> Ran:
    output = _ANSI.sub("", _output_text(call.answer)[:LONGEST]).replace("\r", "")
    # No pattern is applied to a line of unlimited length, which keeps this linear.
    output = "\n".join(line[:LONGEST_LINE] for line in output.split("\n"))
    codes = (call.answered.get(key) for key in _CODES)
    code = next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), 0)
    if call.failed and (exit_line := _EXIT.match(output)):
        output = output[exit_line.end() :]
    unfinished = call.answered.get("interrupted") is True or bool(call.answered.get("backgroundTaskId"))
    unfinished = unfinished or call.tool.response is None  # nobody knows how it went
    return Ran(command[:LONGEST], output, call.failed or bool(code), unfinished)


def _output_text(got: object, depth: int = 0) -> str:
    """The text in a command's answer, whatever its shape."""
    if isinstance(got, str):
        return got
    if isinstance(got, Mapping):
        if "stdout" in got or "stderr" in got:
            return "\n".join(part for part in (_text(got, "stdout"), _text(got, "stderr")) if part)
        keys = ("output", "result", "text", "llmContent", "content", "error", "message")
        return next(
            (text for key in keys if depth < 5 and (text := _output_text(got.get(key), depth + 1))), ""
        )
    if isinstance(got, Sequence) and depth < 5:
        return "\n".join(text for part in got[:200] if (text := _output_text(part, depth + 1)))
    return ""


def _text(fields: Mapping[str, object], *keys: str) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
    return ""
