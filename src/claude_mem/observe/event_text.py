"""Formats one event for a model: one line for what was done, and the useful part of the outcome."""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

from claude_mem.model.events import Event, Kind
from claude_mem.model.structs import replace
from claude_mem.observe import condense, shell
from claude_mem.observe.condense import elide, line
from claude_mem.observe.evidence import is_clients_notice, seen_from
from claude_mem.observe.tool_calls import ParsedEvent, ToolKind, ToolUse, compact, text_of


class Value(IntEnum):
    """The order in which pieces are shortened if there is too much text."""

    LOW = 0  # reads, listings, searches
    MIDDLE = 1  # commands that went well, web pages, other tools
    HIGH = 2  # edits, errors, tests, commits
    TOP = 3  # what the user asked and the assistant said


class Piece(Struct, frozen=True):
    head: str  # one line
    body: str
    value: Value
    read: str | None = None  # the file, when reading it is all that happened
    edited: str | None = None  # the file that was edited in place


MOST_HEAD = 300
MOST_COMMAND = 700
MOST_ERROR = 3_000
MOST_CHANGE = 2_400
MOST_NEW_FILE = 1_600
MOST_OUTPUT = 1_200
MOST_PROOF = 1_500
MOST_COMMIT = 1_600
MOST_AGENT = 3_000
MOST_PAGE = 1_200
MOST_DIFF = 4_000  # what is worked on, or reviewed
MOST_FORGE = 1_500  # of what people wrote in a forge
MOST_REPLY = 500  # of a machine's answer in JSON
MOST_SNAPSHOT = 240  # of a page's structure, a browser's console
MOST_PLAN = 4_000
MOST_CHATTER = 500  # of a check that found nothing
MOST_MESSAGE = 4_000
MOST_ON_THE_WAY = 600
FIRST_LINES = 5
LINE_CAP = 160
_REPORTS = {
    Kind.SUBAGENT_STOP: "Its last message",
    Kind.TASK_END: "A task in the background",
    Kind.POST_COMPACT: "The session was compacted to",
}


def piece(seen: ParsedEvent, base: str | None) -> Piece | None:
    """An event as a piece of the prompt; None for events without content: a session's start and end, a tool
    of which only the name was stored, and everything in a private turn."""
    event, call = seen
    if event.private:
        return None
    shown = _message(event) if call is None else _tool_use(call, base)
    if shown is None or not event.agent_id:
        return shown
    who = line(event.agent_type or "agent", 40)
    return Piece(f"[subagent {who}] {shown.head}", shown.body, shown.value)


def _message(event: Event) -> Piece | None:
    text = event.text or ""
    match event.kind:
        case Kind.PROMPT if text:
            return Piece("User", elide(text, MOST_MESSAGE), Value.TOP)
        case Kind.AGENT_MESSAGE if text:
            return Piece("Assistant, on the way", elide(text, MOST_ON_THE_WAY), Value.MIDDLE)
        case Kind.STOP if text:
            head = "The turn failed" if is_clients_notice(text) else "Assistant's last message"
            return Piece(head, elide(text, MOST_MESSAGE), Value.TOP)
        case Kind.STOP_FAILURE:
            return Piece(
                "The turn failed", elide(f"{event.note or ''}\n{text}".strip(), MOST_ERROR), Value.HIGH
            )
        case kind if text and kind in _REPORTS:
            return Piece(_REPORTS[kind], elide(text, MOST_AGENT), Value.MIDDLE)
        case _:
            return None


def _tool_use(call: ToolUse, base: str | None) -> Piece | None:
    if call.tool.input is None and call.tool.response is None:
        return None
    name = line(call.tool.name, 60)
    if not call.failed:
        return _outcome(name, call, base)
    error = elide(call.text(), MOST_ERROR, tail=0.5)
    if call.kind is ToolKind.COMMAND:
        return _ran(f"FAILED {name}", elide(call.command.strip(), MOST_COMMAND), error, Value.HIGH)
    # The head contains what was tried; its details are no longer useful.
    tried = _outcome(name, replace(call, answer="", answered={}), base)
    return Piece(f"FAILED {tried.head}", error, Value.HIGH)


def _outcome(name: str, call: ToolUse, base: str | None) -> Piece:
    where = seen_from(base, call.path, call.cwd) if call.path else ""
    match call.kind:
        case ToolKind.READ:
            shown = _read(where, call)
        case ToolKind.LOOK:
            shown = _look(name, where, call)
        case ToolKind.EDIT:
            shown = _edit(name, where, call, base)
        case ToolKind.WRITE:
            shown = _write(name, where, call)
        case ToolKind.COMMAND:
            shown = _command(name, call)
        case ToolKind.AGENT:
            # An agent in the background only returns its own instructions.
            is_async = call.answered.get("isAsync") is True
            body = "" if is_async else text_of(call.answered.get("content") or call.answer)
            shown = _piece(f"{name} {call.word('description', 'prompt')}", body, MOST_AGENT, Value.MIDDLE)
        case ToolKind.WEB | ToolKind.OTHER if plan := call.word("plan"):
            shown = Piece(name, elide(plan, MOST_PLAN), Value.HIGH)
        case ToolKind.WEB | ToolKind.OTHER:
            query = call.word("url", "query") or (compact(call.given) if call.given else "")
            text = call.text()
            shown = _piece(f"{name} {query}", _answer(name, text, MOST_PAGE), MOST_DIFF, Value.MIDDLE)
    return shown


