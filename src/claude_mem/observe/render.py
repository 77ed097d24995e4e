"""Decides how one event is told: what was done in a line, and as much of the outcome as it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.tools import Sort, sort_of
from claude_mem.observe import call, changes, paths, shell
from claude_mem.observe.elide import elide, line


class Value(IntEnum):
    """What gives way first when there is too much."""

    LOW = 0  # reads, listings, searches
    MIDDLE = 1  # commands that went well, web pages, other tools
    HIGH = 2  # edits, errors, tests, commits
    TOP = 3  # what the user asked and the assistant said


@dataclass(frozen=True, slots=True)
class Piece:
    head: str  # one line
    body: str
    value: Value
    read: str | None = None  # the file, when reading it is all that happened


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
MOST_SAID = 4_000
FIRST_LINES = 5
LINE_CAP = 160
_REPORTS = {
    Kind.SUBAGENT_STOP: "Its last message",
    Kind.TASK_END: "A task in the background",
    Kind.POST_COMPACT: "The session was compacted to",
}


def piece(event: Event, base: str | None) -> Piece | None:
    """None for what says nothing: a session's start and end, a tool of which only the name was kept, and
    everything of a private turn."""
    if event.private:
        return None
    told = _said(event) if event.tool is None else _used(event, event.tool, base)
    if told is None or not event.agent_id:
        return told
    who = line(event.agent_type or "agent", 40)
    return Piece(f"[subagent {who}] {told.head}", told.body, told.value)


def _said(event: Event) -> Piece | None:
    text = event.text or ""
    match event.kind:
        case Kind.PROMPT if text:
            return Piece("User", elide(text, MOST_SAID), Value.TOP)
        case Kind.STOP if text:
            return Piece("Assistant's last message", elide(text, MOST_SAID), Value.TOP)
        case Kind.STOP_FAILURE:
            return Piece(
                "The turn failed", elide(f"{event.note or ''}\n{text}".strip(), MOST_ERROR), Value.HIGH
            )
        case kind if text and kind in _REPORTS:
            return Piece(_REPORTS[kind], elide(text, MOST_AGENT), Value.MIDDLE)
        case _:
            return None


def _used(event: Event, tool: ToolCall, base: str | None) -> Piece | None:
    if tool.input is None and tool.response is None:
        return None
    name = line(tool.name, 60)
    given, answer = call.load(tool.input), call.load(tool.response)
    if event.kind is not Kind.TOOL_FAILURE:
        return _told(name, given, answer, base, event.cwd)
    error = elide(call.text_of(answer), MOST_ERROR, tail=0.5)
    if sort_of(name) is Sort.COMMAND:
        return _ran(f"FAILED {name}", elide(call.command(given).strip(), MOST_COMMAND), error, Value.HIGH)
    # What was tried is in the head; its details are of no use to anyone now.
    tried = _told(name, given, "", base, event.cwd)
    return Piece(f"FAILED {tried.head}", error, Value.HIGH)


def _told(name: str, given: object, answer: object, base: str | None, cwd: str | None) -> Piece:
    inputs = call.fields(given)
    path = call.word(inputs, *call.PATH_KEYS)
    where = paths.seen_from(base, path, cwd) if path else ""
    match sort_of(name):
        case Sort.READ:
            told = _read(where, inputs, answer)
        case Sort.LOOK:
            told = _look(name, where, inputs, answer)
        case Sort.EDIT:
            patch = call.word(inputs, "input", "patch", "patchText") or call.command(given)
            told = _piece(f"{name} {where}", changes.changed_lines(inputs, answer) or patch, MOST_CHANGE)
        case Sort.WRITE:
            told = _write(name, where, inputs, answer)
        case Sort.COMMAND:
            told = _command(name, call.command(given), answer)
        case Sort.AGENT:
            answered = call.fields(answer)
            # One sent to the background answers with nothing but its own order.
            body = "" if answered.get("isAsync") is True else call.text_of(answered.get("content") or answer)
            told = _piece(
                f"{name} {call.word(inputs, 'description', 'prompt')}", body, MOST_AGENT, Value.MIDDLE
            )
        case Sort.WEB | Sort.OTHER:
            asked = call.word(inputs, "url", "query") or (call.compact(given) if given else "")
            told = _piece(f"{name} {asked}", call.text_of(answer), MOST_PAGE, Value.MIDDLE)
    return told


def _piece(head: str, body: str, cap: int, value: Value = Value.HIGH) -> Piece:
    return Piece(line(head, MOST_HEAD), elide(body, cap), value)


def _read(where: str, inputs: call.Fields, answer: object) -> Piece:
    file = call.fields(call.fields(answer).get("file"))
    content = call.text_of(file.get("content") if file else answer)
    count = file.get("numLines")
    lines = count if isinstance(count, int) else len(content.splitlines())
    start = inputs.get("offset")
    what = f"{where} ({lines} lines{f' from {start}' if isinstance(start, int) else ''})"
    return Piece(
        line(f"Read {what}", MOST_HEAD), _first_lines(content, 3), Value.LOW, read=line(what, MOST_HEAD)
    )


def _look(name: str, where: str, inputs: call.Fields, answer: object) -> Piece:
    asked = call.word(inputs, "pattern", "query", "glob_pattern", "search_term")
    fields = call.fields(answer)
    names = fields.get("filenames")
    content = fields.get("content") or ("" if "filenames" in fields else answer)
    found = "\n".join(map(str, names)) if isinstance(names, list) and names else call.text_of(content)
    hits = len(found.splitlines())
    place = f" in {where}" if where else ""
    return Piece(line(f"{name} {asked}{place}: {hits} hits", MOST_HEAD), _first_lines(found), Value.LOW)


def _write(name: str, where: str, inputs: call.Fields, answer: object) -> Piece:
    if call.fields(answer).get("structuredPatch"):
        return _piece(f"{name} {where}", changes.changed_lines(inputs, answer), MOST_CHANGE)
    content = call.word(inputs, "content", "file_text", "contents")
    head = line(f"{name} {where} ({len(content.splitlines())} lines)", MOST_HEAD)
    return Piece(head, elide(call.text_of(content), MOST_NEW_FILE, tail=0.1), Value.HIGH)


def _command(name: str, command: str, answer: object) -> Piece:
    answered = call.fields(answer)
    silent = "stdout" in answered and not (answered["stdout"] or answered.get("stderr"))
    output = "" if silent else call.text_of(answer)
    told = elide(command.strip(), MOST_COMMAND)
    match shell.purpose(command):
        case shell.Purpose.LOOK:
            head = line(f"{name} {told}", MOST_HEAD)
            return Piece(f"{head}: {len(output.splitlines())} lines", _first_lines(output), Value.LOW)
        case shell.Purpose.COMMIT:
            # The message is the best account of the work there is; the hooks' chatter around it is not.
            full = elide(command.strip(), MOST_COMMIT)
            return _ran(name, full, elide(output, MOST_OUTPUT // 2), Value.HIGH)
        case shell.Purpose.PROVE:
            return _ran(name, told, elide(output, MOST_PROOF, tail=0.7), Value.HIGH)
        case shell.Purpose.WORK:
            return _ran(name, told, elide(output, MOST_OUTPUT, tail=0.5), Value.MIDDLE)


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