_SNAPSHOTS = ("snapshot", "console", "screenshot")
_TROUBLE = re.compile(r"error|fail|panic|exception|warn", re.IGNORECASE)


def _answer(name: str, text: str, usual: int, tail: float = 0.3) -> str:
    """The part of a tool's output that is shown; little, if it is machine-readable."""
    if any(word in name.lower() for word in _SNAPSHOTS):
        return elide(text, MOST_SNAPSHOT)
    most = MOST_REPLY if text.lstrip()[:1] in ("{", "[") else usual
    digested = condense.diff(text, MOST_DIFF) or condense.forge_reply(text, MOST_FORGE)
    return digested or elide(text, most, tail=tail)


def _piece(head: str, body: str, cap: int, value: Value = Value.HIGH) -> Piece:
    return Piece(line(head, MOST_HEAD), elide(body, cap), value)


def _read(where: str, call: ToolUse) -> Piece:
    file = call.answered.get("file")
    fields = file if isinstance(file, dict) else {}
    content = text_of(fields.get("content") if fields else call.answer)
    count = fields.get("numLines")
    lines = count if isinstance(count, int) else len(content.splitlines())
    start = call.fields.get("offset")
    what = f"{where} ({lines} lines{f' from {start}' if isinstance(start, int) else ''})"
    return Piece(
        line(f"Read {what}", MOST_HEAD), _first_lines(content, 3), Value.LOW, read=line(what, MOST_HEAD)
    )


def _look(name: str, where: str, call: ToolUse) -> Piece:
    query = call.word("pattern", "query", "glob_pattern", "search_term")
    names = call.answered.get("filenames")
    content = call.answered.get("content") or ("" if "filenames" in call.answered else call.answer)
    found = "\n".join(map(str, names)) if isinstance(names, list) and names else text_of(content)
    hits = len(found.splitlines())
    place = f" in {where}" if where else ""
    return Piece(line(f"{name} {query}{place}: {hits} hits", MOST_HEAD), _first_lines(found), Value.LOW)


def _edit(name: str, where: str, call: ToolUse, base: str | None) -> Piece:
    lines = call.changed_lines()
    files = {} if lines or where else condense.patched(call.patch)
    shown = {seen_from(base, path, call.cwd): each for path, each in files.items()}
    if len(shown) > 1:
        body = "\n".join(f"{path}\n{each}" for path, each in shown.items())
        return _piece(f"{name} {', '.join(shown)}", body, MOST_CHANGE)
    for path, each in shown.items():
        where, lines = path, each
    return replace(_piece(f"{name} {where}", lines or call.patch, MOST_CHANGE), edited=where or None)


def _write(name: str, where: str, call: ToolUse) -> Piece:
    changed = call.changed_lines() if call.answered.get("structuredPatch") else ""
    if any(each[:1] in "+-" for each in changed.splitlines()):
        return _piece(f"{name} {where}", changed, MOST_CHANGE)
    content = call.word("content", "file_text", "contents")
    head = line(f"{name} {where} ({len(content.splitlines())} lines)", MOST_HEAD)
    return Piece(head, elide(text_of(content), MOST_NEW_FILE, tail=0.1), Value.HIGH)


def _command(name: str, call: ToolUse) -> Piece:
    command, answered = call.command.strip(), call.answered
    silent = "stdout" in answered and not (answered["stdout"] or answered.get("stderr"))
    output = "" if silent else call.text()
    shown = elide(command, MOST_COMMAND)
    purpose = shell.purpose(call.command)
    if purpose is not shell.Purpose.PROVE and (diff := condense.diff(output, MOST_DIFF)):
        return _ran(name, shown, diff, Value.HIGH)
    match purpose:
        case shell.Purpose.LOOK:
            head = line(f"{name} {shown}", MOST_HEAD)
            return Piece(f"{head}: {len(output.splitlines())} lines", _first_lines(output), Value.LOW)
        case shell.Purpose.COMMIT:
            # The commit message is the best description of the work; the output of git hooks around it is
            # not.
            full = elide(command, MOST_COMMIT)
            digested = condense.forge_reply(output, MOST_FORGE) or elide(output, MOST_OUTPUT // 2)
            return _ran(name, full, digested, Value.HIGH)
        case shell.Purpose.PROVE:
            most = MOST_PROOF if _TROUBLE.search(output) else MOST_CHATTER
            return _ran(name, shown, elide(output, most, tail=0.6), Value.HIGH)
        case shell.Purpose.WORK:
            return _ran(name, shown, _answer("", output, MOST_OUTPUT, tail=0.5), Value.MIDDLE)


def _ran(name: str, command: str, output: str, value: Value) -> Piece:
    first, _, rest = command.partition("\n")
    if rest or len(first) > MOST_HEAD:
        return Piece(name, f"{command}\n--- output\n{output}" if output else command, value)
    return Piece(line(f"{name} {first}", MOST_HEAD), output, value)


def _first_lines(text: str, most: int = FIRST_LINES) -> str:
    lines = [each for each in text.splitlines() if each.strip()]
    shown = [each.rstrip()[:LINE_CAP] for each in lines[:most]]
    left = len(text) - sum(map(len, shown)) - len(shown)
    return "\n".join([*shown, f"[…{left} chars…]"] if left > LINE_CAP else shown)
